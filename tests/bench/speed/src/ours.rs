//! A session with a machine that reads the Lease again and again, or always renews it.

use std::hint::black_box;

use kubelease_core::Timestamp;
use kubelease_core::lease::{LeaseSpec, Version};
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{
    Changes, Failure, Operation, Output, Reply, Request, RequestId, Response, StaleRequest,
};
use kubelease_core::session::{Session, UpdateMode};
use kubelease_core::time::{Instant, Now};
use kubelease_core::wire::path::LeasePath;

/// How it writes.
pub enum Mode {
    /// By PUT of all that was read.
    Put,
    /// By merge patch.
    Patch,
}

const NOW: Now = Now::monotonic(Instant::from_millis(1_000));
const ID: RequestId = RequestId::from_number(1);

/// A machine whose one request is always in flight: a renewal of what it read last.
pub struct Renewing {
    version: Version,
    renew_time: Timestamp,
}

impl Machine for Renewing {
    fn poll(&mut self, _: Now) -> Output<'_> {
        Output::WaitUntil(NOW.instant)
    }

    fn handle_response(
        &mut self,
        _: Now,
        _: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let Reply::Lease(record) = response.reply else {
            panic!("expected a Lease, found {:?}", response.reply);
        };
        let spec = record.spec.as_ref().expect("a spec");
        self.renew_time = spec.renew_time.timestamp().expect("a time");
        self.version.clone_from(&record.version);
        Ok(())
    }

    fn handle_failure(&mut self, _: Now, _: RequestId, _: Failure) -> Result<(), StaleRequest> {
        Ok(())
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        let spec = LeaseSpec {
            holder_identity: "gateway-17.plant-7.example.com_6e1b1c0e-51a5-4c3c-9f60-7d1a9e8f2b43",
            lease_duration_seconds: 15,
            acquire_time: Some(self.renew_time),
            renew_time: self.renew_time,
            lease_transitions: Some(42),
        };
        Some(Request {
            id: ID,
            deadline: NOW.instant,
            operation: Operation::Update {
                spec,
                version: &self.version,
                changes: Changes::Renew,
                labels: &[],
                owner: None,
            },
        })
    }

    fn in_flight_id(&self) -> Option<RequestId> {
        Some(ID)
    }
}

/// A session of such a machine, which has read nothing yet.
pub fn session(mode: Mode) -> Session<'static, Renewing> {
    let machine = Renewing {
        version: Version::default(),
        renew_time: Timestamp::UNIX_EPOCH,
    };
    let path = LeasePath::new("edge-gateways", "telemetry-uplink").expect("a path");
    let update = match mode {
        Mode::Patch => UpdateMode::MergePatch,
        Mode::Put => UpdateMode::Update {
            keep: Box::leak(Box::new([0; 4_096])),
            patch_when_too_large: false,
        },
    };
    Session::new(machine, path, update)
}

/// Reads an answer.
pub fn read(session: &mut Session<'_, Renewing>, body: &[u8]) {
    let session = black_box(session);
    session.response_begin(ID, 200).expect("in flight");
    session
        .response_body(ID, black_box(body))
        .expect("in flight");
    session.response_end(NOW, ID).expect("in flight");
}

/// Writes the renewal.
pub fn write(session: &Session<'_, Renewing>, buffer: &mut [u8]) {
    let written = black_box(session).write_body(ID, 0, black_box(buffer));
    black_box(written.expect("kept"));
}
