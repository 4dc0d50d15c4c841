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
mod normal;
mod replay;

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::thread;

use kubelease::testing::ApiServer;
use serde_json::{Value, json};

use normal::Normal;
use replay::Case;

const ANSWERS: &str = include_str!("../recorded/answers.jsonl");
const DIFFERENCES: &str = include_str!("../recorded/differences.txt");
/// Most cases wait for the end of a watch.
const THREADS: usize = 24;
/// The length of the namespace's name tells whether an answer comes in chunks.
const NAMESPACE: &str = "facts-0d1e2f3a";

#[test]
fn every_recorded_answer_is_given_again_but_for_the_listed_differences() {
    let cases = cases();
    let found = replayed(&cases);
    let (listed, skipped) = listed();
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
    assert_eq!((cases.len(), equal), (593, EQUAL));
}

/// The cases in which every answer is equal.
const EQUAL: usize = 571;

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
fn listed() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut different, mut skipped) = (BTreeSet::new(), BTreeSet::new());
    for line in DIFFERENCES
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

/// Replays all cases; answers those that differ, and in what.
fn replayed(cases: &[Value]) -> BTreeMap<String, Vec<String>> {
    let server = ApiServer::builder()
        .admin_token("A")
        .restricted_token("E", "elector")
        .old_etcd()
        .start()
        .unwrap();
    let names: HashMap<_, _> = [
        ("ns", ""),
        ("other", "-other"),
        ("dying", "-dying"),
        ("gone", "-gone"),
    ]
    .map(|(mark, suffix)| (mark.to_owned(), format!("{NAMESPACE}{suffix}")))
    .into();
    let mut marks: Vec<_> = names
        .iter()
        .map(|(mark, name)| (name.clone(), format!("<{mark}>")))
        .collect();
    marks.sort_by_key(|(name, _)| core::cmp::Reverse(name.len()));
    let normal = Normal { names: marks };
    prepare(&server, &normal, &names, cases);
    // Entries of managedFields are ordered by their second, which must not end in between.
    server.hold_clock(true);
    let found = Mutex::new(BTreeMap::new());
    let run = |case: &Value, steps: &Value| {
        let name = case["case"].as_str().unwrap();
        let space = if name.contains("namespace-dying") {
            "dying"
        } else {
            "ns"
        };
        let mut replay = Case::new(&server, &normal, &names, name, space);
        if let Err(error) = replay.run(steps.as_array().unwrap()) {
            replay.differences.push(format!("broke: {error}"));
        }
        if !replay.differences.is_empty() {
            found
                .lock()
                .unwrap()
                .insert(name.to_owned(), replay.differences);
        }
    };
    let with_steps = cases
        .iter()
        .filter_map(|case| Some((case, case.get("steps")?)));
    let moves_clock = |(_, steps): &(&Value, &Value)| {
        steps
            .as_array()
            .unwrap()
            .iter()
            .any(|step| step["do"] == "sleep")
    };
    let (alone, together): (Vec<_>, Vec<_>) = with_steps.partition(moves_clock);
    for (case, steps) in alone {
        run(case, steps);
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((case, steps)) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(case, steps);
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Makes the namespaces; the dying one gets its leases first.
fn prepare(server: &ApiServer, normal: &Normal, names: &HashMap<String, String>, cases: &[Value]) {
    let case = |name: &str| Case::new(server, normal, names, name, "dying");
    let create = |mark: &str, finalizers: Value| {
        let name = &names[mark];
        let body = json!({"metadata": {"name": name, "finalizers": finalizers}}).to_string();
        json!({"method": "POST", "target": "/api/v1/namespaces", "body": body})
    };
    let mut first = case("prepare");
    first.must(&create("ns", json!([]))).unwrap();
    first.must(&create("other", json!([]))).unwrap();
    first
        .must(&create("dying", json!(["facts.example/hold"])))
        .unwrap();
    for recorded in cases {
        let steps = recorded["steps"].as_array().into_iter().flatten();
        for step in steps.filter(|step| step["do"] == "dying") {
            let post = json!({"method": "POST", "target": "{leases}", "body": step["body"]});
            case(recorded["case"].as_str().unwrap())
                .must(&post)
                .unwrap();
        }
    }
    let target = format!("/api/v1/namespaces/{}", names["dying"]);
    first
        .must(&json!({"method": "DELETE", "target": target}))
        .unwrap();
}
