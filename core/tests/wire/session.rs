//! The session with a machine that does what a test tells it.

use std::collections::VecDeque;

use kubelease_core::lease::{Label, LeaseRecord, LeaseSpec, ResourceVersion, Version};
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{
    BadAnswer, Changes, Event, Failure, Operation, Output, Reply, Request, RequestId, Response,
    StaleRequest,
};
use kubelease_core::session::{Action, RequestError, Session, UpdateMode};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_core::timestamp::Timestamp;
use kubelease_core::wire::Reading;
use kubelease_core::wire::http::{Method, Tap};
use kubelease_core::wire::path::LeasePath;

use crate::bodies;

/// What a scripted machine asks for.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Event(Event),
    Get,
    Create { by_put: bool },
    Update { version: String, changes: Changes },
}

/// Asks for one step after the other, and notes what it is told.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) steps: VecDeque<Step>,
    pub(crate) labels: Vec<Label<'static>>,
    pub(crate) told: Vec<String>,
    pub(crate) record: Option<LeaseRecord>,
    in_flight: Option<(RequestId, Step)>,
    version: Version,
    requests: u32,
}

pub(crate) const DEADLINE: Instant = Instant::from_millis(6_000);

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            ..Self::default()
        }
    }

    fn request(&self) -> Option<Request<'_>> {
        let (id, step) = self.in_flight.as_ref()?;
        let operation = match step {
            Step::Event(_) => return None,
            Step::Get => Operation::Get,
            Step::Create { by_put } => Operation::Create {
                spec: spec("me"),
                labels: &self.labels,
                owner: None,
                by_put: *by_put,
            },
            Step::Update { changes, .. } => Operation::Update {
                spec: match changes {
                    Changes::Acquire | Changes::Renew => spec("me"),
                    Changes::Release => LeaseSpec {
                        lease_duration_seconds: 1,
                        ..spec("")
                    },
                },
                version: &self.version,
                changes: *changes,
                labels: &self.labels,
                owner: None,
            },
        };
        Some(Request {
            id: *id,
            deadline: DEADLINE,
            operation,
        })
    }
}

pub(crate) fn spec(holder_identity: &'static str) -> LeaseSpec<'static> {
    let time = Timestamp::parse("2026-01-02T03:06:07.000008Z").unwrap();
    LeaseSpec {
        holder_identity,
        lease_duration_seconds: 15,
        acquire_time: Some(time),
        renew_time: time,
        lease_transitions: Some(4),
    }
}

impl Machine for Script {
    fn poll(&mut self, _: Now) -> Output<'_> {
        if self.in_flight.is_some() {
            return Output::WaitUntil(DEADLINE);
        }
        let Some(step) = self.steps.pop_front() else {
            return Output::Done;
        };
        if let Step::Event(event) = step {
            return Output::Event(event);
        }
        if let Step::Update { version, .. } = &step {
            self.version = Version {
                uid: "uid-1".try_into().unwrap(),
                resource_version: ResourceVersion::try_from(version.as_str()).unwrap(),
            };
        }
        self.requests += 1;
        self.in_flight = Some((RequestId::from_number(self.requests), step));
        Output::Request(self.request().unwrap())
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        if now.instant >= DEADLINE || self.in_flight.as_ref().is_none_or(|(this, _)| *this != id) {
            return Err(StaleRequest);
        }
        self.in_flight = None;
        self.told.push(match response.reply {
            Reply::Lease(record) => {
                self.record = Some(record.clone());
                format!("Lease {}", record.version.resource_version.as_str())
            }
            other => format!("{other:?}"),
        });
        Ok(())
    }

    fn handle_failure(
        &mut self,
        _: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        if self.in_flight.as_ref().is_none_or(|(this, _)| *this != id) {
            return Err(StaleRequest);
        }
        self.in_flight = None;
        self.told.push(format!("{failure:?}"));
        Ok(())
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.request()
    }
}

pub(crate) fn at(millis: u64) -> Now {
    Now::monotonic(Instant::from_millis(millis))
}

pub(crate) fn path() -> LeasePath<'static> {
    LeasePath::new("default", "a").unwrap()
}

pub(crate) fn update(version: &str) -> Step {
    Step::Update {
        version: version.to_owned(),
        changes: Changes::Acquire,
    }
}

/// Polls up to the next request.
pub(crate) fn sent(session: &mut Session<'_, Script>) -> RequestId {
    match session.poll(at(1_000)) {
        Action::Send { id, deadline } => {
            assert_eq!(deadline, DEADLINE);
            id
        }
        other => panic!("{other:?}"),
    }
}

/// Answers request `id` whole.
pub(crate) fn answer(session: &mut Session<'_, Script>, id: RequestId, status: u16, body: &str) {
    session.response_begin(id, status).unwrap();
    session.response_body(id, body.as_bytes()).unwrap();
    session.response_end(at(1_001), id).unwrap();
}

