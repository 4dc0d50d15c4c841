//! The line to one server: a client, and the credentials that it is made of and sends.

use core::error::Error;
use core::fmt::Write;
use core::time::Duration;

use kubelease_core::drive::Clock as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use reqwest::{Client, Method, RequestBuilder, Response};

use crate::clock::SharedClock;
#[cfg(feature = "own-client")]
use crate::connection::GivenClient;
use crate::connection::{Connection, ConnectionError, Route, hint};
use crate::credentials::Credentials;

/// What sends requests to one server.
#[derive(Debug)]
pub(crate) enum Line {
    /// A client of ours.
    Ours(Box<OurLine>),
    /// One that the program has already, which has credentials of its own.
    #[cfg(feature = "own-client")]
    Given(GivenClient),
}

/// A client whose credentials are kept fresh.
#[derive(Debug)]
pub(crate) struct OurLine {
    route: Route,
    credentials: Credentials,
    clock: SharedClock,
    client: Client,
}

/// A request without what identifies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) method: &'a Method,
    /// Path and query.
    pub(crate) target: &'a str,
    pub(crate) accept: &'a str,
    /// Where there is a body.
    pub(crate) content_type: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

/// A request that can be sent without its line.
#[derive(Debug)]
pub(crate) enum Prepared {
    Ours(RequestBuilder),
    #[cfg(feature = "own-client")]
    Given(GivenClient, Result<http::Request<Vec<u8>>, String>),
}

impl Prepared {
    /// Sends it, up to the head of its answer.
    pub(crate) async fn send(self) -> Result<Response, Unanswered> {
        match self {
            Self::Ours(request) => request.send().await.map_err(Unanswered::Ours),
            #[cfg(feature = "own-client")]
            Self::Given(client, request) => {
                let request = request.map_err(Unanswered::Given)?;
                client.send(request).await.map_err(Unanswered::Given)
            }
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    Ours(reqwest::Error),
    /// In the words of a client that the program has.
    #[cfg(feature = "own-client")]
    Given(String),
}

impl Unanswered {
    /// What happened, without the URL.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Ours(error) => describe(error),
            #[cfg(feature = "own-client")]
            Self::Given(text) => text,
        }
    }
}

impl Line {
    /// Reads and checks all that `connection` says; nothing is sent. So many connections are kept
    /// while they have nothing to do.
    pub(crate) fn new(
        connection: &Connection,
        clock: SharedClock,
        connect_timeout: Duration,
        idle_connections: usize,
    ) -> Result<Self, ConnectionError> {
        #[cfg(feature = "own-client")]
        if let Some(client) = &connection.given {
            return Ok(Self::Given(client.clone()));
        }
        let ours = OurLine::new(connection, clock, connect_timeout, idle_connections)?;
        Ok(Self::Ours(Box::new(ours)))
    }

    /// Takes over credentials that have changed since the last request.
    pub(crate) async fn renew(&mut self) -> Result<(), ConnectionError> {
        match self {
            Self::Ours(ours) => ours.renew().await,
            #[cfg(feature = "own-client")]
            Self::Given(_) => Ok(()),
        }
    }

    /// A request with all that identifies, as things are now.
    pub(crate) fn prepare(&self, outgoing: Outgoing<'_>) -> Prepared {
        match self {
            Self::Ours(ours) => Prepared::Ours(ours.request(outgoing)),
            #[cfg(feature = "own-client")]
            Self::Given(client) => Prepared::Given(client.clone(), outgoing.into_http()),
        }
    }

    /// Sends a request, up to the head of its answer.
    pub(crate) async fn send(&self, outgoing: Outgoing<'_>) -> Result<Response, Unanswered> {
        self.prepare(outgoing).send().await
    }

    /// The words for a request that got no answer, and a reason to look at the credentials: a
    /// certificate may be why.
    pub(crate) fn explain(&mut self, error: Unanswered) -> String {
        let mut text = error.into_text();
        match self {
            Self::Ours(ours) => ours.doubt(&mut text),
            #[cfg(feature = "own-client")]
            Self::Given(_) => {}
        }
        text
    }

