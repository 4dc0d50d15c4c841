//! Watches through a session: a real elector, and streams in any split.

use kubelease_core::elector::{Config, Elector};
use kubelease_core::heartbeat::{Heartbeat, HeartbeatConfig, HeartbeatIdentity};
use kubelease_core::machine::{Lent, Machine};
use kubelease_core::protocol::{
    Event, Failure, RequestId, StaleRequest, TroubleKind, Verb, WatchEvent,
};
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::wire::Reading;
use kubelease_core::wire::http::Method;

use crate::bodies;
use crate::session::{at, path};

type Watcher<'k> = Session<'k, Elector<'static>>;

/// A Lease of `holder`.
fn lease(version: &str, holder: &str, renewed: u32) -> String {
    format!(
        "{{\"kind\":\"Lease\",\"metadata\":{{\"uid\":\"u1\",\"resourceVersion\":\"{version}\",\
         \"annotations\":{{\"note\":\"a\\n{{}}\"}}}},\"spec\":{{\"holderIdentity\":\"{holder}\",\
         \"leaseDurationSeconds\":15,\"renewTime\":\"2026-01-02T03:04:{renewed:02}.000000Z\"}}}}"
    )
}

fn line(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

const BOOKMARK: &str = concat!(
    r#"{"type":"BOOKMARK","object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","#,
    r#""metadata":{"resourceVersion":"6246"},"spec":{}}}"#,
    "\n"
);

const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"#,
    r#""status":"Failure","message":"too old resource version: 1 (5)","reason":"Expired","#,
    r#""code":410}}"#,
    "\n"
);

/// The actions up to the wait; requests by their targets, answered by `first` where they read.
fn settle(session: &mut Watcher<'_>, ms: u64) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        match session.poll(at(ms)) {
            Action::Event(event) => found.push(format!("{event:?}")),
            Action::Cancel(_) => found.push("Cancel".to_owned()),
            Action::Send { id, .. } => found.push(sent(session, id)),
            Action::WaitUntil(_) | Action::Done => return found,
        }
    }
}

fn sent(session: &Watcher<'_>, id: RequestId) -> String {
    let mut buffer = [0; 2_048];
    let request = session.request(id, &mut buffer).unwrap();
    let query = request.query().split("timeout").next().unwrap();
    format!("{} {}?{query}", request.method.as_str(), request.path())
}

fn flight(session: &Watcher<'_>) -> RequestId {
    use kubelease_core::machine::Machine;
    session.machine().in_flight_id().unwrap()
}

/// A session that watches from version 7 on, held by "other".
fn watching(update: UpdateMode<'_>) -> (Watcher<'_>, RequestId) {
    let elector = Elector::new(Config::new("me"), at(0)).unwrap();
    let mut session = Session::new(elector, path(), update);
    session.watch();
    assert_eq!(settle(&mut session, 0).len(), 1);
    answer(&mut session, 0, 200, &lease("7", "other", 1));
    assert_eq!(settle(&mut session, 0)[0], "LeaderChanged");
    let id = flight(&session);
    session.response_begin(id, 200).unwrap();
    (session, id)
}

fn answer(session: &mut Watcher<'_>, ms: u64, status: u16, body: &str) {
    let id = flight(session);
    session.response_begin(id, status).unwrap();
    session
        .response_body_at(at(ms), id, body.as_bytes())
        .unwrap();
    session.response_end(at(ms), id).unwrap();
}

#[test]
fn a_watch_is_asked_for_by_name_on_the_collection() {
    let elector = Elector::new(Config::new("me"), at(0)).unwrap();
    let mut session = Session::new(elector, path(), UpdateMode::MergePatch);
    session.watch();
    let get = "GET /apis/coordination.k8s.io/v1/namespaces/default/leases/a?";
    assert_eq!(settle(&mut session, 0), [get]);
    answer(&mut session, 0, 200, &lease("7", "other", 1));
    let watch = "GET /apis/coordination.k8s.io/v1/namespaces/default/leases?watch=1\
                 &fieldSelector=metadata.name%3Da&resourceVersion=7\
                 &allowWatchBookmarks=true&";
    assert_eq!(settle(&mut session, 0), ["LeaderChanged", watch]);
    let mut buffer = [0; 512];
    let request = session.request(flight(&session), &mut buffer).unwrap();
    assert_eq!((request.method, request.body), (Method::Get, &b""[..]));
    let seconds = request.query().rsplit_once("timeoutSeconds=").unwrap().1;
    assert!(
        (300..600).contains(&seconds.parse::<u32>().unwrap()),
        "{seconds}"
    );
}

