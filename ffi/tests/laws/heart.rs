//! [`HeartPair`]: a heart of Rust and one of C that hear the same and must say the same.

use kubelease_core::heartbeat::{Health, Heartbeat, HeartbeatConfig, HeartbeatIdentity, Retire};
use kubelease_core::lease::{NodeRef, Owners};
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{
    Changes, Failure, Operation, Output, Reply, Request, RequestId, Response, StaleRequest,
};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_ffi::*;
use kubelease_tests::book::Flight;
use kubelease_tests::driven::{Driven, Ledger};
use kubelease_tests::driver::{Driver, ORIGIN};
use kubelease_tests::heart::book::HeartBook;
use kubelease_tests::heart::transcript::Beats;
use kubelease_tests::heart::{Heart, Pulse};
use kubelease_tests::seen::{Seen, Write};
use serde_json::{Value, json};

use crate::calls::{Calls as _, OK, STALE, agree_on_output, c_now, str_of, text_of};
use crate::http;
use crate::words::spec_is;

/// Both hearts. A clone of it is a clone of the one and a copy of the bytes of the other.
pub(crate) struct HeartPair {
    rust: Heart,
    c: kl_heartbeat,
}

impl Clone for HeartPair {
    fn clone(&self) -> Self {
        let c = kl_heartbeat {
            _opaque: self.c._opaque,
        };
        let rust = self.rust.clone();
        Self { rust, c }
    }
}

/// Both hearts in the hands of a driver, made now.
pub(crate) fn heart(
    config: HeartbeatConfig,
    identity: HeartbeatIdentity<&'static str>,
) -> Driver<HeartPair> {
    let instant = Instant::from_millis(ORIGIN);
    let now = Now::monotonic(instant);
    let flat = flat(config, identity);
    let mut c = kl_heartbeat {
        _opaque: [0; KL_HEARTBEAT_WORDS],
    };
    let size = size_of::<kl_heartbeat>();
    let status = unsafe { kl_heartbeat_init(&raw mut c, size, &raw const flat, &c_now(now)) };
    assert_eq!(status, OK);
    let rust = Heartbeat::new(config, identity, now).unwrap();
    let book = HeartBook::new(config, identity, instant);
    Driver::with(HeartPair { rust, c }, PairBook(book))
}

fn flat(config: HeartbeatConfig, identity: HeartbeatIdentity<&'static str>) -> kl_heartbeat_config {
    use kl_heartbeat_flag as Flag;
    let millis = |length: Duration| u32::try_from(length.as_millis()).unwrap();
    let mut flat = unsafe { std::mem::zeroed::<kl_heartbeat_config>() };
    let size = size_of::<kl_heartbeat_config>();
    assert_eq!(
        unsafe { kl_heartbeat_config_default(&raw mut flat, size) },
        OK
    );
    flat.namespace_ = str_of("n");
    flat.name = str_of("l");
    flat.holder = str_of(identity.holder);
    flat.node = str_of(identity.node.unwrap_or(""));
    flat.node_uid = str_of(identity.node_uid.unwrap_or(""));
    flat.seed = identity.seed;
    flat.lease_duration_ms = millis(config.lease_duration);
    flat.interval_ms = millis(config.interval);
    flat.request_timeout_ms = millis(config.request_timeout);
    flat.retire_budget_ms = millis(config.retire_budget);
    flat.jitter_percent = config.jitter_percent;
    flat.liveness_ttl_ms = config.liveness_ttl.map_or(0, millis);
    if config.create_with_put {
        flat.create = kl_create::KL_CREATE_PUT as u32;
    }
    let flags = [
        (!config.spread_first_beat, Flag::KL_HEARTBEAT_AT_ONCE),
        (config.owner_required, Flag::KL_HEARTBEAT_OWNER_REQUIRED),
        (config.force_owner, Flag::KL_HEARTBEAT_FORCE_OWNER),
        (config.watch_node, Flag::KL_HEARTBEAT_WATCH_NODE),
    ];
    for (is_set, flag) in flags {
        flat.flags |= if is_set { flag as u32 } else { 0 };
    }
    flat
}

