//! [`Pair`]: an elector of Rust and one of C that hear the same and must say the same.

mod watch;

use std::ffi::{CStr, c_char};

use kubelease_core::elector::{Config, Create, Elector};
use kubelease_core::lease::{Fence, LeaseSpec};
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{
    Changes, Event, Failure, Operation, Output, Request, RequestId, Response, StaleRequest,
    WatchEvent,
};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_ffi::*;
use kubelease_tests::driver::{ORIGIN, WALL_AT_ORIGIN};
use kubelease_tests::subject::Subject;
use serde_json::Value;

use crate::http;

const OK: i32 = kl_code::KL_OK as i32;
const STALE: i32 = kl_code::KL_ERR_STALE as i32;

/// Both electors. A clone of it is a clone of the one and a copy of the bytes of the other.
pub(crate) struct Pair {
    rust: Elector<'static>,
    c: kl_elector,
    /// The watch whose answer has begun.
    streams: Option<RequestId>,
}

impl Clone for Pair {
    fn clone(&self) -> Self {
        Self {
            rust: self.rust.clone(),
            c: kl_elector {
                _opaque: self.c._opaque,
            },
            streams: self.streams,
        }
    }
}

fn str_of(text: &'static str) -> kl_str {
    kl_str {
        ptr: text.as_ptr().cast::<c_char>(),
        len: text.len(),
    }
}

fn text_of(text: kl_str) -> String {
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr.cast::<u8>(), text.len) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn c_now(now: Now) -> kl_now {
    kl_now {
        mono_ms: now.instant.as_millis(),
        unix_us: now
            .wall
            .map_or(KL_WALL_UNKNOWN, |wall| wall.as_unix_micros()),
    }
}

fn c_config(config: Config<'static>) -> kl_elector_config {
    let millis = |length: Duration| u32::try_from(length.as_millis()).unwrap();
    let mut flat = unsafe { std::mem::zeroed::<kl_elector_config>() };
    assert_eq!(
        unsafe { kl_elector_config_default(&raw mut flat, size_of::<kl_elector_config>()) },
        OK
    );
    flat.namespace_ = str_of("n");
    flat.name = str_of("l");
    flat.identity = str_of(config.identity);
    flat.create = match config.create {
        Create::Put => kl_create::KL_CREATE_PUT as u32,
        Create::Never => kl_create::KL_CREATE_NEVER as u32,
        _ => kl_create::KL_CREATE_POST as u32,
    };
    flat.lease_duration_ms = millis(config.timing.lease_duration);
    flat.renew_deadline_ms = millis(config.timing.renew_deadline);
    flat.retry_period_ms = millis(config.timing.retry_period);
    flat.request_timeout_ms = millis(config.timing.request_timeout);
    flat.jitter_percent = config.timing.jitter_percent;
    flat.release_budget_ms = config.release_budget.map_or(0, millis);
    flat.seed = config.seed;
    if config.treat_own_as_foreign {
        flat.flags |= kl_config_flag::KL_CONFIG_OWN_IS_FOREIGN as u32;
    }
    if let Some(skew) = config.trust_renew_time {
        flat.flags |= kl_config_flag::KL_CONFIG_TRUST_RENEW_TIME as u32;
        flat.max_skew_ms = millis(skew);
    }
    flat
}

impl Pair {
    /// Both, as a driver wants them: made at [`ORIGIN`].
    pub(crate) fn new(config: Config<'static>) -> Self {
        let now = Now {
            instant: Instant::from_millis(ORIGIN),
            wall: kubelease_core::Timestamp::from_unix(WALL_AT_ORIGIN, 0),
        };
        let mut c = kl_elector {
            _opaque: [0; KL_ELECTOR_WORDS],
        };
        let flat = c_config(config);
        let size = size_of::<kl_elector>();
        let status = unsafe { kl_elector_init(&raw mut c, size, &raw const flat, &c_now(now)) };
        assert_eq!(status, OK);
        let rust = Elector::new(config, now).unwrap();
        Self {
            rust,
            c,
            streams: None,
        }
    }

