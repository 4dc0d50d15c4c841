//! [`Pair`]: an elector of Rust and one of C that hear the same and must say the same.

mod watch;

use kubelease_core::elector::{Config, Create, Elector};
use kubelease_core::lease::Fence;
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{
    Changes, Failure, Operation, Output, Request, RequestId, Response, StaleRequest, WatchEvent,
};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_ffi::*;
use kubelease_tests::driver::{ORIGIN, WALL_AT_ORIGIN};
use kubelease_tests::subject::Subject;
use serde_json::Value;

use crate::calls::{Calls as _, OK, STALE, agree_on_output, c_now, str_of, text_of};
use crate::http;
use crate::words::spec_is;

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

    /// Whether C sends what Rust wants to have sent.
    fn agree_on_request(&self, request: &Request<'_>) {
        let (method, target, body) = self.c.request(request.id).expect("it is in flight");
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

impl Machine for Pair {
    fn poll(&mut self, now: Now) -> Output<'_> {
        let action = self.c.poll(now);
        // Once more without the borrow that the answer of this one would hold.
        let mut before = self.rust.clone();
        let _ = self.rust.poll(now);
        self.agree();
        let output = before.poll(now);
        if let Output::Request(request) = &output {
            self.agree_on_request(request);
        }
        agree_on_output(&action, &output);
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
        let status = self.c.respond(now, id, &http::of(response, None));
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
        let status = self.c.fail(now, id, failure);
        assert_eq!(status, if expected.is_ok() { OK } else { STALE });
        self.agree();
        expected
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        let request = self.rust.in_flight();
        if let Some(request) = &request {
            assert!(self.c.request(request.id).is_some());
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
