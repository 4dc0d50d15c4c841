//! A whole heartbeat in bytes: a heart in a session, any answers in any pieces, any time.
//!
//! The laws are asserted on the heart inside; what leaves is checked as a server reads it.

use kubelease_core::heartbeat::Retire;
use kubelease_core::protocol::{Changes, Failure, RequestId};
use kubelease_core::session::{Action, RequestError, Session, UpdateMode};
use kubelease_core::time::{Instant, Now};
use kubelease_core::wire::http::Method;
use kubelease_core::wire::path::LeasePath;
use serde_json::{Map, Value, json};

use super::booked::Booked;
use super::decode::at_random;
use super::server::{Answer, Server};
use super::{bodies, oracle};
use crate::choices::{Bytes, Choices};
use crate::driver::{ORIGIN, POLLS_MAX};
use crate::heart::life::{Kind, kinds};
use crate::input::wall;
use crate::seen::{Owner, Seen, Sent, Write, WriteKind};

/// Sizes of the buffer for what a PUT puts back.
const KEEPS: &[usize] = &[2_048, 2_048, 300, 40];

/// Status codes of answers that the small server does not give.
const STATUSES: &[u16] = &[
    200, 201, 202, 400, 401, 403, 404, 409, 418, 422, 429, 500, 503, 504,
];

const UIDS: &[&str] = &["u1", "u2", "u3"];

/// Most steps of one life.
const STEPS_MAX: u32 = 300;

const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Lets a heart live as the bytes say.
pub fn heart_session(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let kind = bytes.one_of(&kinds(7));
    let mut keep = vec![0; bytes.one_of(KEEPS)];
    let mode = match bytes.below(3) {
        0 => UpdateMode::MergePatch,
        patches => UpdateMode::Update {
            keep: &mut keep,
            patch_when_too_large: patches == 1,
        },
    };
    let mut client = Client::new(kind, mode, bytes);
    client.settle();
    for _ in 0..STEPS_MAX {
        if client.is_done || client.bytes.is_over() {
            break;
        }
        client.step();
    }
}

/// A request on its way, as a transport wrote it.
#[derive(Clone, Debug)]
struct Outgoing {
    sent: Sent,
    method: Method,
    body: Vec<u8>,
}

#[derive(Debug)]
struct Client<'a> {
    session: Session<'a, Booked>,
    bytes: Bytes<'a>,
    now: Now,
    server: Server,
    out: Option<Outgoing>,
    /// The body of the last good answer about the lease.
    read: Vec<u8>,
    /// Whether the last answer about the lease was not what the server said.
    is_deceived: bool,
    waits_until: Instant,
    is_done: bool,
}

impl<'a> Client<'a> {
    fn new((config, identity): Kind, mode: UpdateMode<'a>, bytes: Bytes<'a>) -> Self {
        let now = Now {
            instant: Instant::from_millis(ORIGIN),
            wall: Some(wall(0)),
        };
        let path = LeasePath::new("default", "a").expect("a valid path");
        let mut server = Server::default();
        server.register("u1", "True");
        Self {
            session: Session::new(Booked::new(config, identity, now), path, mode),
            bytes,
            now,
            server,
            out: None,
            read: Vec::new(),
            is_deceived: false,
            waits_until: now.instant,
            is_done: false,
        }
    }

    fn step(&mut self) {
        match self.bytes.below(16) {
            0..6 => self.serve(),
            6 => self.answer_oddly(),
            7 => self.fail(),
            8..11 => self.pass(self.waits_until),
            11 => self.pass_any_time(),
            12 | 13 => self.edit(),
            14 => self.use_dead_ids(),
            _ => self.call(),
        }
        self.settle();
    }

    // Answers.

    /// The server does what was asked for, and says so.
    fn serve(&mut self) {
        let Some(out) = self.out.take() else { return };
        let (status, told) = self.do_it(&out);
        let mut body = told.clone();
        if self.bytes.chance(10) {
            // Something on the way changes a byte, or the end is missing.
            let place = self.bytes.below(body.len() as u64 + 1) as usize;
            match (self.bytes.byte(), body.get_mut(place)) {
                (0, _) => body.truncate(place),
                (byte, Some(there)) => *there = byte,
                (byte, None) => body.push(byte),
            }
        }
        self.answer(&out.sent, status, &body, body == told);
    }

    fn do_it(&mut self, out: &Outgoing) -> Answer {
        if out.sent.node.is_some() {
            return self.server.node();
        }
        let before = self.server.renewed();
        let answer = self.server.serve(out.method, &out.body);
        let is_beat = out.sent.write.is_some() && matches!(answer.0, 200 | 201);
        if is_beat && before.is_some() && !self.is_deceived {
            assert!(self.server.renewed() > before, "a write that is no beat");
        }
        answer
    }

