//! A runtime, a server and a machine for the tests of the loop, all on one clock that is set by
//! hand.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "times and counts of tests are small"
)]

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::format;
use std::string::String;
use std::sync::{Arc, Mutex, MutexGuard};
use std::vec::Vec;

use super::{Clock, Host, Piece, Transport};
use crate::machine::Machine;
use crate::protocol::{
    Event, Failure, Finish, Operation, Output, Reply, Request, RequestId, Response, StaleRequest,
};
use crate::session::{Session, UpdateMode};
use crate::time::{Duration, Instant, Now};
use crate::wire::http::HttpRequest;
use crate::wire::path::LeasePath;

/// A Lease that decodes.
pub(super) const LEASE: &[u8] = br#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
    "metadata":{"name":"l","namespace":"n","uid":"u","resourceVersion":"7"},
    "spec":{"holderIdentity":"other"}}"#;

/// Time between the requests of a [`Pinger`], and how long it waits for an answer.
pub(super) const EVERY: Duration = Duration::from_millis(100);
pub(super) const TIMEOUT: Duration = Duration::from_millis(50);

/// The clock, and the log of all that happened by it.
#[derive(Clone, Debug, Default)]
pub(super) struct World(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    now: u64,
    /// The next instant at which a future wants to be polled.
    wanted: Option<u64>,
    timer_is_dead: bool,
    readings: u32,
    log: Vec<String>,
}

impl World {
    pub(super) fn state_now(&self) -> u64 {
        self.lock().now
    }

    pub(super) fn set_back(&self, now: u64) {
        self.lock().now = now;
    }

    /// From now on no sleep ever ends.
    pub(super) fn kill_timer(&self) {
        self.lock().timer_is_dead = true;
    }

    /// How often the clock was read.
    pub(super) fn readings(&self) -> u32 {
        self.lock().readings
    }

    pub(super) fn log(&self, line: &str) {
        let mut state = self.lock();
        let line = format!("{} {line}", state.now);
        state.log.push(line);
    }

    pub(super) fn take_log(&self) -> Vec<String> {
        core::mem::take(&mut self.lock().log)
    }

    /// Runs `future` to its end, jumping from one wanted instant to the next.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        for _ in 0..10_000 {
            if let Some(output) = poll_once(future.as_mut()) {
                return output;
            }
            let mut state = self.lock();
            let wanted = state.wanted.take();
            state.now = wanted.expect("nothing will ever wake the future");
        }
        panic!("the future spins");
    }

    /// Ready from the instant `at` on; never without one.
    pub(super) fn poll_at(&self, at: Option<u64>) -> Poll<()> {
        let mut state = self.lock();
        match at {
            Some(at) if state.now >= at => Poll::Ready(()),
            Some(at) => {
                state.wanted = Some(state.wanted.map_or(at, |wanted| wanted.min(at)));
                Poll::Pending
            }
            None => Poll::Pending,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

/// Polls once, with a waker that does nothing.
pub(super) fn poll_once<F: Future>(future: core::pin::Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

impl Clock for World {
    fn now(&self) -> Now {
        let mut state = self.lock();
        state.readings += 1;
        Now::monotonic(Instant::from_millis(state.now))
    }

    async fn sleep_until(&self, at: Instant) {
        let dead = self.lock().timer_is_dead;
        poll_fn(|_| {
            // A dead timer still lets the world jump there, as another task's wake-up would.
            let poll = self.poll_at(Some(at.as_millis()));
            if dead { Poll::Pending } else { poll }
        })
        .await;
    }
}

/// What the server does with one request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Script {
    /// Answers this much later.
    Answer {
        after: u64,
        status: u16,
        body: &'static [u8],
    },
    Fail {
        after: u64,
        failure: Failure,
    },
    Silence,
}

/// A transport over a script; silent where the script has ended.
#[derive(Debug)]
pub(super) struct Scripted {
    world: World,
    script: VecDeque<Script>,
    pieces: VecDeque<Piece<'static>>,
}

impl Scripted {
    pub(super) fn new(world: &World, script: &[Script]) -> Self {
        Self {
            world: world.clone(),
            script: script.iter().copied().collect(),
            pieces: VecDeque::new(),
        }
    }
}

/// Says when the future that it lives in is dropped before its end.
struct Unfinished<'w>(Option<&'w World>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(world) = self.0 {
            world.log("dropped");
        }
    }
}

impl Transport for Scripted {
    async fn send(&mut self, request: HttpRequest<'_>, deadline: Instant) -> Result<(), Failure> {
        let path = request.path().rsplit('/').next().unwrap();
        let line = format!(
            "{} {path} by {}",
            request.method.as_str(),
            deadline.as_millis()
        );
        self.world.log(&line);
        let mut unfinished = Unfinished(Some(&self.world));
        let now = self.world.state_now();
        let (at, result) = match self.script.pop_front() {
            Some(Script::Answer {
                after,
                status,
                body,
            }) => {
                let (start, end) = body.split_at(body.len() / 2);
                let header = Piece::Header {
                    name: b"Retry-After",
                    value: b"1",
                };
                let status = Piece::Status(status);
                let pieces = [
                    status,
                    header,
                    Piece::Body(start),
                    Piece::Body(end),
                    Piece::End,
                ];
                self.pieces = pieces.into();
                (Some(now + after), Ok(()))
            }
            Some(Script::Fail { after, failure }) => (Some(now + after), Err(failure)),
            Some(Script::Silence) | None => (None, Ok(())),
        };
        poll_fn(|_| self.world.poll_at(at)).await;
        unfinished.0 = None;
        result
    }

