//! One request and its answer.

use super::host::Host;
use super::transport::{Clock, Piece, Transport};
use super::turn::{Turn, Turns};
use crate::machine::Machine;
use crate::protocol::{Failure, RequestId};
use crate::session::RequestError;
use crate::time::Instant;
use crate::wire::Reading;

/// How an exchange ended.
enum Ended {
    /// The answer was read to its end.
    Whole,
    /// What was read of the answer decides; the rest can't matter.
    Enough,
    Failed(Failure),
    /// The session wants something else instead.
    Interrupted(Turn),
}

/// Sends request `id` and feeds its answer to the session; answers with the turn that comes next.
pub(super) async fn exchange<M, T, C, H>(
    turns: &mut Turns<'_, '_, M, C, H>,
    transport: &mut T,
    buffer: &mut [u8],
    id: RequestId,
    deadline: Instant,
) -> Result<Turn, RequestError>
where
    M: Machine,
    T: Transport,
    C: Clock,
    H: Host<M>,
{
    let request = turns.session.request(id, buffer)?;
    let ended = match turns.attend(transport.send(request, deadline)).await {
        Ok(Ok(())) => read(turns, transport, id).await,
        Ok(Err(failure)) => Ended::Failed(failure),
        Err(turn) => Ended::Interrupted(turn),
    };
    if !matches!(ended, Ended::Whole) {
        transport.abort();
    }
    let now = turns.clock.now();
    // A stale answer changes nothing, and the next poll says so if the machine has to know.
    let _ = match ended {
        Ended::Whole | Ended::Enough => turns.session.response_end(now, id),
        Ended::Failed(failure) => turns.session.response_failed(now, id, failure),
        Ended::Interrupted(turn) => return Ok(turn),
    };
    Ok(turns.settle().await)
}

/// Feeds the answer to the session.
async fn read<M, T, C, H>(
    turns: &mut Turns<'_, '_, M, C, H>,
    transport: &mut T,
    id: RequestId,
) -> Ended
where
    M: Machine,
    T: Transport,
    C: Clock,
    H: Host<M>,
{
    loop {
        let piece = match turns.attend(transport.next()).await {
            Ok(Ok(piece)) => piece,
            Ok(Err(failure)) => return Ended::Failed(failure),
            Err(turn) => return Ended::Interrupted(turn),
        };
        let session = &mut *turns.session;
        // A stale piece changes nothing; the session cancels the request at the next poll.
        let _ = match piece {
            Piece::Status(status) => session.response_begin(id, status),
            Piece::Header { name, value } => session.response_header(id, name, value),
            Piece::Body(bytes) => match session.response_body_at(turns.clock.now(), id, bytes) {
                Ok(Reading::Enough) => return Ended::Enough,
                Ok(Reading::More) => Ok(()),
                Err(stale) => Err(stale),
            },
            Piece::End => return Ended::Whole,
        };
    }
}
