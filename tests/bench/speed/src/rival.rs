//! `serde_json` and the types of `k8s-openapi`.

use std::hint::black_box;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Reads a Lease.
pub fn read(text: &[u8]) -> Lease {
    black_box(serde_json::from_slice(black_box(text)).expect("a Lease"))
}

/// Writes one.
pub fn write(lease: &Lease) -> Vec<u8> {
    black_box(serde_json::to_vec(black_box(lease)).expect("JSON"))
}

/// What a merge patch for a renewal says.
pub fn renewal() -> Lease {
    let lease = read(super::LEASE);
    let spec = lease.spec.expect("a spec");
    Lease {
        metadata: ObjectMeta {
            resource_version: lease.metadata.resource_version,
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            lease_duration_seconds: spec.lease_duration_seconds,
            renew_time: spec.renew_time,
            ..LeaseSpec::default()
        }),
    }
}
