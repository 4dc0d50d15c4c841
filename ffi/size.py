#!/usr/bin/env python3
"""The table of sizes, one line for each target, compared with the committed one (sizes.md).

Flash is what each of three programs (size_program.c) grows by, with the compiler's and the C
library's helpers that it brings along. Archive is all of the library. RAM is one object. Stack
is the deepest chain of calls from any function, those through pointers too (POINTERS), without the
C library's memcpy and without a log hook; a recursion anywhere is an error. UPDATE=1 writes the
table anew; without it a figure that grew by more than 2 % is an error.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "sizes"
TABLE = HERE / "sizes.md"
NANO = ["--specs=nano.specs", "--specs=nosys.specs"]
TARGETS = {
    "thumbv6m-none-eabi": ("arm-none-eabi-", ["-mcpu=cortex-m0", "-mthumb", *NANO]),
    "thumbv7m-none-eabi": ("arm-none-eabi-", ["-mcpu=cortex-m3", "-mthumb", *NANO]),
    "thumbv7em-none-eabihf": (
        "arm-none-eabi-",
        ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", *NANO],
    ),
    "riscv32imc-unknown-none-elf": (
        "riscv64-unknown-elf-",
        ["-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"],
    ),
    "x86_64-unknown-linux-gnu": ("", ["-static"]),
}
HEAD = """\
Sizes in bytes, of release builds for size (`make -C ffi size` compares them, `UPDATE=1` writes
them anew). Static memory is 0 everywhere.

Flash is what a program grows by. *Agent* is one that runs for election and updates by merge patch:
it makes the elector, polls, reads requests, hands in answers, steps down and stops, and asks
whether it leads, until when, for its fence and its health. *With heartbeat* is the same agent with
a heartbeat beside it. *Everything* calls every function but those that only name numbers.

*Elector* and *heartbeat* are the RAM of one.

| target | flash, agent | with heartbeat | everything | archive | elector | heartbeat | stack |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""

PARTS = {  # the first whose pattern the demangled name has
    "C ABI": r"kubelease_ffi|\bkl_",
    "elector": r"elector::(Elector|\w+::)",
    "heartbeat": r"heartbeat::(Heartbeat|\w+::)",
    "Nodes and owners": r"wire::(owner|answer::(owned|node))",
    "reader": r"json_reader|wire::(answer|lease|status|scratch|http)",
    "writer": r"session::(outgoing|store)|json_writer|wire::(body|keep|path)",
    "session and watch": r"session::|wire::watch",
    "times, texts, the rest of the core": r"kubelease_core|heapless|core::",
    "C library and compiler": r"",
}
PARTS_HEAD = """
By part, on `thumbv7m-none-eabi`, by the names of functions: one that became part of another counts
as that other. Constants are texts and tables.

| part | agent | with heartbeat | everything |
| --- | ---: | ---: | ---: |
"""


def run(*command, **kwargs):
    result = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def build(target):
    """Builds the archive; returns its folder."""
    run(
        "make", "-C", HERE, "static", f"TARGET={target}", f"OUT={OUT}", "OPT_LEVEL=z",
        "KEEP_MEMBER=1",
        env={**os.environ, "RUSTFLAGS": "-Zemit-stack-sizes", "RUSTC_BOOTSTRAP": "1"},
    )
    return OUT / target


def text_size(cross, file):
    """Code and constants."""
    text, data = run(f"{cross}size", file).splitlines()[1].split()[:2]
    return int(text) + int(data)


def size_of(cross, program, symbol):
    """Bytes of a variable."""
    symbols = run(f"{cross}nm", "-S", program)
    return int(re.search(rf"^\w+ (\w+) \w {symbol}$", symbols, re.M)[1], 16)


