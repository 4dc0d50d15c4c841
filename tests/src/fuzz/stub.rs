//! A machine that reads the lease and then writes over what it read.

use kubelease_core::Timestamp;
use kubelease_core::lease::{Label, LeaseSpec, Version};
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{
    Changes, Failure, Operation, Output, Request, RequestId, Response, StaleRequest,
};
use kubelease_core::time::{Instant, Now};
use serde_json::{Map, Value, json};

use super::told::Told;

/// When it wants its answers.
const DEADLINE: Instant = Instant::from_millis(6_000);

/// The time of its polls.
pub(super) const NOW: Now = Now::monotonic(Instant::from_millis(1_000));

/// The renewTime that it writes.
pub(super) fn renew_time() -> Timestamp {
    Timestamp::parse("2026-01-02T03:06:07.000008Z").unwrap()
}

/// The `spec` that it writes for this holder.
pub(super) fn spec(holder: &str) -> Map<String, Value> {
    let time = renew_time().to_string();
    let spec = json!({
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "acquireTime": time,
        "renewTime": time,
        "leaseTransitions": 4,
    });
    spec.as_object().cloned().unwrap_or_default()
}

/// Reads, then writes on condition of the version read.
#[derive(Debug)]
pub(super) struct Stub<'a> {
    holder: &'a str,
    labels: &'a [Label<'a>],
    /// The condition of the write.
    pub(super) version: Version,
    /// What it was told.
    pub(super) told: Vec<Told>,
    /// How many requests it has made.
    requests: u32,
    waits: bool,
}

impl<'a> Stub<'a> {
    /// Reads, and then writes this holder and these labels.
    pub(super) fn new(holder: &'a str, labels: &'a [Label<'a>]) -> Self {
        Self {
            holder,
            labels,
            version: Version::default(),
            told: Vec::new(),
            requests: 0,
            waits: false,
        }
    }

    /// Writes at once, on condition of this version.
    pub(super) fn writing(holder: &'a str, labels: &'a [Label<'a>], version: Version) -> Self {
        Self {
            version,
            requests: 1,
            ..Self::new(holder, labels)
        }
    }

    fn request(&self) -> Option<Request<'_>> {
        let time = renew_time();
        let operation = match self.requests {
            1 => Operation::Get,
            _ => Operation::Update {
                spec: LeaseSpec {
                    holder_identity: self.holder,
                    lease_duration_seconds: 15,
                    acquire_time: Some(time),
                    renew_time: time,
                    lease_transitions: Some(4),
                },
                version: &self.version,
                changes: Changes::Acquire,
                labels: self.labels,
                owner: None,
            },
        };
        self.waits.then_some(Request {
            id: RequestId::from_number(self.requests),
            deadline: DEADLINE,
            operation,
        })
    }
}

impl Machine for Stub<'_> {
    fn poll(&mut self, _: Now) -> Output<'_> {
        if self.waits {
            return Output::WaitUntil(DEADLINE);
        }
        if self.requests == 2 || (self.requests == 1 && self.version.resource_version.is_empty()) {
            return Output::Done;
        }
        self.requests += 1;
        self.waits = true;
        self.request().map_or(Output::Done, Output::Request)
    }

    fn handle_response(
        &mut self,
        _: Now,
        _: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.waits = false;
        let told = Told::from(response);
        if let (1, Ok(record)) = (self.requests, &told.reply) {
            self.version = record.version.clone();
        }
        self.told.push(told);
        Ok(())
    }

    fn handle_failure(&mut self, _: Now, _: RequestId, _: Failure) -> Result<(), StaleRequest> {
        self.waits = false;
        Ok(())
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.request()
    }
}