impl HeartPair {
    pub(crate) fn alive(&mut self, now: Now) {
        self.rust.alive(now);
        let status = unsafe { kl_heartbeat_alive(&raw mut self.c, &c_now(now)) };
        assert_eq!(status, OK);
        self.agree(now.instant);
    }

    pub(crate) fn retire(&mut self, now: Now, how: Retire) {
        self.rust.retire(now, how);
        let number = match how {
            Retire::Keep => kl_retire::KL_RETIRE_KEEP,
            Retire::FinalBeat => kl_retire::KL_RETIRE_FINAL_BEAT,
            Retire::Delete => kl_retire::KL_RETIRE_DELETE,
        };
        let status = unsafe { kl_heartbeat_retire(&raw mut self.c, &c_now(now), number as u32) };
        assert_eq!(status, OK);
        self.agree(now.instant);
    }

    /// The Node as both know it.
    pub(crate) fn node(&self) -> Option<NodeRef<'_>> {
        self.rust.owner()
    }

    /// Whether both answer every question in the same way.
    fn agree(&self, at: Instant) {
        let c = &raw const self.c;
        let beat = self.rust.last_beat().map_or(KL_NEVER, Instant::as_millis);
        assert_eq!(unsafe { kl_heartbeat_last_beat(c) }, beat);
        let mut uid = str_of("");
        assert_eq!(unsafe { kl_heartbeat_node_uid(c, &raw mut uid) }, OK);
        assert_eq!(text_of(uid), self.rust.node_uid().unwrap_or(""));
        let mut health = unsafe { std::mem::zeroed::<kl_health>() };
        health.size = size_of::<kl_health>() as u32;
        let status = unsafe { kl_heartbeat_health(c, at.as_millis(), &raw mut health) };
        assert_eq!(status, OK);
        let state = match self.rust.health(at) {
            Health::Ok => kl_health_state::KL_HEALTH_OK,
            Health::Lapsed => kl_health_state::KL_HEALTH_LAPSED,
            Health::NotAlive => kl_health_state::KL_HEALTH_NOT_ALIVE,
            Health::NotPolled => kl_health_state::KL_HEALTH_NOT_POLLED,
            health => panic!("C has no word for {health:?}"),
        };
        assert_eq!(health.state, state as u32);
    }

    /// Whether C sends what Rust wants to have sent.
    fn agree_on_request(&self, request: &Request<'_>) {
        let (method, target, body) = self.c.request(request.id).expect("it is in flight");
        let (path, query) = target.split_once('?').unwrap();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let mut place = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l".to_owned();
        let expected = match request.operation {
            Operation::Watch { .. } => panic!("no heart watches"),
            Operation::Get => "GET",
            Operation::GetNode { name } => {
                place = format!("/api/v1/nodes/{name}");
                "GET"
            }
            Operation::Delete { version } => {
                let mut conditions = json!({"resourceVersion": version.resource_version.as_str()});
                if !version.uid.is_empty() {
                    conditions["uid"] = json!(version.uid.as_str());
                }
                assert_eq!(body, json!({"preconditions": conditions}));
                "DELETE"
            }
            Operation::Create {
                spec,
                owner,
                by_put,
                ..
            } => {
                spec_is(&body["spec"], &spec, Changes::Acquire);
                owner_is(&body, owner);
                if !by_put {
                    place.truncate(place.len() - "/l".len());
                }
                if by_put { "PUT" } else { "POST" }
            }
            Operation::Update {
                spec,
                version,
                changes,
                owner,
                ..
            } => {
                let condition = version.resource_version.as_str();
                assert_eq!(body["metadata"]["resourceVersion"], condition);
                spec_is(&body["spec"], &spec, changes);
                owner_is(&body, owner.map(|change| change.node));
                "PATCH"
            }
        };
        assert_eq!((method.as_str(), path), (expected, place.as_str()));
        let manager = "fieldManager=kubelease&";
        assert_eq!(
            query.starts_with(manager),
            matches!(expected, "POST" | "PUT" | "PATCH")
        );
        assert!(query.trim_start_matches(manager).starts_with("timeout="));
    }
}

