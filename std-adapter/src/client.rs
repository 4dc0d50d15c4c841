//! [`ApiClient`]: single requests to the API server, for what is no election.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use reqwest::{Method, Response, StatusCode};

use crate::clock::{self, SharedClock};
use crate::connection::{Connection, ConnectionError};
use crate::line::{Line, Outgoing};

/// Single requests to the API server with the credentials of a [`Connection`], for what is no
/// election: lists, watches, other resources.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use core::time::Duration;
/// use kubelease::{ApiClient, Connection};
///
/// let mut client = ApiClient::new(&Connection::in_cluster()?, Duration::from_secs(10))?;
/// let leases = client.get("/apis/coordination.k8s.io/v1/leases?limit=500").await?;
/// println!("{}: {} bytes", leases.status(), leases.body().await?.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ApiClient {
    line: Line,
    timeout: Duration,
}

impl ApiClient {
    /// A client that gives up on each request after `timeout`: from the look at the credentials to
    /// the head of the answer, the second one where the first was a 401.
    ///
    /// # Errors
    /// [`ConnectionError`] names the file or the setting that is wrong. On a system without a known
    /// clock that counts suspend there is no client.
    pub fn new(connection: &Connection, timeout: Duration) -> Result<Self, ConnectionError> {
        let no_clock = || {
            let expected = "one that counts suspend";
            ConnectionError::new("clock", expected, "none on this system")
        };
        let clock = SharedClock(clock::system().ok_or_else(no_clock)?);
        let line = Line::new(connection, clock, timeout, 1)?;
        Ok(Self::over(line, timeout))
    }

    /// A client over this line.
    pub(crate) const fn over(line: Line, timeout: Duration) -> Self {
        Self { line, timeout }
    }

    /// Asks for what is at `target`: path and query, from the first `/`.
    ///
    /// # Errors
    /// [`ApiError`] where there was no answer. Every status is an answer.
    pub async fn get(&mut self, target: &str) -> Result<ApiAnswer, ApiError> {
        self.send(Method::GET, target, "", &[]).await
    }

    /// Sends `body`, of this content type, by `method`, such as `PUT`. After a 401 it is sent a
    /// second time, with the credentials read again; nothing else is sent twice.
    ///
    /// # Errors
    /// [`ApiError`] where there was no answer: the request may have been done all the same. Every
    /// status is an answer.
    pub async fn request(
        &mut self,
        method: &str,
        target: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<ApiAnswer, ApiError> {
        let found = format!("`{method}`");
        let method = Method::from_bytes(method.as_bytes());
        let method = method.map_err(|_| ApiError(format!("expected a method, found {found}")))?;
        self.send(method, target, content_type, body).await
    }

    async fn send(
        &mut self,
        method: Method,
        target: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<ApiAnswer, ApiError> {
        let outgoing = Outgoing {
            method: &method,
            target,
            accept: "application/json",
            content_type: (!content_type.is_empty()).then_some(content_type),
            body,
        };
        let timeout = self.timeout;
        let answer = tokio::time::timeout(timeout, self.send_anew_after_401(outgoing)).await;
        answer.unwrap_or_else(|_| Err(ApiError(self.line.late(timeout))))
    }

    async fn send_anew_after_401(&mut self, outgoing: Outgoing<'_>) -> Result<ApiAnswer, ApiError> {
        let answer = self.send_once(outgoing).await?;
        if answer.0.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        self.line.reject();
        self.send_once(outgoing).await
    }

    async fn send_once(&mut self, outgoing: Outgoing<'_>) -> Result<ApiAnswer, ApiError> {
        let renewed = self.line.renew().await;
        renewed.map_err(|error| ApiError(error.to_string()))?;
        match self.line.send(outgoing).await {
            Ok(response) => Ok(ApiAnswer(response)),
            Err(error) => Err(ApiError(self.line.explain(error))),
        }
    }
}

/// The answer to one request.
#[derive(Debug)]
pub struct ApiAnswer(Response);

impl ApiAnswer {
    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// A header, by its name in any case; `None` where there is none, or no text in it.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// The next part of the body, of any length; `None` at its end. A watch is read by this.
    ///
    /// # Errors
    /// [`ApiError`] where the answer broke off.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let broke = |error: reqwest::Error| ApiError(error.without_url().to_string());
        let chunk = self.0.chunk().await.map_err(broke)?;
        Ok(chunk.map(Vec::from))
    }

    /// The whole body, however long it is and takes. A server sends a watch for ever, and so this
    /// would wait for ever.
    ///
    /// # Errors
    /// [`ApiError`] where the answer broke off.
    pub async fn body(mut self) -> Result<Vec<u8>, ApiError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Why there was no answer, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError(String);

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ApiError {}
