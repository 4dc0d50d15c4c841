//! One machine and the wire format: bytes in, bytes out.
//!
//! A session is what a transport drives. It owns no socket and no clock:
//!
//! 1. [`poll`](Session::poll) until it says [`Action::WaitUntil`] or [`Action::Done`].
//! 2. On [`Action::Send`], write the [`request`](Session::request) to the server.
//! 3. Hand in the answer as it comes: [`response_begin`](Session::response_begin), any number of
//!    [`response_header`](Session::response_header) and [`response_body`](Session::response_body),
//!    then [`response_end`](Session::response_end); or
//!    [`response_failed`](Session::response_failed) at any point.
//! 4. Poll again.

mod error;
mod outgoing;
mod store;
mod stream;

use self::outgoing::Outgoing;
use self::store::Store;
use self::stream::Stream;
use crate::machine::{DynMachine, Machine};
use crate::protocol::{Failure, Operation, Reply, Request, RequestId, Response, StaleRequest};
use crate::time::{Instant, Now};
use crate::wire::http::{HttpRequest, RequestHead, Tap};
use crate::wire::path::LeasePath;
use crate::wire::{ByteWriter, Content, NODE_WIRE, NodeWire, Reading};

pub use self::error::RequestError;
pub use crate::protocol::Action;

/// How a session changes a Lease that exists. Both ways lose nothing.
#[expect(clippy::exhaustive_enums, reason = "there are two verbs")]
#[derive(Debug)]
pub enum UpdateMode<'a> {
    /// PATCH with our own members only; needs no memory, and the right `patch`.
    MergePatch,
    /// PUT of the whole Lease; needs the right `update`, which every Role made for client-go has.
    Update {
        /// Takes all of the Lease that is not ours, as raw JSON: labels, annotations, owner
        /// references, finalizers and so on. 1 KiB serves most; annotations alone may have 256.
        keep: &'a mut [u8],
        /// Where the buffer is too small: whether to PATCH that once, or to write nothing and
        /// answer the machine with [`Reply::TooLarge`].
        patch_when_too_large: bool,
    },
}

/// A machine, the Lease it is about, and the answer that is coming in.
///
/// A pointer to a session of any machine becomes one to a `Session<dyn DynMachine>` by coercion: a
/// program that has several kinds of machine needs the code of a session but once then.
#[derive(Debug)]
// In this order, for small and busy members lie where short instructions reach them.
#[repr(C)]
pub struct Session<'a, M: ?Sized> {
    /// What the request in flight tells the server about its deadline.
    timeout_ms: u32,
    /// What a success of it has in its body.
    content: Content,
    /// Whose answer has begun.
    answering: Option<RequestId>,
    stream: Stream,
    /// What a machine with Nodes takes.
    nodes: Option<&'static NodeWire>,
    path: LeasePath<'a>,
    store: Store<'a>,
    machine: M,
}

impl<'a, M: Machine> Session<'a, M> {
    /// Joins `machine` with the Lease at `path`.
    #[must_use]
    pub fn new(machine: M, path: LeasePath<'a>, update: UpdateMode<'a>) -> Self {
        Self {
            machine,
            path,
            store: Store::new(update),
            timeout_ms: 0,
            content: Content::Lease,
            answering: None,
            stream: Stream::new(),
            nodes: M::USES_NODES.then_some(&NODE_WIRE),
        }
    }
}

impl<'a, M: DynMachine + ?Sized> Session<'a, M> {
    /// What to do next. Call it after every input, and at the instant of the last `WaitUntil`.
    ///
    /// A write that would lose something is not sent but answered here: an update of a state whose
    /// other members are not at hand as a conflict, so that the machine reads the Lease first.
    pub fn poll(&mut self, now: Now) -> Action {
        for _ in 0..REFUSALS_MAX {
            let action = self.machine.poll_action(now);
            let Action::Send { id, deadline } = action else {
                return action;
            };
            let Some(reply) = self.refusal() else {
                self.timeout_ms = timeout_ms(now.instant, deadline);
                return action;
            };
            // The machine has just asked for the answer, so that it is not stale.
            let _ = self.machine.handle_response(now, id, Response::new(reply));
        }
        Action::WaitUntil(now.instant)
    }

    /// Begins the answer to request `id`, with its status code. Where an answer has begun already,
    /// it starts over.
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more; nothing has changed then.
    pub fn response_begin(&mut self, id: RequestId, status: u16) -> Result<(), StaleRequest> {
        if self.machine.in_flight_id() != Some(id) {
            return Err(StaleRequest);
        }
        self.answering = Some(id);
        let Store { answer, keep, .. } = &mut self.store;
        if self.stream.begin(status) {
            // The record of the last answer stays until a line brings another.
            answer.begin(0, None);
        } else {
            answer.begin(status, keep.as_mut());
            if let Some(nodes) = self.nodes {
                (nodes.begin)(answer, self.content);
            }
        }
        Ok(())
    }