/// Whether `body` names this owner, or none.
fn owner_is(body: &Value, owner: Option<NodeRef<'_>>) {
    let found = &body["metadata"]["ownerReferences"];
    match owner {
        None => assert_eq!(found, &Value::Null),
        Some(owner) => {
            let mut references = found.as_array().unwrap().iter();
            let is_it = |it: &&Value| {
                it["uid"].as_str().map(str::as_bytes) == Some(owner.uid)
                    && it.get("$patch").is_none()
            };
            let reference = references.find(is_it).expect("a reference to the Node");
            assert_eq!(
                (&reference["kind"], &reference["name"]),
                (&json!("Node"), &json!(owner.name))
            );
        }
    }
}

impl Machine for HeartPair {
    fn poll(&mut self, now: Now) -> Output<'_> {
        let action = self.c.poll(now);
        // Once more without the borrow that the answer of this one would hold.
        let mut before = self.rust.clone();
        let _ = self.rust.poll(now);
        self.agree(now.instant);
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
        let http = http::of(response, self.rust.owner());
        let expected = self.rust.handle_response(now, id, response);
        let status = self.c.respond(now, id, &http);
        assert_eq!(status, if expected.is_ok() { OK } else { STALE });
        self.agree(now.instant);
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
        self.agree(now.instant);
        expected
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        let request = self.rust.in_flight();
        if let Some(request) = &request {
            assert!(self.c.request(request.id).is_some());
        }
        request
    }
}

impl Beats for HeartPair {
    fn born(config: HeartbeatConfig, identity: HeartbeatIdentity<&'static str>) -> Driver<Self> {
        heart(config, identity)
    }

    fn vouch(driver: &mut Driver<Self>) {
        let at = driver.now().instant;
        driver.call(Self::alive);
        driver.ledger_mut().alive(at);
    }

    fn end(driver: &mut Driver<Self>, how: Retire) {
        driver.call(|heart, now| heart.retire(now, how));
        driver.ledger_mut().retire(how);
    }

    fn last_beat(&self) -> Option<Instant> {
        self.rust.last_beat()
    }
}

impl Driven for HeartPair {
    type Ledger = PairBook;
    type View = Pulse;

    fn view(&self, now: Now) -> Pulse {
        self.agree(now.instant);
        self.rust.view(now)
    }

    fn outlook(&self, now: Now) -> Vec<bool> {
        self.rust.outlook(now)
    }

    fn named(&self) -> Option<&str> {
        self.rust.named()
    }
}

/// The book of the heart of Rust, which has the laws. What they try on clones is tried on clones of
/// the pair as well, so that C is asked there, too.
#[derive(Clone, Debug)]
pub(crate) struct PairBook(HeartBook);

impl PairBook {
    pub(crate) fn alive(&mut self, now: Instant) {
        self.0.alive(now);
    }

    pub(crate) const fn retire(&mut self, how: Retire) {
        self.0.retire(how);
    }

    fn of_rust(&mut self) -> &mut impl Ledger<Heart> {
        &mut self.0
    }
}

impl Ledger<HeartPair> for PairBook {
    fn largest(&self) -> Instant {
        Ledger::<Heart>::largest(&self.0)
    }

    fn flight(&self) -> Option<&Flight> {
        Ledger::<Heart>::flight(&self.0)
    }

    fn dead(&self) -> Vec<RequestId> {
        Ledger::<Heart>::dead(&self.0)
    }

    fn last_write(&self) -> Option<&Write> {
        Ledger::<Heart>::last_write(&self.0)
    }

    fn owners(&self) -> Owners {
        Ledger::<Heart>::owners(&self.0)
    }

    fn pass_time(&mut self, now: Instant) {
        self.of_rust().pass_time(now);
    }

    fn close(&mut self) {
        self.of_rust().close();
    }

    fn answer(&mut self, reply: Reply<'_>) {
        self.of_rust().answer(reply);
    }

    fn was_reset(&mut self) {
        self.of_rust().was_reset();
    }

    fn output(&mut self, seen: &Seen, now: Now) {
        self.of_rust().output(seen, now);
    }

    fn settled(&self, machine: &HeartPair, last: &Seen, now: Now) {
        self.0.settled(&machine.rust, last, now);
        let _ = machine.clone().poll(now);
        let Seen::Wait(until) = *last else { return };
        for early in [Duration::from_millis(1), Duration::ZERO] {
            let instant = until.saturating_sub(early);
            let _ = machine.clone().poll(Now { instant, ..now });
        }
    }
}
