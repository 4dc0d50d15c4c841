//! What the entries of a schedule do to a world.

use kubelease_core::lease::Readiness;
use kubelease_core::lease::{Holder, RecordTime};
use kubelease_core::text::Hash;

use super::plan::{Entry, Happening, RATES};
use super::world::{Due, World};
use crate::input::Lease;
use crate::sim::schedule::What;
use crate::sim::server::{Edit, Namespace};

impl World {
    /// An entry of the schedule begins.
    pub(super) fn begin(&mut self, index: usize) {
        let Entry { until_us, what, .. } = self.plan.schedule[index];
        self.note(format_args!("{what:?} until {until_us}"));
        self.queue.push(until_us, Due::End(index));
        self.count(&match what {
            Happening::Shared(what) => format!("{what:?}"),
            own => format!("{own:?}"),
        });
        match what {
            Happening::Shared(what) => self.begin_shared(index, what, until_us),
            Happening::Register(place, readiness) => {
                self.places[place].register(readiness, self.at_us);
            }
            Happening::Unregister(place) => self.places[place].server.node = None,
            Happening::AddOwner(place) => self.edit(place, Edit::Labels, true),
            Happening::Silence(seat) => self.hosts[seat].silent_until_us = until_us,
            Happening::Retire(seat, how) => {
                let host = &mut self.hosts[seat];
                if let Some(driver) = host.at(self.at_us, false) {
                    driver.take(how);
                    host.is_retired = true;
                }
                self.drive(seat);
            }
        }
    }

    fn begin_shared(&mut self, index: usize, what: What, until_us: u64) {
        match what {
            What::Weather(..) | What::Storm(..) | What::Down(_) => self.active.push(index),
            What::Pause(seat) => {
                let host = &mut self.hosts[seat];
                host.asleep_until_us = host.asleep_until_us.max(until_us);
            }
            What::Crash { seat, .. } => self.kill(seat),
            What::Rate(seat, thousandths) => {
                let rate = RATES.0 + (RATES.1 - RATES.0) * thousandths / 1_000;
                self.hosts[seat].clock.set_rate(self.at_us, rate);
                self.drive(seat);
            }
            What::Wall(seat, by_us) => self.hosts[seat].clock.step_wall(by_us),
            What::Reset(seat, local_ms) => {
                let host = &mut self.hosts[seat];
                host.clock.reset(self.at_us, local_ms * 1_000);
                host.forget_times();
                self.drive(seat);
            }
            What::Edit(edit) => {
                let place = index % self.places.len();
                self.edit(place, edit, index.is_multiple_of(2));
            }
            What::Namespace(namespace) => {
                self.namespace = namespace;
                for place in 0..self.places.len() {
                    self.edit(place, Edit::Delete, false);
                }
            }
            What::Call(..) => {}
        }
    }

    /// An entry of the schedule is over.
    pub(super) fn finish(&mut self, index: usize) {
        self.active.retain(|active| *active != index);
        match self.plan.schedule[index].what {
            Happening::Shared(What::Crash { seat, .. }) => {
                self.queue.push(self.at_us, Due::Start(seat));
            }
            Happening::Retire(seat, _) => {
                if self.hosts[seat].is_retired {
                    self.kill(seat);
                }
                self.queue.push(self.at_us, Due::Start(seat));
            }
            Happening::Shared(What::Namespace(_)) => self.namespace = Namespace::Active,
            Happening::Unregister(place) => {
                if self.places[place].server.node.is_none() {
                    self.places[place].register(Readiness::Unsaid, self.at_us);
                }
            }
            Happening::Shared(_)
            | Happening::Register(..)
            | Happening::AddOwner(_)
            | Happening::Silence(_) => {}
        }
    }

    /// Somebody else changes the lease.
    fn edit(&mut self, place: usize, edit: Edit, adds_owner: bool) {
        let at_us = self.at_us;
        let now = self.hosts[0].clock.now(at_us).wall;
        let place = &mut self.places[place];
        let Some(mut record) = place.server.store.lease.clone() else {
            return;
        };
        let mut spec = record.spec.clone().unwrap_or_default();
        match edit {
            Edit::Labels => place.has_others |= adds_owner,
            Edit::Duration(seconds) => spec.lease_duration_seconds = seconds,
            Edit::Clear => spec.holder = Holder::default(),
            Edit::Steal(holder, seconds) => {
                spec.holder = Holder::from(holder);
                spec.lease_duration_seconds = Some(seconds);
                spec.renew_time = now.map_or(RecordTime::Absent, RecordTime::Canonical);
            }
            Edit::Times => {
                spec.renew_time = RecordTime::Other {
                    instant: None,
                    hash: Hash::of(b"10000-01-01T00:00:00.000000Z"),
                };
            }
            Edit::Delete | Edit::Remake => {}
            Edit::Finalize => record.being_deleted = true,
        }
        // A label or the beginning of a deletion says nothing about the holder, nor does a spec
        // that is written as it was.
        let is_same = record.spec.clone().unwrap_or_default() == spec;
        let makes_anew = matches!(edit, Edit::Delete | Edit::Remake);
        record.spec = Some(spec);
        let mut lease = Lease {
            record,
            server_time: None,
        };
        if edit == Edit::Remake {
            lease = lease.uid(&format!("r{at_us}"));
        }
        if edit == Edit::Delete {
            place.server.store.lease = None;
        } else {
            place.server.store.write(lease);
        }
        if makes_anew || !is_same {
            place.was_edited(at_us);
        }
    }
}
