//! The task that drives one heartbeat.

use core::convert::Infallible;
use core::future::{pending, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use kubelease_core::drive::{self, Host};
use kubelease_core::heartbeat::Retire;
use kubelease_core::protocol::{Event, TroubleKind, Verb};
use kubelease_core::session::{Session, UpdateMode};
use kubelease_core::time::Now;
use kubelease_core::wire::path::LeasePath;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use super::Heart;
use super::keeper::Keeper;
use super::shared::{Ready, Shared, Wishes};
use crate::clock::SharedClock;
use crate::http::HttpTransport;
use crate::task::{KEEP_MAX, REQUEST_MAX};

/// What a handle asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    /// The host is alive; when, is what is shared.
    Alive,
    /// The Node was made anew.
    NodeReplaced,
    Retire(Retire),
}

/// What the task is made of.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) heart: Heart,
    pub(super) patch_mode: bool,
    pub(super) transport: HttpTransport,
    pub(super) clock: SharedClock,
    pub(super) publisher: Publisher,
    pub(super) keeper: Option<Keeper>,
}

impl Task {
    /// Beats to the end, and looks after the Node meanwhile.
    pub(super) async fn run(mut self) {
        let mut keep = vec![0; if self.patch_mode { 0 } else { KEEP_MAX }];
        let update = if self.patch_mode {
            UpdateMode::MergePatch
        } else {
            UpdateMode::Update {
                keep: &mut keep,
                patch_when_too_large: false,
            }
        };
        let mut buffer = vec![0; REQUEST_MAX];
        let Ok(path) = LeasePath::new(&self.namespace, &self.name) else {
            // It was checked before the task was made; without a word it is dead.
            return;
        };
        let shared = Arc::clone(&self.publisher.shared);
        let stopping = shared.stopping.subscribe();
        if let Some(keeper) = &mut self.keeper {
            unless(stopping.clone(), keeper.begin()).await;
        }
        let mut session = Session::new(self.heart, path, update);
        let mut keeping = pin!(look_after(self.keeper, stopping));
        let mut beating = pin!(drive::run(
            &mut session,
            &mut self.transport,
            &self.clock,
            &mut self.publisher,
            &mut buffer,
        ));
        let end = poll_fn(|context| {
            // It has no end of its own.
            let _ = keeping.as_mut().poll(context);
            beating.as_mut().poll(context)
        });
        if let Err(error) = end.await {
            shared.fail(error);
        }
    }
}

/// Keeps the Node until the end is asked for.
async fn look_after(keeper: Option<Keeper>, stopping: watch::Receiver<bool>) -> Infallible {
    if let Some(keeper) = keeper {
        unless(stopping, keeper.keep()).await;
    }
    pending().await
}

/// Drops `future` where the end is asked for.
async fn unless<F: Future>(mut stopping: watch::Receiver<bool>, future: F) -> Option<F::Output> {
    let mut stopped = pin!(stopping.wait_for(|stopping| *stopping));
    let mut future = pin!(future);
    poll_fn(|context| {
        if stopped.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// Stands between the heart, its handle and the keeper of its Node.
#[derive(Debug)]
pub(super) struct Publisher {
    shared: Arc<Shared>,
    calls: UnboundedReceiver<Call>,
    /// Whether `Ready` was wished for after the first beat.
    has_greeted: bool,
}

impl Publisher {
    pub(super) const fn new(shared: Arc<Shared>, calls: UnboundedReceiver<Call>) -> Self {
        let has_greeted = false;
        Self {
            shared,
            calls,
            has_greeted,
        }
    }

    fn wish_ready(&self, is_transition: bool) {
        self.shared.wish(Wishes {
            ready: Some(Ready { is_transition }),
            ..Wishes::default()
        });
    }
}

impl Host<Heart> for Publisher {
    fn poll_call(&mut self, context: &mut Context<'_>, heart: &mut Heart, now: Now) -> Poll<()> {
        // Where there are none any more the handle is gone, and this task with it in a moment.
        while let Poll::Ready(Some(call)) = self.calls.poll_recv(context) {
            match call {
                Call::Alive => match self.shared.take_alive() {
                    Some(at) => heart.alive_since(now, at),
                    None => continue,
                },
                Call::NodeReplaced => heart.node_was_replaced(),
                Call::Retire(how) => heart.retire(now, how),
            }
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn event(&mut self, heart: &Heart, event: Event) {
        self.shared.tell(heart, event);
        match event {
            Event::Trouble {
                kind: TroubleKind::NodeMissing,
                verb: Verb::GetNode,
            } => self.shared.wish(Wishes {
                register: true,
                ..Wishes::default()
            }),
            Event::NodeNotReady(_) => self.wish_ready(true),
            // Who deletes a lease is, as a rule, the garbage collector after the Node: what there
            // is now is another Node, of which nobody has said anything.
            Event::LeaseRecreated => self.wish_ready(false),
            Event::Trouble { .. }
            | Event::StartedLeading { .. }
            | Event::StoppedLeading { .. }
            | Event::LeaderChanged
            | Event::LeaseBeingDeleted
            | Event::CredentialsRejected
            | Event::ReconnectAdvised
            | Event::IdentityCollision
            | Event::VersionWentBack
            | Event::Finished(_)
            | _ => {}
        }
    }

    fn settled(&mut self, heart: &Heart, _now: Now) {
        self.shared.update(heart);
        // Not while the Node is being looked at: what that finds says more.
        if !self.has_greeted && heart.last_beat().is_some() && heart.in_flight().is_none() {
            self.has_greeted = true;
            self.shared.wish(Wishes {
                ready: Some(Ready::default()),
                has_greeted: true,
                ..Wishes::default()
            });
        }
    }
}

impl Drop for Publisher {
    /// However the task ends, by return, panic or abort, nobody must believe in it any more.
    fn drop(&mut self) {
        self.shared.end();
    }
}
