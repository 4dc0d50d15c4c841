//! The task that drives one elector.

use core::fmt;
use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use kubelease_core::drive::{self, Clock as _, Host, Transport};
use kubelease_core::elector::Elector;
use kubelease_core::protocol::Event;
use kubelease_core::session::UpdateMode;
use kubelease_core::time::{Instant, Now};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::clock::SharedClock;
#[cfg(feature = "events")]
use crate::events::Recorder;
use crate::settings::{Settings, millis};
use crate::state::{Closing, Shared};

/// Room for all of a Lease that is not ours: a server takes 256 KiB of annotations, and little
/// else is long. Memory that is never written is never used.
pub(crate) const KEEP_MAX: usize = 320 * 1024;

/// Room for what a request has besides: target, identity, times.
pub(crate) const REQUEST_MAX: usize = KEEP_MAX + 8 * 1024;

/// How long work may take to end once it is cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// What a handle and its work ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    StepDown(Duration),
    StopWhenIdle,
    /// Stop when the work has ended, which may take so long.
    Stop(Duration),
    WorkEnded,
}

/// How long what was made last may take to be sent when the elector has ended.
#[cfg(feature = "events")]
const DRAIN: Duration = Duration::from_secs(1);

/// Runs beside the elector, in its task.
pub(crate) type Companion = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs the elector to its end.
pub(crate) async fn run<T: Transport>(
    settings: Settings,
    mut transport: T,
    clock: SharedClock,
    mut publisher: Publisher,
    mut companion: Option<Companion>,
) {
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
    let Ok(mut session) = settings.session(&labels, clock.now(), update) else {
        // It was made with the same settings before the task was; without a word it is dead.
        return;
    };
    let run = drive::run(
        &mut session,
        &mut transport,
        &clock,
        &mut publisher,
        &mut buffer,
    );
    if let Err(error) = beside(run, &mut companion).await {
        publisher.shared.fail(error);
    }
    #[cfg(feature = "events")]
    if let Some(companion) = companion {
        // Without its recorder it ends when all is sent.
        publisher.recorder = None;
        let _ = tokio::time::timeout(DRAIN, companion).await;
    }
}

/// Polls the companion whenever `future` is polled, to the end of the latter.
async fn beside<F: Future>(future: F, companion: &mut Option<Companion>) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let polled = companion.as_mut().map(|other| other.as_mut().poll(context));
        if matches!(polled, Some(Poll::Ready(()))) {
            *companion = None;
        }
        future.as_mut().poll(context)
    })
    .await
}

/// Stands between the elector and its handles.
#[derive(Debug)]
pub(crate) struct Publisher {
    shared: Arc<Shared>,
    calls: UnboundedReceiver<Call>,
    /// The end of the patience of a shutdown, while it waits for work.
    patience: Option<Timer>,
    #[cfg(feature = "events")]
    pub(crate) recorder: Option<Recorder>,
}

impl Publisher {
    pub(crate) const fn new(shared: Arc<Shared>, calls: UnboundedReceiver<Call>) -> Self {
        Self {
            shared,
            calls,
            patience: None,
            #[cfg(feature = "events")]
            recorder: None,
        }
    }

    /// Renews on while work runs, for as long as `patience` lasts; otherwise stops.
    fn shut_down(&mut self, elector: &mut Elector<'_>, now: Now, patience: Duration) {
        self.shared.set_closing(Closing::Asked);
        if self.shared.works() == 0 {
            elector.stop(now);
        } else {
            elector.stop_when_idle(now);
            self.patience = Some(Timer::new(&self.shared, now, patience));
        }
    }

    /// A piece of work has ended; says whether it was the last one that a shutdown waited for.
    fn work_ended(&mut self, elector: &mut Elector<'_>, now: Now) -> bool {
        let is_last = self.patience.is_some() && self.shared.works() == 0;
        if is_last {
            self.patience = None;
            elector.stop(now);
        }
        is_last
    }

    /// Goes on from asking to cancelling, and from there to giving up.
    fn check_patience(&mut self, context: &mut Context<'_>, now: Now) {
        while let Some(timer) = &mut self.patience {
            if !timer.is_over(context, now) {
                return;
            }
            if self.shared.closing() == Closing::Asked {
                self.shared.set_closing(Closing::Cancelling);
                self.patience = Some(Timer::new(&self.shared, now, CANCEL_GRACE));
            } else {
                // Releasing would let another lead while this work goes on.
                self.shared.set_closing(Closing::Stuck);
                self.patience = None;
            }
        }
    }
}

impl Host<Elector<'_>> for Publisher {
    fn poll_call(
        &mut self,
        context: &mut Context<'_>,
        elector: &mut Elector<'_>,
        now: Now,
    ) -> Poll<()> {
        // Where there are none any more the handle is gone, and this task with it in a moment.
        while let Poll::Ready(Some(call)) = self.calls.poll_recv(context) {
            match call {
                Call::StepDown(cooldown) => elector.step_down(now, millis(cooldown)),
                Call::StopWhenIdle => elector.stop_when_idle(now),
                Call::Stop(patience) => self.shut_down(elector, now, patience),
                Call::WorkEnded => {
                    if !self.work_ended(elector, now) {
                        continue;
                    }
                }
            }
            return Poll::Ready(());
        }
        self.check_patience(context, now);
        Poll::Pending
    }

    fn event(&mut self, elector: &Elector<'_>, event: Event) {
        self.shared.tell(elector, event);
        self.shared.telemetry.event(elector, event);
        #[cfg(feature = "events")]
        if let Some(recorder) = &mut self.recorder {
            recorder.event(elector, event, self.shared.clock.now());
        }
    }

    fn settled(&mut self, elector: &Elector<'_>, now: Now) {
        self.shared.update(elector, now);
        let until = elector.leading_until().unwrap_or_default();
        let left = until.saturating_since(now.instant);
        self.shared.telemetry.time_left(left.into());
    }
}

impl Drop for Publisher {
    /// However the task ends, by return, panic or abort, nobody must believe in it any more.
    fn drop(&mut self) {
        self.shared.end();
        self.shared.telemetry.set_leading(false);
        self.shared.telemetry.time_left(Duration::ZERO);
    }
}

/// An instant of the elector's clock, and what wakes its task there.
struct Timer {
    at: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Timer {
    fn new(shared: &Shared, now: Now, length: Duration) -> Self {
        let clock = Arc::clone(&shared.clock);
        let at = now.instant.saturating_add(millis(length));
        let sleep = Box::pin(async move {
            // A sleep may end too soon.
            while clock.now().instant < at {
                clock.sleep_until(at).await;
            }
        });
        Self { at, sleep }
    }

    fn is_over(&mut self, context: &mut Context<'_>, now: Now) -> bool {
        now.instant >= self.at || self.sleep.as_mut().poll(context).is_ready()
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timer").field(&self.at).finish()
    }
}
