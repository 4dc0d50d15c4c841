//! What C calls what Rust says, and whether bodies say what was meant.

use std::ffi::{CStr, c_char};

use kubelease_core::lease::LeaseSpec;
use kubelease_core::protocol::{Changes, Event};
use kubelease_ffi::*;
use serde_json::Value;

/// The name that C has for an event, and the reason with it.
fn words(event: Event) -> (&'static str, String) {
    let shout = |name: String| {
        let mut text = String::new();
        for (i, c) in name.char_indices() {
            if c.is_uppercase() && i > 0 {
                text.push('_');
            }
            text.push(c.to_ascii_uppercase());
        }
        text
    };
    match event {
        Event::StartedLeading { .. } => ("KL_EVENT_STARTED_LEADING", String::new()),
        Event::StoppedLeading { reason, .. } => (
            "KL_EVENT_STOPPED_LEADING",
            format!("KL_STOP_{}", shout(format!("{reason:?}"))),
        ),
        Event::LeaderChanged => ("KL_EVENT_LEADER_CHANGED", String::new()),
        Event::LeaseRecreated => ("KL_EVENT_LEASE_RECREATED", String::new()),
        Event::LeaseBeingDeleted => ("KL_EVENT_LEASE_BEING_DELETED", String::new()),
        Event::IdentityCollision => ("KL_EVENT_IDENTITY_COLLISION", String::new()),
        Event::CredentialsRejected => ("KL_EVENT_CREDENTIALS_REJECTED", String::new()),
        Event::ReconnectAdvised => ("KL_EVENT_RECONNECT_ADVISED", String::new()),
        Event::VersionWentBack => ("KL_EVENT_VERSION_WENT_BACK", String::new()),
        Event::Trouble { kind, .. } => {
            let name = format!("{kind:?}");
            let name = match name.split_once('(') {
                Some(("BadAnswer", rest)) => format!("Body{}", rest.trim_end_matches(')')),
                Some((name, _)) => name.to_owned(),
                None => name,
            };
            ("KL_EVENT_TROUBLE", format!("KL_TROUBLE_{}", shout(name)))
        }
        Event::Finished(finish) => (
            "KL_EVENT_FINISHED",
            format!("KL_FINISH_{}", shout(format!("{finish:?}"))),
        ),
        Event::NodeNotReady(readiness) => (
            "KL_EVENT_NODE_NOT_READY",
            format!("KL_READINESS_{}", shout(format!("{readiness:?}"))),
        ),
        _ => panic!("C has no word for {event:?}"),
    }
}

pub(crate) fn agree_on_event(action: &kl_action, event: Event) {
    let name = |name: *const c_char| unsafe { CStr::from_ptr(name) }.to_str().unwrap();
    let (event_name, reason_name) = words(event);
    assert_eq!(name(kl_event_name(action.event)), event_name);
    match event {
        Event::StartedLeading { term } => assert_eq!(action.term, term),
        Event::StoppedLeading {
            term,
            must_cease_by,
            ..
        } => {
            assert_eq!(action.term, term);
            assert_eq!(action.must_cease_by_ms, must_cease_by.as_millis());
            assert_eq!(name(kl_stop_reason_name(action.reason)), reason_name);
        }
        Event::Trouble { .. } => assert_eq!(name(kl_trouble_name(action.reason)), reason_name),
        Event::Finished(_) => assert_eq!(name(kl_finish_name(action.reason)), reason_name),
        Event::NodeNotReady(_) => {
            assert_eq!(name(kl_readiness_name(action.reason)), reason_name);
        }
        _ => assert_eq!(action.reason, 0),
    }
}

pub(crate) fn spec_is(found: &Value, spec: &LeaseSpec<'_>, changes: Changes) {
    assert_eq!(found["renewTime"], spec.renew_time.to_string());
    assert_eq!(found["leaseDurationSeconds"], spec.lease_duration_seconds);
    let holder = found.get("holderIdentity").and_then(Value::as_str);
    let transitions = found.get("leaseTransitions").and_then(Value::as_u64);
    match changes {
        Changes::Acquire => {
            assert_eq!(holder, Some(spec.holder_identity));
            assert_eq!(transitions, spec.lease_transitions.map(u64::from));
            let acquired = spec.acquire_time.map(|time| time.to_string());
            assert_eq!(found["acquireTime"].as_str(), acquired.as_deref());
        }
        Changes::Renew => assert_eq!((holder, transitions), (None, None)),
        Changes::Release => assert_eq!((holder, transitions), (Some(""), None)),
    }
}