    async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        self.pieces.pop_front().ok_or(Failure::Unknown)
    }

    fn abort(&mut self) {
        self.pieces.clear();
        self.world.log("abort");
    }

    fn reconnect(&mut self) {
        self.world.log("reconnect");
    }

    fn refresh_credentials(&mut self) {
        self.world.log("refresh");
    }
}

/// A machine that reads its Lease at a steady pace, and says how that went.
#[derive(Debug)]
pub(super) struct Pinger {
    world: World,
    latest: Instant,
    at: Instant,
    requests: u32,
    deadline: Option<Instant>,
    cancelled: bool,
    event: Option<Event>,
    stopping: bool,
}

impl Pinger {
    pub(super) fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
            latest: Instant::default(),
            at: Instant::default(),
            requests: 0,
            deadline: None,
            cancelled: false,
            event: None,
            stopping: false,
        }
    }

    pub(super) fn session<'a>(self) -> Session<'a, Self> {
        Session::new(
            self,
            LeasePath::new("n", "l").unwrap(),
            UpdateMode::MergePatch,
        )
    }

    pub(super) fn stop(&mut self) {
        self.stopping = true;
        self.event = Some(Event::Finished(Finish::NotHolder));
        self.cancelled |= self.deadline.take().is_some();
    }

    fn id(&self) -> RequestId {
        RequestId::from_number(self.requests)
    }

    /// Ends the request `id`, and says `event`.
    fn end(&mut self, id: RequestId, event: Event) -> Result<(), StaleRequest> {
        if id != self.id() || self.deadline.is_none() {
            return Err(StaleRequest);
        }
        self.deadline = None;
        self.event = Some(event);
        Ok(())
    }
}

impl Machine for Pinger {
    fn poll(&mut self, now: Now) -> Output<'_> {
        if now.instant < self.latest {
            self.world.log("the clock went back");
        }
        self.latest = now.instant;
        if self
            .deadline
            .is_some_and(|deadline| now.instant >= deadline)
        {
            self.deadline = None;
            self.cancelled = true;
            self.event = Some(Event::ReconnectAdvised);
        }
        if let Some(event) = self.event.take() {
            return Output::Event(event);
        }
        if core::mem::take(&mut self.cancelled) {
            return Output::Cancel(self.id());
        }
        if self.stopping {
            return Output::Done;
        }
        if let Some(deadline) = self.deadline {
            return Output::WaitUntil(deadline);
        }
        if now.instant < self.at {
            return Output::WaitUntil(self.at);
        }
        self.requests += 1;
        self.at = now.instant.saturating_add(EVERY);
        let deadline = now.instant.saturating_add(TIMEOUT);
        self.deadline = Some(deadline);
        Output::Request(Request {
            id: self.id(),
            deadline,
            operation: Operation::Get,
        })
    }

    fn handle_response(
        &mut self,
        _now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        let retry_after = response.retry_after.map(Duration::as_millis);
        let (what, event) = if let Reply::Lease(record) = response.reply {
            let version = record.version.resource_version.as_str();
            (format!("lease {version}"), Event::LeaderChanged)
        } else if response.reply == Reply::Unauthorized {
            (format!("{:?}", response.reply), Event::CredentialsRejected)
        } else {
            (format!("{:?}", response.reply), Event::VersionWentBack)
        };
        self.end(id, event)?;
        self.world
            .log(&format!("{what}, retry after {retry_after:?}"));
        Ok(())
    }

    fn handle_failure(
        &mut self,
        _now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.end(id, Event::ReconnectAdvised)?;
        self.world.log(&format!("{failure:?}"));
        Ok(())
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        let deadline = self.deadline?;
        Some(Request {
            id: self.id(),
            deadline,
            operation: Operation::Get,
        })
    }
}

/// A host that logs events, and stops the machine at an instant.
#[derive(Debug)]
pub(super) struct StopAt {
    pub(super) world: World,
    pub(super) at: Option<u64>,
}

impl Host<Pinger> for StopAt {
    fn poll_call(&mut self, _: &mut Context<'_>, machine: &mut Pinger, _: Now) -> Poll<()> {
        if self.at.is_none() || self.world.poll_at(self.at).is_pending() {
            return Poll::Pending;
        }
        self.at = None;
        machine.stop();
        Poll::Ready(())
    }

    fn event(&mut self, _: &Pinger, event: Event) {
        self.world.log(&format!("{event:?}"));
    }
}
