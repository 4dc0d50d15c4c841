//! Time jumps to whatever is due, and everything happens in one order.

use std::collections::BTreeMap;

use kubelease::kubelease_core::prng::Prng;
use kubelease::kubelease_core::protocol::{Event, RequestId, Response};

use super::candidate::{Candidate, Want, now};
use super::script::{Moment, Script, millis};
use super::server::{Asked, Said, Server};
use super::trace::{Term, Ticked, Trace, Why};

/// Candidates begin this far apart, so that the first leads.
const BEGIN_APART_MS: u64 = 250;

/// Lets a script happen.
pub(super) fn run(script: &Script) -> Trace {
    let mut world = World::new(script);
    let end = millis(script.length);
    while let Some(at) = world.next_at().filter(|at| *at < end) {
        world.step(at);
    }
    world.finish(end);
    world.trace
}

/// What is due.
#[derive(Debug)]
enum Due {
    Arrive(usize, RequestId, Box<Asked>),
    Answer(usize, RequestId, Said),
    Crash(Option<usize>),
    Stop(Option<usize>),
}

#[derive(Debug)]
struct World<'s> {
    script: &'s Script,
    candidates: Vec<Candidate>,
    server: Server,
    /// In the order of time, and of entry where that is the same.
    queue: BTreeMap<(u64, u64), Due>,
    entries: u64,
    /// When each candidate's last write was stored that left it as holder.
    written_at: Vec<u64>,
    /// The way of each request takes half a round trip.
    half_trip: u64,
    trace: Trace,
}

impl<'s> World<'s> {
    fn new(script: &'s Script) -> Self {
        let mut prng = Prng::new(script.seed);
        let begins = (0_u64..).map(|number| number * BEGIN_APART_MS);
        let mut candidate = |(&name, begins_at)| {
            Candidate::new(name, script.timing, u64::from(prng.next_u32()), begins_at)
        };
        let candidates: Vec<_> = script
            .names
            .iter()
            .zip(begins)
            .map(&mut candidate)
            .collect();
        let mut world = Self {
            script,
            written_at: vec![0; candidates.len()],
            candidates,
            server: Server::new(),
            queue: BTreeMap::new(),
            entries: 0,
            half_trip: millis(script.round_trip) / 2,
            trace: Trace::default(),
        };
        let who = |moment: &Moment| {
            let name = moment.who.as_deref()?;
            script.names.iter().position(|each| *each == name)
        };
        for moment in &script.crashes {
            world.enter(millis(moment.at), Due::Crash(who(moment)));
        }
        for moment in &script.stops {
            world.enter(millis(moment.at), Due::Stop(who(moment)));
        }
        world
    }

    fn enter(&mut self, at: u64, due: Due) {
        self.entries += 1;
        self.queue.insert((at, self.entries), due);
    }

    fn next_at(&self) -> Option<u64> {
        let queued = self.queue.keys().next().map(|(at, _)| *at);
        let living = self.candidates.iter().filter(|each| each.elector.is_some());
        living.map(|each| each.wake_at).chain(queued).min()
    }

