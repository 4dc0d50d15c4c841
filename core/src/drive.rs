//! One async loop for every runtime: a [`Session`] driven over a [`Transport`] and a [`Clock`].
//!
//! [`run`] is a plain future. It spawns nothing, allocates nothing and owns no timer; dropping it
//! ends everything it began. It is `Send` where its parts are, so `tokio::spawn` takes it, and an
//! embassy task may await it. The application meets it through a [`Host`]: calls go in, events
//! and state come out. Where a stream of events is handier than a host, [`EventSlot`] makes one.
//!
//! What the loop promises:
//!
//! - each turn reads the clock anew, and the clock is compared with the wake-up instant before the
//!   timer is asked, for a timer may be starved or may stand still in suspend;
//! - while a request is in flight it waits for the answer, the wake-up instant and the host at
//!   once, so a deadline passes and a call is heard however long the server is silent;
//! - a request that is cancelled, or that failed, is [aborted](Transport::abort): its connection
//!   ends, and a late answer can't be taken for the answer to the next request.
//!
//! ```
//! use core::pin::{Pin, pin};
//! use kubelease_core::drive::{Clock, EventSlot, Transport, run};
//! use kubelease_core::elector::{Config, Elector};
//! use kubelease_core::protocol::Event;
//! use kubelease_core::session::{Session, UpdateMode};
//! use kubelease_core::wire::path::LeasePath;
//! # use futures_core::Stream;
//! # async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
//! #     core::future::poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
//! # }
//!
//! async fn elect(
//!     transport: &mut impl Transport,
//!     clock: &impl Clock,
//! ) -> Result<(), Box<dyn core::error::Error>> {
//!     let elector = Elector::new(Config::new("gateway-7_1c9f"), clock.now())?;
//!     let path = LeasePath::new("plant-3", "pump-control")?;
//!     let mut session = Session::new(elector, path, UpdateMode::MergePatch);
//!
//!     let mut slot = EventSlot::new();
//!     let (mut host, events) = slot.split(());
//!     let mut buffer = [0; 1024];
//!     let run = pin!(run(&mut session, transport, clock, &mut host, &mut buffer));
//!     let mut events = events.driving(run);
//!     while let Some(event) = next(&mut events).await {
//!         match event {
//!             Event::StartedLeading { term } => println!("term {term}: the pump is ours"),
//!             Event::StoppedLeading { .. } => println!("the pump is somebody else's"),
//!             _ => {}
//!         }
//!     }
//!     Ok(())
//! }
//! ```

mod events;
mod exchange;
mod host;
#[cfg(test)]
mod testing;
mod transport;
mod turn;

use self::exchange::exchange;
use self::turn::{Turn, Turns};
use crate::machine::Machine;
use crate::session::{RequestError, Session};
use crate::time::Instant;

pub use self::events::{EventSlot, EventSource, Events, WithEvents};
pub use self::host::Host;
pub use self::transport::{Clock, Piece, Transport};

/// Drives `session` until its machine is done.
///
/// `buffer` holds one request while it is sent.
///
/// Dropping the future is safe at any moment: the request in flight, if any, is dropped with it
/// and the lease is not released, so another process waits until it has run out.
///
/// # Errors
/// [`RequestError`] where a request can't be written into `buffer`. The machine has not ended
/// then, but nothing drives it any more.
pub async fn run<M, T, C, H>(
    session: &mut Session<'_, M>,
    transport: &mut T,
    clock: &C,
    host: &mut H,
    buffer: &mut [u8],
) -> Result<(), RequestError>
where
    M: Machine,
    T: Transport,
    C: Clock,
    H: Host<M>,
{
    while let Some(at) = run_until_wait(session, transport, clock, host, buffer).await? {
        Turns::new(session, clock, host).rest(at).await;
    }
    Ok(())
}

/// Drives `session` until nothing is to be done before an instant, and answers with that; `None`
/// where its machine is done.
///
/// A fleet lends a session, a transport and a buffer to one machine after another by this, each at
/// its instant. Else it is as [`run`].
///
/// # Errors
/// As those of [`run`].
pub async fn run_until_wait<M, T, C, H>(
    session: &mut Session<'_, M>,
    transport: &mut T,
    clock: &C,
    host: &mut H,
    buffer: &mut [u8],
) -> Result<Option<Instant>, RequestError>
where
    M: Machine,
    T: Transport,
    C: Clock,
    H: Host<M>,
{
    let mut turns = Turns::new(session, clock, host);
    let mut turn = turns.settle().await;
    loop {
        // No request is in flight here, so the transport is free to follow advice.
        turns.follow_advice(transport);
        turn = match turn {
            Turn::Wait(at) => return Ok(Some(at)),
            Turn::Send { id, deadline } => {
                exchange(&mut turns, transport, buffer, id, deadline).await?
            }
            // Of a request that is over already.
            Turn::Cancel => turns.settle().await,
            Turn::Done => return Ok(None),
        };
    }
}

