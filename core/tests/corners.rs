//! Corners of the public API that no other test comes to: words, defaults, and calls made late.
#![expect(clippy::unwrap_used, reason = "tests may")]

use kubelease_core::Timestamp;
use kubelease_core::elector::{
    Config, ConfigError, Create, Elector, Health, POLLS_MAX, Timing, TimingError,
};
use kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig, HeartbeatError, HeartbeatIdentity};
use kubelease_core::lease::{Label, LeaseSpec, ResourceVersion, Version};
use kubelease_core::machine::{Lent, Machine};
use kubelease_core::prng::Prng;
use kubelease_core::protocol::{
    BadAnswer, Changes, Event, Failure, Operation, Output, Reply, Request, RequestId, Response,
    StaleRequest, TroubleKind, Verb,
};
use kubelease_core::session::{Action, RequestError, Session, UpdateMode};
use kubelease_core::text::{Clipped, Hash, Text};
use kubelease_core::time::{Duration, Instant, Now};
use kubelease_core::wire::http::Method;
use kubelease_core::wire::path::{LeasePath, PathError};
use kubelease_core::wire::{Answer, Reading};

fn at(ms: u64) -> Now {
    Now::monotonic(Instant::from_millis(ms))
}

fn path() -> LeasePath<'static> {
    LeasePath::new("default", "a").unwrap()
}

