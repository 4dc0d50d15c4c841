//! Nobody leads and nobody is elected again: none of it may happen.

use kubelease_core::protocol::TroubleKind;
use kubelease_tests::prelude::*;
use kubelease_tests::store::Answer;

#[test]
fn b21_an_outage_ends_the_term_and_the_election_goes_on_by_itself() {
    let mut e = leading(A);
    let mut store = Store::with(&Lease::written(e.last_claim(), 7));
    let seen = run(&mut e, 44_000, 0, |now, sent| {
        if now < 41_000 {
            Failure::Unknown.into()
        } else {
            store.serve(sent)
        }
    });
    assert!(
        seen.contains(&(10_000, "Stopped Deadline".to_owned())),
        "{seen:?}"
    );
    let requests = |text: &str| text == "GET" || text.starts_with("PUT");
    let tries: Vec<u64> = seen
        .iter()
        .filter(|(at, text)| *at < 41_000 && requests(text))
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(tries, (1..=20).map(|n| n * 2_000).collect::<Vec<_>>());
    let again = seen.iter().find(|(_, text)| text == "Started 2").unwrap();
    assert!(again.0 <= 43_000, "{seen:?}");
}

#[test]
fn b23_reads_that_work_prove_nothing_while_writes_fail() {
    let mut e = leading(A);
    let mut store = Store::with(&Lease::written(e.last_claim(), 7));
    let seen = run(&mut e, 20_000, 100, |_, sent| {
        if sent.write.is_some() {
            Reply::Forbidden.into()
        } else {
            store.serve(sent)
        }
    });
    let stops: Vec<_> = seen
        .iter()
        .filter(|(_, text)| text.starts_with("Stopped"))
        .collect();
    assert_eq!(stops, [&(10_000, "Stopped Deadline".to_owned())]);
    let troubles = seen
        .iter()
        .filter(|(_, text)| text == "Trouble Forbidden update");
    assert_eq!(troubles.count(), 1, "{seen:?}");
}

/// What an elector can be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    CandidateGet,
    CandidatePost,
    CandidatePut,
    CandidateTakeover,
    RestartPut,
    LeadingPut,
    LeadingGet,
    LeadingPost,
    ReleasingPut,
    ReleasingGet,
    CooldownGet,
}

const EVERYTHING: [Waiting; 11] = [
    Waiting::CandidateGet,
    Waiting::CandidatePost,
    Waiting::CandidatePut,
    Waiting::CandidateTakeover,
    Waiting::RestartPut,
    Waiting::LeadingPut,
    Waiting::LeadingGet,
    Waiting::LeadingPost,
    Waiting::ReleasingPut,
    Waiting::ReleasingGet,
    Waiting::CooldownGet,
];

impl Waiting {
    /// An elector that waits for this, at 2100 ms or, if it does not lead, earlier.
    fn driver(self) -> Driver {
        let mut e = match self {
            Self::CandidateGet
            | Self::CandidatePost
            | Self::CandidatePut
            | Self::CandidateTakeover
            | Self::RestartPut => Driver::new(A),
            Self::LeadingPut
            | Self::LeadingGet
            | Self::LeadingPost
            | Self::ReleasingPut
            | Self::ReleasingGet
            | Self::CooldownGet => leading(A),
        };
        match self {
            Self::CandidateGet => {}
            Self::CandidatePost => e.answers(&[Reply::LeaseMissing]),
            Self::CandidatePut => e.answers_lease(&released(6)),
            Self::CandidateTakeover => {
                e.answers_lease(&held_by("B", 6).duration(1));
                e.settle();
                e.go_to(1_001);
            }
            Self::RestartPut => e.answers_lease(&held_by("A", 6)),
            Self::LeadingPut => e.go_to(2_000),
            Self::LeadingGet => {
                e.go_to(2_000);
                e.answers(&[Reply::Conflict]);
            }
            Self::LeadingPost => {
                e.go_to(2_000);
                e.answers(&[Reply::Conflict, Reply::LeaseMissing]);
            }
            Self::ReleasingPut => e.take(Stop),
            Self::ReleasingGet => {
                e.take(Stop);
                e.answers(&[Reply::Conflict]);
            }
            Self::CooldownGet => {
                e.take(StepDown(30_000));
                e.settle();
                e.take(Accepted(8));
                e.settle();
                e.go_to(2_000);
            }
        }
        e.settle();
        e
    }

    const fn leads(self) -> bool {
        matches!(
            self,
            Self::LeadingPut | Self::LeadingGet | Self::LeadingPost
        )
    }

    const fn releases(self) -> bool {
        matches!(self, Self::ReleasingPut | Self::ReleasingGet)
    }
}

