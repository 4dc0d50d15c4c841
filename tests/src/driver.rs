//! [`Driver`]: one elector in simulated time. Whatever a test does, the laws are checked.

mod watch;

use kubelease_core::Timestamp;
use kubelease_core::elector::{Config, ConfigError, Elector};
use kubelease_core::protocol::{Failure, RequestId, Response, StaleRequest};
use kubelease_core::time::{Duration, Instant, Now};

use crate::book::Book;
use crate::driven::{Driven, Ledger};
use crate::input::Input;
use crate::laws;
use crate::seen::{Seen, Sent, Write};
use crate::subject::Subject;
use crate::text::{describe, describe_body};

/// Most polls between an input and the next `WaitUntil` or `Done` (law L1): a stop, a start, each
/// other event once, a cancel, a request, and the wait.
pub const POLLS_MAX: usize = 16;

/// Where the monotonic clock of a test begins, so that it can also be set back.
pub const ORIGIN: u64 = 1_000_000_000;

/// What the civil clock says at [`ORIGIN`], in seconds: 2026-01-02T03:04:05Z.
pub const WALL_AT_ORIGIN: i64 = 1_767_323_045;

/// Drives one machine. All times that go in and out are milliseconds since [`ORIGIN`].
#[derive(Clone, Debug)]
pub struct Driver<M: Driven = Elector<'static>> {
    machine: M,
    book: M::Ledger,
    instant: Instant,
    wall: Option<Timestamp>,
    waiting: Option<Seen>,
    rank: u8,
    transcript: Vec<String>,
}

impl Driver {
    /// An elector that starts now.
    ///
    /// # Panics
    /// Where the config is refused.
    #[must_use]
    pub fn new(config: Config<'static>) -> Self {
        Self::try_new(config).expect("a valid config")
    }

    /// An elector that starts now.
    ///
    /// # Errors
    /// What the elector says of its config.
    pub fn try_new(config: Config<'static>) -> Result<Self, ConfigError> {
        let wall = Timestamp::from_unix(WALL_AT_ORIGIN, 0);
        Self::try_new_at(config, wall)
    }

    /// An elector that starts now, where the civil clock says `wall`.
    ///
    /// # Errors
    /// What the elector says of its config.
    pub fn try_new_at(
        config: Config<'static>,
        wall: Option<Timestamp>,
    ) -> Result<Self, ConfigError> {
        let instant = Instant::from_millis(ORIGIN);
        let machine = Elector::new(config, Now { instant, wall })?;
        let mut driver = Self::around(machine, &config);
        driver.wall = wall;
        Ok(driver)
    }

    /// An elector without a civil clock.
    ///
    /// # Panics
    /// Where the config is refused.
    #[must_use]
    pub fn without_wall(config: Config<'static>) -> Self {
        Self::try_new_at(config, None).expect("a valid config")
    }
}

impl<M: Subject> Driver<M> {
    /// Drives `machine`, which was made from `config` at [`ORIGIN`].
    pub fn around(machine: M, config: &Config<'_>) -> Self {
        let instant = Instant::from_millis(ORIGIN);
        let book = Book::new(config.identity, &config.timing, instant);
        Self::with(machine, book)
    }

    /// Calls `stop`.
    pub fn stop(&mut self) {
        self.call(|machine, now| machine.stop(now));
        self.book.end_belief();
    }

    /// Calls `step_down`.
    pub fn step_down(&mut self, cooldown: Duration) {
        self.call(|machine, now| machine.step_down(now, cooldown));
        self.book.end_belief();
    }

    /// Calls `stop_when_idle`.
    pub fn stop_when_idle(&mut self) {
        self.call(|machine, now| machine.stop_when_idle(now));
    }

    /// Calls `work_done`.
    pub fn work_done(&mut self) {
        self.call(|machine, now| machine.work_done(now));
        self.book.end_belief();
    }

    /// Whether the machine leads now.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.machine.is_leading(self.instant)
    }

    /// When leadership ends by itself.
    #[must_use]
    pub fn leading_until(&self) -> Option<u64> {
        self.machine.leading_until().map(relative)
    }
}

impl<M: Driven> Driver<M> {
    /// Drives `machine`, which was made at [`ORIGIN`], and keeps this book of it.
    pub fn with(machine: M, book: M::Ledger) -> Self {
        Self {
            machine,
            book,
            instant: Instant::from_millis(ORIGIN),
            wall: Timestamp::from_unix(WALL_AT_ORIGIN, 0),
            waiting: None,
            rank: 0,
            transcript: Vec::new(),
        }
    }

    // Time.

