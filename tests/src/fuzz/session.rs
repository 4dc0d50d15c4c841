//! A whole client in bytes: an elector in a session, any answers in any pieces, any time.
//!
//! The laws are asserted on the elector inside; what leaves is checked as a server reads it.

use kubelease_core::elector::{Config, Elector, Timing};
use kubelease_core::lease::Label;
use kubelease_core::protocol::{Changes, Failure, Reply, RequestId};
use kubelease_core::session::{Action, RequestError, Session, UpdateMode};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_core::wire::http::Method;
use kubelease_core::wire::path::LeasePath;
use serde_json::{Map, Value, json};

use super::decode::at_random;
use super::server::Server;
use super::told::Told;
use super::watched::{Note, Watched};
use super::{bodies, oracle};
use crate::book::Book;
use crate::choices::{Bytes, Choices};
use crate::driver::{ORIGIN, POLLS_MAX};
use crate::input::wall;
use crate::laws;
use crate::life::configs;
use crate::seen::{Seen, Sent, Write, WriteKind};

/// Own labels of half of the electors.
const LABELS: &[Label<'static>] = &[Label {
    key: "example.com/zone",
    value: "west",
}];

/// Sizes of the buffer for what a PUT puts back.
const KEEPS: &[usize] = &[2_048, 2_048, 300, 40];

/// Status codes of answers that the small server does not give.
const STATUSES: &[u16] = &[
    200, 201, 202, 400, 401, 403, 404, 409, 418, 422, 429, 500, 503, 504,
];

/// Most steps of one life.
const STEPS_MAX: u32 = 300;

/// Lets a client live as the bytes say.
pub fn session(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut config = bytes.one_of(&configs(7));
    if bytes.below(2) == 1 {
        config.labels = LABELS;
    }
    let mut keep = vec![0; bytes.one_of(KEEPS)];
    let mode = match bytes.below(3) {
        0 => UpdateMode::MergePatch,
        patches => UpdateMode::Update {
            keep: &mut keep,
            patch_when_too_large: patches == 1,
        },
    };
    let mut client = Client::new(config, mode, bytes);
    client.settle();
    for _ in 0..STEPS_MAX {
        if client.bytes.is_over() {
            break;
        }
        client.step();
    }
}

/// A request on its way, as a transport wrote it.
#[derive(Clone, Debug)]
struct Outgoing {
    id: RequestId,
    method: Method,
    body: Vec<u8>,
}

#[derive(Debug)]
struct Client<'a> {
    session: Session<'a, Watched>,
    timing: Timing,
    labels: &'static [Label<'static>],
    bytes: Bytes<'a>,
    now: Now,
    book: Book,
    server: Server,
    out: Option<Outgoing>,
    /// The body of the last good answer.
    read: Vec<u8>,
    /// Ids that were used.
    old: Vec<RequestId>,
    waits_until: Instant,
    /// The place reached in the order of law L4.
    rank: u8,
}

impl<'a> Client<'a> {
    fn new(config: Config<'static>, mode: UpdateMode<'a>, bytes: Bytes<'a>) -> Self {
        let now = Now {
            instant: Instant::from_millis(ORIGIN),
            wall: Some(wall(0)),
        };
        let machine = Watched {
            elector: Elector::new(config, now).expect("a valid config"),
            notes: Vec::new(),
        };
        let path = LeasePath::new("default", "a").expect("a valid path");
        Self {
            session: Session::new(machine, path, mode),
            timing: config.timing,
            labels: config.labels,
            bytes,
            now,
            book: Book::new(config.identity, &config.timing, now.instant),
            server: Server::default(),
            out: None,
            read: Vec::new(),
            old: Vec::new(),
            waits_until: now.instant,
            rank: 0,
        }
    }

    fn step(&mut self) {
        match self.bytes.below(16) {
            0..5 => self.serve(),
            5 | 6 => self.answer_oddly(),
            7 => self.answer_half(),
            8 => self.fail(),
            9..12 => self.pass(self.waits_until),
            12 => self.pass_any_time(),
            13 => self.edit(),
            14 => self.use_dead_ids(),
            _ => self.call(),
        }
        self.settle();
    }

    // Answers.

    /// The server does what was asked for, and says so.
    fn serve(&mut self) {
        let Some(out) = self.out.take() else { return };
        let (status, mut body) = self.server.serve(out.method, &out.body);
        if self.bytes.chance(10) {
            // Something on the way changes a byte, or the end is missing.
            let place = self.bytes.below(body.len() as u64 + 1) as usize;
            match (self.bytes.byte(), body.get_mut(place)) {
                (0, _) => body.truncate(place),
                (byte, Some(there)) => *there = byte,
                (byte, None) => body.push(byte),
            }
        }
        self.answer(out.id, status, &body);
    }

