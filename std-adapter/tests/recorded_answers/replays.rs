//! Replays all cases to one server.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use crate::normal::Normal;
use crate::replay::{Answers, Case};
use crate::target::Target;

/// Most cases wait for the end of a watch.
const THREADS: usize = 24;

/// A server with the namespaces of the cases.
pub(crate) struct Replay<'a> {
    target: &'a Target<'a>,
    normal: Normal,
    /// The names of the namespaces, by mark.
    names: HashMap<String, String>,
}

impl<'a> Replay<'a> {
    /// `namespace` is that of most cases, and the others begin with it.
    pub(crate) fn new(target: &'a Target<'a>, namespace: &str) -> Self {
        let names: HashMap<_, _> = [
            ("ns", ""),
            ("other", "-other"),
            ("dying", "-dying"),
            ("gone", "-gone"),
        ]
        .map(|(mark, suffix)| (mark.to_owned(), format!("{namespace}{suffix}")))
        .into();
        let mut marks: Vec<_> = names
            .iter()
            .map(|(mark, name)| (name.clone(), format!("<{mark}>")))
            .collect();
        marks.sort_by_key(|(name, _)| core::cmp::Reverse(name.len()));
        let normal = Normal { names: marks };
        Self {
            target,
            normal,
            names,
        }
    }

    /// Makes the namespaces, and answers with what was answered, by the case's name.
    pub(crate) fn all(&self, cases: &[Value]) -> BTreeMap<String, Vec<Answers>> {
        self.prepare(cases);
        self.target.hold_clock();
        let found = Mutex::new(BTreeMap::new());
        let run = |case: &Value| {
            let name = case["case"].as_str().unwrap();
            let answers = self.one(case);
            found.lock().unwrap().insert(name.to_owned(), answers);
        };
        let with_steps = cases.iter().filter(|case| case.get("steps").is_some());
        let moves_clock = |case: &&Value| {
            let steps = case["steps"].as_array().unwrap();
            steps.iter().any(|step| step["do"] == "sleep")
        };
        let (alone, together): (Vec<_>, Vec<_>) = with_steps.partition(moves_clock);
        alone.into_iter().for_each(run);
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while let Some(case) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
                        run(case);
                    }
                });
            }
        });
        self.clear();
        found.into_inner().unwrap()
    }

    fn one(&self, case: &Value) -> Vec<Answers> {
        let name = case["case"].as_str().unwrap();
        let space = if name.contains("namespace-dying") {
            "dying"
        } else {
            "ns"
        };
        let mut replay = self.case(name, space);
        if let Err(error) = replay.run(case["steps"].as_array().unwrap()) {
            replay.answers.push(Answers {
                recorded: Value::Null,
                found: format!("broke: {error}").into(),
            });
        }
        replay.answers
    }

    fn case(&self, name: &str, space: &str) -> Case<'_> {
        Case::new(self.target, &self.normal, &self.names, name, space)
    }

    /// Takes the leases away, or a later run on the same server would list them.
    fn clear(&self) {
        for mark in ["ns", "other"] {
            let mut last = self.case("clear", mark);
            let all = json!({"method": "DELETE", "target": "{leases}"});
            last.must(&all).unwrap();
        }
    }

    /// Makes the namespaces; the dying one gets its leases first.
    fn prepare(&self, cases: &[Value]) {
        let create = |mark: &str, finalizers: Value| {
            let name = &self.names[mark];
            let body = json!({"metadata": {"name": name, "finalizers": finalizers}}).to_string();
            json!({"method": "POST", "target": "/api/v1/namespaces", "body": body})
        };
        let mut first = self.case("prepare", "dying");
        first.must(&create("ns", json!([]))).unwrap();
        first.must(&create("other", json!([]))).unwrap();
        first
            .must(&create("dying", json!(["facts.example/hold"])))
            .unwrap();
        for recorded in cases {
            let steps = recorded["steps"].as_array().into_iter().flatten();
            for step in steps.filter(|step| step["do"] == "dying") {
                let post = json!({"method": "POST", "target": "{leases}", "body": step["body"]});
                self.case(recorded["case"].as_str().unwrap(), "dying")
                    .must(&post)
                    .unwrap();
            }
        }
        let target = format!("/api/v1/namespaces/{}", self.names["dying"]);
        first
            .must(&json!({"method": "DELETE", "target": target}))
            .unwrap();
    }
}