    fn step(&mut self, at: u64) {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= at) {
            let due = entry.remove();
            self.happen(at, due);
        }
        for who in 0..self.candidates.len() {
            let is_due = |each: &&mut Candidate| each.wake_at <= at;
            if self.candidates.get_mut(who).filter(is_due).is_some() {
                self.settle(at, who);
            }
        }
    }

    fn happen(&mut self, at: u64, due: Due) {
        match due {
            Due::Arrive(who, id, asked) => {
                if self.script.is_down(who, at) {
                    return;
                }
                let (said, is_written) = self.server.take(&asked);
                if let Some(written_at) = self.written_at.get_mut(who).filter(|_| is_written) {
                    *written_at = at;
                }
                self.enter(at + self.half_trip, Due::Answer(who, id, said));
            }
            Due::Answer(who, id, said) => {
                if !self.script.is_down(who, at) {
                    self.answer(at, who, id, &said);
                }
            }
            Due::Crash(who) => {
                if let Some(who) = who.or_else(|| self.leader()) {
                    self.crash(at, who);
                }
            }
            Due::Stop(who) => {
                if let Some(who) = who.or_else(|| self.leader()) {
                    self.trace.stops.push((who, at));
                    let candidate = self.candidates.get_mut(who);
                    if let Some(elector) = candidate.and_then(|each| each.elector.as_mut()) {
                        elector.stop(now(at));
                        self.settle(at, who);
                    }
                }
            }
        }
    }

    fn answer(&mut self, at: u64, who: usize, id: RequestId, said: &Said) {
        let Some(candidate) = self.candidates.get_mut(who) else {
            return;
        };
        let Some(elector) = candidate.elector.as_mut() else {
            return;
        };
        let response = Response::new(said.reply());
        if elector.handle_response(now(at), id, response).is_ok() {
            candidate.in_flight = None;
            let mut ticks = self.trace.requests.iter_mut().rev();
            if let Some(tick) = ticks.find(|tick| tick.who == who) {
                tick.is_answered = true;
            }
        }
        self.settle(at, who);
    }

    /// Lets a candidate do all that it wants to.
    fn settle(&mut self, at: u64, who: usize) {
        while let Some(want) = self.candidates.get_mut(who).and_then(|each| each.poll(at)) {
            match want {
                Want::Event(event) => self.note(at, who, event),
                Want::Send(id, asked) => {
                    self.trace.requests.push(Ticked {
                        who,
                        at,
                        is_write: asked.is_write(),
                        is_answered: false,
                    });
                    self.enter(at + self.half_trip, Due::Arrive(who, id, asked));
                }
            }
        }
    }

    fn note(&mut self, at: u64, who: usize, event: Event) {
        if let Event::StartedLeading { .. } = event {
            let elector = self
                .candidates
                .get(who)
                .and_then(|each| each.elector.as_ref());
            let fence = elector.and_then(|elector| elector.fence()?.token());
            self.trace.terms.push(Term {
                who,
                fence: fence.unwrap_or_default(),
                from: at,
                to: None,
                ceased: 0,
                lease_end: None,
                why: None,
            });
        } else if let Event::StoppedLeading {
            reason,
            must_cease_by,
            ..
        } = event
        {
            let is_released = reason == kubelease::StopReason::Stopped;
            self.end_term(
                who,
                at,
                must_cease_by.as_millis(),
                Why::Reason(reason),
                is_released,
            );
        }
    }

    fn end_term(&mut self, who: usize, to: u64, ceased: u64, why: Why, is_released: bool) {
        let written_at = self.written_at.get(who).copied().unwrap_or_default();
        let duration = self.script.timing.lease_duration.as_millis();
        let terms = &mut self.trace.terms;
        if let Some(term) = terms
            .iter_mut()
            .find(|term| term.who == who && term.to.is_none())
        {
            term.to = Some(to);
            term.ceased = ceased;
            term.why = Some(why);
            term.lease_end = (!is_released).then(|| written_at + duration);
        }
    }

    fn crash(&mut self, at: u64, who: usize) {
        self.trace.crashes.push((who, at));
        let Some(elector) = self
            .candidates
            .get_mut(who)
            .and_then(|candidate| candidate.elector.take())
        else {
            return;
        };
        if let Some(until) = elector.leading_until() {
            self.end_term(who, until.as_millis(), at, Why::Crashed, false);
        }
    }

    fn leader(&self) -> Option<usize> {
        let term = self.trace.terms.iter().rev().find(|term| term.to.is_none());
        term.map(|term| term.who)
    }

    /// Work of a term that lasts may go on to the end.
    fn finish(&mut self, end: u64) {
        for term in self.trace.terms.iter_mut().filter(|term| term.to.is_none()) {
            term.ceased = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use kubelease::{StopReason, Timing};

    use super::*;

    fn script(timing: Timing, outages: &[&str], crashes: &[&str]) -> Script {
        Script {
            names: vec!["ada", "bob", "cyd"],
            timing,
            outages: outages.iter().map(|text| text.parse().unwrap()).collect(),
            crashes: crashes.iter().map(|text| text.parse().unwrap()).collect(),
            stops: Vec::new(),
            length: Duration::from_secs(1_500),
            round_trip: Duration::from_millis(20),
            seed: 1,
        }
    }

    #[test]
    fn an_outage_within_the_promise_costs_nobody_the_leadership() {
        let trace = run(&script(Timing::OPENSHIFT, &["200s..254s"], &[]));
        assert_eq!(trace.terms.len(), 1);
        assert!(trace.requests.iter().any(|tick| !tick.is_answered));
    }

    #[test]
    fn a_longer_one_ends_belief_at_the_renew_deadline() {
        let trace = run(&script(Timing::OPENSHIFT, &["500s..800s"], &[]));
        let [first, _second] = &trace.terms[..] else {
            panic!("{:?}", trace.terms);
        };
        assert_eq!(first.why, Some(Why::Reason(StopReason::Deadline)));
        let writes = trace.requests.iter().filter(|tick| tick.is_write);
        let last = writes.filter(|tick| tick.is_answered && tick.at < 500_000);
        let last = last.map(|tick| tick.at).max().unwrap();
        assert_eq!(first.to, Some(last + 107_000));
        assert_eq!(first.ceased, last + 122_000);
        assert_eq!(first.lease_end, Some(last + 10 + 137_000));
    }

    #[test]
    fn a_takeover_is_within_the_promise_and_no_two_lead() {
        for seed in 0..50 {
            let script = Script {
                seed,
                ..script(Timing::KUBERNETES, &["ada@50s..90s"], &["leader@300s"])
            };
            let trace = run(&script);
            assert_eq!(trace.crashes.len(), 1);
            let most = script.timing.report().crash_takeover.as_millis() + 100;
            for (one, next) in trace.terms.iter().zip(trace.terms.iter().skip(1)) {
                let ceased = one.ceased;
                assert!(ceased <= next.from, "{one:?} beside {next:?}");
                let written = one.lease_end.unwrap() - 15_000;
                assert!(next.from - written <= most, "{next:?} after {one:?}");
            }
            assert!(trace.terms.len() >= 3);
        }
    }

    #[test]
    fn a_stop_releases_the_lease() {
        let script = Script {
            stops: vec!["leader@100s".parse().unwrap()],
            ..script(Timing::KUBERNETES, &[], &[])
        };
        let trace = run(&script);
        let [first, second] = &trace.terms[..] else {
            panic!("{:?}", trace.terms);
        };
        assert_eq!((first.to, first.lease_end), (Some(100_000), None));
        assert!(second.from < 102_500);
    }
}