    /// Nothing is done, and any answer comes.
    fn answer_oddly(&mut self) {
        let Some(out) = self.out.take() else { return };
        let status = self.bytes.one_of(STATUSES);
        let length = usize::from(self.bytes.byte());
        let body = match self.bytes.below(4) {
            0 => self.bytes.take(length).to_vec(),
            1 => self.read.clone(),
            2 => self.server.node().1,
            _ => self.server.serve(Method::Get, b"").1,
        };
        self.answer(&out.sent, status, &body, false);
    }

    fn answer(&mut self, sent: &Sent, status: u16, body: &[u8], is_honest: bool) {
        let id = sent.id;
        self.session.response_begin(id, status).expect("in flight");
        if self.bytes.chance(20) {
            let name = self.bytes.one_of(&["date", "Retry-After"]);
            let length = usize::from(self.bytes.byte() % 40);
            let value = self.bytes.take(length);
            let result = self.session.response_header(id, name.as_bytes(), value);
            result.expect("in flight");
        }
        for piece in at_random(body, self.bytes.below(256)) {
            self.session.response_body(id, piece).expect("in flight");
        }
        let is_taken = self.session.response_end(self.now, id).is_ok();
        let is_good = matches!(status, 200 | 201) && oracle::record(body).is_some();
        if is_good && sent.node.is_none() {
            body.clone_into(&mut self.read);
            self.is_deceived = !is_honest || (self.is_deceived && !is_taken);
        }
    }

    fn fail(&mut self) {
        let Some(out) = self.out.take() else { return };
        if self.bytes.chance(50) {
            // It was done all the same.
            self.do_it(&out);
        }
        let failures = [Failure::NotSent, Failure::Unknown, Failure::TimedOut];
        let failure = self.bytes.one_of(&failures);
        let _ = self.session.response_failed(self.now, out.sent.id, failure);
    }

    fn use_dead_ids(&mut self) {
        let booked = self.session.machine();
        let live = booked.heart.in_flight().map(|request| request.id);
        let dead: Vec<_> = booked.old.iter().rev().take(3).copied().collect();
        for id in dead.into_iter().filter(|id| live != Some(*id)) {
            assert!(self.session.response_begin(id, 200).is_err());
            assert!(self.session.response_body(id, b"{").is_err());
            assert!(self.session.response_end(self.now, id).is_err());
            let failed = self.session.response_failed(self.now, id, Failure::Unknown);
            assert!(failed.is_err());
            let head = self.session.request_head(id);
            assert_eq!(head.unwrap_err(), RequestError::StaleRequest);
        }
    }

    // Everything else that happens.

    fn pass_any_time(&mut self) {
        let ms = self.now.instant.as_millis();
        let next = match self.bytes.below(8) {
            0..3 => ms + self.bytes.below(60_000),
            3 => ms + self.bytes.below(1 << 40),
            4 => ms.saturating_sub(self.bytes.below(2_000)),
            5 => ms.saturating_sub(self.bytes.below(1 << 32)),
            6 => {
                self.now.wall = Some(wall(self.bytes.below(1 << 40)));
                ms
            }
            _ => {
                self.now.wall = None;
                ms
            }
        };
        self.pass(Instant::from_millis(next.min(1 << 62)));
    }

    fn pass(&mut self, to: Instant) {
        let passed = to.saturating_since(self.now.instant).as_millis();
        self.now.instant = to;
        let wall = self.now.wall;
        self.now.wall = wall.map(|wall| wall.checked_add_millis(passed).unwrap_or(wall));
    }

    fn edit(&mut self) {
        match self.bytes.below(8) {
            0 => self.server.delete(),
            1 => self.server.steal("A"),
            2 => self.server.steal(""),
            3 => self.server.steal("B"),
            4 => {
                let uid = self.bytes.one_of(UIDS);
                let ready = self.bytes.one_of(&["True", "False", "Unknown"]);
                self.server.register(uid, ready);
            }
            5 => {
                let uid = self.bytes.one_of(UIDS);
                let kind = self.bytes.one_of(&["Node", "Job"]);
                self.server.add_owner(kind, "gw1", uid);
            }
            _ => {
                let (key, value) = (self.bytes.byte() % 16, self.bytes.byte() % 16);
                let long = "\u{e9}\"\\\n".repeat(usize::from(key));
                self.server.adorn(&long, &format!("v{value}"));
            }
        }
    }

    fn call(&mut self) {
        let (now, choice) = (self.now, self.bytes.below(16));
        let booked = self.session.machine_mut();
        match choice {
            0 => booked.retire(now, Retire::Keep),
            1 => booked.retire(now, Retire::FinalBeat),
            2 => booked.retire(now, Retire::Delete),
            _ => booked.alive(now),
        }
    }

    // What comes out.