#[cfg(test)]
mod tests {
    use core::pin::{Pin, pin};
    use std::string::String;
    use std::vec::Vec;

    use futures_core::{FusedStream, Stream};

    use super::testing::{LEASE, Pinger, Script, Scripted, StopAt, World, poll_once};
    use super::*;
    use crate::protocol::{Event, Failure, Finish};

    const GOOD: Script = Script::Answer {
        after: 10,
        status: 200,
        body: LEASE,
    };

    /// Runs a pinger over `script` until it is stopped at `stop_at`; answers with the log.
    fn run_until(world: &World, stop_at: u64, script: &[Script]) -> Vec<String> {
        let mut session = Pinger::new(world).session();
        let mut transport = Scripted::new(world, script);
        let mut host = StopAt {
            world: world.clone(),
            at: Some(stop_at),
        };
        let mut buffer = [0; 512];
        let run = run(&mut session, &mut transport, world, &mut host, &mut buffer);
        assert_eq!(world.block_on(run), Ok(()));
        world.take_log()
    }

    #[test]
    fn an_answer_reaches_the_machine_and_the_next_request_waits_for_its_time() {
        let log = run_until(&World::default(), 150, &[GOOD, GOOD]);
        let expected = [
            "0 GET l by 50",
            "10 lease 7, retry after Some(1000)",
            "10 LeaderChanged",
            "100 GET l by 150",
            "110 lease 7, retry after Some(1000)",
            "110 LeaderChanged",
            "150 Finished(NotHolder)",
        ];
        assert_eq!(log, expected);
    }

    #[test]
    fn a_silent_server_costs_one_deadline_and_its_connection() {
        let log = run_until(&World::default(), 120, &[Script::Silence, GOOD]);
        let expected = [
            "0 GET l by 50",
            "50 ReconnectAdvised",
            "50 dropped",
            "50 abort",
            "50 reconnect",
            "100 GET l by 150",
            "110 lease 7, retry after Some(1000)",
            "110 LeaderChanged",
            "120 Finished(NotHolder)",
        ];
        assert_eq!(log, expected);
    }

    #[test]
    fn a_call_is_heard_while_a_request_is_in_flight() {
        let log = run_until(&World::default(), 20, &[Script::Silence]);
        let expected = [
            "0 GET l by 50",
            "20 Finished(NotHolder)",
            "20 dropped",
            "20 abort",
        ];
        assert_eq!(log, expected);
    }

    #[test]
    fn a_failure_ends_the_connection_and_its_advice_is_followed_before_the_next_request() {
        let failure = Script::Fail {
            after: 5,
            failure: Failure::NotSent,
        };
        let refused = Script::Answer {
            after: 5,
            status: 401,
            body: b"",
        };
        let log = run_until(&World::default(), 110, &[failure, refused]);
        let expected = [
            "0 GET l by 50",
            "5 abort",
            "5 NotSent",
            "5 ReconnectAdvised",
            "5 reconnect",
            "100 GET l by 150",
            "105 Unauthorized, retry after Some(1000)",
            "105 CredentialsRejected",
            "105 refresh",
            "110 Finished(NotHolder)",
        ];
        assert_eq!(log, expected);
    }

    #[test]
    fn a_body_that_can_no_longer_matter_is_not_read_to_its_end() {
        let junk = Script::Answer {
            after: 0,
            status: 200,
            body: b"<html></html>",
        };
        let log = run_until(&World::default(), 10, &[junk]);
        let expected = [
            "0 GET l by 50",
            "0 abort",
            "0 BadAnswer(NotJson), retry after Some(1000)",
            "0 VersionWentBack",
            "10 Finished(NotHolder)",
        ];
        assert_eq!(log, expected);
    }

    #[test]
    fn the_clock_decides_where_the_timer_never_fires() {
        let world = World::default();
        world.kill_timer();
        let log = run_until(&world, 120, &[Script::Silence, GOOD]);
        assert_eq!(log[1], "50 ReconnectAdvised");
        assert_eq!(log[5], "100 GET l by 150");
    }

