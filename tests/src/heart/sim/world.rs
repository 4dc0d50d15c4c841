//! [`World`]: hosts, network and server in one true time, which jumps to whatever is due.

use std::collections::{BTreeMap, VecDeque};

use kubelease_core::lease::Readiness;
use kubelease_core::protocol::Failure;

use super::calm::Sight;
use super::host::Host;
use super::place::Place;
use super::plan::{Plan, SETTLING_US};
use super::server::Arrival;
use crate::heart::Alive;
use crate::heart::server::HeartAnswer;
use crate::sim::queue::{Asker, Queue};
use crate::sim::server::Namespace;

/// How often the node controller and the garbage collector look, and a host says that it is alive.
const LOOK_US: u64 = 5_000_000;

/// How many of the last lines a broken rule is explained by.
const LINES_MAX: usize = 60;

/// How often what happened.
pub type Totals = BTreeMap<String, u64>;

/// A world.
#[derive(Debug)]
pub struct World {
    pub(super) plan: Plan,
    pub(super) at_us: u64,
    pub(super) queue: Queue<Due>,
    pub(super) places: Vec<Place>,
    pub(super) hosts: Vec<Host>,
    /// Entries of the schedule that last.
    pub(super) active: Vec<usize>,
    pub(super) namespace: Namespace,
    pub(super) totals: Totals,
    /// What is held against the end, since things have to be well.
    pub(super) sight: Option<Sight>,
    lines: VecDeque<String>,
}

/// What is due.
#[derive(Debug)]
pub(super) enum Due {
    /// A process starts at this seat, if none is there.
    Start(usize),
    /// An entry of the schedule begins.
    Begin(usize),
    /// It is over.
    End(usize),
    /// A request arrives at the server.
    Arrive(Box<Arrival>),
    /// An answer arrives, with the uid of the lease's owner and whether it has others.
    Answer(Asker, Box<HeartAnswer>, Option<String>, bool),
    /// The host of this seat tries to say that its Node is ready.
    Post(usize),
    /// The node controller and the garbage collector look, and hosts say that they are alive.
    Look,
    /// From now on everything has to be well.
    Well,
}

/// Lets the world of `seed` happen: how often what did.
///
/// # Panics
/// Where a law or a rule is broken.
#[must_use]
pub fn run(seed: u64) -> Totals {
    World::new(Plan::new(seed)).run()
}

