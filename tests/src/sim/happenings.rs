//! What the entries of a schedule do to a world.

use super::plan::rate_in;
use super::queue::Due;
use super::schedule::{Call, Entry, What};
use super::server::{Edit, Namespace};
use super::world::World;
use crate::subject::Subject;

/// For this long after its start a server answers 403 to everybody.
const STARTING_US: u64 = 500_000;

impl<M: Subject> World<M> {
    /// An entry of the schedule begins.
    pub(super) fn begin(&mut self, index: usize) -> Result<(), String> {
        let Entry { until_us, what, .. } = self.plan.schedule[index];
        self.totals.fault(name(&what));
        self.note(format_args!("{what:?} until {until_us}"));
        self.queue.push(until_us, Due::End(index));
        match what {
            What::Weather(..) | What::Storm(..) | What::Down(_) => self.active.push(index),
            What::Pause(seat) => {
                let process = &mut self.processes[seat];
                process.asleep_until_us = process.asleep_until_us.max(until_us);
                self.contacts[seat].stands_still(until_us);
            }
            What::Crash { seat, .. } => return self.kill(seat),
            What::Rate(seat, thousandths) => {
                let rate = rate_in(self.plan.band, thousandths);
                return self.set_rate(seat, rate);
            }
            What::Wall(seat, by_us) => self.processes[seat].clock.step_wall(by_us),
            What::Reset(seat, local_ms) => {
                self.queue.push(self.at_us, Due::Reset(seat, local_ms));
            }
            What::Edit(edit) => self.edit(edit),
            What::Namespace(namespace) => {
                let version = self.server.set_namespace(namespace);
                self.outside(version);
            }
            What::Call(seat, call) => {
                let life = self.processes[seat].life;
                self.queue.push(self.at_us, Due::Call(seat, life, call));
            }
        }
        Ok(())
    }

    /// An entry of the schedule is over.
    pub(super) fn finish(&mut self, index: usize) -> Result<(), String> {
        self.active.retain(|active| *active != index);
        match self.plan.schedule[index].what {
            What::Down(_) => {
                let until_us = (self.at_us + STARTING_US).min(self.plan.calm_us);
                self.starting_until_us = self.starting_until_us.max(until_us);
            }
            What::Namespace(_) => {
                self.server.set_namespace(Namespace::Active);
            }
            What::Crash {
                seat,
                same_identity,
            } => return self.restart(seat, same_identity),
            What::Call(seat, Call::Stop | Call::StopWhenIdle) => {
                if self.processes[seat].is_done {
                    self.kill(seat)?;
                    return self.restart(seat, false);
                }
            }
            What::Weather(..)
            | What::Storm(..)
            | What::Pause(_)
            | What::Rate(..)
            | What::Wall(..)
            | What::Reset(..)
            | What::Edit(_)
            | What::Call(_, Call::StepDown(_)) => {}
        }
        Ok(())
    }

    pub(super) fn call(&mut self, seat: usize, life: u32, call: Call) -> Result<(), String> {
        if !self.is_alive(seat, life) {
            return Ok(());
        }
        self.log_of(seat, format_args!("{call:?}"));
        let process = &mut self.processes[seat];
        match call {
            Call::StepDown(cooldown) => {
                let rest = cooldown.saturating_add(process.config.timing.renew_deadline);
                let until_us = self.at_us + process.clock.true_us(rest.as_millis());
                process.rests_until_us = process.rests_until_us.max(until_us);
                process.call(self.at_us, |machine, now| machine.step_down(now, cooldown));
            }
            Call::Stop => process.call(self.at_us, M::stop),
            Call::StopWhenIdle => {
                process.call(self.at_us, M::stop_when_idle);
                // The work goes on for a while, as long as it may.
                let done_us = self.at_us + 5_000_000;
                self.queue.push(done_us, Due::WorkDone(seat, life));
            }
        }
        self.drive(seat)
    }

    pub(super) fn work_done(&mut self, seat: usize, life: u32) -> Result<(), String> {
        if !self.is_alive(seat, life) {
            return Ok(());
        }
        self.log_of(seat, format_args!("work done"));
        self.processes[seat].call(self.at_us, M::work_done);
        self.drive(seat)
    }

    /// The host of a clock that starts anew wakes up: it was its sleep that reset it.
    pub(super) fn reset_clock(&mut self, seat: usize, local_ms: u64) -> Result<(), String> {
        let process = &mut self.processes[seat];
        if !process.sees_reset(local_ms) {
            return Ok(());
        }
        process.clock.reset(self.at_us, local_ms * 1_000);
        self.log_of(seat, format_args!("clock starts anew"));
        self.drive(seat)
    }

    fn set_rate(&mut self, seat: usize, rate: u64) -> Result<(), String> {
        let process = &mut self.processes[seat];
        process.clock.set_rate(self.at_us, rate);
        self.log_of(seat, format_args!("clock at rate {rate}"));
        // Its own instants lie elsewhere in true time now. The poll that finds them comes at once,
        // or when it would come otherwise, where the process stands still.
        if self.processes[seat].asleep_until_us > self.at_us {
            return self.sample(seat);
        }
        self.drive(seat)
    }

    fn edit(&mut self, edit: Edit) {
        let before = self.server.lease().map(|lease| lease.spec.clone());
        let Some(version) = self.server.edit(edit, self.at_us) else {
            return;
        };
        let shorter = |seconds: Option<i32>| {
            let old = before.as_ref().and_then(|spec| spec.lease_duration_seconds);
            seconds.is_none_or(|new| new <= 0 || old.is_none_or(|old| new < old))
        };
        let dangerous = match edit {
            Edit::Labels | Edit::Times | Edit::Remake | Edit::Finalize => false,
            Edit::Duration(seconds) => shorter(seconds),
            Edit::Clear | Edit::Steal(..) | Edit::Delete => true,
        };
        if dangerous {
            self.outside(version);
        }
        // A record that somebody else touched is known again by its time alone.
        self.disguises += u64::from(edit != Edit::Labels);
        if matches!(
            edit,
            Edit::Clear | Edit::Steal(..) | Edit::Delete | Edit::Times
        ) {
            self.owner = None;
        }
    }

    fn restart(&mut self, seat: usize, same_identity: bool) -> Result<(), String> {
        let same = self.processes[seat].config.identity;
        let identity = if same_identity {
            Some(same)
        } else {
            self.new_identity()
        };
        identity.map_or(Ok(()), |identity| self.start(seat, identity))
    }
}

/// The name of a happening among the totals.
const fn name(what: &What) -> &'static str {
    match what {
        What::Weather(..) => "weather",
        What::Storm(..) => "storm",
        What::Down(_) => "server down",
        What::Pause(_) => "pause",
        What::Crash { .. } => "crash",
        What::Rate(..) => "clock rate",
        What::Wall(..) => "wall step",
        What::Reset(..) => "clock reset",
        What::Edit(_) => "edit",
        What::Namespace(_) => "namespace",
        What::Call(..) => "call",
    }
}
