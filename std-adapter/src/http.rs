//! The core's requests over reqwest.

use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kubelease_core::drive::{Piece, Transport};
use kubelease_core::protocol::Failure;
use kubelease_core::time::Instant;
use kubelease_core::wire::http::{HttpRequest, Method};
use reqwest::header::HeaderValue;
use reqwest::{Response, StatusCode};

use crate::line::{Outgoing, Unanswered};
use crate::shared_line::SharedLine;

/// The headers of an answer that the core reads.
const HEADERS: [&str; 2] = ["date", "retry-after"];

/// How the talk with the server goes, for people: what handles and the transport share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic(Arc<Counted>);

#[derive(Debug, Default)]
struct Counted {
    last_error: Mutex<Option<String>>,
    requests_sent: AtomicU64,
}

impl Traffic {
    /// What went wrong on the way to the server last.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.lock().clone()
    }

    pub(crate) fn requests_sent(&self) -> u64 {
        self.0.requests_sent.load(Ordering::Relaxed)
    }

    fn count_request(&self) {
        self.0.requests_sent.fetch_add(1, Ordering::Relaxed);
    }

    fn set_error(&self, text: Option<String>) {
        *self.lock() = text;
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        // Each change is a plain store, so a panic elsewhere leaves nothing half-done.
        self.0
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request at a time to one server.
#[derive(Debug)]
pub(crate) struct HttpTransport {
    line: SharedLine,
    answer: Option<Answer>,
    /// What was read last; the loop borrows it from here.
    step: Step,
    /// Whether there were credentials for this request.
    is_sent: bool,
    /// Whether the words for how this request ended are set.
    is_explained: bool,
    traffic: Traffic,
}

/// An answer of which some steps may have been taken.
#[derive(Debug)]
struct Answer {
    response: Response,
    status_taken: bool,
    headers: slice::Iter<'static, &'static str>,
}

/// A piece that owns what it is made of.
#[derive(Debug)]
enum Step {
    Status(u16),
    Header(&'static str, HeaderValue),
    Body(Bytes),
    End,
}

impl HttpTransport {
    /// A transport that has sent nothing.
    pub(crate) const fn new(line: SharedLine, traffic: Traffic) -> Self {
        Self {
            line,
            answer: None,
            step: Step::End,
            is_sent: false,
            is_explained: false,
            traffic,
        }
    }

    /// Keeps the words of `error` for people, and answers with its meaning for the machine.
    fn fail(&mut self, error: Unanswered) -> Failure {
        let failure = classify(&error);
        self.answer = None;
        let text = self.line.explain(error);
        self.explain(text);
        failure
    }

    fn explain(&mut self, text: String) {
        self.traffic.set_error(Some(text));
        self.is_explained = true;
    }
}

impl Transport for HttpTransport {
    async fn send(&mut self, request: HttpRequest<'_>, _deadline: Instant) -> Result<(), Failure> {
        // The core cancels at the deadline by the right clock; a second timer could only differ.
        (self.is_sent, self.is_explained) = (false, false);
        let outgoing = Outgoing {
            method: &method(request.method),
            target: request.target,
            accept: request.accept,
            content_type: request.content_type,
            body: request.body,
        };
        let prepared = match self.line.prepare(outgoing).await {
            Ok(prepared) => prepared,
            Err(error) => {
                self.explain(error.to_string());
                return Err(Failure::NotSent);
            }
        };
        self.is_sent = true;
        self.traffic.count_request();
        match prepared.send().await {
            Ok(response) => {
                let headers = HEADERS.iter();
                self.answer = Some(Answer {
                    response,
                    status_taken: false,
                    headers,
                });
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        let advanced = match &mut self.answer {
            Some(answer) => answer.advance().await,
            None => return Err(Failure::Unknown),
        };
        match advanced {
            Ok(step) => self.step = step,
            Err(error) => return Err(self.fail(Unanswered::Ours(error))),
        }
        Ok(match &self.step {
            Step::Status(status) => Piece::Status(*status),
            Step::Header(name, value) => Piece::Header {
                name: name.as_bytes(),
                value: value.as_bytes(),
            },
            Step::Body(chunk) => Piece::Body(chunk),
            Step::End => {
                let status = self.answer.take().map(|answer| answer.response.status());
                self.traffic.set_error(status.and_then(complaint));
                Piece::End
            }
        })
    }

    fn abort(&mut self) {
        // A response that is dropped unread takes its connection with it.
        let answer = self.answer.take();
        if self.is_explained {
            return;
        }
        let given_up = match answer {
            Some(answer) => {
                let status = answer.response.status();
                format!("the server answered {status}, and the rest was not read")
            }
            None if self.is_sent => "the request was given up without an answer".to_owned(),
            None => "no credentials were issued in time for the request".to_owned(),
        };
        self.traffic.set_error(Some(given_up));
    }

    fn reconnect(&mut self) {
        self.line.reconnect();
    }

    fn refresh_credentials(&mut self) {
        self.line.reject();
    }
}

impl Answer {
    async fn advance(&mut self) -> reqwest::Result<Step> {
        if !self.status_taken {
            self.status_taken = true;
            return Ok(Step::Status(self.response.status().as_u16()));
        }
        let headers = self.response.headers();
        let found = self
            .headers
            .find_map(|name| Some((*name, headers.get(*name)?.clone())));
        if let Some((name, value)) = found {
            return Ok(Step::Header(name, value));
        }
        Ok(self.response.chunk().await?.map_or(Step::End, Step::Body))
    }
}

/// What people want to know of an answer: nothing where it is an ordinary one of an election.
fn complaint(status: StatusCode) -> Option<String> {
    let ordinary =
        status.is_success() || status == StatusCode::NOT_FOUND || status == StatusCode::CONFLICT;
    (!ordinary).then(|| format!("the server answered {status}"))
}

/// Whether the request can have reached the server.
fn classify(error: &Unanswered) -> Failure {
    match error {
        // No name, no connection or no handshake: no byte of the request was sent.
        Unanswered::Ours(error) if error.is_builder() || error.is_connect() => Failure::NotSent,
        Unanswered::Ours(error) if error.is_timeout() => Failure::TimedOut,
        Unanswered::Ours(_) => Failure::Unknown,
        // Only that client knows, and says so in words alone.
        #[cfg(feature = "own-client")]
        Unanswered::Given(_) => Failure::Unknown,
    }
}

const fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::io::{Read, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{self, Receiver};
    use std::thread;

    use kubelease_core::session::{Action, UpdateMode};
    use kubelease_core::time::Now;
    use reqwest::Url;

    use super::*;
    use crate::clock::SharedClock;
    use crate::connection::{Connection, USER_AGENT};
    use crate::line::Line;
    use crate::settings::Settings;

    const GOOD: &str = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Other: x\r\n\
                        Retry-After: 3\r\nContent-Length: 5\r\n\r\nhello";

    /// Far longer than anything takes here, on the slowest machine.
    const LONG: Duration = Duration::from_secs(20);

    /// Serves so many connections, each with its answers in turn; the other end of the channel
    /// gets the head of each request, an empty one where a connection ended instead.
    fn serve(connections: Vec<Vec<&'static str>>) -> (Url, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/prefix/", listener.local_addr().unwrap());
        let (sender, heads) = mpsc::channel();
        thread::spawn(move || {
            for answers in connections {
                let (mut stream, _) = listener.accept().unwrap();
                for answer in answers {
                    // Both fail where the client or the test has left, as they may.
                    let _ = sender.send(read_head(&mut stream));
                    let _ = stream.write_all(answer.as_bytes());
                }
            }
        });
        (Url::parse(&url).unwrap(), heads)
    }

    fn read_head(stream: &mut TcpStream) -> String {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
            head.push(byte[0]);
        }
        String::from_utf8(head).unwrap()
    }

    fn transport(url: Url) -> HttpTransport {
        let connection = Connection::to(url);
        let clock = SharedClock(crate::clock::system().unwrap());
        let line = Line::new(&connection, clock.clone(), Duration::from_secs(5), 1).unwrap();
        HttpTransport::new(SharedLine::new(line, clock), Traffic::default())
    }

    /// Sends an elector's first request.
    async fn send(transport: &mut HttpTransport) -> Result<(), Failure> {
        let settings = Settings::for_tests();
        let labels = settings.labels();
        let now = Now::monotonic(Instant::from_millis(0));
        let mut session = settings
            .session(&labels, now, UpdateMode::MergePatch)
            .unwrap();
        let Action::Send { id, deadline } = session.poll(now) else {
            panic!("nothing to send")
        };
        let mut buffer = [0; 1024];
        let request = session.request(id, &mut buffer).unwrap();
        transport.send(request, deadline).await
    }

    /// Sends a request; answers with what came back, one line for each piece.
    async fn exchange(transport: &mut HttpTransport) -> Result<Vec<String>, Failure> {
        send(transport).await?;
        let mut pieces = Vec::new();
        loop {
            pieces.push(match transport.next().await? {
                Piece::Status(status) => status.to_string(),
                Piece::Header { name, value } => {
                    format!("{}: {}", name.escape_ascii(), value.escape_ascii())
                }
                Piece::Body(bytes) => bytes.escape_ascii().to_string(),
                Piece::End => return Ok(pieces),
            });
        }
    }

    #[tokio::test]
    async fn an_answer_comes_in_pieces_and_its_connection_is_used_again() {
        let (url, heads) = serve(vec![vec![GOOD, GOOD]]);
        let mut transport = transport(url);
        let expected = [
            "200",
            "date: Sun, 06 Nov 1994 08:49:37 GMT",
            "retry-after: 3",
            "hello",
        ];
        for _ in 0..2 {
            assert_eq!(exchange(&mut transport).await.unwrap(), expected);
        }
        let head = heads.recv().unwrap();
        assert!(
            head.starts_with("GET /prefix/apis/coordination.k8s.io/v1/"),
            "{head}"
        );
        let head = head.to_ascii_lowercase();
        assert!(
            head.contains(&format!("\r\nuser-agent: {USER_AGENT}\r\n")),
            "{head}"
        );
        assert!(head.contains("\r\naccept: application/json\r\n"), "{head}");
        assert!(!head.contains("accept-encoding"), "{head}");
    }

    #[tokio::test]
    async fn reconnecting_dials_anew() {
        let (url, heads) = serve(vec![vec![GOOD, GOOD], vec![GOOD]]);
        let mut transport = transport(url);
        exchange(&mut transport).await.unwrap();
        transport.reconnect();
        exchange(&mut transport).await.unwrap();
        heads.recv_timeout(LONG).unwrap();
        let second = heads.recv_timeout(LONG).unwrap();
        assert!(second.is_empty(), "{second}: on the old connection");
    }

    #[tokio::test]
    async fn aborting_in_an_answer_ends_its_connection() {
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
        let (url, heads) = serve(vec![vec![half, GOOD], vec![GOOD]]);
        let mut transport = transport(url);
        send(&mut transport).await.unwrap();
        assert_eq!(transport.next().await, Ok(Piece::Status(200)));
        assert_eq!(transport.next().await, Ok(Piece::Body(b"he")));
        transport.abort();
        let rest = tokio::time::timeout(LONG, transport.next()).await;
        assert_eq!(rest.expect("nothing to wait for"), Err(Failure::Unknown));
        exchange(&mut transport).await.unwrap();
        heads.recv_timeout(LONG).unwrap();
        let second = heads.recv_timeout(LONG).unwrap();
        assert!(second.is_empty(), "{second}: on the aborted connection");
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_is_not_followed() {
        let moved = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n";
        let (url, heads) = serve(vec![vec![moved]]);
        assert_eq!(exchange(&mut transport(url)).await.unwrap(), ["302"]);
        assert_eq!(heads.try_iter().count(), 1);
    }

    #[tokio::test]
    async fn without_a_listener_nothing_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let mut transport = transport(Url::parse(&url).unwrap());
        assert_eq!(exchange(&mut transport).await, Err(Failure::NotSent));
        let text = transport.traffic.last_error().unwrap();
        assert!(text.contains("refused"), "{text}");
    }

    #[tokio::test]
    async fn without_a_handshake_nothing_was_sent() {
        let (url, _heads) = serve(vec![vec![]]);
        let mut url = url;
        url.set_scheme("https").unwrap();
        let mut transport = transport(url);
        assert_eq!(exchange(&mut transport).await, Err(Failure::NotSent));
        assert!(transport.traffic.last_error().is_some());
    }

    #[tokio::test]
    async fn a_connection_that_ends_before_or_in_the_answer_leaves_the_outcome_unknown() {
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
        for answer in ["", "HTTP/1.1 20", half] {
            let (url, heads) = serve(vec![vec![answer]]);
            let mut transport = transport(url);
            assert_eq!(
                exchange(&mut transport).await,
                Err(Failure::Unknown),
                "{answer:?}"
            );
            assert!(transport.traffic.last_error().is_some());
            assert_eq!(heads.try_iter().count(), 1, "{answer:?}: asked for again");
        }
    }

    #[tokio::test]
    async fn the_next_answer_ends_the_last_error() {
        let (url, _heads) = serve(vec![vec![""], vec![GOOD]]);
        let mut transport = transport(url);
        exchange(&mut transport).await.unwrap_err();
        exchange(&mut transport).await.unwrap();
        assert_eq!(transport.traffic.last_error(), None);
    }
}