/// Method, target and body of request `id`.
pub(crate) fn written(session: &Session<'_, Script>, id: RequestId) -> (Method, String, String) {
    let mut buffer = [0; 8_192];
    let request = session.request(id, &mut buffer).unwrap();
    let body = String::from_utf8(request.body.to_vec()).unwrap();
    (request.method, request.target.to_owned(), body)
}

#[test]
fn outputs_of_the_machine_are_passed_on() {
    let script = Script::new([Step::Event(Event::LeaderChanged), Step::Get]);
    let mut session = Session::new(script, path(), UpdateMode::MergePatch);
    assert_eq!(session.poll(at(1_000)), Action::Event(Event::LeaderChanged));
    let id = sent(&mut session);
    assert_eq!(session.poll(at(1_000)), Action::WaitUntil(DEADLINE));
    answer(&mut session, id, 200, bodies::BARE);
    assert_eq!(session.machine().told, ["Lease 907"]);
    assert_eq!(session.poll(at(1_000)), Action::Done);
}

#[test]
fn requests_go_to_the_api_of_leases() {
    let prefix = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let table = [
        (Step::Get, Method::Get, format!("{prefix}/a?timeout=5000ms")),
        (
            Step::Create { by_put: false },
            Method::Post,
            format!("{prefix}?fieldManager=kubelease&timeout=5000ms"),
        ),
        (
            Step::Create { by_put: true },
            Method::Put,
            format!("{prefix}/a?fieldManager=kubelease&timeout=5000ms"),
        ),
        (
            update("907"),
            Method::Patch,
            format!("{prefix}/a?fieldManager=kubelease&timeout=5000ms"),
        ),
    ];
    for (step, method, target) in table {
        let mut session = Session::new(Script::new([step]), path(), UpdateMode::MergePatch);
        let id = sent(&mut session);
        let (actual_method, actual_target, _) = written(&session, id);
        assert_eq!((actual_method, actual_target), (method, target));
    }
}

#[test]
fn a_request_can_be_read_again_and_from_any_offset() {
    let mut session = Session::new(
        Script::new([Step::Create { by_put: false }]),
        path(),
        UpdateMode::MergePatch,
    );
    let id = sent(&mut session);
    let (_, target, body) = written(&session, id);
    assert_eq!(written(&session, id).2, body);
    let head = session.request_head(id).unwrap();
    assert_eq!(
        (head.target_length, head.body_length),
        (target.len(), body.len())
    );
    assert_eq!(head.content_type, Some("application/json"));
    assert_eq!(head.accept, "application/json");
    for room in [1, 3, 64] {
        let mut buffer = vec![0; room];
        let (mut whole_target, mut whole_body) = (Vec::new(), Vec::new());
        while whole_target.len() < target.len() {
            let length = session
                .write_target(id, whole_target.len(), &mut buffer)
                .unwrap();
            whole_target.extend_from_slice(&buffer[..length]);
        }
        while whole_body.len() < body.len() {
            let length = session
                .write_body(id, whole_body.len(), &mut buffer)
                .unwrap();
            whole_body.extend_from_slice(&buffer[..length]);
        }
        assert_eq!(whole_target, target.as_bytes());
        assert_eq!(whole_body, body.as_bytes());
        assert_eq!(session.write_body(id, body.len(), &mut buffer), Ok(0));
        assert_eq!(session.write_body(id, usize::MAX, &mut buffer), Ok(0));
    }
    let needed = target.len() + body.len();
    let error = session.request(id, &mut vec![0; needed - 1]).unwrap_err();
    assert_eq!(error, RequestError::BufferTooSmall { needed });
    assert_eq!(
        error.to_string(),
        format!("expected a buffer of {needed} bytes, found a smaller one")
    );
    assert!(session.request(id, &mut vec![0; needed]).is_ok());
}

/// All bytes, and the runs that do not last.
#[derive(Default)]
struct Runs {
    all: Vec<u8>,
    made: Vec<String>,
}

impl Tap for Runs {
    fn take(&mut self, run: &[u8], does_last: bool) {
        self.all.extend_from_slice(run);
        if !does_last {
            self.made.push(String::from_utf8(run.to_vec()).unwrap());
        }
    }
}

#[test]
fn a_request_can_be_taken_run_by_run() {
    let mut session = Session::new(
        Script::new([Step::Create { by_put: false }]),
        path(),
        UpdateMode::MergePatch,
    );
    let id = sent(&mut session);
    let (_, target, body) = written(&session, id);
    let mut tap = Runs::default();
    session.tap_target(id, &mut tap).unwrap();
    session.tap_body(id, &mut tap).unwrap();
    let Runs { all, made } = tap;
    assert_eq!(all, [target.as_bytes(), body.as_bytes()].concat());
    // What does not last is numbers and times.
    assert!(made.len() >= 3, "{made:?}");
    assert!(
        made.iter()
            .all(|run| run.starts_with(|c: char| c.is_ascii_digit())),
        "{made:?}"
    );
    let mut none = Runs::default();
    let other = RequestId::from_number(id.number() + 1);
    let error = Err(RequestError::StaleRequest);
    assert_eq!(session.tap_target(other, &mut none), error);
    assert_eq!(session.tap_body(other, &mut none), error);
    assert!(none.all.is_empty());
}

