//! The line to one server: a client, and the credentials that it is made of and sends.

use core::error::Error;
use core::fmt::Write;
use core::time::Duration;

use kubelease_core::drive::Clock as _;
use reqwest::header::{AUTHORIZATION, HOST};
use reqwest::{Client, Method, RequestBuilder};

use crate::clock::SharedClock;
use crate::connection::{Connection, ConnectionError, Route};
use crate::credentials::Credentials;

/// A client whose credentials are kept fresh.
#[derive(Debug)]
pub(crate) struct Line {
    route: Route,
    credentials: Credentials,
    clock: SharedClock,
    client: Client,
}

impl Line {
    /// Reads and checks all that `connection` says; nothing is sent.
    pub(crate) fn new(
        connection: &Connection,
        clock: SharedClock,
        connect_timeout: Duration,
    ) -> Result<Self, ConnectionError> {
        let route = Route::new(connection, connect_timeout)?;
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

    /// Takes over credentials that have changed since the last request.
    pub(crate) async fn renew(&mut self) -> Result<(), ConnectionError> {
        self.credentials.renew(self.clock.now()).await?;
        if self.credentials.are_new() {
            let client = client(&self.route, &self.credentials);
            self.credentials
                .used(client.map(|client| self.client = client));
        }
        Ok(())
    }

    /// A request with all that identifies.
    pub(crate) fn request(&self, method: Method, target: &str) -> RequestBuilder {
        // The URL may have a path of its own, as behind a proxy for many clusters.
        let url = self.route.url.as_str().trim_end_matches('/');
        let mut builder = self.client.request(method, format!("{url}{target}"));
        if let Some(authorization) = self.credentials.authorization() {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        if let Some(host) = &self.route.host {
            builder = builder.header(HOST, host);
        }
        for (name, value) in &self.route.headers {
            builder = builder.header(name, value);
        }
        builder
    }

    /// The words for a request that got no answer, and a reason to look at the credentials: a
    /// certificate may be why.
    pub(crate) fn explain(&mut self, error: reqwest::Error) -> String {
        let mut text = describe(error);
        if let Some(trouble) = self.credentials.trouble() {
            // Writing into a String does not fail.
            let _ = write!(text, "; {trouble}");
        }
        self.credentials.doubt();
        text
    }

    /// The server answered 401: the next request has to carry what there is then.
    pub(crate) const fn reject(&mut self) {
        self.credentials.reject();
    }

    /// Drops every connection.
    pub(crate) fn reconnect(&mut self) {
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
pub(crate) fn describe(error: reqwest::Error) -> String {
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