    /// Takes one header of the answer. All but `Date` and `Retry-After` may be left out.
    ///
    /// # Errors
    /// [`StaleRequest`] where no answer to `id` has begun or `id` is not in flight any more;
    /// nothing has changed then.
    pub fn response_header(
        &mut self,
        id: RequestId,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), StaleRequest> {
        self.check_answering(id)?;
        self.store.answer.header(name, value);
        Ok(())
    }

    /// Takes the next piece of the answer's body, of any length, and says whether the rest can
    /// still matter.
    ///
    /// # Errors
    /// [`StaleRequest`] where no answer to `id` has begun or `id` is not in flight any more;
    /// nothing has changed then.
    pub fn response_body(&mut self, id: RequestId, piece: &[u8]) -> Result<Reading, StaleRequest> {
        self.check_answering(id)?;
        let Store { answer, keep, .. } = &mut self.store;
        Ok(match self.nodes {
            Some(nodes) => {
                (nodes.body)(answer, piece, keep.as_mut(), self.machine.owner().as_ref())
            }
            None => answer.body(piece, keep.as_mut()),
        })
    }

    /// The same with the time, which the stream that answers a watch needs: each line tells the
    /// machine something, and its waits count from `now`. So read the clock after the bytes have
    /// come, and not before the wait for them. Poll after each piece.
    ///
    /// # Errors
    /// [`StaleRequest`] where no answer to `id` has begun or `id` is not in flight any more; the
    /// machine has not changed then, but by lines that came before in the same piece.
    pub fn response_body_at(
        &mut self,
        now: Now,
        id: RequestId,
        piece: &[u8],
    ) -> Result<Reading, StaleRequest> {
        self.check_answering(id)?;
        match self.stream.open() {
            Some(wire) => self.take_lines(wire, now, id, piece),
            None => self.response_body(id, piece),
        }
    }

    /// Ends the answer: the machine learns what it says.
    ///
    /// # Errors
    /// [`StaleRequest`] where no answer to `id` has begun or `id` is not in flight any more; the
    /// machine has not changed then.
    pub fn response_end(&mut self, now: Now, id: RequestId) -> Result<(), StaleRequest> {
        self.check_answering(id)?;
        self.answering = None;
        let Store { answer, keep, .. } = &mut self.store;
        let response = if let Some(reply) = self.stream.end(answer) {
            Response::new(reply)
        } else if let Some(nodes) = self.nodes {
            (nodes.end)(answer, keep.as_mut())
        } else {
            answer.end(keep.as_mut())
        };
        self.machine.handle_response(now, id, response)
    }

    /// Takes the news that request `id` will have no answer, or none that is whole.
    ///
    /// # Errors
    /// [`StaleRequest`] where `id` is not in flight any more; nothing has changed then.
    pub fn response_failed(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.machine.handle_failure(now, id, failure)?;
        self.answering = None;
        Ok(())
    }