    fn call(
        &mut self,
        now: Now,
        rust: impl FnOnce(&mut Elector<'static>),
        c: impl FnOnce(*mut kl_elector, *const kl_now) -> i32,
    ) {
        rust(&mut self.rust);
        assert_eq!(c(&raw mut self.c, &c_now(now)), OK);
        self.agree();
    }

    /// Whether both answer every question in the same way.
    fn agree(&self) {
        let until = self.rust.leading_until().map_or(0, Instant::as_millis);
        assert_eq!(
            unsafe { kl_elector_leading_until(&raw const self.c) },
            until
        );
        assert_eq!(
            unsafe { kl_elector_term(&raw const self.c) },
            self.rust.term()
        );
        let mut leader = str_of("");
        assert_eq!(
            unsafe { kl_elector_leader(&raw const self.c, &raw mut leader) },
            OK
        );
        assert_eq!(text_of(leader), self.rust.leader().unwrap_or_default());
        let mut fence = unsafe { std::mem::zeroed::<kl_fence>() };
        let status = unsafe { kl_elector_fence(&raw const self.c, &raw mut fence) };
        let expected = self.rust.fence();
        assert_eq!(status == OK, expected.is_some());
        if let Some(expected) = expected {
            assert_eq!(
                unsafe { kl_fence_token(&raw const fence) },
                expected.token().unwrap_or(0)
            );
            assert_eq!(fence.transitions, expected.transitions);
            let uid = &fence.lease_uid[..fence.lease_uid_len as usize];
            assert_eq!(uid, expected.lease_uid.as_bytes());
        }
    }

    /// Request `id` as C writes it: method, path and query, body.
    fn c_request(&self, id: RequestId) -> Option<(String, String, String)> {
        let mut head = unsafe { std::mem::zeroed::<kl_request>() };
        head.size = size_of::<kl_request>() as u32;
        let id = id.number();
        let status = unsafe { kl_elector_request(&raw const self.c, id, &raw mut head) };
        if status == STALE {
            return None;
        }
        assert_eq!(status, OK);
        let part = |part: kl_request_part, length: usize| {
            let (mut bytes, mut written) = (vec![0; length + 1], 0);
            let status = unsafe {
                kl_elector_request_read(
                    &raw const self.c,
                    id,
                    part as u32,
                    0,
                    bytes.as_mut_ptr(),
                    bytes.len(),
                    &raw mut written,
                )
            };
            assert_eq!((status, written), (OK, length));
            bytes.truncate(written);
            String::from_utf8(bytes).unwrap()
        };
        Some((
            text_of(head.method_name),
            part(kl_request_part::KL_PART_TARGET, head.target_len),
            part(kl_request_part::KL_PART_BODY, head.body_len),
        ))
    }

    /// Whether C sends what Rust wants to have sent.
    fn agree_on_request(&self, request: &Request<'_>) {
        let (method, target, body) = self.c_request(request.id).expect("it is in flight");
        let (path, query) = target.split_once('?').unwrap();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let (spec, expected, changes) = match request.operation {
            Operation::GetNode { .. } | Operation::Delete { .. } => {
                panic!("no elector asks for that")
            }
            Operation::Watch { version, timeout } => {
                let (seconds, _) = timeout.as_secs_and_millis();
                let expected = format!(
                    "watch=1&fieldSelector=metadata.name%3Dl&resourceVersion={}\
                     &allowWatchBookmarks=true&timeoutSeconds={seconds}",
                    version.as_str()
                );
                assert_eq!((method.as_str(), query), ("GET", expected.as_str()));
                assert!(path.ends_with("/namespaces/n/leases"), "{path}");
                return;
            }
            Operation::Get => {
                assert_eq!((method.as_str(), &body), ("GET", &Value::Null));
                assert!(query.starts_with("timeout="), "{query}");
                return;
            }
            Operation::Create { spec, by_put, .. } => {
                let method = if by_put { "PUT" } else { "POST" };
                (spec, method, Changes::Acquire)
            }
            Operation::Update {
                spec,
                version,
                changes,
                ..
            } => {
                let condition = version.resource_version.as_str();
                assert_eq!(body["metadata"]["resourceVersion"], condition);
                (spec, "PATCH", changes)
            }
        };
        assert_eq!(method, expected);
        let collection = "/apis/coordination.k8s.io/v1/namespaces/n/leases";
        assert_eq!(
            path.strip_prefix(collection),
            Some(if method == "POST" { "" } else { "/l" })
        );
        assert!(
            query.starts_with("fieldManager=kubelease&timeout="),
            "{query}"
        );
        spec_is(&body["spec"], &spec, changes);
    }
}

fn spec_is(found: &Value, spec: &LeaseSpec<'_>, changes: Changes) {
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
        _ => panic!("C has no word for {event:?}"),
    }
}

fn agree_on_event(action: &kl_action, event: Event) {
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
        _ => assert_eq!(action.reason, 0),
    }
}