    /// Nothing is done, and any answer comes.
    fn answer_oddly(&mut self) {
        let Some(out) = self.out.take() else { return };
        let status = self.bytes.one_of(STATUSES);
        let length = usize::from(self.bytes.byte());
        let body = match self.bytes.below(3) {
            0 => self.bytes.take(length).to_vec(),
            1 => self.read.clone(),
            _ => self.server.serve(Method::Get, b"").1,
        };
        self.answer(out.id, status, &body);
    }

    /// An answer begins and goes no further.
    fn answer_half(&mut self) {
        let Some(out) = &self.out else { return };
        let (id, status) = (out.id, self.bytes.one_of(STATUSES));
        if self.session.response_begin(id, status).is_ok() {
            let body = self.server.serve(Method::Get, b"").1;
            let half = self.bytes.below(body.len() as u64 + 1) as usize;
            let _ = self.session.response_body(id, &body[..half]);
        }
    }

    fn answer(&mut self, id: RequestId, status: u16, body: &[u8]) {
        let wanted = self.session.machine().elector.in_flight().map(|it| it.id) == Some(id);
        assert_eq!(self.session.response_begin(id, status).is_ok(), wanted);
        if self.bytes.chance(20) {
            let (name, length) = (
                self.bytes.one_of(&["date", "Retry-After"]),
                self.bytes.byte(),
            );
            let value = self.bytes.take(usize::from(length % 40));
            let result = self.session.response_header(id, name.as_bytes(), value);
            assert_eq!(result.is_ok(), wanted);
        }
        for piece in at_random(body, self.bytes.below(256)) {
            assert_eq!(self.session.response_body(id, piece).is_ok(), wanted);
        }
        let (live, result) = (self.may_live(id), self.session.response_end(self.now, id));
        assert!(
            live.is_none_or(|live| live == result.is_ok()),
            "L5: {live:?}"
        );
        let judged = oracle::record(body).filter(|_| matches!(status, 200 | 201));
        if let [Note::Told(Told { reply, .. })] = &*self.session.machine().notes {
            assert_eq!(reply.as_ref().ok().map(|it| &**it), judged.as_ref());
        }
        if wanted && judged.is_some() {
            body.clone_into(&mut self.read);
        }
        self.after_answer(live, result.is_ok());
    }

    fn fail(&mut self) {
        let Some(out) = self.out.take() else { return };
        if self.bytes.chance(50) {
            // It was done all the same.
            self.server.serve(out.method, &out.body);
        }
        let failure = self
            .bytes
            .one_of(&[Failure::NotSent, Failure::Unknown, Failure::TimedOut]);
        let live = self.may_live(out.id);
        let result = self.session.response_failed(self.now, out.id, failure);
        assert!(
            live.is_none_or(|live| live == result.is_ok()),
            "L5: {live:?}"
        );
        self.after_answer(live, result.is_ok());
    }

    fn use_dead_ids(&mut self) {
        let dead = self.old.iter().rev().take(3).copied().collect::<Vec<_>>();
        for id in dead {
            if self.out.as_ref().is_some_and(|out| out.id == id) {
                continue;
            }
            assert!(self.session.response_begin(id, 200).is_err());
            assert!(self.session.response_header(id, b"Date", b"").is_err());
            assert!(self.session.response_body(id, b"{").is_err());
            assert!(self.session.response_end(self.now, id).is_err());
            let failed = self.session.response_failed(self.now, id, Failure::Unknown);
            assert!(failed.is_err());
            let head = self.session.request_head(id);
            assert_eq!(head.unwrap_err(), RequestError::StaleRequest);
            self.book.pass_time(self.now.instant);
        }
    }

    /// Whether an answer to `id` has to be taken; `None` where the clock was just set back.
    fn may_live(&mut self, id: RequestId) -> Option<bool> {
        let largest = self.book.largest;
        self.book.pass_time(self.now.instant);
        if self.book.largest < largest {
            return None;
        }
        let wanted = self.session.machine().elector.in_flight().map(|it| it.id) == Some(id);
        let flight = self.book.flight.as_ref();
        Some(wanted && flight.is_some_and(|it| self.book.largest < it.sent.deadline))
    }

