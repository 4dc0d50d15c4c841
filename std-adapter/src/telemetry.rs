//! What operators see of an elector: metrics and traces, where their features are on.
//!
//! Names and labels are client-go's where it has any. Nothing secret is ever handed in here.

use core::time::Duration;

use kubelease_core::elector::Elector;
use kubelease_core::protocol::Event;

/// Who tells.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "tracing"),
    expect(dead_code, reason = "only spans have all of it")
)]
pub(crate) struct Telemetry {
    pub(crate) namespace: String,
    /// The name of the lease: the label of all metrics.
    pub(crate) name: String,
    pub(crate) identity: String,
}

impl Telemetry {
    /// Puts what `future` does under one span.
    #[cfg(feature = "tracing")]
    pub(crate) fn in_span<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let span = tracing::info_span!(
            "leader_election",
            namespace = %self.namespace,
            name = %self.name,
            identity = %self.identity,
        );
        tracing::Instrument::instrument(future, span)
    }

    #[cfg(not(feature = "tracing"))]
    #[expect(clippy::unused_self, reason = "as the other one")]
    pub(crate) const fn in_span<F: Future>(&self, future: F) -> F {
        future
    }

    /// Something happened; `elector` is in the state that follows.
    pub(crate) fn event(&self, elector: &Elector<'_>, event: Event) {
        if let Event::StartedLeading { .. } = event {
            self.set_leading(true);
        } else if let Event::StoppedLeading { .. } = event {
            self.set_leading(false);
        }
        #[cfg(feature = "tracing")]
        trace(elector, event);
        let _ = elector;
    }

    /// Whether this process leads, as far as its listeners know.
    pub(crate) fn set_leading(&self, is_leading: bool) {
        #[cfg(feature = "metrics")]
        metrics::gauge!("leader_election_master_status", "name" => self.name.clone())
            .set(f64::from(u8::from(is_leading)));
        let _ = is_leading;
    }

    /// What was left of the term at a turn of the elector; nothing for who does not lead.
    pub(crate) fn time_left(&self, left: Duration) {
        #[cfg(feature = "metrics")]
        metrics::gauge!("leader_election_time_left_seconds", "name" => self.name.clone())
            .set(left.as_secs_f64());
        let _ = left;
    }

    /// A leader reads, where one write would have done.
    pub(crate) fn slow_path(&self) {
        #[cfg(feature = "metrics")]
        metrics::counter!("leader_election_slowpath_total", "name" => self.name.clone())
            .increment(1);
        #[cfg(feature = "tracing")]
        tracing::debug!("a renewal takes a read");
    }

    /// A leader's write was answered by a success after so long.
    pub(crate) fn renewed(&self, took: Duration) {
        #[cfg(feature = "metrics")]
        metrics::histogram!("leader_election_renew_duration_seconds", "name" => self.name.clone())
            .record(took.as_secs_f64());
        #[cfg(feature = "tracing")]
        tracing::trace!(took_ms = took.as_millis(), "renewed");
        let _ = took;
    }

    /// A request got no answer, or one that is no part of an ordinary election.
    pub(crate) fn failed(&self, method: &'static str, kind: &str) {
        #[cfg(feature = "metrics")]
        metrics::counter!(
            "leader_election_failures_total",
            "name" => self.name.clone(),
            "kind" => kind.to_owned(),
        )
        .increment(1);
        #[cfg(feature = "tracing")]
        tracing::debug!(method, kind, "request failed");
        let _ = (method, kind);
    }

    /// Work went on past the end of its term.
    pub(crate) fn overstayed(&self, term: u64, overstay: Duration) {
        #[cfg(feature = "metrics")]
        metrics::counter!("leader_election_overstays_total", "name" => self.name.clone())
            .increment(1);
        #[cfg(feature = "tracing")]
        tracing::error!(
            name = %self.name,
            term,
            overstay_ms = overstay.as_millis(),
            "work went on past the end of its term",
        );
        let _ = (term, overstay);
    }
}

#[cfg(feature = "tracing")]
fn trace(elector: &Elector<'_>, event: Event) {
    use tracing::{info, warn};
    if let Event::StartedLeading { term } = event {
        let token = elector.fence().and_then(|fence| fence.token());
        info!(term, token, "started leading");
    } else if let Event::StoppedLeading { term, reason, .. } = event {
        warn!(term, ?reason, "stopped leading");
    } else if let Event::LeaderChanged = event {
        info!(leader = elector.leader(), "the leader changed");
    } else if let Event::Finished(finish) = event {
        info!(?finish, "finished");
    } else if let Event::Trouble { kind, verb } = event {
        warn!(?kind, verb = verb.as_str(), "trouble");
    } else {
        // Identity collisions, refused credentials, advice to reconnect and their like.
        warn!(?event, "unusual");
    }
}
