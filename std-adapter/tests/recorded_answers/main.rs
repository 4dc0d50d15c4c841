//! The test API server against the recorded answers of a real one.
//!
//! `tests/recorded/answers.jsonl` has, case by case, the requests that were sent to a
//! kube-apiserver 1.37.2 and what it answered. They are sent again here, and each answer must be
//! equal to the recorded one but for uids, versions and times near now. The cases for which that
//! is not so are in `tests/recorded/differences.txt`, each with its reason; the test fails as well
//! when one of them has become equal.

#![cfg(feature = "testing")]
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that panics has failed"
)]

#[path = "../support/client.rs"]
mod client;
mod live;
mod normal;
mod replay;
mod replays;
mod target;

use std::collections::{BTreeMap, BTreeSet};

use kubelease::testing::ApiServer;
use serde_json::Value;

use replay::Answers;
use replays::Replay;
use target::Target;

const ANSWERS: &str = include_str!("../recorded/answers.jsonl");
const DIFFERENCES: &str = include_str!("../recorded/differences.txt");
/// The length of the namespace's name tells whether an answer comes in chunks.
const NAMESPACE: &str = "facts-0d1e2f3a";

#[test]
fn every_recorded_answer_is_given_again_but_for_the_listed_differences() {
    let cases = cases();
    let found = replayed(&cases);
    let (listed, skipped) = listed(DIFFERENCES);
    let different: BTreeSet<_> = found.keys().cloned().collect();
    let unlisted: Vec<_> = found
        .iter()
        .filter(|(name, _)| !listed.contains(*name))
        .collect();
    for (name, differences) in &unlisted {
        println!("{name}:\n{}", differences.join("\n"));
    }
    let unlisted: Vec<_> = unlisted.into_iter().map(|(name, _)| name).collect();
    assert_eq!(unlisted, Vec::<&String>::new(), "differ and are not listed");
    let become_equal: Vec<_> = listed.difference(&different).collect();
    assert_eq!(
        become_equal,
        Vec::<&String>::new(),
        "are listed and do not differ"
    );
    let without_steps: BTreeSet<_> = cases
        .iter()
        .filter(|case| case.get("steps").is_none())
        .map(|case| case["case"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(skipped, without_steps, "listed as not replayed");
    let equal = cases.len() - different.len() - skipped.len();
    assert_eq!((cases.len(), equal), (595, EQUAL));
}

/// The cases in which every answer is equal.
const EQUAL: usize = 573;

/// The cases, with the parts that come often put where they belong.
fn cases() -> Vec<Value> {
    let mut lines = ANSWERS
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let parts = lines.next().unwrap()["parts"].as_array().unwrap().clone();
    lines.map(|case| whole(&case, &parts)).collect()
}

fn whole(value: &Value, parts: &[Value]) -> Value {
    match value {
        Value::Object(members) => match members.get("part").and_then(Value::as_u64) {
            Some(part) => whole(&parts[usize::try_from(part).unwrap()], parts),
            None => {
                let members = members
                    .iter()
                    .map(|(key, value)| (key.clone(), whole(value, parts)));
                Value::Object(members.collect())
            }
        },
        Value::Array(items) => items.iter().map(|item| whole(item, parts)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The cases listed as different, and those listed as not replayed.
fn listed(differences: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut different, mut skipped) = (BTreeSet::new(), BTreeSet::new());
    for line in differences
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (name, reason) = line
            .split_once(" - ")
            .expect("a case, \" - \" and a reason");
        let reason = reason.trim();
        assert!(reason.len() > 10, "{name} has no reason");
        let list = if reason.starts_with("not replayed: ") {
            &mut skipped
        } else {
            &mut different
        };
        assert!(list.insert(name.to_owned()), "{name} is listed twice");
    }
    (different, skipped)
}

/// Replays all cases to the server for tests; answers those that differ from the record, and in
/// what.
fn replayed(cases: &[Value]) -> BTreeMap<String, Vec<String>> {
    let server = testing_server(true);
    let target = Target::testing(&server);
    let answers = Replay::new(&target, NAMESPACE).all(cases);
    let different = |answers: Vec<Answers>| {
        let differ = answers.iter().filter(|both| both.recorded != both.found);
        differ
            .map(|both| format!("recorded {}\n   found {}", both.recorded, both.found))
            .collect::<Vec<_>>()
    };
    answers
        .into_iter()
        .map(|(name, answers)| (name, different(answers)))
        .filter(|(_, differences)| !differences.is_empty())
        .collect()
}

fn testing_server(is_old_etcd: bool) -> ApiServer {
    let builder = ApiServer::builder()
        .admin_token("A")
        .restricted_token("E", "elector");
    let builder = if is_old_etcd {
        builder.old_etcd()
    } else {
        builder
    };
    builder.start().unwrap()
}