#[test]
fn what_stands_after_an_object_spoils_its_line_in_any_split() {
    let whole = line("MODIFIED", &lease("8", "third", 2));
    for tail in ["}\n", "x\n", " {}\n"] {
        let stream = whole.replace('\n', tail);
        for split in [1, 7, stream.len()] {
            let (mut session, id) = watching(UpdateMode::MergePatch);
            let last = stream
                .as_bytes()
                .chunks(split)
                .map(|piece| session.response_body_at(at(0), id, piece))
                .find(|reading| *reading != Ok(Reading::More));
            assert_eq!(last, Some(Ok(Reading::Enough)), "{tail:?} by {split}");
            assert_eq!(
                session.machine().leader(),
                Some("other"),
                "{tail:?} by {split}"
            );
        }
    }
}

#[test]
fn a_line_counts_when_it_has_ended() {
    let (mut session, id) = watching(UpdateMode::MergePatch);
    let whole = line("MODIFIED", &lease("8", "third", 2));
    let (text, end) = whole.as_bytes().split_at(whole.len() - 1);
    assert_eq!(session.response_body_at(at(0), id, text), Ok(Reading::More));
    assert_eq!(session.machine().leader(), Some("other"));
    assert_eq!(session.response_body_at(at(0), id, end), Ok(Reading::More));
    assert_eq!(session.machine().leader(), Some("third"));
}

