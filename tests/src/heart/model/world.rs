//! [`HeartWorld`]: one state of everything, and what each step makes of it.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use kubelease_core::heartbeat::{Heartbeat, POLLS_MAX, Retire};
use kubelease_core::lease::{NodeRecord, OwnerState, Owners, Readiness};
use kubelease_core::protocol::{Event, Failure, Output, Reply, RequestId, Response};
use kubelease_core::time::{Instant, Now};

use super::Bounds;
use crate::driver::ORIGIN;
use crate::heart::Heart;
use crate::heart::server::HeartAnswer;
use crate::heart::sim::place::Place;
use crate::input::wall;
use crate::model::print;
use crate::seen::{Sent, WriteKind};
use crate::store::Answer;

/// One thing that happens. Messages are named by their place in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing else")]
pub enum Step {
    /// The server gets a request, and its answer arrives at once.
    Serve(usize),
    /// The server gets a request, and its answer is slow.
    ServeSlowly(usize),
    /// A slow answer arrives.
    Deliver(usize),
    /// The connection breaks, and the request is on its way yet.
    Break(usize),
    /// Time goes on to the next wake; what is under way becomes slow.
    Tick,
    /// A process dies, and another starts in its place.
    Crash(usize),
    /// Somebody deletes the lease.
    Delete,
    /// A Node is registered in place of the one before, whose lease is collected.
    Register,
    /// A heart is retired.
    End(usize, Retire),
}

/// A request on its way, or its answer.
#[derive(Clone, Debug)]
struct Message {
    who: usize,
    life: u8,
    sent: Sent,
    is_slow: bool,
    /// The answer with the uid of the lease's owner, once the server has made it.
    answer: Option<(HeartAnswer, Option<String>)>,
}

/// One process.
#[derive(Clone, Debug)]
struct Process {
    heart: Heart,
    life: u8,
    wakes_at: Option<Instant>,
    last: RequestId,
    has_ended: bool,
}

/// One state of everything.
#[derive(Clone, Debug)]
pub struct HeartWorld {
    now_ms: u64,
    place: Place,
    processes: Vec<Process>,
    messages: Vec<Message>,
    slow: u8,
    breaks: u8,
    crashes: u8,
    deletions: u8,
    registrations: u8,
    ends: u8,
    /// How many beats were stored.
    pub(super) beats: usize,
    leases: u8,
    /// What was broken.
    pub(super) broken: Option<String>,
    key: u64,
}

