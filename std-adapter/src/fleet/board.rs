//! Which lease is served next: one heap of instants over all leases, and a pace.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use kubelease_core::heartbeat::{
    Health, Heartbeat, HeartbeatConfig, HeartbeatError, HeartbeatIdentity, Retire,
};
use kubelease_core::time::{Instant, Now};

use super::counters::Counters;
use super::pace::Pace;

/// A heart that owns its names.
pub(super) type Heart = Heartbeat<Arc<HeartbeatConfig>, Arc<str>>;

/// How far the clock has to go back to count as reset: the core's own bound.
const RESET_MS: u64 = 1000;

/// All leases of a fleet.
#[derive(Debug)]
pub(super) struct Board {
    config: Arc<HeartbeatConfig>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    names: HashMap<Arc<str>, u32>,
    due: BinaryHeap<Reverse<Due>>,
    pace: Pace,
    latest: Instant,
    generations: u64,
    leases: usize,
    is_ending: bool,
    /// Whether the next instant came nearer, or the last lease is gone.
    has_news: bool,
    pub(super) counters: Counters,
}

/// One lease, or a place for one.
#[derive(Debug)]
struct Slot {
    name: Arc<str>,
    /// Counts all leases ever added.
    generation: u64,
    /// `None` while a worker has it, and where there is no lease.
    heart: Option<Box<Heart>>,
    /// When it was due as the heap knows it; other entries of the heap are stale.
    due: Due,
    /// What was asked for while a worker had the heart.
    retire: Option<Retire>,
    /// When its host was last said to be alive, of which the heart has not heard.
    alive_at: Option<Instant>,
    /// When it was last beaten, or else added.
    beaten: Instant,
    has_beaten: bool,
}

/// Ordered by instant, then by how long it has waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    index: u32,
    /// Tells the entries of one slot apart.
    stamp: u32,
}

/// A heart on its way to the server.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) index: u32,
    pub(super) generation: u64,
    pub(super) name: Arc<str>,
    pub(super) heart: Box<Heart>,
    due: Instant,
    begun: Instant,
}

/// What a worker is to do.
#[derive(Debug)]
pub(super) enum Next {
    Serve(Job),
    /// Nothing before this instant, unless something changes; `None`: nothing at all.
    Wait(Option<Instant>),
}

impl Board {
    pub(super) fn new(config: HeartbeatConfig) -> Self {
        Self {
            config: Arc::new(config),
            slots: Vec::new(),
            free: Vec::new(),
            names: HashMap::new(),
            due: BinaryHeap::new(),
            pace: Pace::default(),
            latest: Instant::default(),
            generations: 0,
            leases: 0,
            is_ending: false,
            has_news: false,
            counters: Counters::default(),
        }
    }

    /// How many leases there are, those included that are being retired.
    pub(super) const fn leases(&self) -> usize {
        self.leases
    }

    /// Whether nothing is left to be served, ever.
    pub(super) const fn is_over(&self) -> bool {
        self.is_ending && self.leases == 0
    }

