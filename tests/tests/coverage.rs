//! Every entry of `scenarios.txt` and `contract.txt` has a test, and no test names another.
#![allow(clippy::indexing_slicing, reason = "tests may")]

use std::collections::BTreeSet;

use kubelease_tests::tidy::{Source, all_sources};

/// The numbers in a list: the first word of each line.
fn listed(list: &str) -> BTreeSet<String> {
    let lines = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let words = lines.filter_map(|line| line.split(' ').next());
    words
        .map(|word| word.replace('-', "_").to_lowercase())
        .collect()
}

/// Scenarios that befall a heartbeat: each has a test of one, besides any of an elector.
const OF_HEARTS: &str = "B59 B61 B65 B70 B107 B109 B111 B113 B116 B119 B120 B123";

/// Where tests of hearts alone are.
const HEARTS: &[&str] = &["tests/tests/scenarios/heartbeats.rs"];

/// Where tests of scenarios are: what needs a network, certificates or files is the adapter's.
const FOLDERS: &[&str] = &[
    "tests/tests/",
    "std-adapter/tests/",
    "std-adapter/src/connection",
];

/// The numbers that tests' names begin with, where `is_number` says that it is one.
fn tested(sources: &[Source], is_number: impl Fn(&str) -> bool) -> BTreeSet<String> {
    tested_in(FOLDERS, sources, is_number)
}

/// The same in some folders or files.
fn tested_in(
    folders: &[&str],
    sources: &[Source],
    is_number: impl Fn(&str) -> bool,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in sources.iter().filter(|source| source.is_under(folders)) {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        for pair in lines.windows(2) {
            let name = match pair[0] {
                "#[test]" => pair[1].strip_prefix("fn "),
                "#[tokio::test]" => pair[1].strip_prefix("async fn "),
                _ => None,
            };
            let words: Vec<&str> = name.unwrap_or_default().split('_').collect();
            for end in 1..=2.min(words.len()) {
                let number = words[..end].join("_");
                if is_number(&number) {
                    found.insert(number);
                }
            }
        }
    }
    found
}

/// `b01`.
fn is_scenario(number: &str) -> bool {
    number.strip_prefix('b').is_some_and(is_digits)
}

/// `le_01`, `mt_01`, `hb_01`.
fn is_clause(number: &str) -> bool {
    ["le_", "mt_", "hb_"]
        .iter()
        .any(|kind| number.strip_prefix(kind).is_some_and(is_digits))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn every_scenario_has_a_test_and_every_test_a_scenario() {
    let listed = listed(include_str!("../scenarios.txt"));
    assert!(listed.len() > 40);
    assert_eq!(tested(&all_sources(), is_scenario), listed);
}

#[test]
fn every_scenario_of_a_heart_has_a_test_of_a_heart() {
    let wanted = listed(&OF_HEARTS.replace(' ', "\n"));
    assert_eq!(tested_in(HEARTS, &all_sources(), is_scenario), wanted);
    let all = listed(include_str!("../scenarios.txt"));
    assert!(wanted.is_subset(&all), "{wanted:?}");
}

/// Each test of a heart that is the only one of its scenario is missed when it is gone.
#[test]
fn a_scenario_of_a_heart_without_its_test_is_noticed() {
    let wanted = listed(&OF_HEARTS.replace(' ', "\n"));
    let sources = all_sources();
    let hearts = sources.iter().find(|source| source.is_under(HEARTS));
    let text = &hearts.expect("tests of hearts").text;
    for number in &wanted {
        let without = text.replace(&format!("fn {number}_"), "fn was_");
        let sources = [Source::sample(HEARTS[0], &without)];
        let mut missed = wanted.clone();
        missed.remove(number);
        assert_eq!(tested_in(HEARTS, &sources, is_scenario), missed, "{number}");
    }
}

#[test]
fn every_upstream_test_has_a_test() {
    let listed = listed(include_str!("../contract.txt"));
    assert!(listed.len() > 20);
    assert_eq!(tested(&all_sources(), is_clause), listed);
}

#[test]
fn a_test_that_is_missing_would_be_noticed() {
    let text = "#[test]\nfn b01_a() {}\n#[test]\nfn le_07_b() {}\nfn b02_no_test() {}\n";
    let sources = [Source::sample("tests/tests/x.rs", text)];
    assert_eq!(tested(&sources, is_scenario), listed("B01 a\n"));
    let text = "#[tokio::test]\nasync fn b03_c() {}\nasync fn b02_no_test() {}\n";
    let of_the_adapter = [Source::sample("std-adapter/tests/x.rs", text)];
    assert_eq!(tested(&of_the_adapter, is_scenario), listed("B03 c\n"));
    let elsewhere = [Source::sample("std-adapter/src/x.rs", text)];
    assert!(tested(&elsewhere, is_scenario).is_empty());
    assert_ne!(tested(&sources, is_scenario), listed("B01 a\nB02 b\n"));
    assert_eq!(tested(&sources, is_clause), listed("# x\nLE-07 b\n"));
}
