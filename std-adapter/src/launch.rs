//! From checked settings to a running task and its handle.

use core::time::Duration;
use std::sync::Arc;

use kubelease_core::drive::Transport;
use tokio::sync::mpsc;

#[cfg(feature = "annotation-lock")]
use crate::annotation::{AnnotationLock, AnnotationTransport};
use crate::clock::SharedClock;
use crate::error::StartError;
#[cfg(feature = "events")]
use crate::events::{self, Recorder};
use crate::handle::Handle;
use crate::http::{HttpTransport, Traffic};
use crate::place::Place;
use crate::settings::Settings;
use crate::shared_line::SharedLine;
use crate::state::Shared;
use crate::task::{self, Companion, Publisher};
use crate::telemetry::Telemetry;
use crate::watched::Watched;

/// All that a running elector is made of. Nothing runs yet.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) settings: Settings,
    pub(crate) clock: SharedClock,
    pub(crate) line: SharedLine,
    pub(crate) place: Place,
    pub(crate) work_budget: Option<Duration>,
    #[cfg(feature = "annotation-lock")]
    pub(crate) lock: Option<AnnotationLock>,
    /// What makes Events, and what sends them.
    #[cfg(feature = "events")]
    pub(crate) recorder: Option<(Recorder, mpsc::Receiver<String>, crate::client::ApiClient)>,
}

impl Launch {
    /// Starts it.
    pub(crate) fn run(self) -> Result<Handle, StartError> {
        let timing = self.settings.timing;
        let telemetry = Telemetry {
            namespace: self.settings.namespace.clone(),
            name: self.settings.name.clone(),
            identity: self.settings.identity.clone(),
        };
        telemetry.set_leading(false);
        let shared = Arc::new(Shared::new(Arc::clone(&self.clock.0), timing, telemetry));
        let (calls, receiver) = mpsc::unbounded_channel();
        let publisher = Publisher::new(Arc::clone(&shared), receiver);
        let identity = self.settings.identity.clone();
        let traffic = Traffic::default();
        let work_budget = self.work_budget;
        let work_budget = work_budget.unwrap_or_else(|| timing.renew_deadline.into());
        let task = self.spawn(&shared, publisher, traffic.clone())?;
        Ok(Handle::new(
            shared,
            calls,
            task,
            identity,
            traffic,
            work_budget,
        ))
    }

    #[cfg_attr(
        not(feature = "events"),
        expect(unused_mut, reason = "nobody makes Events")
    )]
    fn spawn(
        self,
        shared: &Arc<Shared>,
        mut publisher: Publisher,
        traffic: Traffic,
    ) -> Result<tokio::task::JoinHandle<()>, StartError> {
        #[cfg(feature = "events")]
        let companion = self.recorder.map(|(recorder, posts, client)| {
            let clock = Arc::clone(&self.clock.0);
            let post = events::post(client, recorder.target(), posts, clock);
            publisher.recorder = Some(recorder);
            Box::pin(post) as Companion
        });
        #[cfg(not(feature = "events"))]
        let companion: Option<Companion> = None;
        let Self {
            settings,
            clock,
            place,
            ..
        } = self;
        let transport = HttpTransport::new(self.line, traffic);
        #[cfg(feature = "annotation-lock")]
        if let Some(lock) = self.lock {
            let (namespace, name) = (settings.namespace.clone(), settings.name.clone());
            let transport = AnnotationTransport::new(transport, lock, namespace, name);
            let transport = watched(transport, shared);
            let task = task::run(settings, transport, clock, publisher, companion);
            return place.spawn(shared.telemetry.in_span(task), shared);
        }
        let transport = watched(transport, shared);
        let task = task::run(settings, transport, clock, publisher, companion);
        place.spawn(shared.telemetry.in_span(task), shared)
    }
}

fn watched<T: Transport>(transport: T, shared: &Arc<Shared>) -> Watched<T> {
    Watched::new(transport, Arc::clone(shared))
}
