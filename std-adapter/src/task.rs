//! The task that drives one elector.

use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::sync::Arc;

use kubelease_core::drive::{self, Clock as _, Host};
use kubelease_core::elector::Elector;
use kubelease_core::protocol::Event;
use kubelease_core::session::UpdateMode;
use kubelease_core::time::Now;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::clock::SharedClock;
use crate::error::ShutdownError;
use crate::http::HttpTransport;
use crate::settings::{Settings, millis};
use crate::state::Shared;

/// Room for all of a Lease that is not ours: a server takes 256 KiB of annotations, and little
/// else is long. Memory that is never written is never used.
const KEEP_MAX: usize = 320 * 1024;

/// Room for what a request has besides: target, identity, times.
const REQUEST_MAX: usize = KEEP_MAX + 8 * 1024;

/// What the task ends with.
pub(crate) type Outcome = Result<(), ShutdownError>;

/// What a handle asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    StepDown(Duration),
    StopWhenIdle,
    Stop,
}

/// Runs the elector to its end.
pub(crate) async fn run(
    settings: Settings,
    mut transport: HttpTransport,
    clock: SharedClock,
    mut publisher: Publisher,
) -> Outcome {
    let labels = settings.labels();
    let mut keep = vec![0; if settings.patch_mode { 0 } else { KEEP_MAX }];
    let update = if settings.patch_mode {
        UpdateMode::MergePatch
    } else {
        UpdateMode::Update {
            keep: &mut keep,
            patch_when_too_large: false,
        }
    };
    let mut buffer = vec![0; REQUEST_MAX];
    let mut session = settings
        .session(&labels, clock.now(), update)
        .map_err(|_| ShutdownError::TaskDied)?;
    drive::run(
        &mut session,
        &mut transport,
        &clock,
        &mut publisher,
        &mut buffer,
    )
    .await
    .map_err(ShutdownError::Request)
}

/// Stands between the elector and its handles.
#[derive(Debug)]
pub(crate) struct Publisher {
    shared: Arc<Shared>,
    calls: UnboundedReceiver<Call>,
}

impl Publisher {
    pub(crate) const fn new(shared: Arc<Shared>, calls: UnboundedReceiver<Call>) -> Self {
        Self { shared, calls }
    }
}

impl Host<Elector<'_>> for Publisher {
    fn poll_call(
        &mut self,
        context: &mut Context<'_>,
        elector: &mut Elector<'_>,
        now: Now,
    ) -> Poll<()> {
        let Some(call) = ready!(self.calls.poll_recv(context)) else {
            // The handle is gone, and this task with it in a moment.
            return Poll::Pending;
        };
        match call {
            Call::StepDown(cooldown) => elector.step_down(now, millis(cooldown)),
            Call::StopWhenIdle => elector.stop_when_idle(now),
            Call::Stop => elector.stop(now),
        }
        Poll::Ready(())
    }

    fn event(&mut self, elector: &Elector<'_>, event: Event) {
        self.shared.tell(elector, event);
    }

    fn settled(&mut self, elector: &Elector<'_>, now: Now) {
        self.shared.update(elector, now);
    }
}

impl Drop for Publisher {
    /// However the task ends, by return, panic or abort, nobody must believe in it any more.
    fn drop(&mut self) {
        self.shared.end();
    }
}