def linked_increments(cross, flags, folder):
    """What each program is larger than one of nothing."""
    sizes = []
    for number in range(4):
        program = folder / f"program-{number}"
        run(
            f"{cross}gcc", "-Os", "-ffunction-sections", "-fdata-sections", *flags,
            f"-DPROGRAM={number}", f"-I{ROOT / 'include'}", HERE / "size_program.c",
            folder / "libkubelease.a", "-Wl,--gc-sections", "-o", program,
        )
        sizes.append(text_size(cross, program))
    nothing, *others = sizes
    return [size - nothing for size in others]


def by_part(folder, flash):
    """Lines of the table of parts."""

    def symbols(program):
        listing = run("arm-none-eabi-nm", "-CS", "--size-sort", folder / program)
        found = re.findall(r"^\w+ (\w+) ([tTrR]) (.*)$", listing, re.M)
        return {name: (int(size, 16), kind) for size, kind, name in found}

    nothing, table = symbols("program-0"), {part: [0, 0, 0] for part in [*PARTS, "constants"]}
    for column, total in enumerate(flash):
        for name, (size, kind) in symbols(f"program-{column + 1}").items():
            if name not in nothing and kind in "tT":
                part = next(part for part, names in PARTS.items() if re.search(names, name))
                table[part][column] += size
        table["constants"][column] = total - sum(row[column] for row in table.values())
    return [f"| {part} | {' | '.join(map(str, row))} |\n" for part, row in table.items()]


def frames(member):
    """Bytes of stack of each function, by its name, and the names that are one function."""
    listing = run("llvm-readobj", "--stack-sizes", member)
    pairs = re.findall(r"Functions: \[(.*?)\]\s+Size: (0x[0-9A-F]+)", listing)
    groups = [(names.split(", "), int(size, 16)) for names, size in pairs]
    frame = {name: size for names, size in groups for name in names}
    return frame, {name: names for names, _ in groups for name in names}


def calls(cross, member):
    """Which functions each function may call: all that it has a relocation to."""
    graph, current = {}, None
    for line in run(f"{cross}objdump", "-dr", member).splitlines():
        if begin := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            current = graph.setdefault(begin[1], set())
        elif current is not None and (to := re.search(r"\bR_\w+\s+([^\s+-]+)", line)):
            current.add(to[1].removeprefix(".text."))
    return graph


# Which functions are called through a pointer, and by whom. Names are mangled: they have the names
# of crates, modules, traits and functions in them, each after its length.
POINTERS = {
    "what is in flight": (r"E8outgoing|7refusal", r"10DynMachine9in_flight"),
    "its id": (
        r"15check_answering|14response_begin|_ffi8response5begin|10take_lines|response_body_at",
        r"10DynMachine12in_flight_id",
    ),
    "the owner": (r"13response_body|_ffi8response4body", r"10DynMachine5owner"),
    "a poll": (r"7Session\w*4poll|_ffi6action4poll", r"10DynMachine(11poll_action|15handle_r)"),
    "an answer": (r"12response_end|_ffi8response3end", r"10DynMachine15handle_response|9end_owned"),
    "no answer": (
        r"15response_failed|_ffi8response15transport_error",
        r"10DynMachine14handle_failure",
    ),
    "a line, by a session": (
        r"10take_lines|response_body_at",
        r"10DynMachine12handle_watch|WatchLines4next",
    ),
    "a Node begins": (r"14response_begin|_ffi8response5begin", r"11begin_owned"),
    "a piece of it": (r"13response_body|_ffi8response4body", r"10body_owned"),
    "an owner is written": (r"8outgoing", r"12write_owners"),
    "the target of a watch": (r"8outgoing", r"17write_watch_query"),
    "the view of an object": (
        r"_ffi3ptr3any|_ffi8response|_ffi7request|_ffi6action4poll|_ffi3log3set|body_at",
        r"_ffi6object4view",
    ),
    "a run of a request": (r"10ByteWriter7put_run", r"_ffi6pieces\w*3Tap4take"),
    "a sink, by the reader": (r"10JsonReader", r"4Sink\d"),
    "a line, by an elector": (r"10DynMachine12handle_watch", r"7elector5watch4line"),
    "watch mode, by an elector": (
        r"8answered|10unanswered|11next_action|4send|6looked|looked_as|13wish_to_watch",
        r"7elector5watch(6looked|5until|4open|5ended)",
    ),
}


