//! What has to be well in the calm at the end.

use std::collections::BTreeSet;

use kubelease_core::heartbeat::Health;
use kubelease_core::lease::Readiness;
use kubelease_core::time::Instant;

use super::plan::{RATES, WELL_US};
use super::world::World;

/// What was there when things began to have to be well.
#[derive(Debug)]
pub(super) struct Sight {
    since_us: u64,
    requests: Vec<u64>,
    /// How many slots there were.
    slots: Vec<usize>,
}

impl Sight {
    pub(super) fn new(world: &World) -> Self {
        Self {
            since_us: world.at_us,
            requests: world.hosts.iter().map(|host| host.requests).collect(),
            slots: world.hosts.iter().map(|host| host.slots.len()).collect(),
        }
    }
}

impl World {
    /// Every lease is beaten as it should be, every Node is ready, and nobody asks for more than it
    /// takes.
    pub(super) fn check_all_is_well(&mut self) {
        let sight = self.sight.take().expect("the calm has begun");
        for place in 0..self.places.len() {
            let seats = self.seats_of(place);
            let beats: Vec<u64> = self.places[place].beats.clone();
            let beats: Vec<u64> = beats
                .into_iter()
                .filter(|at| *at >= sight.since_us)
                .collect();
            self.is_beaten(place, &seats, &beats);
            if let [seat] = seats[..] {
                self.is_owned_and_ready(place, seat);
                let requests = self.hosts[seat].requests - sight.requests[seat];
                self.is_steady(seat, &beats, requests);
                self.is_jittered(seat, &self.hosts[seat].slots[sight.slots[seat]..]);
            }
        }
        self.count("well");
    }

    fn seats_of(&self, place: usize) -> Vec<usize> {
        let seats = 0..self.hosts.len();
        seats
            .filter(|seat| self.hosts[*seat].place == place)
            .collect()
    }

    /// The lease is held by a heart that beats it.
    fn is_beaten(&self, place: usize, seats: &[usize], beats: &[u64]) {
        let lease = self.places[place].server.store.lease.as_ref();
        let holder = lease.and_then(|lease| Some(lease.spec.as_ref()?.holder.clone()));
        let holder = holder.unwrap_or_default();
        let mut holders = seats.iter().map(|seat| &self.hosts[*seat]);
        let host = holders.find(|host| holder.matches(host.kind.1.holder));
        let host = host.unwrap_or_else(|| panic!("place {place} is held by {holder:?}"));
        let driver = host.driver.as_ref().expect("all live in the calm");
        assert_eq!(driver.health(), Health::Ok, "place {place}");
        // By the slowest clock, with the jitter and what a poll may be late.
        let interval_us = host.kind.0.interval.as_millis() * 1_000;
        let longest_us = interval_us * 1_000_000 / RATES.0 * 104 / 100 + 150_000;
        let least = WELL_US / longest_us;
        let count = beats.len() as u64;
        assert!(count >= least, "place {place}: {count} of {least} beats");
    }

    /// What a lone heart sees to: where there are two, the other may have no Node at all.
    fn is_owned_and_ready(&self, place: usize, seat: usize) {
        let server = &self.places[place].server;
        let (uid, readiness) = server
            .node
            .as_ref()
            .expect("all Nodes are there in the calm");
        let (config, identity) = &self.hosts[seat].kind;
        if identity.node.is_some() {
            let owner = server.owner.as_deref();
            assert_eq!(owner, Some(uid.as_str()), "the owner of place {place}");
        }
        if config.watch_node {
            assert_eq!(*readiness, Readiness::Ready, "the Node of place {place}");
        }
    }

    /// No more beats than there should be, each one request.
    fn is_steady(&self, seat: usize, beats: &[u64], requests: u64) {
        let (config, _) = &self.hosts[seat].kind;
        let interval_us = config.interval.as_millis() * 1_000;
        let most = WELL_US * RATES.1 / 1_000_000 / interval_us + 2;
        let count = beats.len() as u64;
        assert!(count <= most, "seat {seat}: {count} beats, at most {most}");
        assert!(
            requests <= count + 1,
            "seat {seat}: {requests} requests for {count} beats"
        );
    }

    /// Gaps are as long as they should be, and not all alike. It is the schedule that is judged:
    /// beats are late by chance, which hides a jitter that is missing and one that is there.
    fn is_jittered(&self, seat: usize, slots: &[Instant]) {
        let (config, _) = &self.hosts[seat].kind;
        let least = config.interval.as_millis();
        let most = least + least * u64::from(config.jitter_percent) / 100;
        let gaps = slots.windows(2);
        let gaps = gaps.map(|pair| pair[1].saturating_since(pair[0]).as_millis());
        let gaps: BTreeSet<u64> = gaps.collect();
        assert!(
            gaps.iter().all(|gap| (least..=most).contains(gap)),
            "seat {seat} beats out of time: {slots:?}"
        );
        assert!(
            gaps.len() > 1 || config.jitter_percent == 0,
            "seat {seat} beats without jitter: {slots:?}"
        );
    }
}
