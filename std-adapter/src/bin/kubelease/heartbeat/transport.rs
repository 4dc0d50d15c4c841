//! The core's requests over the adapter's client for single requests.

use core::mem::take;
use core::time::Duration;

use kubelease::kubelease_core::drive::{Piece, Transport};
use kubelease::kubelease_core::protocol::Failure;
use kubelease::kubelease_core::time::Instant;
use kubelease::kubelease_core::wire::http::HttpRequest;
use kubelease::{ApiAnswer, ApiClient, Connection, ConnectionError};

/// The headers of an answer that the core reads.
const HEADERS: [&str; 2] = ["date", "retry-after"];

/// One request at a time to one server.
#[derive(Debug)]
pub(super) struct ApiTransport {
    connection: Connection,
    timeout: Duration,
    client: ApiClient,
    answer: Option<ApiAnswer>,
    step: Step,
    /// The piece that is handed out.
    piece: Vec<u8>,
}

/// What comes next of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Status,
    Header(usize),
    Body,
}

impl ApiTransport {
    pub(super) fn new(connection: Connection, timeout: Duration) -> Result<Self, ConnectionError> {
        Ok(Self {
            client: ApiClient::new(&connection, timeout)?,
            connection,
            timeout,
            answer: None,
            step: Step::Status,
            piece: Vec::new(),
        })
    }
}

impl Transport for ApiTransport {
    async fn send(&mut self, request: HttpRequest<'_>, _deadline: Instant) -> Result<(), Failure> {
        let sent = self.client.request(
            request.method.as_str(),
            request.target,
            request.content_type.unwrap_or_default(),
            request.body,
        );
        // Whether something was sent is not known, and that is always right to say.
        let answer = sent.await.map_err(|_| Failure::Unknown)?;
        (self.answer, self.step) = (Some(answer), Step::Status);
        Ok(())
    }

    async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        let Some(answer) = &mut self.answer else {
            return Err(Failure::Unknown);
        };
        if self.step == Step::Status {
            self.step = Step::Header(0);
            return Ok(Piece::Status(answer.status()));
        }
        while let Step::Header(number) = self.step {
            let Some(name) = HEADERS.get(number) else {
                self.step = Step::Body;
                break;
            };
            self.step = Step::Header(number + 1);
            if let Some(value) = answer.header(name) {
                self.piece = value.into();
                return Ok(Piece::Header {
                    name: name.as_bytes(),
                    value: &self.piece,
                });
            }
        }
        match answer.chunk().await {
            Ok(Some(chunk)) => {
                self.piece = chunk;
                Ok(Piece::Body(&self.piece))
            }
            Ok(None) => {
                drop(take(&mut self.answer));
                Ok(Piece::End)
            }
            Err(_) => Err(Failure::Unknown),
        }
    }

    fn abort(&mut self) {
        // A response that is dropped unread takes its connection with it.
        self.answer = None;
    }

    fn reconnect(&mut self) {
        // The same settings made a client before; should they fail now, the old one is no worse.
        if let Ok(client) = ApiClient::new(&self.connection, self.timeout) {
            self.client = client;
        }
    }

    fn refresh_credentials(&mut self) {
        // The client does so itself after a 401.
    }
}
