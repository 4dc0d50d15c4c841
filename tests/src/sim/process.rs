//! [`Process`]: one machine on one host, driven by the letter of its contract.

mod checks;
mod hear;

use kubelease_core::elector::{Config, POLLS_MAX};
use kubelease_core::lease::RecordTime;
use kubelease_core::protocol::{Event, Failure, Output, RequestId};
use kubelease_core::time::{Duration, Instant, Now};

use self::checks::rank;
use super::clock::Clock;
use super::lawyer::Lawyer;
use super::op::{Answer, Op, Said};
use super::plan::Seat;
use super::random::Random;
use crate::seen::Seen;
use crate::subject::Subject;

/// Longest silence of a stream, where the retry period is not longer.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// A process.
#[derive(Clone, Debug)]
pub struct Process<M> {
    /// The configuration, with the identity of this life.
    pub config: Config<'static>,
    /// The clocks of its host.
    pub clock: Clock,
    /// The machine, while the process lives.
    pub machine: Option<M>,
    /// How many processes lived here before.
    pub life: u32,
    /// When it is polled next, in true time.
    pub wake_us: u64,
    /// It stands still until here.
    pub asleep_until_us: u64,
    /// The request on its way.
    pub flight: Option<Flight>,
    /// Requests of this life.
    pub requests: u32,
    /// The version that its last acknowledged write made.
    pub acked: u64,
    /// Writes and reads since they were last counted.
    pub writes_and_reads: (u64, u64),
    /// Writes of this life that made it the holder.
    pub claims: u64,
    /// The times of all writes of this life.
    pub sent_times: Vec<RecordTime>,
    /// The time in the record that it read last.
    pub read_time: RecordTime,
    /// How often this life met a twin.
    pub collisions: u64,
    /// Whether the machine has ended.
    pub is_done: bool,
    /// It stepped down, and may be resting until here.
    pub rests_until_us: u64,
    late_us: u64,
    noise_ms: u64,
    random: Random,
    largest: Instant,
    until: Option<Instant>,
    announced: Option<u64>,
    polls: usize,
    rank: u8,
    watch: Watch,
    lawyer: Option<Lawyer>,
}

/// How closely the laws are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Not at all: only what comes of it counts.
    Nothing,
    /// As far as it costs next to nothing.
    Cheap,
    /// All of them on every step; a broken one panics.
    Full,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Its id.
    pub id: RequestId,
    /// The instant of the poll that handed it out.
    pub sent: Instant,
    /// From when on it is dead.
    pub deadline: Instant,
    /// Whether it writes the holder.
    pub claims: bool,
    /// Whether it is a watch.
    pub is_watch: bool,
}

/// What a poll said, kept past the machine's next call.
#[derive(Clone, Debug)]
pub enum Turn {
    /// An event.
    Event(Event),
    /// A request is no longer wanted.
    Cancelled,
    /// A request to send.
    Send(RequestId, Box<Op>),
    /// Settled: it has said when to poll again, or has ended.
    Settled,
}

impl<M: Subject> Process<M> {
    /// The place of `seat`, without a process yet.
    #[must_use]
    pub fn new(seat: &Seat, seed: u64, watch: Watch) -> Self {
        Self {
            config: seat.config,
            clock: seat.clock.clone(),
            machine: None,
            life: 0,
            wake_us: u64::MAX,
            asleep_until_us: 0,
            flight: None,
            requests: 0,
            acked: 0,
            writes_and_reads: (0, 0),
            claims: 0,
            sent_times: Vec::new(),
            read_time: RecordTime::Absent,
            collisions: 0,
            is_done: false,
            rests_until_us: 0,
            late_us: seat.late_us,
            noise_ms: seat.noise_ms,
            random: Random::of(&[seed, 0x6e6f_6973]),
            largest: Instant::default(),
            until: None,
            announced: None,
            polls: 0,
            rank: 0,
            watch,
            lawyer: None,
        }
    }

