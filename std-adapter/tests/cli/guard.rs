//! The guard of `kubelease run` in each of its ends: it ends, and it works for nothing meanwhile.

use core::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Line, Stage};
use crate::process::{cpu_until_gone, is_alive, until};

/// Far more than a guard needs from its start to its end; one that spins has it at once.
const CPU_MAX: Duration = Duration::from_millis(500);

fn command(line: &Line) -> Pid {
    Pid::from_raw(line.pid).unwrap()
}

fn ends_without_work(guard: Pid) {
    let cpu = cpu_until_gone(guard);
    assert!(cpu < CPU_MAX, "{cpu:?} of the processor");
}

#[test]
fn a_guard_waits_for_a_deaf_command_of_a_dead_kubelease_without_work() {
    let stage = Stage::new("guard-waits");
    // Some 7 s are left to the command.
    let long = ["--lease-duration", "10s"];
    let a = stage.candidate_after("a", &long, "trap '' TERM");
    let first = stage.leader("a", 0);
    let guard = a.guard();
    a.signal(Signal::KILL);
    ends_without_work(guard);
    assert!(!is_alive(command(&first)));
}

#[test]
fn a_guard_ends_with_a_command_that_ends_on_its_own_under_a_stopped_kubelease() {
    let stage = Stage::new("guard-stopped");
    let a = stage.candidate("a", &[]);
    let first = stage.leader("a", 0);
    let guard = a.guard();
    a.signal(Signal::STOP);
    kill_process(command(&first), Signal::KILL).unwrap();
    ends_without_work(guard);
}

#[test]
fn a_guard_whose_command_is_a_zombie_already_ends() {
    let stage = Stage::new("guard-zombie");
    let a = stage.candidate_after("a", &[], "setsid sleep 600 &");
    let first = stage.leader("a", 0);
    let guard = a.guard();
    kill_process(guard, Signal::STOP).unwrap();
    kill_process(command(&first), Signal::KILL).unwrap();
    until("a zombie", || !is_alive(command(&first)));
    a.signal(Signal::KILL);
    kill_process(guard, Signal::CONT).unwrap();
    ends_without_work(guard);
}

#[test]
fn a_guard_that_was_never_told_a_command_ends() {
    let mut guard = crate::process::kubelease([
        "guard-child",
        "--term-at",
        "18446744073709551615",
        "--kill-at",
        "18446744073709551615",
        "--",
        "sleep",
        "600",
    ]);
    let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
    guard.stdin(std::process::Stdio::from(std::os::fd::OwnedFd::from(there)));
    let mut guard = crate::process::Job::start(&mut guard);
    drop(here);
    assert_eq!(guard.code(), Some(1));
}