    /// Lets time pass to `ms`, as a caller does who polls whenever he is asked to.
    ///
    /// # Panics
    /// Where `ms` lies behind, or past the instant at which the machine wants to be polled.
    #[track_caller]
    pub fn go_to(&mut self, ms: u64) {
        if let Some(due) = self.wakes_at().filter(|_| ms > self.now_ms()) {
            assert!(
                ms <= due,
                "the machine wants to be polled at {due}, before {ms}"
            );
        }
        self.be_late_until(ms);
    }

    /// Lets time pass to `ms` without a poll.
    ///
    /// # Panics
    /// Where `ms` lies behind.
    #[track_caller]
    pub fn be_late_until(&mut self, ms: u64) {
        let passed = ms.checked_sub(self.now_ms()).expect("time goes forward");
        self.instant = Instant::from_millis(ORIGIN + ms);
        // A civil clock that comes to the end of its years stays there.
        self.wall = self
            .wall
            .map(|wall| wall.checked_add_millis(passed).unwrap_or(Timestamp::MAX));
        self.rank = 0;
    }

    /// Sets the monotonic clock to any value at all; the civil clock stays.
    pub fn set_instant(&mut self, instant: Instant) {
        self.instant = instant;
        self.rank = 0;
    }

    /// Sets the civil clock.
    pub fn set_wall(&mut self, wall: Option<Timestamp>) {
        self.wall = wall;
    }