impl World {
    /// The world of a plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let places = 1 + plan.seats.iter().map(|seat| seat.place).max().unwrap_or(0);
        let seeds = (0..).map(|number: u64| plan.seed ^ number.rotate_right(8));
        let hosts = plan.seats.iter().zip(seeds);
        Self {
            at_us: 0,
            queue: Queue::default(),
            places: (0..places).map(|_| Place::default()).collect(),
            hosts: hosts.map(|(seat, seed)| Host::new(seat, seed)).collect(),
            active: Vec::new(),
            namespace: Namespace::Active,
            totals: Totals::new(),
            sight: None,
            lines: VecDeque::new(),
            plan,
        }
    }

    /// Lets it happen.
    ///
    /// # Panics
    /// Where a law or a rule is broken.
    #[must_use]
    pub fn run(mut self) -> Totals {
        self.prepare();
        let end_us = self.plan.end_us();
        loop {
            let wakes = self.hosts.iter().map(Host::due_us).enumerate();
            let (seat, wake_us) = wakes
                .min_by_key(|(_, at_us)| *at_us)
                .unwrap_or((0, u64::MAX));
            let next_us = self.queue.next_us();
            if wake_us.min(next_us) >= end_us {
                self.at_us = end_us;
                self.check_all_is_well();
                return core::mem::take(&mut self.totals);
            }
            if next_us <= wake_us {
                self.at_us = next_us;
                if let Some(due) = self.queue.pop() {
                    self.happen(due);
                }
            } else {
                self.at_us = wake_us;
                self.drive(seat);
            }
        }
    }

    fn prepare(&mut self) {
        for place in &mut self.places {
            place.register(Readiness::Ready, 0);
        }
        for (seat, plan) in self.plan.seats.iter().enumerate() {
            self.queue.push(plan.starts_us, Due::Start(seat));
        }
        for (index, entry) in self.plan.schedule.iter().enumerate() {
            self.queue.push(entry.at_us, Due::Begin(index));
        }
        self.queue.push(LOOK_US, Due::Look);
        self.queue.push(self.plan.calm_us + SETTLING_US, Due::Well);
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Start(seat) => {
                if self.hosts[seat].driver.is_none() {
                    self.note(format_args!("seat {seat} starts"));
                    self.hosts[seat].start(self.at_us);
                    self.say_alive(seat);
                }
            }
            Due::Begin(index) => self.begin(index),
            Due::End(index) => self.finish(index),
            Due::Arrive(arrival) => self.arrive(&arrival),
            Due::Answer(asker, answer, owner, has_others) => {
                let until_us = self.hosts[asker.seat].asleep_until_us;
                if until_us > self.at_us {
                    let due = Due::Answer(asker, answer, owner, has_others);
                    self.queue.push(until_us, due);
                } else if self.hosts[asker.seat].life == asker.life {
                    self.answer(asker, *answer, owner.as_deref(), has_others);
                }
            }
            Due::Post(seat) => self.post(seat),
            Due::Look => self.look(),
            Due::Well => self.sight = Some(Sight::new(self)),
        }
    }

    /// The node controller, the garbage collector and the hosts do what they do again and again.
    fn look(&mut self) {
        for place in &mut self.places {
            place.control(self.at_us);
            // It is slow, and its delay is no more than its period here.
            place.collect();
        }
        for seat in 0..self.hosts.len() {
            self.say_alive(seat);
        }
        self.queue.push(self.at_us + LOOK_US, Due::Look);
    }

    fn say_alive(&mut self, seat: usize) {
        let (at_us, host) = (self.at_us, &mut self.hosts[seat]);
        let is_silent = host.silent_until_us.max(host.asleep_until_us) > at_us;
        let needs_it = host.kind.0.liveness_ttl.is_some() && !host.is_retired;
        if needs_it && !is_silent {
            if let Some(driver) = host.at(at_us, false) {
                driver.take(Alive);
            }
            self.drive(seat);
        }
    }

    /// Polls until there is nothing left to do.
    pub(super) fn drive(&mut self, seat: usize) {
        let (said, sent) = self.hosts[seat].poll(self.at_us);
        for text in &said {
            if text.starts_with("wait") {
                continue;
            }
            self.note(format_args!("seat {seat}: {text}"));
            self.count(text);
            if text.starts_with("NodeNotReady") {
                self.hosts[seat].wants_post = true;
                self.queue.push(self.at_us + 100_000, Due::Post(seat));
            }
        }
        if let Some(sent) = sent {
            self.send(seat, &sent);
        }
    }

    fn answer(&mut self, asker: Asker, answer: HeartAnswer, owner: Option<&str>, others: bool) {
        let host = &mut self.hosts[asker.seat];
        let answer = host.with_owners(answer, owner, others);
        let must_try = host.answer(self.at_us, asker.id, &answer);
        self.drive(asker.seat);
        if must_try {
            self.hosts[asker.seat].must_try_soon(self.at_us);
        }
    }

    /// As the adapter does: until it was heard.
    fn post(&mut self, seat: usize) {
        let place = self.hosts[seat].place;
        if !self.hosts[seat].wants_post {
            return;
        }
        let is_heard = self.at_us >= self.plan.calm_us || self.hosts[seat].random.chance(500);
        if is_heard && self.places[place].server.node.is_some() {
            self.places[place].post_ready(self.at_us);
            self.hosts[seat].wants_post = false;
            self.note(format_args!("seat {seat} posts Ready"));
            self.count("posts");
        } else {
            self.queue.push(self.at_us + 1_000_000, Due::Post(seat));
        }
    }

    /// The process of this seat is killed, if there is one.
    pub(super) fn kill(&mut self, seat: usize) {
        self.note(format_args!("seat {seat} is gone"));
        self.hosts[seat].kill();
    }

    /// Counts something by its first word, writes by their last.
    pub(super) fn count(&mut self, what: &str) {
        let mut words = what.split([' ', '(']);
        let first = words.next().unwrap_or_default();
        let word = match first {
            "PUT" => what.split(' ').next_back().unwrap_or_default(),
            "Finished" => what,
            "GET" if what.len() > 3 => "GET node",
            _ => first,
        };
        *self.totals.entry(word.to_owned()).or_default() += 1;
    }

    /// A line for the case that a rule is broken.
    pub(super) fn note(&mut self, what: core::fmt::Arguments<'_>) {
        let line = format!("{:>11}  {what}", self.at_us);
        self.lines.push_back(line);
        if self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("KUBELEASE_SEED={} at {} us", self.plan.seed, self.at_us);
            for seat in &self.plan.seats {
                eprintln!("  {seat:?}");
            }
            for entry in &self.plan.schedule {
                eprintln!("  {entry:?}");
            }
            for line in &self.lines {
                eprintln!("{line}");
            }
        }
    }
}

/// What a request that was lost is heard of as.
pub(super) const fn failed(failure: Failure) -> HeartAnswer {
    HeartAnswer::Lease(crate::store::Answer::Failure(failure))
}
