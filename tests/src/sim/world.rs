//! [`World`]: processes, network and server in one true time, which jumps to whatever is due.

use std::collections::BTreeMap;

use kubelease_core::elector::{Config, Create, Elector};
use kubelease_core::protocol::Event;
use kubelease_core::time::Now;

use super::check::{Belief, Checker, Strictness};
use super::clock::TRUE_RATE;
use super::contact::{Contact, Limits};
use super::guard::Writer;
use super::log::Log;
use super::mix::Rates;
use super::plan::{IDENTITIES, Plan, Seat};
use super::process::{Process, Turn, Watch};
use super::queue::{Due, Queue};
use super::server::Server;
use super::stream::Stream;
use super::totals::Totals;
use crate::subject::Subject;

/// A world.
#[derive(Debug)]
pub struct World<M> {
    pub(super) plan: Plan,
    pub(super) at_us: u64,
    pub(super) queue: Queue,
    pub(super) server: Server,
    pub(super) streams: Vec<Stream>,
    pub(super) owner: Option<Writer>,
    pub(super) processes: Vec<Process<M>>,
    pub(super) contacts: Vec<Contact>,
    pub(super) active: Vec<usize>,
    /// A server that has just started answers 403 until here.
    pub(super) starting_until_us: u64,
    pub(super) identities_used: usize,
    pub(super) checker: Checker,
    pub(super) totals: Totals,
    pub(super) end_us: u64,
    /// How many terms there had been when the quiet began.
    pub(super) terms_before_quiet: u64,
    /// Writes that made somebody the holder, by identity.
    pub(super) claims: BTreeMap<&'static str, u64>,
    /// Edits after which a process does not know its own record again.
    pub(super) disguises: u64,
    pub(super) log: Log,
    make: fn(Config<'static>, Now) -> M,
}

/// What came of a world.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What happened.
    pub totals: Totals,
    /// What was wrong.
    pub violation: Option<String>,
    /// The log.
    pub log: String,
}

/// Runs a plan with the shipped elector.
#[must_use]
pub fn run(plan: &Plan, keep_log: bool) -> Outcome {
    World::new(plan.clone(), keep_log, Watch::Cheap, elector).run()
}

