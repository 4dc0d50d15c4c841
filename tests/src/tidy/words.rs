//! Words that may not stand in some places.

use super::Source;

/// Ways to panic, which the core has none of.
const PANICS: &[&str] = &[
    ".unwrap()",
    ".expect(",
    "panic!(",
    "unreachable!(",
    "todo!(",
    "unimplemented!(",
    "as_str()[",
    "as_bytes()[",
    "assert!(",
    "assert_eq!(",
];

/// Reads of a clock, which the core has none of and the adapter has in one place.
const CLOCKS: &[&str] = &[
    "Instant::now(",
    "SystemTime::now(",
    "clock_gettime(",
    "UNIX_EPOCH.elapsed",
];

/// The one file that reads clocks, and the test server, which is a program of its own.
const CLOCK_FILES: &[&str] = &["std-adapter/src/clock/", "std-adapter/src/testing/"];

/// Panics in the code of the core and of the C ABI. (`debug_assert` is for tests, and may.)
#[must_use]
pub fn panics(source: &Source) -> Vec<String> {
    let guarded = source.is_under(&["core/src/", "ffi/src/"]) && !source.is_test_only();
    if !source.is_rust() || !guarded {
        return Vec::new();
    }
    find(source, PANICS, "the core does not panic")
}

/// Unwraps in the code of the adapter.
#[must_use]
pub fn unwraps(source: &Source) -> Vec<String> {
    if !source.is_rust() || !source.is_under(&["std-adapter/src/"]) {
        return Vec::new();
    }
    find(source, &[".unwrap()"], "the adapter returns its errors")
}

/// Clocks that are read anywhere but in the one place.
#[must_use]
pub fn clocks(source: &Source) -> Vec<String> {
    let folders = ["core/src/", "ffi/src/", "std-adapter/src/"];
    if !source.is_rust() || !source.is_under(&folders) || source.is_under(CLOCK_FILES) {
        return Vec::new();
    }
    find(source, CLOCKS, "time is an input")
}

/// What has no place in any file: work left over, and places outside of the project.
#[must_use]
pub fn anywhere(source: &Source) -> Vec<String> {
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("../", "shared"),
        concat!("/wo", "rk/"),
        concat!("/ho", "me/"),
    ];
    let lines = source.text.lines().zip(1..);
    lines
        .filter_map(|(line, number)| {
            let word = words.iter().find(|word| line.contains(**word))?;
            Some(source.complain(number, format!("`{word}` has no place here")))
        })
        .collect()
}

/// The words outside of comments and of the tests at the bottom.
fn find(source: &Source, words: &[&str], why: &str) -> Vec<String> {
    let found = source.code_lines().filter_map(|(number, line)| {
        let code = line.split("//").next().unwrap_or_default();
        let word = words.iter().find(|word| stands_in(code, word))?;
        Some(source.complain(number, format!("`{word}`: {why}")))
    });
    found.collect()
}

/// Whether `word` stands in `code`, not as the end of a longer name such as `debug_assert!`.
fn stands_in(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code.get(..at).unwrap_or_default().chars().next_back();
        let longer = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !longer || word.starts_with('.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_panic_is_found_in_the_core() {
        for word in PANICS {
            let text = format!("fn f() {{\n    x{word}\n}}\n").replace("x.", "x.y.");
            let text = text.replace(&format!("x{word}"), &format!("x {word}"));
            let complaints = panics(&Source::sample("core/src/a.rs", &text));
            assert_eq!(complaints.len(), 1, "{word}: {complaints:?}");
            assert!(panics(&Source::sample("std-adapter/src/a.rs", &text)).is_empty());
        }
    }

    #[test]
    fn comments_tests_and_longer_names_may_name_panics() {
        let quiet = [
            "/// `panic!(` is not used.\n",
            "    let x = 1; // no .unwrap() here\n",
            "    debug_assert!(x);\n",
            "#[expect(clippy::x)]\n",
            "#[cfg(test)]\nmod tests {\n    fn f() { x.unwrap() }\n}\n",
        ];
        for text in quiet {
            let complaints = panics(&Source::sample("core/src/a.rs", text));
            assert!(complaints.is_empty(), "{complaints:?}");
        }
    }

    #[test]
    fn an_unwrap_in_the_adapter_is_found() {
        let source = Source::sample("std-adapter/src/a.rs", "    x.unwrap();\n");
        let why = "std-adapter/src/a.rs:1: `.unwrap()`: the adapter returns its errors";
        assert_eq!(unwraps(&source), [why]);
        let fallback = Source::sample("std-adapter/src/a.rs", "    x.unwrap_or(1);\n");
        assert!(unwraps(&fallback).is_empty());
    }

    #[test]
    fn a_clock_read_is_found_everywhere_but_in_its_place() {
        for word in CLOCKS {
            let text = format!("    let now = {word};\n");
            assert_eq!(
                clocks(&Source::sample("std-adapter/src/http.rs", &text)).len(),
                1
            );
            assert_eq!(clocks(&Source::sample("core/src/time.rs", &text)).len(), 1);
            assert!(clocks(&Source::sample(CLOCK_FILES[0], &text)).is_empty());
        }
    }

    #[test]
    fn work_left_over_and_foreign_places_are_found_in_any_file() {
        for word in [
            concat!("TO", "DO"),
            concat!("FIX", "ME"),
            concat!("../", "shared"),
        ] {
            let complaints = anywhere(&Source::sample("README.md", &format!("a\n{word}: b\n")));
            assert_eq!(
                complaints,
                [format!("README.md:2: `{word}` has no place here")]
            );
        }
    }
}