    fn after_answer(&mut self, live: Option<bool>, taken: bool) {
        self.read_notes();
        if taken && live.is_none() {
            self.book.end_belief();
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
        match self.bytes.below(6) {
            0 => self.server.delete(),
            1 => self.server.steal("A"),
            2 => self.server.steal(""),
            3 => self.server.steal("B"),
            _ => {
                let (key, value) = (self.bytes.byte() % 16, self.bytes.byte() % 16);
                let long = "\u{e9}\"\\\n".repeat(usize::from(key));
                self.server.adorn(&long, &format!("v{value}"));
            }
        }
    }

    fn call(&mut self) {
        let now = self.now;
        self.book.pass_time(now.instant);
        let choice = self.bytes.below(8);
        let cooldown = Duration::from_millis(self.bytes.below(60_000));
        let elector = &mut self.session.machine_mut().elector;
        match choice {
            0 => elector.stop(now),
            1 => {
                elector.stop_when_idle(now);
                return;
            }
            2 => elector.work_done(now),
            _ => elector.step_down(now, cooldown),
        }
        self.book.end_belief();
    }

    // What comes out.

    fn settle(&mut self) {
        self.rank = 0;
        for _ in 0..POLLS_MAX {
            let seen = self.poll();
            self.rank = laws::order(self.rank, &seen);
            if let Seen::Wait(at) = seen {
                self.waits_until = at;
            }
            if seen.is_settled() {
                let elector = &self.session.machine().elector;
                laws::settled(elector, &self.book, &self.timing, &seen, self.now);
                assert_eq!(self.poll(), seen, "L1: polling again says something else");
                return;
            }
        }
        panic!("L1: no wait after {POLLS_MAX} polls");
    }

    fn poll(&mut self) -> Seen {
        self.book.pass_time(self.now.instant);
        let action = self.session.poll(self.now);
        let asked = self.read_notes();
        let seen = match action {
            Action::Event(event) => Seen::Event(event),
            Action::Cancel(id) => {
                self.out = None;
                Seen::Cancel(id)
            }
            Action::Send { id, deadline } => {
                let sent = asked.expect("what is sent was asked for");
                assert_eq!((sent.id, sent.deadline), (id, deadline));
                self.send(&sent);
                return Seen::Request(sent);
            }
            Action::WaitUntil(at) => Seen::Wait(at),
            Action::Done => Seen::Done,
        };
        laws::output(&mut self.book, &seen, self.now, &self.timing);
        seen
    }

    /// Notes in the book what passed between session and elector; the last request of it.
    fn read_notes(&mut self) -> Option<Sent> {
        let mut asked = None;
        for note in core::mem::take(&mut self.session.machine_mut().notes) {
            match note {
                Note::Asked(sent) => {
                    self.old.push(sent.id);
                    let seen = Seen::Request(sent.clone());
                    laws::output(&mut self.book, &seen, self.now, &self.timing);
                    asked = Some(sent);
                }
                Note::Told(told) => {
                    let by_session = matches!(told.reply(), Reply::Conflict | Reply::TooLarge);
                    assert!(asked.is_none() || by_session);
                    if asked.take().is_some() {
                        // What the session answers itself is an input: a new turn begins.
                        self.rank = 0;
                    }
                    self.book.answer(told.reply());
                }
                Note::Failed => {
                    self.book.close();
                }
            }
        }
        asked
    }

    /// Writes the request as a transport does, and checks it.
    fn send(&mut self, sent: &Sent) {
        let mut room = vec![0; 8_192];
        let request = self.session.request(sent.id, &mut room).expect("room");
        let head = self.session.request_head(sent.id).expect("in flight");
        let lengths = (request.target.len(), request.body.len());
        assert_eq!((head.target_length, head.body_length), lengths);
        let (method, body) = (request.method, request.body.to_vec());
        let offset = usize::from(self.bytes.byte());
        let mut part = [0; 64];
        let length = self.session.write_body(sent.id, offset, &mut part);
        let expected = body.get(offset..).unwrap_or_default();
        let length = length.expect("in flight");
        assert_eq!(length, expected.len().min(64));
        assert_eq!(part[..length], expected[..length]);
        match &sent.write {
            None => assert_eq!((method, body.len()), (Method::Get, 0)),
            Some(write) => self.check_write(write, method, &body),
        }
        self.out = Some(Outgoing {
            id: sent.id,
            method,
            body,
        });
    }

    fn check_write(&self, write: &Write, method: Method, body: &[u8]) {
        let written: Value = serde_json::from_slice(body).expect("JSON is written");
        let labels = if write.labels.is_empty() {
            &[]
        } else {
            self.labels
        };
        let spec = spec(write, method);
        let expected = match (&write.kind, method) {
            (WriteKind::Create { by_put }, Method::Post | Method::Put) => {
                assert_eq!(*by_put, method == Method::Put);
                bodies::created(&spec, labels)
            }
            (WriteKind::Update { version, .. }, Method::Put) => {
                bodies::replaced(&self.read, &spec, version, labels)
            }
            (WriteKind::Update { version, .. }, Method::Patch) => {
                bodies::patched(&spec, version, labels)
            }
            (kind, method) => panic!("{method:?} for {kind:?}"),
        };
        assert_eq!(written, expected);
    }
}

/// The members of `spec` that a write has.
fn spec(write: &Write, method: Method) -> Map<String, Value> {
    let mut spec = Map::new();
    spec.insert("leaseDurationSeconds".into(), json!(write.duration));
    spec.insert("renewTime".into(), json!(write.renew_time.to_string()));
    let changes = write.changes().filter(|_| method == Method::Patch);
    if changes == Some(Changes::Renew) {
        return spec;
    }
    spec.insert("holderIdentity".into(), json!(write.holder));
    if let Some(time) = write.acquire_time {
        spec.insert("acquireTime".into(), json!(time.to_string()));
    }
    if let Some(count) = write
        .transitions
        .filter(|_| changes != Some(Changes::Release))
    {
        spec.insert("leaseTransitions".into(), json!(count));
    }
    spec
}