/// Short cuts for the way into a state.
trait Answers {
    fn answers(&mut self, replies: &[Reply<'static>]);
    fn answers_lease(&mut self, lease: &Lease);
}

impl Answers for Driver {
    fn answers(&mut self, replies: &[Reply<'static>]) {
        for reply in replies {
            self.settle();
            self.take(*reply);
        }
    }

    fn answers_lease(&mut self, lease: &Lease) {
        self.settle();
        self.take(lease.clone());
    }
}

/// Every reply and failure that is not a Lease.
fn every_answer() -> Vec<Answer> {
    let statuses = [301, 406, 408, 410, 413, 415, 418].map(Reply::Refused);
    let errors = [500, 502, 503, 504, 507, 599].map(Reply::ServerError);
    let plain = [
        Reply::LeaseMissing,
        Reply::NamespaceMissing,
        Reply::ApiUnavailable,
        Reply::Conflict,
        Reply::BadRequest,
        Reply::Unauthorized,
        Reply::Forbidden,
        Reply::NamespaceTerminating,
        Reply::Invalid,
        Reply::Throttled,
        Reply::TooLarge,
    ];
    let bad = [
        BadAnswer::Empty,
        BadAnswer::NotJson,
        BadAnswer::Truncated,
        BadAnswer::Malformed,
        BadAnswer::TooDeep,
        BadAnswer::NotALease,
        BadAnswer::NoVersion,
        BadAnswer::VersionTooLong,
        BadAnswer::TooLong,
        BadAnswer::UnexpectedStatus,
        BadAnswer::NotMyWrite,
    ]
    .map(Reply::BadAnswer);
    let replies = statuses.into_iter().chain(errors).chain(plain).chain(bad);
    let failures = [Failure::NotSent, Failure::Unknown, Failure::TimedOut];
    let far = retry_after(Reply::ServerError(503), u64::MAX);
    replies
        .map(Answer::from)
        .chain(failures.map(Answer::from))
        .chain([Answer::Nothing, Answer::Reply(far)])
        .collect()
}

/// One cell of the table: this answer comes whatever is asked, for 40 s; then all is well.
fn endures(waiting: Waiting, answer: &Answer) {
    let mut e = waiting.driver();
    let seen = run(&mut e, 40_000, 10, |_, _| answer.clone());
    let stopped = seen.iter().find(|(_, text)| text.starts_with("Stopped"));
    if waiting.leads() {
        assert_eq!(
            stopped,
            Some(&(10_000, "Stopped Deadline".to_owned())),
            "{seen:?}"
        );
    } else {
        assert_eq!(stopped, None, "{seen:?}");
    }
    if waiting.releases() {
        assert!(e.is_done(), "{seen:?}");
        return;
    }
    // The longest pause is a Retry-After of 60 s.
    let mut store = Store::with(&released(600));
    let healed = (20..=52).map(|n| n * 2_000 + 50).any(|until| {
        let seen = run(&mut e, until, 10, |_, sent| store.serve(sent));
        seen.iter().any(|(_, text)| text.starts_with("Started"))
    });
    assert!(healed, "nobody leads at {} ms", e.now_ms());
}

#[test]
fn b24_no_answer_in_no_state_ends_or_wedges_the_elector() {
    for waiting in EVERYTHING {
        for answer in every_answer() {
            // A leader whose lease is gone leads on, as soon as it has made the lease anew.
            let outcome = std::panic::catch_unwind(|| endures(waiting, &answer));
            assert!(outcome.is_ok(), "{waiting:?} x {answer:?}");
        }
    }
}

#[test]
fn b24_each_state_is_the_one_it_is_called() {
    let texts = EVERYTHING.map(|waiting| {
        let e = waiting.driver();
        kubelease_tests::text::describe_request(e.flight())
    });
    assert_eq!(
        texts,
        [
            "GET",
            "POST",
            "PUT 6 acquire",
            "PUT 6 acquire",
            "PUT 6 acquire",
            "PUT 7 renew",
            "GET",
            "POST",
            "PUT 7 release",
            "GET",
            "GET",
        ]
    );
}

#[test]
fn b24_a_status_without_a_meaning_is_named_once() {
    let mut e = Driver::new(A);
    let seen = run(&mut e, 100_000, 10, |_, _| Reply::Refused(418).into());
    let troubles: Vec<_> = seen
        .iter()
        .filter(|(_, text)| text.starts_with("Trouble"))
        .collect();
    let kind = TroubleKind::Refused(418);
    assert_eq!(troubles, [&(10, format!("Trouble {kind:?} get"))]);
}

#[test]
fn b24_a_refused_candidate_slows_down_to_the_cap() {
    let mut e = Driver::new(A);
    let seen = run(&mut e, 200_000, 0, |_, _| Reply::BadRequest.into());
    let tries: Vec<u64> = seen
        .iter()
        .filter(|it| it.1 == "GET")
        .map(|it| it.0)
        .collect();
    let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps[..6], [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
}

#[test]
fn b39_every_loss_is_an_event_and_nothing_more() {
    let mut e = leading(A);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Reply::Conflict => ["GET"]);
    at!(e, 2_000, held_by("B", 8) => ["Stopped Lost", "Leader B", "wait 4000"]);
    assert!(!e.is_done());
}