    /// Whether whoever waits for an instant has to look again; once.
    pub(super) fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.has_news)
    }

    /// Adds a lease; its generation. `Err(None)` where there is one of that name.
    pub(super) fn add(
        &mut self,
        name: Arc<str>,
        identity: HeartbeatIdentity<Arc<str>>,
        now: Now,
    ) -> Result<u64, Option<HeartbeatError>> {
        if self.names.contains_key(&name) {
            return Err(None);
        }
        let heart = Heartbeat::new(Arc::clone(&self.config), identity, now).map_err(Some)?;
        let first = heart.quiet_until();
        self.generations = self.generations.wrapping_add(1);
        let slot = Slot {
            name: Arc::clone(&name),
            generation: self.generations,
            heart: Some(Box::new(heart)),
            due: Due {
                at: now.instant,
                index: 0,
                stamp: 0,
            },
            retire: None,
            alive_at: None,
            beaten: now.instant,
            has_beaten: false,
        };
        let index = self.place(slot);
        self.names.insert(name, index);
        self.leases += 1;
        self.pace.fit(self.leases, self.config.interval);
        self.schedule(index, first);
        Ok(self.generations)
    }

    /// Begins to retire a lease; whether there was one of that name and generation.
    pub(super) fn remove(&mut self, name: &str, generation: u64, how: Retire, now: Now) -> bool {
        let Some(index) = self.find(name, generation) else {
            return false;
        };
        self.names.remove(name);
        self.retire(index, how, now);
        true
    }

    /// The host of a lease is alive; whether there is one of that name and generation.
    pub(super) fn alive(&mut self, name: &str, generation: u64, now: Now) -> bool {
        let Some(index) = self.find(name, generation) else {
            return false;
        };
        let Some(slot) = self.slot(index) else {
            return false;
        };
        let Some(heart) = &mut slot.heart else {
            slot.alive_at = Some(now.instant);
            return true;
        };
        // A beat that was left out follows at once; all others keep their instant.
        let was_left_out = heart.health(now.instant) == Health::NotAlive;
        heart.alive(now);
        if was_left_out {
            self.schedule(index, now.instant);
        }
        true
    }

    /// Begins to retire all leases; none can be added any more.
    pub(super) fn end(&mut self, how: Retire, now: Now) {
        self.is_ending = true;
        self.has_news = true;
        self.names.clear();
        for index in 0..self.slots.len() {
            if let Ok(index) = u32::try_from(index) {
                self.retire(index, how, now);
            }
        }
    }

    /// The lease that has been due for longest, if one is and the pace allows it.
    pub(super) fn next(&mut self, now: Instant) -> Next {
        self.see(now);
        loop {
            let Some(Reverse(due)) = self.due.peek().copied() else {
                return Next::Wait(None);
            };
            if self
                .slot(due.index)
                .is_none_or(|slot| slot.due != due || slot.heart.is_none())
            {
                self.due.pop();
                continue;
            }
            let opens = due.at.max(self.pace.opens(now));
            if opens > now {
                return Next::Wait(Some(opens));
            }
            self.due.pop();
            self.pace.take(now);
            if let Some(job) = self.job(due, now) {
                return Next::Serve(job);
            }
        }
    }

    /// Takes a heart back that wants to be served again at `next`, or never.
    pub(super) fn done(&mut self, job: Job, next: Option<Instant>, now: Now) {
        let Job {
            index,
            mut heart,
            due,
            begun,
            ..
        } = job;
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return;
        };
        if let Some(beat) = heart.last_beat().filter(|beat| *beat >= begun) {
            let age = beat.saturating_since(slot.beaten);
            (slot.beaten, slot.has_beaten) = (beat, true);
            self.counters
                .beat(begun.saturating_since(due), age, &self.config);
        }
        let Some(mut next) = next else {
            slot.heart = None;
            self.vacate(index);
            return;
        };
        if let Some(at) = slot.alive_at.take() {
            heart.alive_since(now, at);
            next = now.instant;
        }
        let retire = slot.retire.take();
        slot.heart = Some(heart);
        if let Some(how) = retire {
            self.retire(index, how, now);
            return;
        }
        self.schedule(index, next);
    }

    /// The beat that is longest ago, of the leases that are not being retired; of one that was
    /// never beaten, when it was added.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let beaten = |index: &u32| self.slots.get(*index as usize).map(|slot| slot.beaten);
        self.names.values().filter_map(beaten).min()
    }

    /// When this lease was last beaten.
    pub(super) fn last_beat(&self, name: &str, generation: u64) -> Option<Instant> {
        let index = self.find(name, generation)?;
        let slot = self.slots.get(index as usize)?;
        match &slot.heart {
            Some(heart) => heart.last_beat(),
            // A worker has it: what the last one brought back.
            None => slot.has_beaten.then_some(slot.beaten),
        }
    }

    fn find(&self, name: &str, generation: u64) -> Option<u32> {
        let index = *self.names.get(name)?;
        let slot = self.slots.get(index as usize)?;
        (slot.generation == generation).then_some(index)
    }

    fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)
    }

    fn place(&mut self, slot: Slot) -> u32 {
        if let Some(index) = self.free.pop()
            && let Some(place) = self.slots.get_mut(index as usize)
        {
            // The stamp goes on, so that no entry of the heap is taken for this lease's.
            let stamp = place.due.stamp;
            *place = slot;
            place.due.stamp = stamp;
            return index;
        }
        // Four thousand million leases take more memory than there is.
        let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(slot);
        index
    }

    fn vacate(&mut self, index: u32) {
        self.free.push(index);
        self.leases = self.leases.saturating_sub(1);
        self.has_news |= self.is_over();
        if !self.is_ending {
            // What is left of an ending fleet keeps its pace.
            self.pace.fit(self.leases, self.config.interval);
        }
        if let Some(slot) = self.slot(index) {
            slot.generation = 0;
            slot.name = Arc::from("");
        }
    }

    fn retire(&mut self, index: u32, how: Retire, now: Now) {
        let Some(slot) = self.slot(index) else {
            return;
        };
        match (&mut slot.heart, how) {
            // There is nothing to send, and nobody to tell.
            (heart @ Some(_), Retire::Keep) => {
                *heart = None;
                self.vacate(index);
            }
            (Some(heart), Retire::FinalBeat | Retire::Delete) => {
                heart.retire(now, how);
                self.schedule(index, now.instant);
            }
            (None, _) if slot.generation != 0 => slot.retire = Some(how),
            (None, _) => {}
        }
    }

    fn schedule(&mut self, index: u32, at: Instant) {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            let stamp = slot.due.stamp.wrapping_add(1);
            let due = Due { at, index, stamp };
            slot.due = due;
            self.has_news |= self.due.peek().is_none_or(|Reverse(first)| due < *first);
            self.due.push(Reverse(due));
        }
    }

    fn job(&mut self, due: Due, now: Instant) -> Option<Job> {
        let slot = self.slot(due.index)?;
        Some(Job {
            index: due.index,
            generation: slot.generation,
            name: Arc::clone(&slot.name),
            heart: slot.heart.take()?,
            due: due.at,
            begun: now,
        })
    }

    /// Looks at the clock: where it was reset all instants mean something else, and each heart has
    /// to say anew when it is due.
    fn see(&mut self, now: Instant) {
        let was_reset = now.as_millis().saturating_add(RESET_MS) < self.latest.as_millis();
        self.latest = if was_reset { now } else { self.latest.max(now) };
        if was_reset {
            self.due.clear();
            for index in 0..self.slots.len() {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                if self.slot(index).is_some_and(|slot| slot.heart.is_some()) {
                    self.schedule(index, now);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kubelease_core::time::Duration;

    use super::*;

    fn at(millis: u64) -> Now {
        Now::monotonic(Instant::from_millis(millis))
    }

    #[test]
    fn a_sign_of_life_counts_from_when_it_came_also_where_a_worker_has_the_heart() {
        let mut board = Board::new(HeartbeatConfig {
            spread_first_beat: false,
            liveness_ttl: Some(Duration::from_secs(1)),
            ..HeartbeatConfig::NODE
        });
        let identity = HeartbeatIdentity::new(Arc::from("a"));
        let generation = board.add(Arc::from("a"), identity, at(1_000)).unwrap();
        assert!(board.alive("a", generation, at(1_000)));
        let Next::Serve(job) = board.next(at(1_000).instant) else {
            panic!("nothing is due");
        };
        assert!(board.alive("a", generation, at(1_500)));
        board.done(job, Some(at(11_000).instant), at(2_000));
        let heart = board.slots[0].heart.as_ref().unwrap();
        assert_eq!(heart.health(at(2_500).instant), Health::Ok);
        assert_eq!(heart.health(at(2_501).instant), Health::NotAlive);
    }
}
