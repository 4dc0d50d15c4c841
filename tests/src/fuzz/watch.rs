//! Any stream that answers a watch, in any pieces: the candidate comes to know the same.

use kubelease_core::elector::{Config, Elector};
use kubelease_core::machine::Machine;
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::time::{Instant, Now};
use kubelease_core::wire::Reading;
use kubelease_core::wire::path::LeasePath;
use serde_json::Value;

use super::decode::at_random;
use super::oracle;
use crate::choices::{Bytes, Choices};

/// Sizes of the buffer for what a PUT puts back.
const KEEPS: &[usize] = &[0, 32, 300, 4_096];

/// The lease before the stream.
const HELD: &[u8] = br#"{"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"holderIdentity":"b",
    "leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.000000Z"}}"#;

/// What a candidate makes of a stream.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// Whether the stream is still wanted.
    goes_on: bool,
    leader: Option<String>,
    actions: Vec<String>,
    /// What it asks for then.
    request: Option<(String, Vec<u8>)>,
}

/// Reads a stream whole and in pieces.
pub fn watch(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let (keep, seed) = (bytes.one_of(KEEPS), bytes.below(256));
    let stream = bytes.rest();
    let whole = outcome(&[stream], keep);
    let single: Vec<&[u8]> = stream.chunks(1).collect();
    for pieces in [single, at_random(stream, seed)] {
        assert_eq!(outcome(&pieces, keep), whole, "{pieces:?}");
    }
    check(stream, &whole);
}

/// The first line by serde_json: where that takes it for a change, so does the candidate.
fn check(stream: &[u8], outcome: &Outcome) {
    let Some((line, rest)) = stream.split_at_checked(line_length(stream)) else {
        return;
    };
    let is_last = rest.iter().all(u8::is_ascii_whitespace);
    let object = line
        .strip_prefix(b"{\"type\":\"MODIFIED\",\"object\":")
        .and_then(|object| object.strip_suffix(b"\n"))
        .and_then(|object| object.trim_ascii_end().strip_suffix(b"}"));
    let Some(object) = object.filter(|object| is_last && is_alone(object)) else {
        return;
    };
    let record = oracle::record(object);
    let is_older = record.as_ref().is_some_and(|record| {
        let version = record.version.resource_version.as_number();
        version.is_some_and(|version| version < 7)
    });
    let holder = record.as_ref().and_then(|record| record.spec.as_ref());
    let holder = holder.map(|spec| spec.holder.as_str().to_owned());
    match (&record, is_older) {
        (None, _) => assert_eq!(outcome.leader.as_deref(), Some("b"), "{record:?}"),
        (Some(_), true) => assert_eq!(outcome.leader.as_deref(), Some("b")),
        (Some(_), false) => {
            let expected = holder.filter(|name| !name.is_empty() && name != "a");
            assert_eq!(outcome.leader, expected);
        }
    }
}

/// Whether no other member of the event follows the object.
fn is_alone(object: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(object).into_iter::<Value>();
    let is_value = matches!(values.next(), Some(Ok(_)));
    let rest = object.get(values.byte_offset()..).unwrap_or_default();
    !is_value || rest.iter().all(u8::is_ascii_whitespace)
}

fn line_length(stream: &[u8]) -> usize {
    let end = stream.iter().position(|byte| *byte == b'\n');
    end.map_or(stream.len(), |at| at + 1)
}

fn now() -> Now {
    Now::monotonic(Instant::from_millis(1_000))
}

fn outcome(pieces: &[&[u8]], keep: usize) -> Outcome {
    let mut buffer = vec![0; keep];
    let update = UpdateMode::Update {
        keep: &mut buffer,
        patch_when_too_large: false,
    };
    let elector = Elector::new(Config::new("a"), now()).unwrap();
    let mut session = Session::new(elector, LeasePath::new("n", "l").unwrap(), update);
    session.watch();
    settle(&mut session);
    let read = session.machine().in_flight_id().unwrap();
    session.response_begin(read, 200).unwrap();
    session.response_body_at(now(), read, HELD).unwrap();
    session.response_end(now(), read).unwrap();
    settle(&mut session);
    let id = session.machine().in_flight_id().unwrap();
    session.response_begin(id, 200).unwrap();
    let mut goes_on = true;
    for piece in pieces {
        match session.response_body_at(now(), id, piece) {
            Ok(Reading::More) => assert!(goes_on, "it went on after its end"),
            Ok(Reading::Enough) => goes_on = false,
            Err(_) => assert!(!goes_on, "a line that is wanted was refused"),
        }
    }
    let leader = session.machine().leader().map(str::to_owned);
    let actions = settle(&mut session);
    let request = session.machine().in_flight_id().map(|id| {
        let mut buffer = vec![0; 16_384];
        let request = session.request(id, &mut buffer).unwrap();
        let body: Value = serde_json::from_slice(request.body).unwrap_or_default();
        let body = serde_json::to_vec(&body).unwrap();
        (request.target.to_owned(), body)
    });
    Outcome {
        goes_on,
        leader,
        actions,
        request,
    }
}

fn settle(session: &mut Session<'_, Elector<'_>>) -> Vec<String> {
    let mut actions = Vec::new();
    loop {
        let action = session.poll(now());
        actions.push(format!("{action:?}"));
        if matches!(action, Action::WaitUntil(_) | Action::Done) {
            return actions;
        }
    }
}
