//! A transport that is looked at: what each exchange says about the state of the election.

use std::sync::Arc;

use kubelease_core::drive::{Piece, Transport};
use kubelease_core::protocol::Failure;
use kubelease_core::time::Instant;
use kubelease_core::wire::http::{HttpRequest, Method};

use crate::state::Shared;

/// Tells the telemetry of each exchange.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    inner: T,
    shared: Arc<Shared>,
    exchange: Option<Exchange>,
}

/// What is under way.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    method: Method,
    began: Instant,
    was_leading: bool,
    /// A stream, which has no end of its own.
    is_watch: bool,
    status: Option<u16>,
}

impl<T> Watched<T> {
    pub(crate) const fn new(inner: T, shared: Arc<Shared>) -> Self {
        Self {
            inner,
            shared,
            exchange: None,
        }
    }

    fn begin(&mut self, request: &HttpRequest<'_>) {
        let was_leading = self.shared.leading_in(None, |_| ()).is_some();
        self.exchange = Some(Exchange {
            method: request.method,
            is_watch: request.query().contains("watch="),
            began: self.shared.clock.now().instant,
            was_leading,
            status: None,
        });
    }

    /// The exchange is over, by an answer or by `failure`.
    fn end(&mut self, failure: Option<&'static str>) {
        let Some(exchange) = self.exchange.take() else {
            return;
        };
        let telemetry = &self.shared.telemetry;
        let method = exchange.method.as_str();
        match (failure, exchange.status) {
            (Some("given_up"), Some(200)) if exchange.is_watch => {}
            (Some(kind), _) => telemetry.failed(method, kind),
            (None, Some(200 | 201)) if !exchange.was_leading => {}
            (None, Some(200 | 201)) if exchange.method == Method::Get => telemetry.slow_path(),
            (None, Some(200 | 201)) => {
                let now = self.shared.clock.now().instant;
                telemetry.renewed(now.saturating_since(exchange.began).into());
            }
            // No object yet, or somebody was faster: an election is made of these.
            (None, Some(404 | 409)) => {}
            (None, Some(status)) => telemetry.failed(method, &format!("status_{status}")),
            (None, None) => telemetry.failed(method, kind(Failure::Unknown)),
        }
    }
}

/// The word for a failure in metrics.
const fn kind(failure: Failure) -> &'static str {
    match failure {
        Failure::NotSent => "not_sent",
        Failure::Unknown => "unknown",
        Failure::TimedOut => "timed_out",
    }
}

impl<T: Transport> Transport for Watched<T> {
    async fn send(&mut self, request: HttpRequest<'_>, deadline: Instant) -> Result<(), Failure> {
        self.begin(&request);
        let sent = self.inner.send(request, deadline).await;
        if let Err(failure) = sent {
            self.end(Some(kind(failure)));
        }
        sent
    }

    async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        // By fields: a piece borrows the transport within.
        let Self {
            inner,
            shared,
            exchange,
        } = self;
        let piece = inner.next().await;
        let mut ended = |failure| {
            let mut over = Watched {
                inner: (),
                shared: Arc::clone(shared),
                exchange: exchange.take(),
            };
            over.end(failure);
        };
        match &piece {
            Ok(Piece::Status(status)) => {
                if let Some(exchange) = exchange {
                    exchange.status = Some(*status);
                }
            }
            Ok(Piece::End) => ended(None),
            Ok(Piece::Header { .. } | Piece::Body(_)) => {}
            Err(failure) => ended(Some(kind(*failure))),
        }
        piece
    }

    fn abort(&mut self) {
        // What is still under way here was given up: at its deadline, or in the middle of a body.
        self.end(Some("given_up"));
        self.inner.abort();
    }

    fn reconnect(&mut self) {
        self.inner.reconnect();
    }

    fn refresh_credentials(&mut self) {
        self.inner.refresh_credentials();
    }
}
