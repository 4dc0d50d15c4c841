//! An elector inside a session, with a note of all that passes between the two.

use kubelease_core::elector::Elector;
use kubelease_core::machine::Machine;
use kubelease_core::protocol::{Failure, Output, Request, RequestId, Response, StaleRequest};
use kubelease_core::time::Now;

use super::told::Told;
use crate::seen::Sent;

/// What passed.
#[derive(Clone, Debug)]
pub(super) enum Note {
    /// The elector handed out a request.
    Asked(Sent),
    /// The elector took an answer.
    Told(Told),
    /// The elector took the news of a failure.
    Failed,
}

/// The elector, and the notes that nobody has read yet.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) elector: Elector<'static>,
    pub(super) notes: Vec<Note>,
}

impl Machine for Watched {
    fn poll(&mut self, now: Now) -> Output<'_> {
        let output = self.elector.poll(now);
        if let Output::Request(request) = &output {
            self.notes.push(Note::Asked(Sent::from(*request)));
        }
        output
    }

    fn handle_response(
        &mut self,
        now: Now,
        id: RequestId,
        response: Response<'_>,
    ) -> Result<(), StaleRequest> {
        self.elector.handle_response(now, id, response)?;
        self.notes.push(Note::Told(Told::from(response)));
        Ok(())
    }

    fn handle_failure(
        &mut self,
        now: Now,
        id: RequestId,
        failure: Failure,
    ) -> Result<(), StaleRequest> {
        self.elector.handle_failure(now, id, failure)?;
        self.notes.push(Note::Failed);
        Ok(())
    }

    fn in_flight(&self) -> Option<Request<'_>> {
        self.elector.in_flight()
    }
}
