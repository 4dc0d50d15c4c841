//! Watch mode: a line for Rust is a piece of a body for C.

use kubelease_core::machine::Watches;
use kubelease_core::protocol::{Operation, RequestId, StaleRequest, WatchEvent};
use kubelease_core::time::Now;
use kubelease_ffi::*;

use super::Pair;
use crate::calls::{OK, STALE, c_now};
use crate::http;

impl Watches for Pair {
    fn watch(&mut self) {
        self.rust.watch();
        assert_eq!(unsafe { kl_elector_watch(&raw mut self.c) }, OK);
    }
}

impl Pair {
    /// See `Machine::handle_watch`.
    pub(super) fn line(
        &mut self,
        now: Now,
        id: RequestId,
        event: WatchEvent<'_>,
    ) -> Result<(), StaleRequest> {
        let flight = self.rust.in_flight();
        let is_other = flight.is_some_and(|flight| {
            flight.id == id && !matches!(flight.operation, Operation::Watch { .. })
        });
        let expected = self.rust.handle_watch(now, id, event);
        let (c, number, now) = (&raw mut self.c, id.number(), c_now(now));
        let begun = if is_other {
            // In C a line is part of an answer, and would be one to the other request.
            STALE
        } else if self.streams == Some(id) {
            OK
        } else {
            unsafe { kl_elector_response_begin(c, number, 200) }
        };
        let status = if begun == OK {
            self.streams = Some(id);
            let line = http::line(event);
            let pieces = line.as_bytes().chunks(7).map(|piece| unsafe {
                kl_elector_response_body_at(c, number, piece.as_ptr(), piece.len(), &raw const now)
            });
            pieces.fold(OK, |_, status| status)
        } else {
            // A stale begin knows no time; this one does, and is stale too.
            let (kind, dead) = (kl_transport_error::KL_TRANSPORT_NOT_SENT as u32, u32::MAX);
            unsafe { kl_elector_transport_error(c, dead, kind, &raw const now) }
        };
        assert_eq!(status, if expected.is_ok() { OK } else { STALE });
        self.agree();
        expected
    }
}