impl HeartWorld {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let mut place = Place::default();
        place.register(Readiness::Ready, 0);
        let start = |_: &_| Process {
            heart: Heartbeat::new(bounds.hearts[0].0, bounds.hearts[0].1, now(0))
                .expect("a valid config"),
            life: 0,
            wakes_at: None,
            last: RequestId::default(),
            has_ended: false,
        };
        let mut world = Self {
            now_ms: 0,
            place,
            processes: bounds.hearts.iter().map(start).collect(),
            messages: Vec::new(),
            slow: bounds.slow,
            breaks: bounds.breaks,
            crashes: bounds.crashes,
            deletions: bounds.deletions,
            registrations: bounds.registrations,
            ends: bounds.ends,
            beats: 0,
            leases: 0,
            broken: None,
            key: 0,
        };
        for who in 0..bounds.hearts.len() {
            world.restart(bounds, who);
        }
        world.note_key();
        world
    }

    pub(super) const fn is_made_again(&self) -> bool {
        self.leases > 1
    }

    pub(super) fn owner(&self) -> Option<&str> {
        self.place.server.owner.as_deref()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.processes.iter().any(|process| process.has_ended)
    }

    /// Everything that can happen.
    pub(super) fn possible(&self, bounds: &Bounds, steps: &mut Vec<Step>) {
        for (at, message) in self.messages.iter().enumerate() {
            if message.answer.is_some() {
                steps.push(Step::Deliver(at));
                continue;
            }
            steps.push(Step::Serve(at));
            if message.is_slow || self.slow > 0 {
                steps.push(Step::ServeSlowly(at));
            }
            if self.breaks > 0 && self.awaits(message) {
                steps.push(Step::Break(at));
            }
        }
        let fresh = self.messages.iter().filter(|message| !message.is_slow);
        let is_early = self.next_ms().is_some_and(|next| next <= bounds.horizon_ms);
        if fresh.count() <= usize::from(self.slow) && is_early {
            steps.push(Step::Tick);
        }
        for (who, process) in self.processes.iter().enumerate() {
            if self.crashes > 0 {
                steps.push(Step::Crash(who));
            }
            if self.ends > 0 && !process.has_ended {
                steps.push(Step::End(who, Retire::FinalBeat));
                steps.push(Step::End(who, Retire::Delete));
            }
        }
        let is_there = self.place.server.store.lease.is_some();
        if self.deletions > 0 && is_there {
            steps.push(Step::Delete);
        }
        if self.registrations > 0 {
            steps.push(Step::Register);
        }
    }

    /// Makes `step` happen; a broken rule stays in the state.
    pub(super) fn take(&mut self, bounds: &Bounds, step: Step) {
        let happened = catch_unwind(AssertUnwindSafe(|| self.happen(bounds, step)));
        if let Err(panic) = happened {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            self.broken = Some(text.unwrap_or_else(|| "a panic".to_owned()));
        }
        self.note_key();
    }

    fn happen(&mut self, bounds: &Bounds, step: Step) {
        match step {
            Step::Serve(at) => {
                let message = self.messages.remove(at);
                let answer = self.apply(bounds, &message);
                self.deliver(&message, &answer);
            }
            Step::ServeSlowly(at) => {
                let mut message = self.messages.remove(at);
                self.slow -= u8::from(!message.is_slow);
                message.is_slow = true;
                message.answer = Some(self.apply(bounds, &message));
                self.messages.push(message);
            }
            Step::Deliver(at) => {
                let message = self.messages.remove(at);
                if let Some(answer) = &message.answer {
                    self.deliver(&message, answer);
                }
            }
            Step::Break(at) => {
                self.breaks -= 1;
                self.messages[at].is_slow = true;
                let (who, id) = (self.messages[at].who, self.messages[at].sent.id);
                let now = now(self.now_ms);
                let heart = &mut self.processes[who].heart;
                let taken = heart.handle_failure(now, id, Failure::Unknown);
                assert!(taken.is_ok(), "L5: a failure in time was refused");
                self.settle(who);
            }
            Step::Tick => {
                for message in &mut self.messages {
                    self.slow -= u8::from(!message.is_slow);
                    message.is_slow = true;
                }
                self.now_ms = self.next_ms().unwrap_or(self.now_ms);
                for who in 0..self.processes.len() {
                    self.settle(who);
                }
            }
            Step::Crash(who) => {
                self.crashes -= 1;
                self.restart(bounds, who);
            }
            Step::Delete => {
                self.deletions -= 1;
                self.place.server.store.lease = None;
                self.place.was_edited(self.now_ms * 1_000);
            }
            Step::Register => {
                self.registrations -= 1;
                self.place.register(Readiness::Ready, self.now_ms * 1_000);
                self.place.collect();
            }
            Step::End(who, how) => {
                self.ends -= 1;
                self.processes[who].heart.retire(now(self.now_ms), how);
                self.settle(who);
            }
        }
        // What nobody waits for and changes nothing has no effect.
        let mut messages = core::mem::take(&mut self.messages);
        messages.retain(|message| {
            let may_write = message.sent.write.is_some() || message.sent.deletes.is_some();
            self.awaits(message) || (may_write && message.answer.is_none())
        });
        self.messages = messages;
    }

    /// Whether the sender of `message` still waits for its answer.
    fn awaits(&self, message: &Message) -> bool {
        let process = &self.processes[message.who];
        let pending = process.heart.in_flight().map(|request| request.id);
        process.life == message.life && pending == Some(message.sent.id)
    }

    fn next_ms(&self) -> Option<u64> {
        let wakes = self.processes.iter().filter_map(|it| it.wakes_at);
        let next = wakes.min()?.as_millis().saturating_sub(ORIGIN);
        Some(next.max(self.now_ms))
    }

    /// A new process in this place, which a seed of the clock tells from the one before.
    fn restart(&mut self, bounds: &Bounds, who: usize) {
        let (config, identity) = bounds.hearts[who];
        let heart = Heartbeat::new(config, identity, now(self.now_ms));
        let process = &mut self.processes[who];
        process.heart = heart.expect("a valid config");
        process.life += 1;
        process.last = RequestId::default();
        process.has_ended = false;
        self.settle(who);
    }

    /// The server does what is asked, and the judge looks.
    fn apply(&mut self, bounds: &Bounds, message: &Message) -> (HeartAnswer, Option<String>) {
        let before = self.place.server.store.lease.clone();
        let owner = self.place.server.owner.clone();
        let answer = self.place.server.serve(&message.sent);
        let after = self.place.server.store.lease.as_ref();
        if after.map(|it| &it.version) == before.as_ref().map(|it| &it.version) {
            self.place.server.owner = owner;
        } else {
            let kind = &bounds.hearts[message.who];
            let at_us = self.now_ms * 1_000;
            self.place
                .judge(&message.sent, before.as_ref(), kind, at_us);
            let write = message.sent.write.as_ref();
            let creates = write.is_some_and(|it| matches!(it.kind, WriteKind::Create { .. }));
            self.leases += u8::from(creates);
            self.beats += usize::from(write.is_some());
            self.place.beats.clear();
        }
        (answer, self.place.server.owner.clone())
    }

    fn deliver(&mut self, message: &Message, (answer, owner): &(HeartAnswer, Option<String>)) {
        let process = &mut self.processes[message.who];
        if process.life != message.life {
            return;
        }
        let heart = &mut process.heart;
        let known = heart.node_uid();
        let node = match owner.as_deref() {
            None => OwnerState::Absent,
            owner if owner == known => OwnerState::Current,
            Some(_) => OwnerState::Stale,
        };
        let (id, now) = (message.sent.id, now(self.now_ms));
        let awaited = heart.in_flight().map(|it| (it.id, it.deadline));
        let is_live = awaited.is_some_and(|it| it.0 == id && now.instant < it.1);
        let result = match answer {
            HeartAnswer::Lease(Answer::Lease(record)) => {
                let mut record = record.clone();
                let has_others = false;
                record.owners = Owners { node, has_others };
                heart.handle_response(now, id, Response::new(Reply::Lease(&record)))
            }
            HeartAnswer::Lease(Answer::Reply(response)) => {
                heart.handle_response(now, id, *response)
            }
            HeartAnswer::Lease(Answer::Failure(failure)) => heart.handle_failure(now, id, *failure),
            HeartAnswer::Lease(Answer::Nothing) => return,
            HeartAnswer::Node(uid, readiness) => {
                let readiness = *readiness;
                let reply = Reply::Node(NodeRecord { uid, readiness });
                heart.handle_response(now, id, Response::new(reply))
            }
        };
        assert_eq!(result.is_ok(), is_live, "L5: dead answers, and no others");
        self.settle(message.who);
    }

    /// Polls until there is nothing to do but wait, and puts what is sent on its way.
    fn settle(&mut self, who: usize) {
        let now = now(self.now_ms);
        let process = &mut self.processes[who];
        for _ in 0..POLLS_MAX {
            match process.heart.poll(now) {
                Output::Event(Event::Finished(_)) => process.has_ended = true,
                Output::Event(_) | Output::Cancel(_) => {}
                Output::Request(request) => {
                    let sent = Sent::from(request);
                    assert_ne!(sent.id, process.last, "L5: an id came back");
                    process.last = sent.id;
                    self.messages.push(Message {
                        who,
                        life: process.life,
                        sent,
                        is_slow: false,
                        answer: None,
                    });
                }
                Output::WaitUntil(at) => {
                    assert!(at > now.instant, "L2: a wait that is over");
                    process.wakes_at = Some(at);
                    return;
                }
                Output::Done => {
                    assert!(process.has_ended, "an end without its event");
                    process.wakes_at = None;
                    return;
                }
            }
        }
        panic!("L1: no wait after {POLLS_MAX} polls");
    }

    /// Tells this state from others: by all that it holds but numbers of requests.
    fn note_key(&mut self) {
        let hearts: Vec<_> = self
            .processes
            .iter()
            .map(|it| (&it.heart, it.wakes_at))
            .collect();
        let mut messages: Vec<u64> = Vec::new();
        for message in &self.messages {
            let Message { who, life, .. } = message;
            let is_old = self.processes[*who].life != *life;
            let what = (&message.sent, message.is_slow, &message.answer);
            messages.push(print::of(&(who, is_old, self.awaits(message), what)));
        }
        messages.sort_unstable();
        let left = (self.slow, self.breaks, self.crashes, self.deletions);
        let left = (left, self.registrations, self.ends, self.leases.min(2));
        let ended = self.has_ended();
        let all = (self.now_ms, &self.place, hearts, messages, left, ended);
        self.key = print::of(&(all, &self.broken, self.beats.min(2)));
    }
}

/// What all clocks say.
fn now(ms: u64) -> Now {
    Now {
        instant: Instant::from_millis(ORIGIN + ms),
        wall: Some(wall(ms)),
    }
}

impl Hash for HeartWorld {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.key.hash(hasher);
    }
}

impl PartialEq for HeartWorld {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for HeartWorld {}

impl fmt::Display for HeartWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lease = self.place.server.store.lease.as_ref();
        let version = lease.map(|lease| lease.version.resource_version.as_str());
        let owner = self.owner();
        write!(f, "{} ms: lease {version:?} of {owner:?}", self.now_ms)?;
        for message in &self.messages {
            write!(f, "\n  {:?}", message.sent)?;
        }
        match &self.broken {
            Some(broken) => write!(f, "\n  BROKEN: {broken}"),
            None => Ok(()),
        }
    }
}