/// The shipped elector, as the machine of a world.
///
/// # Panics
/// Where `config` is not valid.
#[must_use]
pub fn elector(config: Config<'static>, now: Now) -> Elector<'static> {
    Elector::new(config, now).expect("plans are valid")
}

impl<M: Subject> World<M> {
    /// A world of machines that `make` makes.
    #[must_use]
    pub fn new(
        plan: Plan,
        keep_log: bool,
        watch: Watch,
        make: fn(Config<'static>, Now) -> M,
    ) -> Self {
        let strictness = match plan.mix.rates {
            Rates::Same | Rates::WithinGrace => Strictness::Work,
            Rates::Within => Strictness::Leaders,
            Rates::Beyond => Strictness::Nothing,
        };
        let process = |(seat, seed): (&Seat, u64)| Process::new(seat, seed, watch);
        let seeds = (0..).map(|number: u64| plan.seed ^ number.rotate_right(8));
        let processes: Vec<_> = plan.seats.iter().zip(seeds).map(process).collect();
        let contact = |seat: &Seat| Contact::new(limits(seat, plan.band.0));
        Self {
            at_us: 0,
            queue: Queue::default(),
            server: Server::new(plan.server_offset_us),
            streams: Vec::new(),
            owner: None,
            contacts: plan.seats.iter().map(contact).collect(),
            active: Vec::new(),
            starting_until_us: 0,
            identities_used: processes.len(),
            checker: Checker::new(processes.len(), strictness),
            totals: Totals::default(),
            end_us: u64::MAX,
            terms_before_quiet: 0,
            claims: BTreeMap::new(),
            disguises: 0,
            log: Log::new(keep_log),
            processes,
            make,
            plan,
        }
    }

    /// Lets it happen.
    #[must_use]
    pub fn run(mut self) -> Outcome {
        let violation = self.live().err();
        if let Some(violation) = &violation {
            self.note(format_args!("VIOLATION: {violation}"));
        }
        let overlaps = self.checker.overlaps();
        let totals = Totals {
            worlds: 1,
            simulated_us: self.at_us,
            changes: self.checker.changes,
            terms: self.checker.terms,
            overlaps: overlaps.count,
            overlaps_prompt: overlaps.prompt,
            overlap_max_us: overlaps.longest_us,
            by_clocks: self.checker.by_clocks,
            violations: u64::from(violation.is_some()),
            ..self.totals
        };
        Outcome {
            totals,
            violation,
            log: self.log.text(),
        }
    }

    fn live(&mut self) -> Result<(), String> {
        self.prepare();
        loop {
            let wakes = self.processes.iter().map(Process::due_us).enumerate();
            let (seat, wake_us) = wakes
                .min_by_key(|(_, at_us)| *at_us)
                .unwrap_or((0, u64::MAX));
            let next_us = self.queue.next_us();
            if wake_us.min(next_us) >= self.end_us {
                self.at_us = self.end_us;
                return self.check_quiet();
            }
            if next_us <= wake_us {
                self.at_us = next_us;
                if let Some(due) = self.queue.pop() {
                    self.happen(due)?;
                    self.feed_streams();
                }
            } else {
                self.at_us = wake_us;
                self.drive(seat)?;
            }
        }
    }

    fn prepare(&mut self) {
        for (seat, plan) in self.plan.seats.iter().enumerate() {
            self.queue.push(plan.starts_us, Due::Start(seat));
        }
        for (index, entry) in self.plan.schedule.iter().enumerate() {
            self.queue.push(entry.at_us, Due::Begin(index));
        }
        self.queue.push(self.plan.due_us, Due::Finale);
    }

    fn happen(&mut self, due: Due) -> Result<(), String> {
        if let Some(until_us) = self.sleeper(&due) {
            self.queue.push(until_us, due);
            return Ok(());
        }
        match due {
            Due::Start(seat) => {
                let identity = self.plan.seats[seat].config.identity;
                self.start(seat, identity)
            }
            Due::Begin(index) => self.begin(index),
            Due::End(index) => self.finish(index),
            Due::Arrive(arrival) => self.arrive(&arrival),
            Due::Answer(asker, answer) => {
                if !self.is_alive(asker.seat, asker.life) {
                    return Ok(());
                }
                self.log_of(
                    asker.seat,
                    format_args!("<- {:?} {}", asker.id, answer.said),
                );
                let process = &mut self.processes[asker.seat];
                let never_creates = process.config.create == Create::Never;
                if process.answer(self.at_us, asker.id, &answer)? {
                    let healthy = answer.is_genuine && answer.said.is_healthy(never_creates);
                    self.contacts[asker.seat].ended(self.at_us, healthy);
                }
                self.drive(asker.seat)
            }
            Due::Fail(asker, failure) => {
                if !self.is_alive(asker.seat, asker.life) {
                    return Ok(());
                }
                self.log_of(asker.seat, format_args!("<- {:?} {failure:?}", asker.id));
                if self.processes[asker.seat].fail(self.at_us, asker.id, failure)? {
                    self.contacts[asker.seat].ended(self.at_us, false);
                }
                self.drive(asker.seat)
            }
            Due::Line(asker, line) => self.line(asker, &line),
            Due::Tick(asker) => {
                self.tick(asker);
                Ok(())
            }
            Due::Call(seat, life, call) => self.call(seat, life, call),
            Due::WorkDone(seat, life) => self.work_done(seat, life),
            Due::Reset(seat, local_ms) => self.reset_clock(seat, local_ms),
            Due::Finale => self.finale(),
            Due::Quiet(successor_of) => self.quiet(successor_of),
        }
    }

    /// Until when this has to wait, because the process that it is for stands still.
    fn sleeper(&self, due: &Due) -> Option<u64> {
        let seat = match due {
            Due::Answer(asker, _) | Due::Fail(asker, _) | Due::Line(asker, _) => asker.seat,
            Due::Call(seat, _, _) | Due::WorkDone(seat, _) | Due::Reset(seat, _) => *seat,
            Due::Start(_)
            | Due::Begin(_)
            | Due::End(_)
            | Due::Arrive(_)
            | Due::Tick(_)
            | Due::Finale
            | Due::Quiet(_) => return None,
        };
        let until_us = self.processes[seat].asleep_until_us;
        (until_us > self.at_us).then_some(until_us)
    }

    /// Polls until there is nothing left to do.
    pub(super) fn drive(&mut self, seat: usize) -> Result<(), String> {
        if self.processes[seat].machine.is_none() {
            return Ok(());
        }
        self.sample(seat)?;
        loop {
            match self.processes[seat].turn(self.at_us)? {
                Turn::Event(event) => {
                    self.log_of(seat, format_args!("{event:?}"));
                    if event == Event::IdentityCollision {
                        self.check_collision(seat)?;
                    }
                }
                Turn::Cancelled => {
                    self.log_of(seat, format_args!("cancel"));
                    self.contacts[seat].ended(self.at_us, false);
                }
                Turn::Send(id, op) => self.send(seat, id, *op),
                Turn::Settled => break,
            }
        }
        self.sample(seat)
    }

    /// A twin is noticed once each time it takes the lease.
    fn check_collision(&mut self, seat: usize) -> Result<(), String> {
        self.totals.collisions += 1;
        let process = &mut self.processes[seat];
        if process.sent_times.contains(&process.read_time) {
            // Its own write, so late that it does not know it again: it remembers only a few.
            self.totals.forgotten += 1;
            return Ok(());
        }
        process.collisions += 1;
        let claims = self
            .claims
            .get(process.config.identity)
            .copied()
            .unwrap_or(0);
        let causes = claims - process.claims + self.disguises;
        if process.collisions <= causes {
            return Ok(());
        }
        Err(format!(
            "seat {seat} noticed a twin {} times of {causes}",
            process.collisions
        ))
    }

    /// Tells the checker whether the process leads.
    pub(super) fn sample(&mut self, seat: usize) -> Result<(), String> {
        let process = &self.processes[seat];
        let Some(machine) = &process.machine else {
            return Ok(());
        };
        let leading = machine.is_leading(process.clock.instant(self.at_us));
        let Some(until) = machine.leading_until().filter(|_| leading) else {
            return if leading {
                Err(format!("seat {seat} leads without an end"))
            } else {
                self.checker.follows(seat, self.at_us, &self.contacts)
            };
        };
        let fence = machine.fence().and_then(|fence| fence.token());
        let belief = Belief {
            end_us: process.clock.reaches_us(until),
            work_end_us: process
                .clock
                .reaches_us(until.saturating_add(process.grace())),
            fence: fence.ok_or_else(|| format!("seat {seat} leads without a fence"))?,
            acked: process.acked,
        };
        self.checker.leads(seat, self.at_us, belief, &self.contacts)
    }

    /// Somebody changed the lease who does not keep to the rules of the election.
    pub(super) fn outside(&mut self, version: u64) {
        self.checker
            .note(self.at_us, version, self.contacts.clone());
    }

    /// A new process with `identity` starts.
    pub(super) fn start(&mut self, seat: usize, identity: &'static str) -> Result<(), String> {
        if self.processes[seat].machine.is_some() {
            return Ok(());
        }
        self.processes[seat].start(self.at_us, identity, self.make);
        if self.plan.seats[seat].watches
            && let Some(machine) = &mut self.processes[seat].machine
        {
            machine.watch();
        }
        self.log_of(seat, format_args!("starts"));
        self.drive(seat)
    }

    /// The process of `seat` is killed, if there is one.
    pub(super) fn kill(&mut self, seat: usize) -> Result<(), String> {
        if self.processes[seat].machine.is_some() {
            self.log_of(seat, format_args!("is killed"));
            self.processes[seat].kill();
            self.contacts[seat].ended(self.at_us, false);
        }
        self.checker.killed(seat, self.at_us, &self.contacts)
    }

    /// An identity that no process has had.
    pub(super) fn new_identity(&mut self) -> Option<&'static str> {
        let identity = IDENTITIES.get(self.identities_used).copied();
        self.identities_used += 1;
        identity
    }

    /// Whether that process lives.
    pub(super) fn is_alive(&self, seat: usize, life: u32) -> bool {
        let process = &self.processes[seat];
        process.life == life && process.machine.is_some()
    }

    /// A line of the log about the server and the world.
    pub(super) fn note(&mut self, what: core::fmt::Arguments<'_>) {
        self.log.line(self.at_us, "-", None, what);
    }

    /// A line of the log about one process.
    pub(super) fn log_of(&mut self, seat: usize, what: core::fmt::Arguments<'_>) {
        if self.log.is_kept() {
            let process = &self.processes[seat];
            let who = format!("{}{}", process.config.identity, process.life);
            let local_ms = process.clock.instant(self.at_us).as_millis();
            self.log.line(self.at_us, &who, Some(local_ms), what);
        }
    }
}

/// What a process promises, in true time by the slowest clock.
fn limits(seat: &Seat, slowest: u64) -> Limits {
    let timing = seat.config.timing;
    let true_us = |local_ms: u64| (local_ms * 1_000 * TRUE_RATE).div_ceil(slowest);
    Limits {
        period_us: true_us(timing.retry_period.as_millis()),
        deadline_us: true_us(timing.renew_deadline.as_millis()),
        late_us: seat.late_us,
        noise_us: true_us(seat.noise_ms + 1),
        hearing_us: if seat.watches {
            true_us(seat.noise_ms + 1)
        } else {
            0
        },
    }
}
