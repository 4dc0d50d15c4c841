//! The end of a world: it is calm, somebody has to lead, and what `Timing::report()` promises of
//! takeovers and of quiet is held against what happens.

use kubelease_core::elector::Create;
use kubelease_core::time::Duration;

use super::clock::TRUE_RATE;
use super::plan::Finale;
use super::process::Process;
use super::queue::Due;
use super::schedule::Call;
use super::world::World;
use crate::subject::Subject;

/// Longest way of the fair network.
const WAY_US: u64 = 20_000;

const HOUR_US: u64 = 3_600_000_000;

/// How long the leader of the finale rests after it has stepped down.
const REST: Duration = Duration::from_secs(3_600);

impl<M: Subject> World<M> {
    /// Somebody has to lead. Then the leader goes, in one of several ways.
    pub(super) fn finale(&mut self) -> Result<(), String> {
        let Some(leader) = self.checker.leader(self.at_us) else {
            self.queue.push(self.at_us, Due::Quiet(None));
            return if self.may_lead(usize::MAX).next().is_some() {
                Err("nobody leads, and nothing has been wrong for long enough".to_owned())
            } else {
                Ok(())
            };
        };
        let finale = self.plan.finale;
        self.note(format_args!("{finale:?} of seat {leader}"));
        let due_us = match finale {
            Finale::Quiet => None,
            Finale::Crash => self.crash_bound_us(leader),
            Finale::StepDown | Finale::Stop => self.release_bound_us(leader),
        };
        let successor_of = due_us.map(|_| leader);
        self.queue
            .push(due_us.unwrap_or(self.at_us), Due::Quiet(successor_of));
        let life = self.processes[leader].life;
        match finale {
            Finale::Quiet => Ok(()),
            Finale::Crash => self.kill(leader),
            Finale::StepDown => self.call(leader, life, Call::StepDown(REST)),
            Finale::Stop => self.call(leader, life, Call::Stop),
        }
    }

    /// The takeover from the leader that has gone has to be over. From here on requests count.
    pub(super) fn quiet(&mut self, successor_of: Option<usize>) -> Result<(), String> {
        let leader = self.checker.leader(self.at_us);
        if successor_of.is_some() && (leader.is_none() || leader == successor_of) {
            return Err(format!("nobody leads in time after {:?}", self.plan.finale));
        }
        self.totals.takeovers += u64::from(successor_of.is_some());
        for process in &mut self.processes {
            process.writes_and_reads = (0, 0);
        }
        self.terms_before_quiet = self.checker.terms;
        self.end_us = self.at_us + self.plan.quiet_us;
        Ok(())
    }

    /// Nobody asked more often than the report says.
    pub(super) fn check_quiet(&mut self) -> Result<(), String> {
        if self.checker.terms != self.terms_before_quiet {
            // A twin that never wrote takes the lease of the other for its own.
            return if self.plan.mix.twins {
                Ok(())
            } else {
                Err("a term began in quiet".to_owned())
            };
        }
        let leader = self.checker.leader(self.at_us.saturating_sub(1));
        let record = self.server.lease().map(|lease| &lease.spec);
        let seconds = record
            .and_then(|spec| spec.lease_duration_seconds)
            .unwrap_or(0);
        let lease = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        for (seat, process) in self.processes.iter().enumerate() {
            // Twins that met fight for the lease, and a watcher does so at once.
            if process.collisions > 0 {
                continue;
            }
            // Who looks more rarely than others' records last tries to write where it could look.
            if process.config.timing.report().graceful_takeover >= lease {
                continue;
            }
            let (writes, reads) = process.writes_and_reads;
            // Who lost the race for the takeover has one write and one look more.
            let report = process.config.timing.report();
            let (per_hour, asked) = if Some(seat) == leader {
                (report.leader_writes_per_hour, (writes, reads > 1))
            } else {
                (
                    report.candidate_reads_per_hour,
                    (reads.saturating_sub(writes), writes > 1),
                )
            };
            let local_us = self.plan.quiet_us * process.clock.rate() / TRUE_RATE;
            let most = (u64::from(per_hour) * local_us).div_ceil(HOUR_US) + 1;
            self.totals.quiet += u64::from(writes + reads > 0);
            if asked.0 > most || asked.1 {
                return Err(format!(
                    "seat {seat} sent {writes} writes and {reads} reads, {most} are enough"
                ));
            }
        }
        Ok(())
    }

    /// A crashed leader's lease is taken over in so much time after its last write: for each
    /// candidate `crash_takeover`, the duration being that of the record, and the round trips of
    /// the GET that saw the write and of the PUT.
    fn crash_bound_us(&self, leader: usize) -> Option<u64> {
        let lease = self.server.lease()?;
        let seconds = u64::try_from(lease.spec.lease_duration_seconds?).ok()?;
        let bound_us = self.first_of(leader, |process| {
            // Who lost the race for the takeover has one write and one look more.
            let report = process.config.timing.report();
            report
                .crash_takeover
                .saturating_sub(process.config.timing.lease_duration)
                .saturating_add(Duration::from_secs(seconds))
        })?;
        // A write on its way may still arrive.
        let last_us = if self.processes[leader].flight.is_some() {
            self.at_us + WAY_US
        } else {
            lease.written_us
        };
        Some(last_us + bound_us)
    }

    /// A released lease is taken over in so much time: `graceful_takeover`, a round trip each for
    /// the look and the write; before them a round trip for a write that was on its way, and as
    /// many for the release.
    fn release_bound_us(&self, leader: usize) -> Option<u64> {
        let bound_us = self.first_of(leader, |process| {
            process.config.timing.report().graceful_takeover
        })?;
        Some(self.at_us + 6 * WAY_US + bound_us)
    }

    /// When the first of all candidates has to have done what takes it `local`, and two round
    /// trips.
    fn first_of(&self, leader: usize, local: impl Fn(&Process<M>) -> Duration) -> Option<u64> {
        let bounds = self.may_lead(leader).map(|seat| {
            let process = &self.processes[seat];
            let late_us = 3 * self.contacts[seat].limits().late_us;
            process.clock.true_us(local(process).as_millis()) + late_us + 4 * WAY_US + 2_000
        });
        bounds.min()
    }

    /// The seats of processes that can come to lead, but `leader`.
    fn may_lead(&self, leader: usize) -> impl Iterator<Item = usize> {
        let running = self
            .processes
            .iter()
            .enumerate()
            .filter(move |(seat, process)| {
                let makes = process.config.create != Create::Never || self.server.lease().is_some();
                *seat != leader && process.is_running() && makes && !process.is_resting(self.at_us)
            });
        running.map(|(seat, _)| seat)
    }
}