    /// The words for a request that got no answer within `limit`.
    pub(crate) fn late(&self, limit: Duration) -> String {
        match self {
            Self::Ours(ours) => ours.late(limit),
            #[cfg(feature = "own-client")]
            Self::Given(_) => format!("expected an answer within {limit:?}, found none"),
        }
    }

    /// The server answered 401: the next request has to carry what there is then.
    pub(crate) const fn reject(&mut self) {
        match self {
            Self::Ours(ours) => ours.credentials.reject(),
            #[cfg(feature = "own-client")]
            Self::Given(_) => {}
        }
    }

    /// Drops every connection.
    pub(crate) fn reconnect(&mut self) {
        match self {
            Self::Ours(ours) => ours.reconnect(),
            #[cfg(feature = "own-client")]
            Self::Given(_) => {}
        }
    }
}

#[cfg(feature = "own-client")]
impl Outgoing<'_> {
    fn into_http(self) -> Result<http::Request<Vec<u8>>, String> {
        let mut builder = http::Request::builder()
            .method(self.method)
            .uri(self.target)
            .header(ACCEPT, self.accept);
        if let Some(content_type) = self.content_type {
            builder = builder.header(CONTENT_TYPE, content_type);
        }
        builder
            .body(self.body.to_vec())
            .map_err(|error| error.to_string())
    }
}

impl OurLine {
    fn new(
        connection: &Connection,
        clock: SharedClock,
        connect_timeout: Duration,
        idle_connections: usize,
    ) -> Result<Self, ConnectionError> {
        let mut route = Route::new(connection, connect_timeout)?;
        route.idle_connections = idle_connections;
        let mut credentials = Credentials::load(connection)?;
        let client = client(&route, &credentials)?;
        credentials.used(Ok(()));
        Ok(Self {
            route,
            credentials,
            clock,
            client,
        })
    }

    async fn renew(&mut self) -> Result<(), ConnectionError> {
        self.credentials.renew(self.clock.now()).await?;
        if self.credentials.are_new() {
            let client = client(&self.route, &self.credentials);
            self.credentials
                .used(client.map(|client| self.client = client));
        }
        Ok(())
    }

    /// A request with all that identifies.
    fn request(&self, outgoing: Outgoing<'_>) -> RequestBuilder {
        // The URL may have a path of its own, as behind a proxy for many clusters.
        let url = self.route.url.as_str().trim_end_matches('/');
        let url = format!("{url}{}", outgoing.target);
        let builder = self.client.request(outgoing.method.clone(), url);
        let mut builder = builder.header(ACCEPT, outgoing.accept);
        if let Some(authorization) = self.credentials.authorization() {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        if let Some(host) = &self.route.host {
            builder = builder.header(HOST, host);
        }
        for (name, value) in &self.route.headers {
            builder = builder.header(name, value);
        }
        if let Some(content_type) = outgoing.content_type {
            builder = builder
                .header(CONTENT_TYPE, content_type)
                .body(outgoing.body.to_vec());
        }
        builder
    }

    fn late(&self, limit: Duration) -> String {
        let late = self.credentials.late(limit);
        late.map_or_else(
            || {
                let server = &self.route.server;
                format!("expected an answer within {limit:?}, found none; the server is {server}")
            },
            |late| late.to_string(),
        )
    }

    fn doubt(&mut self, text: &mut String) {
        let hint = hint::about(text, &self.route.url);
        // Writing into a String does not fail.
        let _ = write!(text, "; the server is {}{hint}", self.route.server);
        if let Some(trouble) = self.credentials.trouble() {
            // Writing into a String does not fail.
            let _ = write!(text, "; {trouble}");
        }
        self.credentials.doubt();
    }

    fn reconnect(&mut self) {
        // The same settings made a client before; should they fail now, the old one is no worse.
        if let Ok(client) = client(&self.route, &self.credentials) {
            self.client = client;
        }
    }
}

/// A new client of what there is now.
fn client(route: &Route, credentials: &Credentials) -> Result<Client, ConnectionError> {
    route.client(credentials.material()).map_err(|error| {
        let place = "certificates or platform roots";
        ConnectionError::new(place, "an HTTP client", describe(error))
    })
}

/// The error and its causes, without the URL.
fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing into a String does not fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
