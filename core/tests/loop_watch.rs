//! Watch mode in the async loop: a stream is read as it comes, and cancelled for a write.
#![cfg(feature = "async")]
#![expect(clippy::unwrap_used, reason = "tests may")]

use core::cell::{Cell, RefCell};
use core::future::{Future, pending};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;

use kubelease_core::drive::{Clock, Host, Piece, Transport, run};
use kubelease_core::elector::{Config, Elector};
use kubelease_core::protocol::{Event, Failure};
use kubelease_core::session::{Session, UpdateMode};
use kubelease_core::time::{Instant, Now};
use kubelease_core::wire::http::HttpRequest;
use kubelease_core::wire::path::LeasePath;

/// A clock that a sleep sets forward, and what happened by it.
#[derive(Debug, Default)]
struct World {
    now: Cell<u64>,
    log: RefCell<Vec<String>>,
}

impl World {
    fn log(&self, line: &str) {
        self.log
            .borrow_mut()
            .push(format!("{} {line}", self.now.get()));
    }
}

impl Clock for World {
    fn now(&self) -> Now {
        Now::monotonic(Instant::from_millis(self.now.get()))
    }

    async fn sleep_until(&self, at: Instant) {
        self.now.set(self.now.get().max(at.as_millis()));
    }
}

/// A piece of an answer, and when it comes; with `None` nothing comes any more.
type Timed = (u64, Option<Piece<'static>>);

#[derive(Debug)]
struct Streams<'w> {
    world: &'w World,
    answers: VecDeque<Vec<Timed>>,
    coming: VecDeque<Timed>,
}

impl Transport for Streams<'_> {
    async fn send(&mut self, request: HttpRequest<'_>, _: Instant) -> Result<(), Failure> {
        let what = if request.is_watch() { "watch" } else { "lease" };
        self.world
            .log(&format!("{} {what}", request.method.as_str()));
        self.coming = self.answers.pop_front().unwrap_or_default().into();
        Ok(())
    }

    async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        match self.coming.pop_front() {
            Some((at, Some(piece))) => {
                self.world.now.set(self.world.now.get().max(at));
                Ok(piece)
            }
            Some((_, None)) | None => pending().await,
        }
    }

    fn abort(&mut self) {
        self.world.log("abort");
    }

    fn reconnect(&mut self) {
        self.world.log("reconnect");
    }

    fn refresh_credentials(&mut self) {
        self.world.log("refresh");
    }
}

/// Logs what happens, and stops as soon as it leads or at that time.
struct Watcher<'w> {
    world: &'w World,
    leads: bool,
    until: u64,
}

impl Host<Elector<'_>> for Watcher<'_> {
    fn poll_call(&mut self, _: &mut Context<'_>, elector: &mut Elector<'_>, now: Now) -> Poll<()> {
        if !self.leads && now.instant.as_millis() < self.until {
            return Poll::Pending;
        }
        (self.leads, self.until) = (false, u64::MAX);
        elector.stop(now);
        Poll::Ready(())
    }

    fn event(&mut self, _: &Elector<'_>, event: Event) {
        self.leads |= matches!(event, Event::StartedLeading { .. });
        let text = format!("{event:?}");
        let name = text.split([' ', '(', '{']).next().unwrap_or_default();
        self.world.log(name);
    }
}

const HELD: &[u8] = br#"{"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"holderIdentity":
    "other","leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.000000Z"}}"#;

/// An answer at `at` with this body.
fn whole(at: u64, body: &'static [u8]) -> Vec<Timed> {
    let pieces = [Piece::Status(200), Piece::Body(body), Piece::End];
    pieces.map(|piece| (at, Some(piece))).into()
}

fn drive(answers: Vec<Vec<Timed>>, until: u64) -> Vec<String> {
    let world = World::default();
    let elector = Elector::new(Config::new("me"), world.now()).unwrap();
    let path = LeasePath::new("n", "l").unwrap();
    let mut session = Session::new(elector, path, UpdateMode::MergePatch);
    session.watch();
    let mut transport = Streams {
        world: &world,
        answers: answers.into(),
        coming: VecDeque::new(),
    };
    let mut host = Watcher {
        world: &world,
        leads: false,
        until,
    };
    let mut buffer = [0; 1_024];
    let run = pin!(run(
        &mut session,
        &mut transport,
        &world,
        &mut host,
        &mut buffer
    ));
    let mut run = run;
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1_000 {
        if run.as_mut().poll(&mut context).is_ready() {
            return world.log.take();
        }
    }
    panic!("no end: {:?}", world.log.take());
}

#[test]
fn a_release_in_the_stream_cancels_it_and_takes_the_lease() {
    let stream = vec![
        (20, Some(Piece::Status(200))),
        (
            1_000,
            Some(Piece::Body(
                b"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}\n{\"type\"",
            )),
        ),
        (
            3_000,
            Some(Piece::Body(
                b":\"MODIFIED\",\"object\":{\"metadata\":{\"uid\":\"u\",",
            )),
        ),
        (
            3_001,
            Some(Piece::Body(
                b"\"resourceVersion\":\"8\"},\"spec\":{\"holderIdentity\":\"\"}}}\n",
            )),
        ),
        (9_000, None),
    ];
    let acquired = br#"{"metadata":{"uid":"u","resourceVersion":"9"}}"#;
    let log = drive(
        vec![whole(10, HELD), stream, whole(3_010, acquired)],
        60_000,
    );
    let expected = [
        "0 GET lease",
        "10 LeaderChanged",
        "10 GET watch",
        "3001 abort",
        "3001 LeaderChanged",
        "3001 PATCH lease",
        "3010 StartedLeading",
    ];
    assert_eq!(log.get(..7).unwrap(), expected, "{log:?}");
}

#[test]
fn the_loop_waits_for_a_stream_as_long_as_it_tells_something_and_no_longer() {
    let bookmark = |at| {
        let line: &[u8] = b"{\"type\":\"BOOKMARK\",\"object\":{}}\n";
        (at, Some(Piece::Body(line)))
    };
    let mut stream = vec![(0, Some(Piece::Status(200)))];
    stream.extend([2_000, 9_000].map(bookmark));
    let log = drive(vec![whole(0, HELD), stream], 15_001);
    let expected = [
        "0 GET lease",
        "0 LeaderChanged",
        "0 GET watch",
        // Fifteen seconds after B's last sign of life.
        "15001 abort",
    ];
    assert_eq!(log.get(..4).unwrap(), expected, "{log:?}");
}

#[test]
fn a_stream_that_ends_or_breaks_is_followed_by_a_read() {
    let html = [Piece::Status(200), Piece::Body(b"<html>"), Piece::End];
    for (stream, ends) in [
        (whole(5_000, b""), vec!["5000 GET lease"]),
        (
            html.map(|piece| (5_000, Some(piece))).into(),
            vec!["5000 abort", "5000 Trouble", "5000 GET lease"],
        ),
    ] {
        let log = drive(vec![whole(0, HELD), stream], 6_000);
        let start = ["0 GET lease", "0 LeaderChanged", "0 GET watch"];
        let expected: Vec<_> = start.into_iter().chain(ends).collect();
        assert_eq!(log.get(..expected.len()).unwrap(), expected, "{log:?}");
    }
}