#[test]
fn any_split_of_a_stream_tells_the_machine_the_same() {
    let mut stream = String::new();
    stream += &line("MODIFIED", &lease("8", "other", 2));
    stream += BOOKMARK;
    stream += "\n \r\n";
    stream += &line("ADDED", bodies::UNICODE);
    stream += &line("DELETED", &lease("901", "other", 3));
    stream += &line("MODIFIED", bodies::BARE);
    stream += &line("MODIFIED", &lease("1002", "third", 3));
    stream += &line("MODIFIED", &lease("1003", "", 3));
    let outcome = |split: usize| {
        let mut buffer = [0; 4_096];
        let (mut session, id) = watching(UpdateMode::Update {
            keep: &mut buffer,
            patch_when_too_large: false,
        });
        let mut leaders = vec![String::new()];
        for (ms, piece) in stream.as_bytes().chunks(split).enumerate() {
            let ms = if split == usize::MAX {
                0
            } else {
                ms as u64 / 1_000
            };
            let reading = session.response_body_at(at(ms), id, piece);
            let leader = session.machine().leader().unwrap_or_default().to_owned();
            if leaders.last() != Some(&leader) {
                leaders.push(leader);
            }
            if session.machine().in_flight().is_none() {
                assert_eq!(reading, Ok(Reading::Enough), "{leaders:?}");
                break;
            }
            assert_eq!(reading, Ok(Reading::More), "{leaders:?}");
        }
        let last = settle(&mut session, 3);
        let write = flight(&session);
        let mut buffer = [0; 2_048];
        let body = session.request(write, &mut buffer).unwrap().body.to_vec();
        (leaders, last, String::from_utf8(body).unwrap())
    };
    let (leaders, last, body) = outcome(1);
    assert_eq!(leaders.last().unwrap(), "");
    assert!(
        leaders.iter().any(|leader| leader == "third"),
        "{leaders:?}"
    );
    assert_eq!(last[..2], ["LeaderChanged", "Cancel"]);
    assert!(last[2].starts_with("PUT "), "{last:?}");
    // What is not ours comes from the line.
    assert!(
        body.contains(r#""note":"a\n{}""#) && body.contains(r#""1003""#),
        "{body}"
    );
    let acquire_time = body.split("acquireTime").next().unwrap().to_owned();
    for split in [2, 3, 7, 64, 1_000, usize::MAX] {
        let (_, other_last, other_body) = outcome(split);
        assert_eq!(other_last, last, "split {split}");
        assert!(other_body.starts_with(&acquire_time), "split {split}");
    }
}

#[test]
fn a_bookmark_leaves_what_a_put_puts_back_alone() {
    let mut buffer = [0; 1_024];
    let (mut session, id) = watching(UpdateMode::Update {
        keep: &mut buffer,
        patch_when_too_large: false,
    });
    session
        .response_body_at(at(7_000), id, BOOKMARK.as_bytes())
        .unwrap();
    session
        .response_body_at(at(14_000), id, BOOKMARK.as_bytes())
        .unwrap();
    let seen = settle(&mut session, 15_001);
    assert_eq!(seen[0], "Cancel");
    assert!(seen[1].starts_with("PUT ") && seen.len() == 2, "{seen:?}");
}

#[test]
fn the_errors_of_a_stream_send_the_candidate_back_to_reading() {
    let lease = lease("8", "other", 2);
    let broken = [
        line(
            "MODIFIED",
            "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"8\"}}",
        ),
        line("MODIFIED", "[]"),
        line("MODIFIED", &format!("{lease}{lease}")),
        line("MODIFIED", "{}"),
        line("RENAMED", &lease),
        line("modified", &lease),
        format!("{{\"object\":{lease},\"type\":\"ADDED\"}}\n"),
        format!("[{lease}]\n"),
        "<html>\n".to_owned(),
        format!("{{ \"type\": \"ADDED\", \"object\": {lease}}}\n"),
        lease.clone(),
        format!("{}]", line("MODIFIED", &lease)),
    ];
    for stream in broken {
        let (mut session, id) = watching(UpdateMode::MergePatch);
        let reading = session.response_body_at(at(10), id, stream.as_bytes());
        assert_eq!(reading, Ok(Reading::Enough), "{stream}");
        assert_eq!(
            session.response_end(at(10), id),
            Err(StaleRequest),
            "{stream}"
        );
        let event = settle(&mut session, 10);
        assert!(
            event[0].starts_with("Trouble") && event[0].contains("Watch"),
            "{event:?}"
        );
        let seen = settle(&mut session, 60_000);
        assert!(
            seen[0].starts_with("GET ") || seen[0].starts_with("PATCH "),
            "{seen:?}"
        );
    }
}

#[test]
fn the_reasons_of_bad_lines_are_told() {
    use kubelease_core::protocol::BadAnswer;
    let table = [
        ("<html>".to_owned(), BadAnswer::NotJson),
        ("{\"kind\"".to_owned(), BadAnswer::Malformed),
        (line("MODIFIED", "{}"), BadAnswer::NotALease),
        (line("MODIFIED", "{\"metadata\":{}}"), BadAnswer::NoVersion),
        (
            format!("{{\"type\":\"ADDED\",\"object\":{}", "{\"a\":".repeat(40)),
            BadAnswer::TooDeep,
        ),
    ];
    for (stream, bad) in table {
        let (mut session, id) = watching(UpdateMode::MergePatch);
        session
            .response_body_at(at(10), id, stream.as_bytes())
            .unwrap();
        let trouble = Event::Trouble {
            kind: TroubleKind::BadAnswer(bad),
            verb: Verb::Watch,
        };
        assert_eq!(session.poll(at(10)), Action::Event(trouble), "{stream}");
    }
}

#[test]
fn an_error_event_ends_the_watch_and_its_connection() {
    let (mut session, id) = watching(UpdateMode::MergePatch);
    for byte in EXPIRED.as_bytes() {
        let _ = session.response_body_at(at(5_000), id, &[*byte]);
    }
    assert_eq!(session.response_end(at(5_000), id), Err(StaleRequest));
    let seen = settle(&mut session, 5_000);
    assert_eq!(seen[0], "Cancel");
    assert!(
        seen[1].starts_with("GET ") && seen[1].contains("/leases/a?"),
        "{seen:?}"
    );
}

#[test]
fn a_stream_that_ends_in_the_middle_of_a_line_has_ended() {
    let whole = line("MODIFIED", &lease("8", "", 2));
    for length in 0..whole.len() {
        let (mut session, id) = watching(UpdateMode::MergePatch);
        let piece = &whole.as_bytes()[..length];
        assert_eq!(
            session.response_body_at(at(5_000), id, piece),
            Ok(Reading::More)
        );
        assert_eq!(session.machine().leader(), Some("other"), "{length}");
        session.response_end(at(5_000), id).unwrap();
        assert!(settle(&mut session, 5_000)[0].contains("/leases/a?"));
    }
}

#[test]
fn an_error_status_is_read_like_any_other() {
    let (mut session, id) = watching(UpdateMode::MergePatch);
    session.response_begin(id, 403).unwrap();
    session
        .response_body_at(at(10), id, b"{\"code\":403}")
        .unwrap();
    session.response_end(at(10), id).unwrap();
    assert_eq!(settle(&mut session, 10), [""; 0]);
    assert!(settle(&mut session, 3_000)[0].contains("/leases/a?"));
}

#[test]
fn a_session_that_was_not_told_to_watch_polls() {
    let mut elector = Elector::new(Config::new("me"), at(0)).unwrap();
    elector.watch();
    let mut session = Session::new(elector, path(), UpdateMode::MergePatch);
    settle(&mut session, 0);
    answer(&mut session, 0, 200, &lease("7", "other", 1));
    assert_eq!(settle(&mut session, 0), ["LeaderChanged"]);
    assert!(settle(&mut session, 3_000)[0].contains("/leases/a?"));
}

#[test]
fn bodies_without_the_time_end_the_watch() {
    let (mut session, id) = watching(UpdateMode::MergePatch);
    let stream = line("MODIFIED", &lease("8", "", 2)).repeat(2);
    assert_eq!(
        session.response_body(id, stream.as_bytes()),
        Ok(Reading::Enough)
    );
    session.response_end(at(5_000), id).unwrap();
    assert_eq!(session.machine().leader(), Some("other"));
    let seen = settle(&mut session, 5_000);
    assert!(seen.last().unwrap().contains("/leases/a?"), "{seen:?}");
}

#[test]
fn lines_for_a_dead_watch_are_refused() {
    let (mut session, id) = watching(UpdateMode::MergePatch);
    session
        .response_failed(at(5_000), id, Failure::Unknown)
        .unwrap();
    let stale = session.response_body_at(at(5_000), id, BOOKMARK.as_bytes());
    assert_eq!(stale, Err(StaleRequest));
    let (mut session, id) = watching(UpdateMode::MergePatch);
    let late = session.response_body_at(at(8_000), id, BOOKMARK.as_bytes());
    assert_eq!(late, Err(StaleRequest));
}

#[test]
fn a_machine_that_does_not_watch_refuses_lines() {
    let config = HeartbeatConfig {
        spread_first_beat: false,
        ..HeartbeatConfig::NODE
    };
    let mut elector = Elector::new(Config::new("a"), at(0)).unwrap();
    let mut heart = Heartbeat::new(config, HeartbeatIdentity::new("n"), at(0)).unwrap();
    let _ = (elector.poll(at(0)), heart.poll(at(0)));
    let ids = (elector.in_flight_id(), heart.in_flight_id());
    let (elects, beats) = (ids.0.unwrap(), ids.1.unwrap());
    let line = WatchEvent::Bookmark;
    let refused = Machine::handle_watch(&mut elector, at(1), elects, line);
    assert_eq!(refused, Err(StaleRequest));
    let refused = Lent(&mut heart).handle_watch(at(1), beats, line);
    assert_eq!(refused, Err(StaleRequest));
    assert_eq!((elector.in_flight_id(), heart.in_flight_id()), ids);
}
