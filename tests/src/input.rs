//! What a timetable gives to a machine: answers, failures and calls, in few words.

use kubelease_core::Timestamp;
use kubelease_core::lease::{
    LeaseRecord, Owners, RecordSpec, RecordTime, ResourceVersion, Uid, Version,
};
use kubelease_core::protocol::{BadAnswer, Failure, Reply, Response, WatchEvent};
use kubelease_core::time::Duration;

use crate::driven::{Driven, Ledger as _};
use crate::driver::{Driver, WALL_AT_ORIGIN};
use crate::seen::Write;
use crate::subject::Subject;

/// Something that happens to a machine.
pub trait Input<M: Driven> {
    /// Lets it happen.
    fn apply(self, driver: &mut Driver<M>);
}

impl<M: Driven> Input<M> for Response<'_> {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        driver.respond(self);
    }
}

impl<M: Driven> Input<M> for Reply<'_> {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        driver.respond(Response::new(self));
    }
}

impl<M: Driven> Input<M> for Failure {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        driver.fail(self);
    }
}

/// A call of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `stop`.
    Stop,
    /// `stop_when_idle`.
    StopWhenIdle,
    /// `work_done`.
    WorkDone,
    /// `step_down` with this cooldown in milliseconds.
    StepDown(u64),
}

impl<M: Subject> Input<M> for Call {
    fn apply(self, driver: &mut Driver<M>) {
        match self {
            Self::Stop => driver.stop(),
            Self::StopWhenIdle => driver.stop_when_idle(),
            Self::WorkDone => driver.work_done(),
            Self::StepDown(cooldown) => driver.step_down(Duration::from_millis(cooldown)),
        }
    }
}

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum Line {
    /// A change.
    Changed(Lease),
    /// The deletion, after which this was the last state.
    Deleted(Lease),
    /// Nothing but that it lives.
    Bookmark,
    /// That it has ended.
    Error,
    /// What can't be read.
    Broken(BadAnswer),
}

impl Line {
    /// As a machine takes it.
    #[must_use]
    pub const fn event(&self) -> WatchEvent<'_> {
        match self {
            Self::Changed(lease) => WatchEvent::Changed(&lease.record),
            Self::Deleted(lease) => WatchEvent::Deleted(&lease.record),
            Self::Bookmark => WatchEvent::Bookmark,
            Self::Error => WatchEvent::Error,
            Self::Broken(bad) => WatchEvent::Broken(*bad),
        }
    }
}

impl<M: Subject> Input<M> for Line {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        driver.tell(self.event());
    }
}

/// The server did the write in flight, and the lease has this version now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted(pub u64);

impl<M: Driven> Input<M> for Accepted {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        let mut lease = Lease::written(driver.write(), self.0);
        lease.record.owners = driver.ledger_mut().owners();
        driver.take(lease);
    }
}

/// A read finds the machine's own last claim in the lease, which has this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mine(pub u64);

impl<M: Driven> Input<M> for Mine {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        let lease = Lease::written(driver.last_claim(), self.0);
        driver.take(lease);
    }
}

/// 429 or 503 with a Retry-After of so many seconds.
#[must_use]
pub const fn retry_after(reply: Reply<'static>, seconds: u64) -> Response<'static> {
    Response {
        server_time: None,
        retry_after: Some(Duration::from_secs(seconds)),
        reply,
    }
}

/// An answer with a Lease, made step by step.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The record.
    pub record: LeaseRecord,
    /// The `Date` of the answer.
    pub server_time: Option<Timestamp>,
}

impl<M: Driven> Input<M> for Lease {
    #[track_caller]
    fn apply(self, driver: &mut Driver<M>) {
        driver.respond(self.response());
    }
}

/// The instant `ms` milliseconds after the beginning of every test.
///
/// # Panics
/// Where that is no instant.
#[must_use]
pub fn wall(ms: u64) -> Timestamp {
    let origin = Timestamp::from_unix(WALL_AT_ORIGIN, 0).expect("a time of our days");
    origin.checked_add_millis(ms).expect("a time of our days")
}

/// The lease as `holder` wrote it at the origin: 15 s, no transitions yet.
#[must_use]
pub fn held_by(holder: &str, version: u64) -> Lease {
    let time = RecordTime::Canonical(wall(0));
    let spec = RecordSpec {
        holder: holder.into(),
        lease_duration_seconds: Some(15),
        acquire_time: time,
        renew_time: time,
        lease_transitions: Some(0),
    };
    Lease::new(Some(spec), version)
}

/// The lease as its last holder released it, after four transitions.
#[must_use]
pub fn released(version: u64) -> Lease {
    held_by("", version).duration(1).transitions(4)
}

impl Lease {
    /// The lease with this `spec`.
    ///
    /// # Panics
    /// Never: the texts fit.
    #[must_use]
    pub fn new(spec: Option<RecordSpec>, version: u64) -> Self {
        let version = Version {
            uid: Uid::try_from("u1").expect("a short text"),
            resource_version: ResourceVersion::try_from(version.to_string().as_str())
                .expect("a short text"),
        };
        let record = LeaseRecord {
            version,
            creation_timestamp: None,
            being_deleted: false,
            owners: Owners::default(),
            spec,
        };
        Self {
            record,
            server_time: None,
        }
    }

    /// The lease as `write` leaves it.
    #[must_use]
    pub fn written(write: &Write, version: u64) -> Self {
        let spec = RecordSpec {
            holder: write.holder.as_str().into(),
            lease_duration_seconds: i32::try_from(write.duration).ok(),
            acquire_time: write
                .acquire_time
                .map_or(RecordTime::Absent, RecordTime::Canonical),
            renew_time: RecordTime::Canonical(write.renew_time),
            lease_transitions: write
                .transitions
                .and_then(|count| i32::try_from(count).ok()),
        };
        Self::new(Some(spec), version)
    }

    /// As the answer to a request.
    #[must_use]
    pub const fn response(&self) -> Response<'_> {
        Response {
            server_time: self.server_time,
            retry_after: None,
            reply: Reply::Lease(&self.record),
        }
    }

    /// With this `spec.leaseDurationSeconds`.
    #[must_use]
    pub fn duration(self, seconds: i32) -> Self {
        self.spec(|spec| spec.lease_duration_seconds = Some(seconds))
    }

    /// With this `spec.leaseTransitions`.
    #[must_use]
    pub fn transitions(self, count: i32) -> Self {
        self.spec(|spec| spec.lease_transitions = Some(count))
    }

    /// Renewed so many milliseconds after the origin.
    #[must_use]
    pub fn renewed(self, ms: u64) -> Self {
        self.spec(|spec| spec.renew_time = RecordTime::Canonical(wall(ms)))
    }

    /// With a changed spec.
    #[must_use]
    pub fn spec(mut self, change: impl FnOnce(&mut RecordSpec)) -> Self {
        change(self.record.spec.get_or_insert_default());
        self
    }

    /// With this `metadata.uid`.
    ///
    /// # Panics
    /// Where it is too long.
    #[must_use]
    pub fn uid(mut self, uid: &str) -> Self {
        self.record.version.uid = Uid::try_from(uid).expect("a short uid");
        self
    }

    /// With a version that is any text.
    ///
    /// # Panics
    /// Where it is too long.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        let version = ResourceVersion::try_from(version).expect("a short version");
        self.record.version.resource_version = version;
        self
    }

    /// In an answer that says this time in its `Date`.
    #[must_use]
    pub const fn dated(mut self, server_time: Timestamp) -> Self {
        self.server_time = Some(server_time);
        self
    }
}
