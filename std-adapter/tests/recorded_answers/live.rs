//! The server for tests against a real one that runs now: the same requests to both.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::Value;

use crate::replay::Answers;
use crate::replays::Replay;
use crate::target::Target;
use crate::{DIFFERENCES, cases, listed, testing_server};

/// A case that differs is tried again: on the real server a second may end in the middle of it, and
/// entries of managedFields are ordered by their seconds.
const TRIES: usize = 3;

#[test]
#[ignore = "wants a real API server: tests/cluster/run"]
fn the_real_server_gives_the_same_answers_but_for_the_listed_differences() {
    let folder = std::env::var_os("KUBELEASE_CLUSTER").expect("KUBELEASE_CLUSTER to be set");
    let real = Target::real(&PathBuf::from(folder));
    let server = testing_server(false);
    let testing = Target::testing(&server);
    let all = cases();
    let asked: Vec<_> = all
        .iter()
        .filter(|case| case.get("steps").is_some())
        .cloned()
        .collect();
    let (listed, skipped) = listed(DIFFERENCES);
    assert_eq!(
        asked.len() + skipped.len(),
        all.len(),
        "listed as not replayed"
    );

    let (mut different, mut as_recorded, mut requests) = (BTreeMap::new(), 0, 0);
    let mut left = asked.clone();
    for number in 0..TRIES {
        let namespace = namespace(number);
        let there = Replay::new(&real, &namespace).all(&left);
        let here = Replay::new(&testing, &namespace).all(&left);
        if number == 0 {
            as_recorded = there
                .values()
                .filter(|answers| is_as_recorded(answers))
                .count();
            requests = there.values().map(Vec::len).sum();
        }
        different = there
            .iter()
            .filter_map(|(name, there)| Some((name.clone(), differences(there, &here[name])?)))
            .collect();
        left.retain(|case| different.contains_key(case["case"].as_str().unwrap()));
    }

    let names: BTreeSet<_> = different.keys().cloned().collect();
    for (name, difference) in &different {
        if !listed.contains(name) {
            println!("{name}:\n{difference}");
        }
    }
    println!("cases {}, compared answers {requests}", asked.len());
    println!(
        "equal on both {}, listed differences {}",
        asked.len() - names.len(),
        listed.len()
    );
    println!("real server as it was recorded: {as_recorded}");
    assert_eq!(names, listed);
}

/// A namespace of its own, always of the same length: whether an answer comes in chunks depends
/// on it.
fn namespace(number: usize) -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    format!("facts-{:07x}{number}", now.as_secs() & 0x0fff_ffff)
}

fn is_as_recorded(answers: &[Answers]) -> bool {
    answers.iter().all(|both| both.recorded == both.found)
}

fn differences(there: &[Answers], here: &[Answers]) -> Option<String> {
    let found = |answers: &[Answers]| -> Vec<Value> {
        answers.iter().map(|both| both.found.clone()).collect()
    };
    let (there, here) = (found(there), found(here));
    let differ: Vec<_> = there
        .iter()
        .zip(&here)
        .filter(|(there, here)| there != here)
        .map(|(there, here)| format!("   real {there}\ntesting {here}\n"))
        .collect();
    if there.len() == here.len() && differ.is_empty() {
        return None;
    }
    Some(differ.concat())
}
