//! [`Store`]: one lease behind a server that does what it is asked, and [`run`], which lets a
//! machine and a server talk for a while.

use kubelease_core::lease::LeaseRecord;
use kubelease_core::protocol::{Failure, Reply, Response};

use crate::driven::Driven;
use crate::driver::Driver;
use crate::input::Lease;
use crate::seen::{Sent, WriteKind};

/// One lease, or none.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// The lease.
    pub lease: Option<LeaseRecord>,
    last_version: u64,
    last_uid: u64,
}

/// What a server or the way to it makes of a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A Lease.
    Lease(Box<LeaseRecord>),
    /// Any other reply.
    Reply(Response<'static>),
    /// No answer.
    Failure(Failure),
    /// Nothing at all: the request hangs.
    Nothing,
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Reply<'static>> for Answer {
    fn from(reply: Reply<'static>) -> Self {
        Self::Reply(Response::new(reply))
    }
}

impl From<Lease> for Answer {
    fn from(lease: Lease) -> Self {
        Self::from(lease.record)
    }
}

impl From<LeaseRecord> for Answer {
    fn from(record: LeaseRecord) -> Self {
        Self::Lease(Box::new(record))
    }
}

/// Something that a server or the way to it makes of a request.
pub trait Give<M: Driven> {
    /// Hands it over; what comes at the deadline or later is refused, as it should be.
    fn give(&self, driver: &mut Driver<M>, sent: &Sent);

    /// Whether the request hangs.
    fn hangs(&self) -> bool;
}

impl<M: Driven> Give<M> for Answer {
    #[track_caller]
    fn give(&self, driver: &mut Driver<M>, sent: &Sent) {
        let response = match self {
            Self::Lease(record) => Response::new(Reply::Lease(record)),
            Self::Reply(response) => *response,
            Self::Failure(failure) => {
                let _ = driver.fail_of(sent.id, *failure);
                return;
            }
            Self::Nothing => return,
        };
        let _ = driver.respond_to(sent.id, response);
    }

    fn hangs(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

impl Store {
    /// A store with this lease.
    #[must_use]
    pub fn with(lease: &Lease) -> Self {
        let record = lease.record.clone();
        let last_version = record.version.resource_version.as_number().unwrap_or(0);
        Self {
            lease: Some(record),
            last_version,
            last_uid: 1,
        }
    }

    /// Does what `sent` asks, as the API server does.
    pub fn serve(&mut self, sent: &Sent) -> Answer {
        let Some(write) = &sent.write else {
            if sent.watch.is_some() {
                return Answer::Nothing;
            }
            let missing = Answer::from(Reply::LeaseMissing);
            return self.lease.clone().map_or(missing, Answer::from);
        };
        let uid = match (&write.kind, &self.lease) {
            (WriteKind::Create { .. }, None) => {
                self.last_uid += 1;
                format!("u{}", self.last_uid)
            }
            (WriteKind::Update { version, .. }, Some(stored)) if *version == stored.version => {
                version.uid.as_str().to_owned()
            }
            (WriteKind::Create { .. } | WriteKind::Update { .. }, _) => {
                return Answer::from(Reply::Conflict);
            }
        };
        self.last_version += 1;
        let lease = Lease::written(write, self.last_version).uid(&uid);
        self.put(&lease);
        Answer::from(lease.record)
    }

    /// Puts any lease in the place.
    pub fn put(&mut self, lease: &Lease) {
        let version = lease.record.version.resource_version.as_number();
        self.last_version = self.last_version.max(version.unwrap_or(0));
        self.lease = Some(lease.record.clone());
    }

    /// Another client writes: the record gets the next version.
    pub fn write(&mut self, lease: Lease) {
        self.last_version += 1;
        self.put(&lease.version(&self.last_version.to_string()));
    }
}

/// Settles, and has every request answered at once, until none is in flight.
///
/// # Panics
/// Where a law is broken.
#[track_caller]
pub fn converse<M: Driven>(
    driver: &mut Driver<M>,
    mut serve: impl FnMut(&Sent) -> Answer,
) -> Vec<String> {
    let mut seen = driver.settle();
    while let Some(sent) = driver.flight_if_any().cloned() {
        serve(&sent).give(driver, &sent);
        seen.extend(driver.settle());
    }
    seen
}

/// Lets time pass to `until`: each request reaches `serve` at once, and its answer comes `latency`
/// later. `serve` is told the time. The texts of all outputs with their times, waits left out.
///
/// # Panics
/// Where a law is broken.
#[track_caller]
pub fn run<M: Driven>(
    driver: &mut Driver<M>,
    until: u64,
    latency: u64,
    serve: impl FnMut(u64, &Sent) -> Answer,
) -> Vec<(u64, String)> {
    run_with(driver, until, latency, serve)
}

/// The same with answers of another kind.
///
/// # Panics
/// Where a law is broken.
#[track_caller]
pub fn run_with<M: Driven, A: Give<M>>(
    driver: &mut Driver<M>,
    until: u64,
    latency: u64,
    mut serve: impl FnMut(u64, &Sent) -> A,
) -> Vec<(u64, String)> {
    let mut seen = Vec::new();
    let mut coming: Option<(u64, Sent, A)> = None;
    loop {
        let now = driver.now_ms();
        for text in driver.settle() {
            if !text.starts_with("wait") {
                seen.push((now, text));
            }
        }
        match (driver.flight_if_any().cloned(), &coming) {
            (Some(sent), Some((_, known, _))) if known.id == sent.id => {}
            (Some(sent), _) => {
                let answer = serve(now, &sent);
                coming = Some((now + latency, sent, answer));
            }
            (None, _) => coming = None,
        }
        let arrives = coming.as_ref().map(|(at, _, _)| *at);
        let hangs = coming.as_ref().is_some_and(|(_, _, answer)| answer.hangs());
        let arrives = arrives.filter(|_| !hangs);
        let Some(next) = [arrives, driver.wakes_at()].into_iter().flatten().min() else {
            return seen;
        };
        if next > until {
            driver.go_to(until);
            return seen;
        }
        driver.go_to(next);
        if arrives == Some(next)
            && let Some((_, sent, answer)) = coming.take()
        {
            answer.give(driver, &sent);
        }
    }
}