def by_pointer(cross, member, graph):
    """Adds the calls through pointers to the graph. On Arm a call of that kind by a function that
    the table does not know is an error."""
    for caller, callees in graph.items():
        if "_ffi6object4view" in caller:  # the others are of the table that it hands out
            callees.intersection_update([name for name in callees if "OUTLINED" in name])
        for by, of in POINTERS.values():
            if re.search(by, caller) and not re.search(of, caller):
                callees.update(name for name in graph if re.search(of, name))
    # A caller that became part of another by inlining would take its callees out of all chains.
    called = set().union(*graph.values())
    targets = "|".join(of for _, of in POINTERS.values())
    if lost := [name for name in graph if re.search(targets, name) and name not in called]:
        sys.exit(f"called through a pointer, but by nobody in POINTERS: {', '.join(lost)}")
    if not cross.startswith("arm"):
        return
    known = "|".join(by for by, _ in POINTERS.values()) + "|3log3say|OUTLINED"
    current, unknown = None, set()
    for line in run(f"{cross}objdump", "-dr", member).splitlines():
        if begin := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            current = begin[1]
        elif re.search(r"\tblx?\s+r\d|\tbx\s+r\d", line) and not re.search(known, current):
            unknown.add(current)
        elif re.search(r"R_ARM_ABS32\s+(\.text\.|_R)", line):
            unknown.discard(current)  # a near function whose address is used several times
    if unknown:
        sys.exit(f"calls through a pointer that POINTERS does not know: {', '.join(unknown)}")


def deepest(graph, frame, name, path=()):
    """Bytes of the deepest chain of calls from `name`, and the chain."""
    if name in path:
        sys.exit(f"recursion: {' -> '.join(path)} -> {name}")
    path = (*path, name)
    known = [other for other in graph.get(name, ()) if other in frame or other in graph]
    below, chain = max((deepest(graph, frame, other, path) for other in known), default=(0, ()))
    return frame.get(name, 0) + below, (name, *chain)


def measure(target):
    cross, flags = TARGETS[target]
    folder = build(target)
    member = folder / "member.o"
    (frame, twins), graph = frames(member), calls(cross, member)
    for names in twins.values():  # the listing shows one of the names
        for name in names:
            graph[name] = set().union(*(graph.get(twin, set()) for twin in names)) - {*names}
    by_pointer(cross, member, graph)
    exports = (HERE / "exports.txt").read_text().split()
    stack, chain = max(deepest(graph, frame, name) for name in exports)
    print(f"{target}: deepest stack in {' > '.join(chain)}")
    flash = linked_increments(cross, flags, folder)
    ram = [size_of(cross, folder / "program-2", name) for name in ("elector", "heartbeat")]
    return [*flash, text_size(cross, folder / "kubelease.o"), *ram, stack]


def committed():
    rows = re.findall(r"^\| `(\S+)` \| (.*) \|$", TABLE.read_text(), re.M)
    return {target: [int(n) for n in numbers.split(" | ")] for target, numbers in rows}


def main():
    rows = {target: measure(target) for target in TARGETS}
    lines = [f"| `{t}` | {' | '.join(map(str, numbers))} |\n" for t, numbers in rows.items()]
    shown = "thumbv7m-none-eabi"
    parts = by_part(OUT / shown, rows[shown][:3])
    text = HEAD + "".join(lines) + PARTS_HEAD + "".join(parts)
    print(text)
    if os.environ.get("UPDATE"):
        TABLE.write_text(text)
    old = committed()
    grown = [
        f"{target}: {before} -> {after}"
        for target, numbers in rows.items()
        for before, after in zip(old.get(target, [0] * 7), numbers, strict=True)
        if after > before * 1.02
    ]
    if grown:
        sys.exit("grown by more than 2 %: " + "; ".join(grown) + " (UPDATE=1 accepts it)")


main()
