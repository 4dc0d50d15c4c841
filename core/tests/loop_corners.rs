//! Corners of the async loop: connections that break in the middle, hosts behind references.
#![cfg(feature = "async")]
#![expect(clippy::unwrap_used, reason = "tests may")]

use core::cell::{Cell, RefCell};
use core::future::{Future, pending};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;

use kubelease_core::drive::{Clock, EventSlot, Host, Piece, Transport, run};
use kubelease_core::elector::{Config, Elector};
use kubelease_core::protocol::{Event, Failure};
use kubelease_core::session::{Session, UpdateMode};
use kubelease_core::time::{Instant, Now};
use kubelease_core::wire::http::HttpRequest;
use kubelease_core::wire::path::LeasePath;

/// A clock that a sleep sets forward.
#[derive(Debug, Default)]
struct Jumping(Cell<u64>);

impl Clock for Jumping {
    fn now(&self) -> Now {
        Now::monotonic(Instant::from_millis(self.0.get()))
    }

    async fn sleep_until(&self, at: Instant) {
        self.0.set(self.0.get().max(at.as_millis()));
    }
}

/// What comes instead of the body of an answer.
#[derive(Clone, Copy, Debug)]
enum Break {
    Reset,
    Silence,
}

/// Each answer has a status, and then it breaks.
#[derive(Debug)]
struct Breaking {
    breaks: VecDeque<Break>,
    begun: bool,
    log: RefCell<Vec<&'static str>>,
}

impl Transport for Breaking {
    async fn send(&mut self, _: HttpRequest<'_>, _: Instant) -> Result<(), Failure> {
        self.begun = false;
        self.log.borrow_mut().push("send");
        Ok(())
    }

    async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        if !self.begun {
            self.begun = true;
            return Ok(Piece::Status(200));
        }
        match self.breaks.pop_front() {
            Some(Break::Reset) => Err(Failure::Unknown),
            Some(Break::Silence) | None => pending().await,
        }
    }

    fn abort(&mut self) {
        self.log.borrow_mut().push("abort");
    }

    fn reconnect(&mut self) {
        self.log.borrow_mut().push("reconnect");
    }

    fn refresh_credentials(&mut self) {}
}

/// Stops the elector at an instant, and notes the events.
#[derive(Debug)]
struct StopAt(u64, Vec<Event>);

impl Host<Elector<'static>> for StopAt {
    fn poll_call(
        &mut self,
        _: &mut Context<'_>,
        machine: &mut Elector<'static>,
        now: Now,
    ) -> Poll<()> {
        if now.instant < Instant::from_millis(self.0) {
            return Poll::Pending;
        }
        self.0 = u64::MAX;
        machine.stop(now);
        Poll::Ready(())
    }

    fn event(&mut self, _: &Elector<'static>, event: Event) {
        self.1.push(event);
    }
}

fn session() -> Session<'static, Elector<'static>> {
    let now = Jumping::default().now();
    let elector = Elector::new(Config::new("a"), now).unwrap();
    let path = LeasePath::new("default", "a").unwrap();
    Session::new(elector, path, UpdateMode::MergePatch)
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

#[test]
fn an_answer_that_breaks_in_the_middle_ends_its_connection() {
    let breaks = [Break::Reset, Break::Silence, Break::Reset];
    let (mut session, clock) = (session(), Jumping::default());
    let mut transport = Breaking {
        breaks: breaks.into(),
        begun: false,
        log: RefCell::default(),
    };
    let mut host = StopAt(13_000, Vec::new());
    let mut buffer = [0; 512];
    // The host is behind a reference, as that of a longer-lived program is.
    let mut behind = &mut host;
    let end = block_on(run(
        &mut session,
        &mut transport,
        &clock,
        &mut behind,
        &mut buffer,
    ));
    assert_eq!(end, Ok(()));
    let log = transport.log.into_inner();
    let broken = log
        .windows(2)
        .filter(|pair| *pair == ["send", "abort"])
        .count();
    let sent = log.iter().filter(|line| **line == "send").count();
    assert!(sent >= 4 && broken == sent, "{log:?}");
    assert!(log.contains(&"reconnect"), "{log:?}");
    assert!(host.1.contains(&Event::ReconnectAdvised), "{:?}", host.1);
    assert!(matches!(host.1.last(), Some(Event::Finished(_))));
}

/// The defaults of a host, on any machine.
fn is_ready_and_calls_nothing<H: Host<Elector<'static>>>(host: &mut H) {
    let mut elector = Elector::new(Config::new("a"), Jumping::default().now()).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(host.poll_ready(&mut context), Poll::Ready(()));
    let now = Jumping::default().now();
    let called = host.poll_call(&mut context, &mut elector, now);
    assert_eq!(called, Poll::Pending);
    host.event(&elector, Event::LeaderChanged);
    host.settled(&elector, now);
}

#[test]
fn the_host_that_is_none_can_stand_behind_a_reference() {
    is_ready_and_calls_nothing(&mut ());
    is_ready_and_calls_nothing(&mut &mut ());
}

#[test]
fn what_another_loop_left_in_the_slot_is_not_told() {
    let mut slot = EventSlot::new();
    assert_eq!(format!("{slot:?}"), "EventSlot { .. }");
    let elector = Elector::new(Config::new("a"), Jumping::default().now()).unwrap();
    let (mut host, _) = slot.split(());
    host.event(&elector, Event::LeaderChanged);
    let mut context = Context::from_waker(Waker::noop());
    let ready = Host::<Elector<'static>>::poll_ready(&mut host, &mut context);
    assert_eq!(ready, Poll::Pending, "the slot is full");
    assert_eq!(format!("{host:?}"), "WithEvents { host: (), .. }");
    let (_, source) = slot.split(());
    assert_eq!(format!("{source:?}"), "EventSource { .. }");
    let mut nothing = pin!(ready_now());
    let mut events = source.driving(nothing.as_mut());
    assert_eq!(format!("{events:?}"), "Events { ended: false, .. }");
    let stream = core::pin::Pin::new(&mut events);
    let next = futures_core::Stream::poll_next(stream, &mut context);
    assert_eq!(next, Poll::Ready(None));
    assert_eq!(format!("{events:?}"), "Events { ended: true, .. }");
}

async fn ready_now() {}