    #[test]
    fn a_clock_that_went_back_is_shown_to_the_machine_at_once() {
        let world = World::default();
        let mut session = Pinger::new(&world).session();
        let mut transport = Scripted::new(&world, &[GOOD]);
        let mut host = StopAt {
            world: world.clone(),
            at: Some(60),
        };
        let mut buffer = [0; 512];
        world.set_back(40);
        let mut run = pin!(run(
            &mut session,
            &mut transport,
            &world,
            &mut host,
            &mut buffer
        ));
        assert_eq!(poll_once(run.as_mut()), None);
        world.set_back(5);
        assert_eq!(poll_once(run.as_mut()), None);
        assert_eq!(
            world.take_log(),
            ["40 GET l by 90", "5 the clock went back"]
        );
    }

    #[test]
    fn a_thousand_quiet_turns_read_the_clock_a_few_times_each() {
        let world = World::default();
        run_until(&world, 100_000, &[GOOD; 1_000]);
        // Each has seven waits (send, five pieces, rest), each with one reading by `settle` and
        // three by `race`, and one reading at its end.
        assert!(world.readings() < 1_000 * 30, "{}", world.readings());
    }

    #[test]
    fn dropping_the_loop_drops_the_request_in_flight() {
        let world = World::default();
        let mut session = Pinger::new(&world).session();
        let mut transport = Scripted::new(&world, &[Script::Silence]);
        let (mut host, mut buffer) = ((), [0; 512]);
        {
            let run = pin!(run(
                &mut session,
                &mut transport,
                &world,
                &mut host,
                &mut buffer
            ));
            assert_eq!(poll_once(run), None);
        }
        assert_eq!(world.take_log(), ["0 GET l by 50", "0 dropped"]);
    }

    #[test]
    fn a_buffer_that_is_too_small_ends_the_loop_with_an_error() {
        let world = World::default();
        let mut session = Pinger::new(&world).session();
        let mut transport = Scripted::new(&world, &[]);
        let (mut host, mut buffer) = ((), [0; 8]);
        let run = run(&mut session, &mut transport, &world, &mut host, &mut buffer);
        assert!(matches!(
            world.block_on(run),
            Err(RequestError::BufferTooSmall { .. })
        ));
    }

    #[test]
    fn the_loop_is_send_where_its_parts_are() {
        fn assert_send<T: Send>(_: &T) {}
        let world = World::default();
        let mut session = Pinger::new(&world).session();
        let mut transport = Scripted::new(&world, &[]);
        let mut buffer = [0; 8];
        assert_send(&run(
            &mut session,
            &mut transport,
            &world,
            &mut (),
            &mut buffer,
        ));
    }

    #[test]
    fn the_loop_stands_still_until_its_event_is_taken_from_the_stream() {
        let world = World::default();
        let mut session = Pinger::new(&world).session();
        let mut transport = Scripted::new(&world, &[Script::Silence, GOOD]);
        let mut slot = EventSlot::new();
        let stop = StopAt {
            world: world.clone(),
            at: Some(120),
        };
        let (mut host, events) = slot.split(stop);
        let mut buffer = [0; 512];
        let run = pin!(run(
            &mut session,
            &mut transport,
            &world,
            &mut host,
            &mut buffer
        ));
        let mut events = events.driving(run);

        // With each event, what had happened until it was given.
        let mut seen = Vec::new();
        while let Some(event) = world.block_on(next(&mut events)) {
            seen.push((event, world.take_log().join("; ")));
        }
        let expected = [
            (
                Event::ReconnectAdvised,
                "0 GET l by 50; 50 ReconnectAdvised",
            ),
            (
                Event::LeaderChanged,
                "50 dropped; 50 abort; 50 reconnect; 100 GET l by 150; \
                 110 lease 7, retry after Some(1000); 110 LeaderChanged",
            ),
            (
                Event::Finished(Finish::NotHolder),
                "120 Finished(NotHolder)",
            ),
        ];
        assert_eq!(
            seen,
            expected.map(|(event, log)| (event, String::from(log)))
        );
        assert!(events.is_terminated());
        assert_eq!(events.outcome(), Some(&Ok(())));
        assert_eq!(world.block_on(next(&mut events)), None);
    }

    async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
        core::future::poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
    }
}