impl Machine for Pair {
    fn poll(&mut self, now: Now) -> Output<'_> {
        let mut action = unsafe { std::mem::zeroed::<kl_action>() };
        action.size = size_of::<kl_action>() as u32;
        let c = &raw mut self.c;
        let status = unsafe { kl_elector_poll(c, &c_now(now), &raw mut action) };
        assert_eq!(status, OK);
        // Once more without the borrow that the answer of this one would hold.
        let mut before = self.rust.clone();
        let _ = self.rust.poll(now);
        self.agree();
        let output = before.poll(now);
        let (kind, deadline, id) = match &output {
            Output::Event(event) => {
                agree_on_event(&action, *event);
                (kl_action_kind::KL_ACTION_EVENT, 0, 0)
            }
            Output::Cancel(id) => (kl_action_kind::KL_ACTION_CANCEL, 0, id.number()),
            Output::Request(request) => {
                self.agree_on_request(request);
                let (deadline, id) = (request.deadline.as_millis(), request.id.number());
                (kl_action_kind::KL_ACTION_SEND, deadline, id)
            }
            Output::WaitUntil(at) => (kl_action_kind::KL_ACTION_WAIT, at.as_millis(), 0),
            Output::Done => (kl_action_kind::KL_ACTION_STOPPED, KL_NEVER, 0),
        };
        let found = (action.kind, action.deadline_ms, action.request_id);
        assert_eq!(found, (kind as u32, deadline, id), "{output:?}");
        match output {
            Output::Event(event) => Output::Event(event),
            Output::Cancel(id) => Output::Cancel(id),
            Output::Request(_) => Output::Request(self.rust.in_flight().unwrap()),
            Output::WaitUntil(at) => Output::WaitUntil(at),
            Output::Done => Output::Done,
        }
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let expected = self.rust.handle_response(now, id, response);
        let (c, number, now) = (&raw mut self.c, id.number(), c_now(now));
        let http = http::of(response);
        let begun = unsafe { kl_elector_response_begin(c, number, http.status) };
        let status = if begun == OK {
            for (name, value) in &http.headers {
                let (ptr, len) = (value.as_ptr().cast::<c_char>(), value.len());
                let value = kl_str { ptr, len };
                let status = unsafe { kl_elector_response_header(c, number, str_of(name), value) };
                assert_eq!(status, OK);
            }
            for piece in http.body.as_bytes().chunks(7) {
                let (data, length) = (piece.as_ptr(), piece.len());
                let status = unsafe { kl_elector_response_body(c, number, data, length) };
                assert_eq!(status, OK);
            }
            unsafe { kl_elector_response_end(c, number, &raw const now) }
        } else {
            // A stale begin knows no time; this one does, and is stale too.
            let kind = kl_transport_error::KL_TRANSPORT_NOT_SENT as u32;
            unsafe { kl_elector_transport_error(c, number, kind, &raw const now) }
        };
        assert_eq!(status, if expected.is_ok() { OK } else { STALE });
        self.agree();
        expected
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        let expected = self.rust.handle_failure(now, id, failure);
        let kind = match failure {
            Failure::NotSent => kl_transport_error::KL_TRANSPORT_NOT_SENT,
            Failure::Unknown => kl_transport_error::KL_TRANSPORT_UNKNOWN,
            Failure::TimedOut => kl_transport_error::KL_TRANSPORT_TIMED_OUT,
        };
        let (c, number, now) = (&raw mut self.c, id.number(), c_now(now));
        let status = unsafe { kl_elector_transport_error(c, number, kind as u32, &raw const now) };
        assert_eq!(status, if expected.is_ok() { OK } else { STALE });
        self.agree();
        expected
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        let request = self.rust.in_flight();
        if let Some(request) = &request {
            assert!(self.c_request(request.id).is_some());
        }
        request
    }

    fn handle_watch(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        self.line(now, id, event)
    }
}

impl Subject for Pair {
    fn step_down(&mut self, now: Now, cooldown: Duration) {
        let millis = cooldown.as_millis();
        let rust = |machine: &mut Elector<'static>| machine.step_down(now, cooldown);
        self.call(now, rust, |c, now| unsafe {
            kl_elector_step_down(c, now, millis)
        });
    }

    fn stop(&mut self, now: Now) {
        let rust = |machine: &mut Elector<'static>| machine.stop(now);
        self.call(now, rust, |c, now| unsafe { kl_elector_stop(c, now) });
    }

    fn stop_when_idle(&mut self, now: Now) {
        let rust = |machine: &mut Elector<'static>| machine.stop_when_idle(now);
        self.call(now, rust, |c, now| unsafe {
            kl_elector_stop_when_idle(c, now)
        });
    }

    fn work_done(&mut self, now: Now) {
        let rust = |machine: &mut Elector<'static>| machine.work_done(now);
        self.call(now, rust, |c, now| unsafe { kl_elector_work_done(c, now) });
    }

    fn is_leading(&self, at: Instant) -> bool {
        let leads = self.rust.is_leading(at);
        let c = unsafe { kl_elector_is_leading(&raw const self.c, at.as_millis()) };
        assert_eq!(c, leads);
        leads
    }

    fn leading_until(&self) -> Option<Instant> {
        self.rust.leading_until()
    }

    fn fence(&self) -> Option<Fence> {
        self.rust.fence()
    }

    fn leader(&self) -> Option<&str> {
        self.rust.leader()
    }

    fn term(&self) -> u64 {
        self.rust.term()
    }
}