#[test]
fn errors_of_a_config_say_what_was_expected_and_found() {
    let table = [
        (
            ConfigError::IdentityEmpty,
            "expected an identity, found an empty one",
        ),
        (
            ConfigError::IdentityTooLong,
            "expected an identity of at most 253 bytes, found a longer one",
        ),
        (
            ConfigError::IdentityCharacter,
            "expected an identity without control characters, quotes and backslashes, \
             found one of them",
        ),
        (
            ConfigError::Timing(TimingError::RetryPeriodZero),
            "expected a retry period above zero, found zero",
        ),
        (
            ConfigError::TooManyLabels,
            "expected at most 4 labels, found more",
        ),
        (
            ConfigError::LabelInvalid,
            "expected labels by the rules of Kubernetes, found another",
        ),
    ];
    for (error, text) in table {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn err_identities_and_labels_past_their_bounds() {
    let longest = "i".repeat(253);
    assert_eq!(Config::new(&longest).validate(), Ok(()));
    // U+0085 is a control character, and U+00A0 is none.
    let error = Config::new("a\u{85}").validate();
    assert_eq!(error, Err(ConfigError::IdentityCharacter));
    assert_eq!(Config::new("a\u{a0}\u{e9}").validate(), Ok(()));
    let longer = "i".repeat(254);
    let error = Config::new(&longer).validate();
    assert_eq!(error, Err(ConfigError::IdentityTooLong));
    let labels = ["a", "b", "c", "d", "e"].map(|key| Label { key, value: "west" });
    let with = |count| Config {
        labels: labels.get(..count).unwrap(),
        ..Config::new("a")
    };
    assert_eq!(with(4).validate(), Ok(()));
    assert_eq!(with(5).validate(), Err(ConfigError::TooManyLabels));
}

#[test]
fn errors_of_a_path_say_what_was_expected_and_found() {
    let table = [
        (
            PathError::NamespaceEmpty,
            "expected a namespace, found an empty text",
        ),
        (
            PathError::NamespaceMalformed,
            "expected a namespace of a-z, 0-9 and inner '-', found something else",
        ),
        (
            PathError::NameEmpty,
            "expected a lease name, found an empty text",
        ),
        (
            PathError::NameTooLong,
            "expected a lease name of at most 253 bytes, found a longer one",
        ),
    ];
    for (error, text) in table {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn methods_are_spelt_as_in_a_request_line() {
    let methods = [
        Method::Get,
        Method::Post,
        Method::Put,
        Method::Patch,
        Method::Delete,
    ];
    let names = methods.map(Method::as_str);
    assert_eq!(names, ["GET", "POST", "PUT", "PATCH", "DELETE"]);
}

#[test]
fn operations_have_the_verbs_of_access_rules() {
    let spec = LeaseSpec {
        holder_identity: "a",
        lease_duration_seconds: 15,
        acquire_time: None,
        renew_time: Timestamp::UNIX_EPOCH,
        lease_transitions: None,
    };
    let version = Version::default();
    let create = |by_put| Operation::Create {
        spec,
        labels: &[],
        owner: None,
        by_put,
    };
    let update = Operation::Update {
        spec,
        version: &version,
        changes: Changes::Renew,
        labels: &[],
        owner: None,
    };
    let operations = [
        Operation::Get,
        create(false),
        create(true),
        update,
        Operation::GetNode { name: "n" },
        Operation::Delete { version: &version },
        Operation::Watch {
            version: &version.resource_version,
            timeout: Duration::from_secs(300),
        },
    ];
    let verbs = operations.map(|operation| operation.verb());
    let expected = [
        Verb::Get,
        Verb::Create,
        Verb::Create,
        Verb::Update,
        Verb::GetNode,
        Verb::Delete,
        Verb::Watch,
    ];
    assert_eq!(verbs, expected);
    assert_eq!(
        verbs.map(Verb::as_str),
        [
            "get", "create", "create", "update", "get", "delete", "watch"
        ]
    );
}

#[test]
fn texts_can_be_cleared_and_shown() {
    let mut text = Text::<4>::try_from("abc").unwrap();
    text.clear();
    assert_eq!(text, Text::new());
    let mut clipped = Clipped::<4>::from("abcdef");
    assert_eq!(format!("{clipped:?}"), "\"abcd\"…(6 bytes)");
    clipped.clear();
    assert_eq!(clipped, Clipped::default());
    assert_eq!(Hash::default(), Hash::of(b""));
    clipped.push_byte(b'x');
    assert_eq!(format!("{clipped:?}"), "\"x\"");
}

#[test]
fn versions_are_put_together_from_bytes() {
    let mut version = ResourceVersion::default();
    for byte in b"907" {
        version.push_byte(*byte).unwrap();
    }
    assert_eq!(version.as_number(), Some(907));
    let long = ResourceVersion::try_from("184467440737095516150").unwrap();
    assert_eq!(long.as_number(), None);
    assert!((0..30).any(|_| version.push_byte(b'0').is_err()));
}

#[test]
fn a_length_of_time_is_one_of_the_standard_library_too() {
    let length = core::time::Duration::from(Duration::from_millis(1_500));
    assert_eq!(length, core::time::Duration::from_millis(1_500));
    let back = Duration::from(core::time::Duration::from_micros(1_500_999));
    assert_eq!(back, Duration::from_millis(1_500), "the rest is cut off");
    let longest = Duration::from(core::time::Duration::MAX);
    assert_eq!(longest, Duration::from_millis(u64::MAX));
}

#[test]
fn the_one_seed_that_would_make_no_sequence_makes_another() {
    let mut random = Prng::new(0x5907_1d96_d948_248e);
    assert_ne!((random.next_u32(), random.next_u32()), (0, 0));
}

#[test]
fn retry_afters_past_32_bits_are_not_there() {
    let mut answer = Answer::default();
    answer.begin(429, None);
    answer.header(b"Retry-After", b"99999999999");
    assert_eq!(answer.body(b"", None), Reading::More);
    let response = answer.end(None);
    assert_eq!(response, Response::new(Reply::Throttled));
}

#[test]
fn an_acquire_time_of_null_is_no_time() {
    let body = br#"{"metadata":{"resourceVersion":"1"},"spec":{"acquireTime":null}}"#;
    let mut answer = Answer::new();
    answer.begin(200, None);
    answer.body(body, None);
    let Reply::Lease(record) = answer.end(None).reply else {
        panic!("a Lease")
    };
    let spec = record.spec.as_ref().unwrap();
    assert_eq!(spec.acquire_time, kubelease_core::lease::RecordTime::Null);
}

#[test]
fn err_numbers_of_a_lease_that_are_not_whole() {
    for member in ["leaseDurationSeconds", "leaseTransitions"] {
        let body = format!(r#"{{"metadata":{{"resourceVersion":"1"}},"spec":{{"{member}":1.5}}}}"#);
        let mut answer = Answer::new();
        answer.begin(200, None);
        assert_eq!(answer.body(body.as_bytes(), None), Reading::Enough);
        let reply = Reply::BadAnswer(BadAnswer::Malformed);
        assert_eq!(answer.end(None).reply, reply, "{member}");
    }
}

#[test]
fn an_elector_that_has_ended_is_healthy_for_ever() {
    let config = Config::new("a");
    let mut elector = Elector::new(config, at(0)).unwrap();
    assert_eq!(elector.config().identity, "a");
    elector.stop(at(0));
    let ended = (0..POLLS_MAX).any(|_| elector.poll(at(0)) == Output::Done);
    assert!(ended);
    let late = Instant::from_millis(1 << 40);
    assert_eq!(elector.health(late), Health::Ok);
    // Whatever is called on it then, it stays so.
    elector.step_down(at(1), Duration::ZERO);
    elector.stop_when_idle(at(1));
    elector.work_done(at(1));
    assert_eq!(elector.poll(at(1)), Output::Done);
}

/// The id of the request that `elector` makes next.
fn asked(elector: &mut Elector<'_>, now: Now) -> RequestId {
    let mut polls = 0..POLLS_MAX;
    polls
        .find_map(|_| match elector.poll(now) {
            Output::Request(request) => Some(request.id),
            Output::Event(_) | Output::Cancel(_) | Output::WaitUntil(_) | Output::Done => None,
        })
        .unwrap()
}

/// The answer with a lease of this holder, renewed then.
fn lease_of(holder: &str, renew_time: Timestamp) -> Answer {
    let spec = format!(
        r#"{{"holderIdentity":"{holder}","leaseDurationSeconds":15,"renewTime":"{renew_time}"}}"#
    );
    let body = format!(r#"{{"metadata":{{"resourceVersion":"7"}},"spec":{spec}}}"#);
    let mut answer = Answer::new();
    answer.begin(200, None);
    assert_eq!(answer.body(body.as_bytes(), None), Reading::More);
    answer
}

#[test]
fn a_leader_is_told_in_bytes_and_with_the_instant_of_the_last_answer() {
    let mut elector = Elector::new(Config::new("a"), at(5)).unwrap();
    assert_eq!(elector.leader_bytes(), b"");
    assert_eq!(elector.last_good_answer(), Instant::from_millis(5));
    let id = asked(&mut elector, at(6));
    let mut answer = lease_of("b-\u{fc}", Timestamp::UNIX_EPOCH);
    let response = answer.end(None);
    elector.handle_response(at(7), id, response).unwrap();
    assert_eq!(elector.leader_bytes(), "b-\u{fc}".as_bytes());
    assert_eq!(
        elector.leader().map(str::as_bytes),
        Some(elector.leader_bytes())
    );
    assert_eq!(elector.last_good_answer(), Instant::from_millis(7));

    let mut elector = Elector::new(Config::new("a"), at(0)).unwrap();
    let id = asked(&mut elector, at(0));
    let missing = Response::new(Reply::LeaseMissing);
    elector.handle_response(at(0), id, missing).unwrap();
    let id = asked(&mut elector, at(0));
    let Some(Operation::Create { spec, .. }) = elector.in_flight().map(|it| it.operation) else {
        panic!("a creation")
    };
    let mut answer = lease_of("a", spec.renew_time);
    let response = answer.end(None);
    elector.handle_response(at(1), id, response).unwrap();
    let begun = elector.poll(at(1));
    assert!(
        matches!(begun, Output::Event(Event::StartedLeading { .. })),
        "{begun:?}"
    );
    assert_eq!(elector.leader_bytes(), b"a");
}

#[test]
fn an_elector_does_not_take_the_answer_to_a_deletion() {
    let mut elector = Elector::new(Config::new("a"), at(0)).unwrap();
    let id = asked(&mut elector, at(0));
    let deleted = Response::new(Reply::Deleted);
    elector.handle_response(at(1), id, deleted).unwrap();
    let kind = TroubleKind::BadAnswer(BadAnswer::NotALease);
    let (verb, told) = (Verb::Get, elector.poll(at(1)));
    assert_eq!(told, Output::Event(Event::Trouble { kind, verb }));
}

const HEART: HeartbeatConfig = HeartbeatConfig {
    spread_first_beat: false,
    ..HeartbeatConfig::NODE
};

#[test]
fn a_machine_that_is_lent_does_what_it_does_at_home() {
    for identity in [HeartbeatIdentity::of_node("n"), HeartbeatIdentity::new("n")] {
        let mut home = Heartbeat::new(&HEART, identity, at(0)).unwrap();
        let mut away = Heartbeat::new(&HEART, identity, at(0)).unwrap();
        let mut lent = Lent(&mut away);
        assert_eq!(lent.owner(), home.owner());
        assert_eq!(home.owner().map(|node| node.name), identity.node);
        assert_eq!(lent.in_flight(), None);
        assert_eq!(lent.poll(at(0)), home.poll(at(0)));
        let first = home.in_flight_id().unwrap();
        assert_eq!(lent.in_flight_id(), Some(first));
        assert_eq!(lent.in_flight(), home.in_flight());
        let (mine, theirs) = (Failure::NotSent, Failure::NotSent);
        lent.handle_failure(at(1), first, mine).unwrap();
        home.handle_failure(at(1), first, theirs).unwrap();
        assert_eq!(lent.in_flight_id(), home.in_flight_id());
        let quiet = Action::WaitUntil(home.quiet_until());
        let mut last = None;
        for now in [2, 9_000].map(at) {
            for _ in 0..POLLS_MAX {
                last = Some(lent.poll_action(now));
                assert_eq!(last, Some(home.poll_action(now)));
            }
            assert_eq!(last == Some(quiet), now == at(2), "{last:?} at {now:?}");
        }
        let second = home.in_flight_id().unwrap();
        assert_ne!(first, second);
        let missing = Response::new(Reply::LeaseMissing);
        let stale = lent.handle_response(at(9_001), first, missing);
        assert_eq!(stale, Err(StaleRequest));
        lent.handle_response(at(9_001), second, missing).unwrap();
        home.handle_response(at(9_001), second, missing).unwrap();
        assert_eq!(lent.poll(at(9_001)), home.poll(at(9_001)));
        assert_eq!(lent.in_flight(), home.in_flight());
    }
}

#[test]
fn err_a_heart_with_a_config_or_an_identity_that_is_wrong() {
    let identity = HeartbeatIdentity::of_node("n");
    let heart = |config, identity| Heartbeat::new(config, identity, at(0)).map(|_| ());
    let config = HeartbeatConfig {
        interval: Duration::ZERO,
        ..HEART
    };
    assert_eq!(heart(&config, identity), Err(HeartbeatError::IntervalZero));
    let nobody = HeartbeatIdentity::new("");
    assert_eq!(heart(&HEART, nobody), Err(HeartbeatError::HolderEmpty));
    let good = Heartbeat::new(&HEART, identity, at(0)).unwrap();
    assert_eq!(good.config(), &HEART);
}

/// Always wants an update, whatever it is told.
struct Stubborn {
    version: Version,
    answers: u32,
}

impl Stubborn {
    fn request(&self) -> Request<'_> {
        Request {
            id: RequestId::from_number(self.answers),
            deadline: Instant::from_millis(5_000),
            operation: Operation::Update {
                spec: LeaseSpec {
                    holder_identity: "a",
                    lease_duration_seconds: 15,
                    acquire_time: None,
                    renew_time: Timestamp::UNIX_EPOCH,
                    lease_transitions: None,
                },
                version: &self.version,
                changes: Changes::Renew,
                labels: &[],
                owner: None,
            },
        }
    }
}

impl Machine for Stubborn {
    fn poll(&mut self, _: Now) -> Output<'_> {
        Output::Request(self.request())
    }

    fn handle_response(
        &mut self,
        _: Now,
        _: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        assert_eq!(response, Response::new(Reply::Conflict));
        self.answers = self.answers.saturating_add(1);
        Ok(())
    }

    fn handle_failure(&mut self, _: Now, _: RequestId, _: Failure) -> Result<(), StaleRequest> {
        Ok(())
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        Some(self.request())
    }
}

#[test]
fn a_machine_that_never_reads_does_not_keep_the_session_from_answering() {
    let machine = Stubborn {
        version: Version {
            resource_version: ResourceVersion::try_from("7").unwrap(),
            ..Version::default()
        },
        answers: 0,
    };
    assert_eq!(machine.owner(), None, "it names none");
    let mut keep = [0; 64];
    let mode = UpdateMode::Update {
        keep: &mut keep,
        patch_when_too_large: true,
    };
    let mut session = Session::new(machine, path(), mode);
    let wait = Action::WaitUntil(Instant::from_millis(9));
    assert_eq!(session.poll(at(9)), wait);
    assert_eq!(session.machine().answers, 4);
    assert_eq!(*session.path(), path());
    // What it wants can't be written either.
    let id = RequestId::from_number(4);
    let mut room = [0; 64];
    let error = RequestError::AnswerBegun;
    assert_eq!(session.request(id, &mut room).unwrap_err(), error);
    assert_eq!(session.write_body(id, 0, &mut room), Err(error));
    let other = RequestId::from_number(9);
    let error = RequestError::StaleRequest;
    assert_eq!(session.write_target(other, 0, &mut room), Err(error));
}

#[test]
fn presets_are_their_three_numbers() {
    let three = |timing: Timing| {
        [
            timing.lease_duration,
            timing.renew_deadline,
            timing.retry_period,
        ]
        .map(|length| length.as_millis() / 1_000)
    };
    assert_eq!(three(Timing::KUBERNETES), [15, 10, 2]);
    assert_eq!(three(Timing::OPENSHIFT), [137, 107, 26]);
    assert_eq!(three(Timing::OPENSHIFT_SINGLE_NODE), [270, 240, 60]);
    assert_eq!(three(Timing::EDGE), [60, 40, 5]);
    assert_eq!(Config::new("a").create, Create::Post);
}