    fn settle(&mut self) {
        for _ in 0..POLLS_MAX {
            let last = match self.session.poll(self.now) {
                Action::Event(_) => continue,
                Action::Cancel(_) => {
                    self.out = None;
                    continue;
                }
                Action::Send { id, deadline } => {
                    self.send(id, deadline);
                    continue;
                }
                Action::WaitUntil(at) => {
                    self.waits_until = at;
                    Seen::Wait(at)
                }
                Action::Done => Seen::Done,
            };
            self.is_done = last == Seen::Done;
            self.session.machine_mut().check(&last, self.now);
            return;
        }
        panic!("L1: no wait after {POLLS_MAX} polls");
    }

    /// Writes the request as a transport does, and checks it.
    fn send(&mut self, id: RequestId, deadline: Instant) {
        let booked = self.session.machine();
        let sent = booked.sent().expect("what is sent was asked for").clone();
        assert_eq!((sent.id, sent.deadline), (id, deadline));
        let mut room = vec![0; 8_192];
        let request = self.session.request(id, &mut room).expect("room");
        let (method, mut body) = (request.method, request.body.to_vec());
        let offset = usize::from(self.bytes.byte());
        let mut part = [0; 64];
        let length = self.session.write_body(id, offset, &mut part);
        let expected = body.get(offset..).unwrap_or_default();
        let length = length.expect("in flight");
        assert_eq!(part[..length], expected[..expected.len().min(64)]);
        match (&sent.node, &sent.deletes, &sent.write) {
            (Some(node), None, None) => {
                assert_eq!(request.path(), format!("/api/v1/nodes/{node}"));
                assert_eq!((method, body.len()), (Method::Get, 0));
            }
            (None, Some(version), None) => {
                assert_eq!(method, Method::Delete);
                let written: Value = serde_json::from_slice(&body).expect("JSON is written");
                let text = version.resource_version.as_str();
                assert_eq!(written["preconditions"]["resourceVersion"], json!(text));
            }
            (None, None, Some(write)) => {
                self.check_write(write, method, &body);
                if request.content_type == Some(STRATEGIC) {
                    body = self.server.with_all_owners(&body);
                }
            }
            (None, None, None) => assert_eq!((method, body.len()), (Method::Get, 0)),
            odd => panic!("two requests in one: {odd:?}"),
        }
        self.out = Some(Outgoing { sent, method, body });
    }

    fn check_write(&self, write: &Write, method: Method, body: &[u8]) {
        let written: Value = serde_json::from_slice(body).expect("JSON is written");
        let spec = spec(write, method);
        let mut expected = match (&write.kind, method) {
            (WriteKind::Create { by_put }, Method::Post | Method::Put) => {
                assert_eq!(*by_put, method == Method::Put);
                bodies::created(&spec, &[])
            }
            (WriteKind::Update { version, .. }, Method::Put) => {
                let read: Value = serde_json::from_slice(&self.read).expect("it was read");
                let mut whole = bodies::replaced(&self.read, &spec, version, &[]);
                for kept in ["acquireTime", "leaseTransitions"] {
                    if let Some(value) = read["spec"].get(kept).filter(|it| !it.is_null()) {
                        whole["spec"][kept] = value.clone();
                    }
                }
                whole
            }
            (WriteKind::Update { version, .. }, Method::Patch) => {
                bodies::patched(&spec, version, &[])
            }
            (kind, method) => panic!("{method:?} for {kind:?}"),
        };
        if let Some(owner) = &write.owner {
            own(&mut expected["metadata"], owner);
        }
        assert_eq!(written, expected);
    }
}

/// Puts the Node among the owners, in the place of what has its uid, or is a Node of its name.
fn own(metadata: &mut Value, owner: &Owner) {
    let own = json!({"apiVersion": "v1", "kind": "Node", "name": owner.name, "uid": owner.uid});
    let is_alike = |it: &Value, keys: &[&str]| keys.iter().all(|key| it[*key] == own[*key]);
    let owners = metadata["ownerReferences"].take();
    let mut owners = owners.as_array().cloned().unwrap_or_default();
    // A byte that changed on the way may make it a kind of another API, which stays.
    owners.retain(|it| !is_alike(it, &["uid"]) && !is_alike(it, &["apiVersion", "kind", "name"]));
    owners.push(own);
    metadata["ownerReferences"] = owners.into();
}

/// The members of `spec` that a beat has.
fn spec(write: &Write, method: Method) -> Map<String, Value> {
    let mut spec = Map::new();
    spec.insert("leaseDurationSeconds".into(), json!(write.duration));
    spec.insert("renewTime".into(), json!(write.renew_time.to_string()));
    if method != Method::Patch || write.changes() != Some(Changes::Renew) {
        spec.insert("holderIdentity".into(), json!(write.holder));
    }
    spec
}