#[test]
fn any_split_of_an_answer_tells_the_machine_the_same() {
    for body in bodies::LEASES {
        let record = |split| {
            let mut session =
                Session::new(Script::new([Step::Get]), path(), UpdateMode::MergePatch);
            let id = sent(&mut session);
            session.response_begin(id, 200).unwrap();
            session
                .response_header(id, b"Date", b"Fri, 02 Jan 2026 03:04:05 GMT")
                .unwrap();
            for piece in body.as_bytes().chunks(split) {
                assert_eq!(session.response_body(id, piece), Ok(Reading::More));
            }
            session.response_end(at(1_001), id).unwrap();
            session.machine().record.clone().unwrap()
        };
        let whole = record(usize::MAX);
        for split in [1, 3, 7, 64] {
            assert_eq!(record(split), whole);
        }
    }
}

#[test]
fn a_second_beginning_starts_the_answer_over() {
    let mut session = Session::new(Script::new([Step::Get]), path(), UpdateMode::MergePatch);
    let id = sent(&mut session);
    session.response_begin(id, 503).unwrap();
    session.response_header(id, b"Retry-After", b"5").unwrap();
    session.response_body(id, b"<html>").unwrap();
    answer(&mut session, id, 200, bodies::BARE);
    assert_eq!(session.machine().told, ["Lease 907"]);
}

#[test]
fn stale_ids_change_nothing() {
    let mut session = Session::new(Script::new([Step::Get]), path(), UpdateMode::MergePatch);
    let id = sent(&mut session);
    let other = RequestId::from_number(99);
    assert_eq!(session.response_begin(other, 200), Err(StaleRequest));
    assert_eq!(session.response_header(id, b"a", b"b"), Err(StaleRequest));
    assert_eq!(session.response_body(id, b"{"), Err(StaleRequest));
    assert_eq!(session.response_end(at(1_001), id), Err(StaleRequest));
    session.response_begin(id, 200).unwrap();
    session.response_body(id, bodies::BARE.as_bytes()).unwrap();
    assert_eq!(session.response_body(other, b"x"), Err(StaleRequest));
    assert_eq!(
        session.response_failed(at(1_001), other, Failure::Unknown),
        Err(StaleRequest)
    );
    assert_eq!(session.response_end(at(1_001), other), Err(StaleRequest));
    assert!(session.machine().told.is_empty());
    session.response_end(at(1_001), id).unwrap();
    assert_eq!(session.machine().told, ["Lease 907"]);
    assert_eq!(session.response_end(at(1_001), id), Err(StaleRequest));
    assert_eq!(
        session.response_failed(at(1_001), id, Failure::Unknown),
        Err(StaleRequest)
    );
    assert_eq!(
        session.request_head(id).unwrap_err(),
        RequestError::StaleRequest
    );
    assert_eq!(
        RequestError::StaleRequest.to_string(),
        "expected the id of the request in flight, found another"
    );
}

#[test]
fn an_answer_past_its_deadline_is_stale() {
    let mut session = Session::new(Script::new([Step::Get]), path(), UpdateMode::MergePatch);
    let id = sent(&mut session);
    session.response_begin(id, 200).unwrap();
    session.response_body(id, bodies::BARE.as_bytes()).unwrap();
    assert_eq!(session.response_end(at(6_000), id), Err(StaleRequest));
    assert!(session.machine().told.is_empty());
}

#[test]
fn failures_and_bad_answers_reach_the_machine() {
    let mut session = Session::new(
        Script::new([Step::Get, Step::Get, Step::Get]),
        path(),
        UpdateMode::MergePatch,
    );
    let id = sent(&mut session);
    session.response_begin(id, 200).unwrap();
    session
        .response_failed(at(1_001), id, Failure::Unknown)
        .unwrap();
    let id = sent(&mut session);
    answer(&mut session, id, 200, "<html>");
    let id = sent(&mut session);
    session.response_begin(id, 200).unwrap();
    assert_eq!(session.response_body(id, b"<"), Ok(Reading::Enough));
    session.response_end(at(1_001), id).unwrap();
    let bad = format!("BadAnswer({:?})", BadAnswer::NotJson);
    assert_eq!(session.machine().told, ["Unknown", &bad, &bad]);
}

#[test]
fn the_time_that_is_left_goes_with_the_request() {
    for (now, expected) in [(999, "5001"), (5_999, "1"), (6_000, "1"), (9_000, "1")] {
        let mut session = Session::new(Script::new([Step::Get]), path(), UpdateMode::MergePatch);
        assert!(matches!(session.poll(at(now)), Action::Send { .. }));
        let target = written(&session, RequestId::from_number(1)).1;
        assert!(
            target.ends_with(&format!("timeout={expected}ms")),
            "{target}"
        );
    }
    assert_eq!(
        DEADLINE.saturating_since(Instant::default()),
        Duration::from_secs(6)
    );
}