    /// The machine, for the application's calls. Poll after each of them.
    pub const fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// The machine, for the application's questions.
    #[must_use]
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The Lease that it is about.
    #[must_use]
    pub const fn path(&self) -> &LeasePath<'a> {
        &self.path
    }

    /// Writes request `id` into `buffer`, whole. It can be written again, and is the same then.
    ///
    /// # Errors
    /// [`RequestError`] where there is nothing to send or too little room.
    pub fn request<'b>(
        &self,
        id: RequestId,
        buffer: &'b mut [u8],
    ) -> Result<HttpRequest<'b>, RequestError> {
        let head = self.request_head(id)?;
        let needed = head.target_length.saturating_add(head.body_length);
        let too_small = RequestError::BufferTooSmall { needed };
        let (target, rest) = buffer
            .split_at_mut_checked(head.target_length)
            .ok_or(too_small)?;
        let (body, _) = rest
            .split_at_mut_checked(head.body_length)
            .ok_or(too_small)?;
        self.write_target(id, 0, target)?;
        self.write_body(id, 0, body)?;
        Ok(HttpRequest {
            method: head.method,
            // Only ASCII is ever written there, so the default is never taken.
            target: core::str::from_utf8(target).unwrap_or_default(),
            content_type: head.content_type,
            accept: head.accept,
            body,
        })
    }

    /// Request `id` without its target and body.
    ///
    /// # Errors
    /// [`RequestError`] where there is nothing to send.
    pub fn request_head(&self, id: RequestId) -> Result<RequestHead, RequestError> {
        let mut head = RequestHead::EMPTY;
        self.outgoing(id, Take::Head(&mut head))?;
        // The texts are counted from here: behind the head they would be on the deepest stack of
        // every part of a request.
        let mut out = ByteWriter::counting();
        self.outgoing(id, Take::Target(&mut out))?;
        head.target_length = out.total();
        self.outgoing(id, Take::Body(&mut out))?;
        head.body_length = out.total().saturating_sub(head.target_length);
        Ok(head)
    }

    /// Writes the target of request `id`, path and query, from `offset` on; returns how many bytes
    /// that were, fewer than `buffer` takes only at the end.
    ///
    /// # Errors
    /// [`RequestError`] where there is nothing to send.
    pub fn write_target(
        &self,
        id: RequestId,
        offset: usize,
        buffer: &mut [u8],
    ) -> Result<usize, RequestError> {
        let mut out = ByteWriter::new(buffer, offset);
        self.outgoing(id, Take::Target(&mut out))?;
        Ok(out.written())
    }

    /// Writes the body of request `id` from `offset` on; returns how many bytes that were, fewer
    /// than `buffer` takes only at the end.
    ///
    /// # Errors
    /// [`RequestError`] where there is nothing to send.
    pub fn write_body(
        &self,
        id: RequestId,
        offset: usize,
        buffer: &mut [u8],
    ) -> Result<usize, RequestError> {
        let mut out = ByteWriter::new(buffer, offset);
        self.outgoing(id, Take::Body(&mut out))?;
        Ok(out.written())
    }

    /// Hands the target of request `id` to `tap`, run by run.
    ///
    /// # Errors
    /// [`RequestError`] where there is nothing to send; nothing was handed out then.
    pub fn tap_target(&self, id: RequestId, tap: &mut dyn Tap) -> Result<(), RequestError> {
        self.outgoing(id, Take::Target(&mut ByteWriter::tapped(tap)))
    }

    /// The same with the body.
    ///
    /// # Errors
    /// [`RequestError`] where there is nothing to send; nothing was handed out then.
    pub fn tap_body(&self, id: RequestId, tap: &mut dyn Tap) -> Result<(), RequestError> {
        self.outgoing(id, Take::Body(&mut ByteWriter::tapped(tap)))
    }

    /// What the session itself answers to the request in flight, where it must not be sent. A call
    /// of its own so that the request, which is large, is off the stack before the machine is told.
    #[inline(never)]
    fn refusal(&mut self) -> Option<Reply<'static>> {
        let Request { operation, .. } = self.machine.in_flight()?;
        self.content = content(&operation);
        if !self.stream.admits(&operation) {
            return Some(Reply::WatchEnded);
        }
        self.store.refusal(&operation)
    }

    fn check_answering(&self, id: RequestId) -> Result<(), StaleRequest> {
        if self.machine.in_flight_id() == Some(id) && self.answering == Some(id) {
            Ok(())
        } else {
            Err(StaleRequest)
        }
    }

    /// Takes what is wanted of request `id`. The whole of it is large, and so lies on the stack
    /// here alone.
    #[inline(never)]
    fn outgoing(&self, id: RequestId, take: Take<'_, '_>) -> Result<(), RequestError> {
        let request = self.machine.in_flight();
        let Some(Request { operation, .. }) = request.as_ref().filter(|request| request.id == id)
        else {
            return Err(RequestError::StaleRequest);
        };
        let outgoing = Outgoing {
            method: self.store.method(operation)?,
            operation,
            path: &self.path,
            store: &self.store,
            timeout_ms: self.timeout_ms,
            watch: self.stream.wire(),
            nodes: self.nodes,
        };
        match take {
            Take::Head(head) => outgoing.tell(head),
            Take::Target(out) => outgoing.write_target(out),
            Take::Body(out) => outgoing.write_body(out),
        }
        Ok(())
    }
}

/// What is wanted of a request, and where it goes.
enum Take<'t, 'b> {
    Head(&'t mut RequestHead),
    Target(&'t mut ByteWriter<'b>),
    Body(&'t mut ByteWriter<'b>),
}

/// What a success of `operation` has in its body.
const fn content(operation: &Operation<'_>) -> Content {
    match operation {
        Operation::Get
        | Operation::Create { .. }
        | Operation::Update { .. }
        | Operation::Watch { .. } => Content::Lease,
        Operation::GetNode { .. } => Content::Node,
        Operation::Delete { .. } => Content::Nothing,
    }
}

/// How long the server may take, in milliseconds. Never 0, which it takes for its own default.
fn timeout_ms(now: Instant, deadline: Instant) -> u32 {
    let left = deadline.saturating_since(now).as_millis();
    u32::try_from(left).unwrap_or(u32::MAX).max(1)
}

/// How many writes of one poll can be answered without being sent. A machine reads or waits after
/// the first; the bound is there for one that does not.
const REFUSALS_MAX: usize = 4;

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use core::mem::size_of;

    use super::*;
    use crate::wire::Answer;

    #[test]
    fn a_session_adds_half_a_kilobyte_to_its_machine() {
        assert!(size_of::<Session<'_, ()>>() <= 560);
        assert!(size_of::<Answer>() <= 440);
    }
}