    /// Milliseconds since [`ORIGIN`].
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        relative(self.instant)
    }

    /// What the machine is told about time.
    #[must_use]
    pub fn now(&self) -> Now {
        Now {
            instant: self.instant,
            wall: self.wall,
        }
    }

    // Inputs.

    /// Takes any input of a timetable.
    #[track_caller]
    pub fn take(&mut self, input: impl Input<M>) {
        input.apply(self);
    }

    /// Answers the request in flight.
    ///
    /// # Panics
    /// Where none is, or the answer is refused.
    #[track_caller]
    pub fn respond(&mut self, response: Response<'_>) {
        let id = self.flight().id;
        self.respond_to(id, response).expect("the answer in time");
    }

    /// Answers any request.
    ///
    /// # Errors
    /// What the machine says of it.
    #[track_caller]
    pub fn respond_to(
        &mut self,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let (now, before) = (self.now(), self.machine.clone());
        let may_live = self.may_live(id);
        let result = self.machine.handle_response(now, id, response);
        self.after_answer(&before, may_live, result, |book| {
            book.answer(response.reply)
        });
        result
    }

    /// Says that the request in flight failed.
    ///
    /// # Panics
    /// Where none is, or the news are refused.
    #[track_caller]
    pub fn fail(&mut self, failure: Failure) {
        let id = self.flight().id;
        self.fail_of(id, failure).expect("the failure in time");
    }

    /// Says that any request failed.
    ///
    /// # Errors
    /// What the machine says of it.
    #[track_caller]
    pub fn fail_of(&mut self, id: RequestId, failure: Failure) -> Result<(), StaleRequest> {
        let (now, before) = (self.now(), self.machine.clone());
        let may_live = self.may_live(id);
        let result = self.machine.handle_failure(now, id, failure);
        self.after_answer(&before, may_live, result, |book| {
            book.close();
        });
        result
    }

    // Outputs.

    /// Polls once.
    #[track_caller]
    pub fn poll_once(&mut self) -> Seen {
        let now = self.now();
        self.book.pass_time(now.instant);
        let seen = Seen::from(self.machine.poll(now));
        self.rank = laws::order(self.rank, &seen);
        self.book.output(&seen, now);
        let text = describe(&seen, self.machine.named(), ORIGIN);
        self.record(&seen, text);
        self.waiting = seen.is_settled().then(|| seen.clone());
        seen
    }

    /// Polls until there is nothing to do, and checks all laws. The texts of the outputs.
    ///
    /// # Panics
    /// Where a law is broken.
    #[track_caller]
    pub fn settle(&mut self) -> Vec<String> {
        let start = self.transcript.len();
        let settled = (0..POLLS_MAX).any(|_| self.poll_once().is_settled());
        assert!(
            settled,
            "L1: no wait after {POLLS_MAX} polls: {:#?}",
            self.tail()
        );
        self.check();
        self.rank = 0;
        let texts = self.transcript.get(start..).unwrap_or_default().iter();
        texts.map(|line| without_body(line).to_owned()).collect()
    }

    /// Settles, and compares the outputs with `expected`; the wait only where one is expected.
    ///
    /// # Panics
    /// Where they differ.
    #[track_caller]
    pub fn expect(&mut self, expected: &[&str]) {
        let mut found = self.settle();
        if !expected.iter().any(|text| text.starts_with("wait")) {
            found.retain(|text| !text.starts_with("wait"));
        }
        assert_eq!(found, expected, "at {} ms", self.now_ms());
    }

    // Questions.

    /// The book, for calls that it has to know of.
    pub const fn ledger_mut(&mut self) -> &mut M::Ledger {
        &mut self.book
    }

    /// The machine.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The request in flight.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    #[track_caller]
    pub fn flight(&self) -> &Sent {
        &self.book.flight().expect("a request in flight").sent
    }

    /// The request in flight, if one is.
    #[must_use]
    pub fn flight_if_any(&self) -> Option<&Sent> {
        Some(&self.book.flight()?.sent)
    }

    /// The write in flight.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    #[track_caller]
    pub fn write(&self) -> &Write {
        self.flight().write.as_ref().expect("a write in flight")
    }

    /// The last write that claimed the lease.
    ///
    /// # Panics
    /// Where there was none.
    #[must_use]
    #[track_caller]
    pub fn last_claim(&self) -> &Write {
        self.book
            .last_write()
            .expect("a write that claimed the lease")
    }

    /// The last write that claimed the lease, if there was one.
    #[must_use]
    pub fn last_claim_if_any(&self) -> Option<&Write> {
        self.book.last_write()
    }

    /// When the machine wants to be polled; `None` where it has ended or has more to say.
    #[must_use]
    pub fn wakes_at(&self) -> Option<u64> {
        self.waits_until().map(relative)
    }

    /// When the machine wants to be polled, by its own clock.
    #[must_use]
    pub const fn waits_until(&self) -> Option<Instant> {
        match self.waiting {
            Some(Seen::Wait(at)) => Some(at),
            Some(Seen::Event(_) | Seen::Cancel(_) | Seen::Request(_) | Seen::Done) | None => None,
        }
    }

    /// Whether the machine has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.waiting == Some(Seen::Done)
    }

    /// Ids that can never come back.
    #[must_use]
    pub fn dead_ids(&self) -> Vec<RequestId> {
        self.book.dead()
    }

    /// All outputs so far, writes with their bodies.
    #[must_use]
    pub fn transcript(&self) -> &[String] {
        &self.transcript
    }

    // Behind the scenes.

    /// Calls any method of the machine.
    pub fn call(&mut self, call: impl FnOnce(&mut M, Now)) {
        let now = self.now();
        self.book.pass_time(now.instant);
        call(&mut self.machine, now);
        self.rank = 0;
        self.waiting = None;
    }

    /// Whether an answer to `id` has to be taken; `None` where the clock was just set back, when
    /// a machine may forget even its reads.
    fn may_live(&mut self, id: RequestId) -> Option<bool> {
        let largest = self.book.largest();
        self.book.pass_time(self.instant);
        if self.book.largest() < largest {
            return None;
        }
        let wanted = self.machine.in_flight().is_some_and(|it| it.id == id);
        let flight = self.book.flight();
        Some(wanted && flight.is_some_and(|it| self.book.largest() < it.sent.deadline))
    }

    #[track_caller]
    fn after_answer(
        &mut self,
        before: &M,
        may_live: Option<bool>,
        result: Result<(), StaleRequest>,
        note: impl FnOnce(&mut M::Ledger),
    ) {
        if let Some(live) = may_live {
            assert_eq!(
                result.is_ok(),
                live,
                "L5: an answer was taken that is dead, or refused"
            );
        }
        if result.is_ok() {
            note(&mut self.book);
            self.waiting = None;
            self.rank = 0;
            if may_live.is_none() {
                self.book.was_reset();
            }
        } else {
            laws::unchanged(before, &self.machine, self.now(), may_live.is_none());
        }
    }

    #[track_caller]
    fn check(&self) {
        let settled = self.waiting.as_ref().expect("a settled machine");
        self.book.settled(&self.machine, settled, self.now());
    }

    fn record(&mut self, seen: &Seen, text: String) {
        let write = match seen {
            Seen::Request(sent) => sent.write.as_ref(),
            Seen::Event(_) | Seen::Cancel(_) | Seen::Wait(_) | Seen::Done => None,
        };
        self.transcript.push(match write {
            Some(write) => format!("{text}  {}", describe_body(write)),
            None => text,
        });
    }

    fn tail(&self) -> &[String] {
        let start = self.transcript.len().saturating_sub(POLLS_MAX);
        self.transcript.get(start..).unwrap_or_default()
    }
}

/// Milliseconds since [`ORIGIN`].
fn relative(at: Instant) -> u64 {
    at.as_millis().saturating_sub(ORIGIN)
}

/// A line of the transcript without the body of a write.
fn without_body(line: &str) -> &str {
    line.split("  ").next().unwrap_or_default()
}