    /// A new process starts here, with a machine that `make` makes.
    pub fn start(
        &mut self,
        at_us: u64,
        identity: &'static str,
        make: fn(Config<'static>, Now) -> M,
    ) {
        self.config.identity = identity;
        self.config.seed = self.random.next_u64();
        let now = self.clock.now(at_us);
        self.machine = Some(make(self.config, now));
        self.lawyer =
            (self.watch == Watch::Full).then(|| Lawyer::new(identity, self.config.timing, now));
        self.is_done = false;
        self.wake_us = at_us;
        self.largest = now.instant;
        self.requests = 0;
        self.sent_times.clear();
        self.claims = 0;
        self.collisions = 0;
    }

    /// The process is killed.
    pub fn kill(&mut self) {
        self.machine = None;
        self.life += 1;
        self.wake_us = u64::MAX;
        self.asleep_until_us = 0;
        self.rests_until_us = 0;
        self.flight = None;
        self.until = None;
        self.announced = None;
        self.is_done = false;
    }

    /// Whether the process lives and its machine has not ended.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.machine.is_some() && !self.is_done
    }

    /// When it is to be polled: not while it stands still.
    #[must_use]
    pub fn due_us(&self) -> u64 {
        self.wake_us.max(self.asleep_until_us)
    }

    /// Polls once.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn turn(&mut self, at_us: u64) -> Result<Turn, String> {
        let now = self.clock.now(at_us);
        self.pass(now.instant);
        let Some(machine) = &mut self.machine else {
            return Ok(Turn::Settled);
        };
        let until = machine.leading_until();
        if let Some(lawyer) = &mut self.lawyer {
            lawyer.before_poll(now);
        }
        let output = machine.poll(now);
        if let Some(lawyer) = &mut self.lawyer {
            lawyer.polled(&Seen::from(output), now);
        }
        self.polls += 1;
        if self.polls > POLLS_MAX {
            return Err(format!("L1: {} polls and still no wait", self.polls));
        }
        let rank = rank(&output);
        if rank < self.rank {
            return Err(format!("L4: {output:?} comes too late"));
        }
        self.rank = rank;
        match output {
            Output::Event(event) => {
                self.check_event(event)?;
                Ok(Turn::Event(event))
            }
            Output::Cancel(id) => {
                let flight = self.flight.take().map(|flight| flight.id);
                if flight == Some(id) {
                    Ok(Turn::Cancelled)
                } else {
                    Err(format!(
                        "L5: {id:?} is cancelled, and {flight:?} is in flight"
                    ))
                }
            }
            Output::Request(request) => {
                let (id, deadline) = (request.id, request.deadline);
                let op = Box::new(Op::from(request.operation));
                self.send(id, deadline, &op, until, now.instant)?;
                Ok(Turn::Send(id, op))
            }
            Output::WaitUntil(wait) => {
                if let Some(lawyer) = &mut self.lawyer {
                    lawyer.settled(machine, &Seen::Wait(wait), now);
                }
                self.settle(wait, now.instant, at_us)?;
                Ok(Turn::Settled)
            }
            Output::Done => {
                if let Some(lawyer) = &mut self.lawyer {
                    lawyer.settled(machine, &Seen::Done, now);
                }
                self.is_done = true;
                self.wake_us = u64::MAX;
                self.polls = 0;
                self.rank = 0;
                Ok(Turn::Settled)
            }
        }
    }

    /// Gives the machine an answer; says whether it was taken.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn answer(&mut self, at_us: u64, id: RequestId, answer: &Answer) -> Result<bool, String> {
        let now = self.noisy(at_us);
        let flight = self.flight.filter(|flight| flight.id == id);
        let live = self.pass(now.instant) && self.is_live(id);
        let Some(machine) = &mut self.machine else {
            return Ok(false);
        };
        let lawyer = self.lawyer.as_mut();
        let watched = lawyer.map(|lawyer| (lawyer.before_input(machine, now), lawyer));
        let response = answer.response();
        let taken = machine.handle_response(now, id, response).is_ok();
        if let Some((before, lawyer)) = watched {
            let reply = taken.then_some(Some(response.reply));
            lawyer.after_input(&before, machine, now, reply);
        }
        if taken != live {
            return Err(format!(
                "L5: the answer to {id:?} is live: {live}, taken: {taken}"
            ));
        }
        if taken {
            self.flight = None;
            if let Said::Lease(record) = &answer.said {
                let spec = record.spec.as_ref();
                self.read_time = spec.map_or(RecordTime::Absent, |spec| spec.renew_time);
                let version = record.version.resource_version.as_number();
                self.check_truth(flight, version.unwrap_or_default())?;
            }
        }
        self.check_until()?;
        Ok(taken)
    }

    /// Tells the machine that a request failed; says whether it listened.
    ///
    /// # Errors
    /// The law that was broken.
    pub fn fail(&mut self, at_us: u64, id: RequestId, failure: Failure) -> Result<bool, String> {
        let now = self.noisy(at_us);
        let live = self.pass(now.instant) && self.is_live(id);
        let Some(machine) = &mut self.machine else {
            return Ok(false);
        };
        let lawyer = self.lawyer.as_mut();
        let watched = lawyer.map(|lawyer| (lawyer.before_input(machine, now), lawyer));
        let taken = machine.handle_failure(now, id, failure).is_ok();
        if let Some((before, lawyer)) = watched {
            lawyer.after_input(&before, machine, now, taken.then_some(None));
        }
        if taken != live {
            return Err(format!(
                "L5: the failure of {id:?} is live: {live}, taken: {taken}"
            ));
        }
        if taken {
            self.flight = None;
        }
        self.check_until()?;
        Ok(taken)
    }

    /// Whether a clock that starts anew at `local_ms` shows to the machine that it did: no clock
    /// may stand still for a process, and one that is set ahead of all it was told seems to.
    #[must_use]
    pub const fn sees_reset(&self, local_ms: u64) -> bool {
        local_ms + 1_000 < self.largest.as_millis()
    }

    /// The application calls.
    pub fn call(&mut self, at_us: u64, call: impl FnOnce(&mut M, Now)) {
        let now = self.noisy(at_us);
        self.pass(now.instant);
        if let Some(machine) = &mut self.machine {
            call(machine, now);
            if let Some(lawyer) = &mut self.lawyer {
                lawyer.called(machine, now);
            }
            self.until = machine.leading_until();
        }
        self.wake_us = at_us;
    }

    /// Whether it contends for nothing because it stepped down.
    #[must_use]
    pub const fn is_resting(&self, at_us: u64) -> bool {
        at_us < self.rests_until_us
    }

    /// Half of the safety margin.
    #[must_use]
    pub const fn grace(&self) -> Duration {
        let timing = self.config.timing;
        timing
            .lease_duration
            .saturating_sub(timing.renew_deadline)
            .half()
    }

    fn send(
        &mut self,
        id: RequestId,
        deadline: Instant,
        op: &Op,
        until: Option<Instant>,
        sent: Instant,
    ) -> Result<(), String> {
        let timing = &self.config.timing;
        let is_watch = matches!(op, Op::Watch(_));
        let timeout = self.largest.saturating_add(if is_watch {
            SILENCE_MAX.max(timing.retry_period)
        } else {
            timing.request_timeout
        });
        if is_watch && until.is_some() {
            return Err(format!("{id:?} is a leader's watch"));
        }
        let latest = until.map_or(timeout, |until| until.min(timeout));
        if self.watch != Watch::Nothing && deadline > latest {
            return Err(format!("L5: {id:?} outlives its timeout or leadership"));
        }
        if self.flight.is_some() {
            return Err(format!("L5: {id:?} is a second request in flight"));
        }
        let claims = match op {
            Op::Get | Op::Watch(_) => false,
            Op::Create { .. } => true,
            Op::Update { version, .. } => {
                if version.resource_version.is_empty() || version.uid.is_empty() {
                    return Err(format!("{id:?} writes without a version"));
                }
                !op.name().starts_with("release")
            }
        };
        if let Some(spec) = op.spec() {
            self.sent_times.push(spec.renew_time);
            self.writes_and_reads.0 += 1;
        } else {
            self.writes_and_reads.1 += 1;
        }
        self.requests += 1;
        self.flight = Some(Flight {
            id,
            sent,
            deadline,
            claims,
            is_watch,
        });
        Ok(())
    }

    fn settle(&mut self, wait: Instant, now: Instant, at_us: u64) -> Result<(), String> {
        if wait <= self.largest {
            return Err(format!("L2: waits until {wait:?} at {now:?}"));
        }
        if self.flight.is_some_and(|flight| wait > flight.deadline) {
            return Err(format!(
                "L5: waits until {wait:?}, past the deadline in flight"
            ));
        }
        let late_us = self.random.below(self.late_us + 1);
        self.wake_us = self
            .clock
            .reaches_us(wait)
            .max(at_us)
            .saturating_add(late_us);
        self.polls = 0;
        self.rank = 0;
        self.check_until()
    }

    /// What the clock shows to a call on another processor.
    fn noisy(&mut self, at_us: u64) -> Now {
        let mut now = self.clock.now(at_us);
        let noise = Duration::from_millis(self.random.below(self.noise_ms + 1));
        now.instant = now.instant.saturating_sub(noise);
        now
    }
}
