//! The states of a heartbeat, and what it knows.
//!
//! ```text
//!   Beating ── retire(Keep) ─────────────────────────────► Ended
//!      └────── retire(FinalBeat | Delete) ──► Retiring ──► Ended
//! ```

use crate::lease::{LeaseRecord, OwnerState, Owners, RecordSpec, Version};
use crate::protocol::{Finish, Verb};
use crate::text::Hash;
use crate::time::{Duration, Instant};
use crate::timestamp::Timestamp;

/// What the heartbeat is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Beats.
    Beating,
    /// Does a last thing.
    Retiring(Retiring),
    /// Has ended, as it says, and whether that was told.
    Ended { finish: Finish, is_told: bool },
}

/// The last thing that a heartbeat does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retiring {
    /// End of the budget.
    pub(super) until: Instant,
    /// Deletes the lease, or else beats once more.
    pub(super) deletes: bool,
    /// Deletions that met a conflict or had no certain outcome.
    pub(super) rounds: u8,
    /// Whether the last thing may have been done.
    pub(super) doubt: bool,
}

/// What a pending request is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    Get,
    Node,
    Create(Timestamp),
    Beat(Beat),
    Delete,
}

/// A beat on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    pub(super) renew_time: Timestamp,
    /// Whether it writes the holder.
    pub(super) acquires: bool,
    /// Whether it writes the owner.
    pub(super) owns: bool,
}

impl Sent {
    pub(super) const fn verb(&self) -> Verb {
        match self {
            Self::Get => Verb::Get,
            Self::Node => Verb::GetNode,
            Self::Create(_) => Verb::Create,
            Self::Beat(_) => Verb::Update,
            Self::Delete => Verb::Delete,
        }
    }

    pub(super) const fn is_write(&self) -> bool {
        match self {
            Self::Get | Self::Node => false,
            Self::Create(_) | Self::Beat(_) | Self::Delete => true,
        }
    }
}

/// What the last observation saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// There was none yet.
    Nothing,
    /// No lease.
    Missing,
    /// A lease.
    Lease,
}

/// Whose the lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody's.
    Free,
    /// It names this holder.
    Mine,
    /// It names somebody else.
    Foreign,
}

/// What is known of the lease.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) version: Version,
    pub(super) seen: Seen,
    /// What is known may be out of date: GET before the next write.
    pub(super) must_read: bool,
    /// Whether a lease was ever there.
    pub(super) was_there: bool,
    /// Whether its deletion was told.
    pub(super) deletion_told: bool,
    pub(super) owners: Owners,
    pub(super) standing: Standing,
    /// Tells the text of somebody else's record from the next.
    print: Hash,
    /// When that record is over, by our clock.
    pub(super) free_at: Instant,
    /// How long it holds, in seconds.
    wait_s: u32,
}

impl Known {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            version: Version::EMPTY,
            seen: Seen::Nothing,
            must_read: false,
            was_there: false,
            deletion_told: false,
            owners: Owners {
                node: OwnerState::Absent,
                has_others: false,
            },
            standing: Standing::Free,
            print: Hash::new(),
            free_at: now,
            wait_s: 0,
        }
    }

    /// Takes a record that was read or written.
    pub(super) fn saw(&mut self, record: &LeaseRecord, holder: &str, own_s: u32, now: Instant) {
        self.version.copy_from(&record.version);
        self.owners = record.owners;
        let spec = record.spec.as_ref().unwrap_or(&NO_SPEC);
        let standing = if spec.holder.is_empty() {
            Standing::Free
        } else if spec.holder.matches(holder) {
            Standing::Mine
        } else {
            Standing::Foreign
        };
        if standing == Standing::Foreign {
            let print = print_of(spec, &record.version);
            if self.standing != Standing::Foreign || self.print != print {
                self.print = print;
                let written = spec.lease_duration_seconds.filter(|seconds| *seconds > 0);
                self.wait_s = written.map_or(own_s, i32::unsigned_abs);
                self.wait_from(now);
            }
        }
        self.standing = standing;
        self.seen = Seen::Lease;
        self.must_read = false;
        self.was_there = true;
    }

    /// There is no lease. A deletion is no release: somebody else's is waited out.
    pub(super) fn missed(&mut self, now: Instant) {
        if self.seen == Seen::Lease && self.standing == Standing::Foreign {
            self.wait_from(now);
        }
        self.seen = Seen::Missing;
        self.must_read = false;
        self.deletion_told = false;
        self.owners = Owners::default();
    }

    /// Whether somebody else has the lease at `now`.
    pub(super) fn is_foreign(&self, now: Instant) -> bool {
        self.standing == Standing::Foreign && now < self.free_at
    }

    /// All waiting starts anew at `now`.
    pub(super) fn wait_from(&mut self, now: Instant) {
        // Instants are cut to whole milliseconds, so one more makes the wait a full one.
        let wait = Duration::from_secs(u64::from(self.wait_s));
        let late = wait.saturating_add(Duration::from_millis(1));
        self.free_at = now.saturating_add(late);
    }
}

/// The `spec` of a record that has none.
static NO_SPEC: RecordSpec = RecordSpec::EMPTY;

/// A number that changes with the text of the record: to keep the text takes five times as much.
fn print_of(spec: &RecordSpec, version: &Version) -> Hash {
    let mut print = Hash::of(version.uid.as_bytes());
    spec.hash_into(&mut print);
    print
}
