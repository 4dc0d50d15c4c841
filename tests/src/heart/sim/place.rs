//! [`Place`]: one lease and its Node, with all that watches over them.

use kubelease_core::Timestamp;
use kubelease_core::lease::{LeaseRecord, Readiness, Uid};

use super::plan::RATES;
use crate::heart::life::Kind;
use crate::heart::server::HeartServer;
use crate::seen::{Sent, WriteKind};

/// How long the node controller waits for a beat, by its default.
const GRACE_US: u64 = 50_000_000;

/// A lease and a Node.
#[derive(Clone, Debug, Default)]
pub(in crate::heart) struct Place {
    pub(in crate::heart) server: HeartServer,
    /// Whether the lease has other owners than the Node.
    pub(in crate::heart) has_others: bool,
    /// The time of the last beat that the node controller took for one.
    saved: Option<Timestamp>,
    /// When it heard that.
    pub(in crate::heart) heard_us: u64,
    /// When the spec of the lease last changed, or the lease was made.
    changed_us: u64,
    /// When beats were stored.
    pub(in crate::heart) beats: Vec<u64>,
    nodes: u32,
}

impl Place {
    /// A Node is registered, with a uid that none had.
    pub(in crate::heart) fn register(&mut self, readiness: Readiness, at_us: u64) {
        self.nodes += 1;
        let uid = Uid::try_from(format!("n{}", self.nodes).as_str()).expect("a short uid");
        self.server.node = Some((uid, readiness));
        self.heard_us = at_us;
    }

    /// The host says that its Node is ready, which also makes the node controller forget the lease.
    pub(in crate::heart) fn post_ready(&mut self, at_us: u64) {
        if let Some((_, readiness)) = &mut self.server.node {
            *readiness = Readiness::Ready;
            self.saved = None;
            self.heard_us = at_us;
        }
    }

    /// The node controller looks.
    pub(in crate::heart) fn control(&mut self, at_us: u64) {
        if let Some((_, readiness)) = &mut self.server.node
            && at_us - self.heard_us > GRACE_US
        {
            *readiness = Readiness::Unknown;
        }
    }

    /// The garbage collector takes a lease whose owner does not exist.
    pub(in crate::heart) fn collect(&mut self) {
        let was_there = self.server.store.lease.is_some();
        self.server.collect();
        if was_there && self.server.store.lease.is_none() {
            self.is_gone();
        }
    }

    /// Somebody else changed the lease, or deleted it: what the controller had saved of it no
    /// longer says anything about the hearts.
    pub(in crate::heart) fn was_edited(&mut self, at_us: u64) {
        self.saved = None;
        self.changed_us = at_us;
        if self.server.store.lease.is_none() {
            self.is_gone();
        }
    }

    fn is_gone(&mut self) {
        self.saved = None;
        self.has_others = false;
        self.server.owner = None;
    }

    /// Judges what `sent` made of `before`, where it changed anything.
    pub(in crate::heart) fn judge(
        &mut self,
        sent: &Sent,
        before: Option<&LeaseRecord>,
        (config, identity): &Kind,
        at_us: u64,
    ) {
        let after = self.server.store.lease.clone();
        if after.as_ref().map(|it| &it.version) == before.map(|it| &it.version) {
            return;
        }
        let held = |record: &LeaseRecord| record.spec.clone().unwrap_or_default().holder;
        if sent.deletes.is_some() {
            let deleted = before.map(held).unwrap_or_default();
            assert!(
                deleted.matches(identity.holder),
                "somebody else's lease is deleted: {deleted:?}"
            );
            self.is_gone();
            return;
        }
        let write = sent.write.as_ref().expect("only a write changes a lease");
        if let WriteKind::Update { version, .. } = &write.kind {
            assert!(!version.uid.is_empty(), "a write on condition of no uid");
        } else {
            self.has_others = false;
        }
        let stored = before.and_then(|record| record.spec.as_ref()?.renew_time.timestamp());
        for earlier in [stored, self.saved].into_iter().flatten() {
            assert!(
                write.renew_time > earlier,
                "the node would be Ready for ever: {} after {earlier}",
                write.renew_time
            );
        }
        let holder = before.map(held).unwrap_or_default();
        if !holder.is_empty() && !holder.matches(identity.holder) && !config.force_owner {
            self.must_be_over(before, config.lease_duration.as_millis() / 1_000, at_us);
        }
        if let Some(owner) = &write.owner {
            assert_eq!(
                owner.has_others, self.has_others,
                "owners of others are wiped"
            );
        }
        let is_owned = self.server.owner.is_some();
        assert!(is_owned || !config.owner_required, "a lease without owner");
        self.saved = Some(write.renew_time);
        self.heard_us = at_us;
        self.changed_us = at_us;
        self.beats.push(at_us);
    }

    /// Somebody else's record is written over: it has not changed for all that it says.
    fn must_be_over(&self, before: Option<&LeaseRecord>, own_s: u64, at_us: u64) {
        let spec = before.and_then(|record| record.spec.as_ref());
        let written = spec.and_then(|spec| spec.lease_duration_seconds);
        let seconds = written
            .filter(|it| *it > 0)
            .map_or(own_s, |it| u64::from(it.unsigned_abs()));
        // By the fastest clock that a host can have.
        let least_us = u128::from(seconds) * 1_000_000 * 1_000_000 / u128::from(RATES.1);
        let passed_us = u128::from(at_us - self.changed_us);
        assert!(
            passed_us >= least_us,
            "a living holder is written over after {passed_us} of {least_us} us"
        );
    }
}
