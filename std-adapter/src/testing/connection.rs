//! One connection: reads requests, lets faults befall them, answers.

use core::sync::atomic::Ordering;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::answer::{Answer, Content};
use super::encode;
use super::fault::{CannedAnswer, Fault};
use super::listener::Shared;
use super::log::LoggedRequest;
use super::negotiate::is_pretty;
use super::outgoing::{self, Outgoing, Outlet, never};
use super::request::Request;
use super::socket::{Busy, Meter, Socket, lock};
use super::watch::Plan;

/// The longest body that is read at all. Bodies over 3 MiB are refused, but read before that.
const MAX_READ: usize = 64 << 20;

type Answered = Result<Response<Outgoing>, io::Error>;

/// Serves a connection until either side ends it, or until it was idle for too long.
pub(super) async fn serve(stream: TcpStream, meter: Arc<Meter>, shared: Arc<Shared>) {
    let idle_limit = shared.idle_limit;
    let socket = Socket {
        stream,
        meter: Arc::clone(&meter),
    };
    let of_requests = Arc::clone(&meter);
    let service = service_fn(move |request| {
        let exchange = Exchange {
            meter: Arc::clone(&of_requests),
            shared: Arc::clone(&shared),
        };
        exchange.answer(request)
    });
    let connection = http1::Builder::new()
        .auto_date_header(false)
        .title_case_headers(true)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        // How it ended is the client's affair, or was ordered.
        _ = connection => {}
        () = meter.idle_for(idle_limit) => {}
    }
}

/// One request and its answer.
struct Exchange {
    meter: Arc<Meter>,
    shared: Arc<Shared>,
}

impl Exchange {
    async fn answer(self, incoming: hyper::Request<Incoming>) -> Answered {
        let is_hostless =
            incoming.version() == Version::HTTP_11 && !incoming.headers().contains_key("host");
        if is_hostless {
            return Ok(no_host());
        }
        let request = Arc::new(read(incoming).await?);
        let (bytes_in, written) = self.meter.begin_request();
        let entry = self.entry(&request, bytes_in);
        let sequence = lock(&self.shared.log).add(entry.clone(), written);
        let busy = Busy::new(&self.meter);
        let mut response = self.after_faults(request, entry, sequence).await?;
        response.body_mut().keep(busy);
        Ok(response)
    }

    fn entry(&self, request: &Request, bytes_in: u64) -> LoggedRequest {
        let api = lock(&self.shared.api);
        let header = |name| request.header(name).unwrap_or_default().to_owned();
        LoggedRequest {
            at: api.clock.since_start(),
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            user_agent: header("user-agent"),
            content_type: header("content-type"),
            user: api.access.authenticate(request).ok().map(|user| user.name),
            body: request.body.clone(),
            connection: self.meter.number,
            peer_port: self.meter.peer_port,
            bytes_in,
            ..LoggedRequest::default()
        }
    }

    async fn after_faults(
        &self,
        request: Arc<Request>,
        entry: LoggedRequest,
        sequence: u64,
    ) -> Answered {
        if self.meter.is_black_hole.load(Ordering::Relaxed) {
            never().await;
        }
        let fault = lock(&self.shared.rules)
            .iter_mut()
            .find_map(|rule| rule.meet(&entry));
        match &fault {
            Some(Fault::CloseBefore) => return self.closed(),
            Some(Fault::ResetBefore) => return self.reset(),
            Some(Fault::BlackHole) => {
                self.meter.is_black_hole.store(true, Ordering::Relaxed);
                never().await;
            }
            Some(Fault::Answer(canned)) => return self.canned(sequence, canned),
            _ => {}
        }
        let answer = self
            .apply(Arc::clone(&request), fault.clone(), sequence)
            .await?;
        sleep(answer.after).await;
        match &fault {
            Some(Fault::DelayAfter(delay)) => sleep(*delay).await,
            Some(Fault::DropAnswer) => return self.closed(),
            Some(Fault::ResetAfter) => return self.reset(),
            Some(Fault::NeverAnswer) => {
                never().await;
            }
            Some(Fault::AnswerAfterApplying(canned)) => return self.canned(sequence, canned),
            _ => {}
        }
        self.note_status(sequence, answer.status);
        Ok(self.response(&request, answer, fault.as_ref()))
    }

    /// Carries the request out, in a task of its own: as on a real server a write that was
    /// delayed is stored even when the client is gone.
    async fn apply(
        &self,
        request: Arc<Request>,
        fault: Option<Fault>,
        sequence: u64,
    ) -> io::Result<Answer> {
        let shared = Arc::clone(&self.shared);
        let task = tokio::spawn(async move {
            if let Some(Fault::DelayBefore(delay)) = fault {
                sleep(delay).await;
            }
            let handled = lock(&shared.api).handle(&request);
            if let Some(entry) = lock(&shared.log).entry(sequence) {
                entry.is_applied = handled.is_applied;
                entry.user = handled.user;
            }
            handled.answer
        });
        task.await.map_err(io::Error::other)
    }

    fn note_status(&self, sequence: u64, status: u16) {
        if let Some(entry) = lock(&self.shared.log).entry(sequence) {
            entry.status = Some(status);
        }
    }

    fn closed(&self) -> Answered {
        Err(io::Error::other("closed by order"))
    }

    fn reset(&self) -> Answered {
        self.meter.reset();
        Err(io::Error::other("reset by order"))
    }

    fn canned(&self, sequence: u64, canned: &CannedAnswer) -> Answered {
        self.note_status(sequence, canned.status);
        let body = Outgoing::whole(canned.body.clone().into());
        let mut response = bare(canned.status, body);
        self.add_date(&mut response);
        for (name, value) in &canned.headers {
            add_header(&mut response, name, value);
        }
        Ok(response)
    }

    fn add_date(&self, response: &mut Response<Outgoing>) {
        let clock = lock(&self.shared.api).clock;
        if clock.sends_date {
            add_header(response, "Date", &clock.http_date());
        }
    }

    fn response(
        &self,
        request: &Request,
        answer: Answer,
        fault: Option<&Fault>,
    ) -> Response<Outgoing> {
        let has_type = answer
            .headers
            .iter()
            .any(|(name, _)| *name == "Content-Type");
        let (body, length) = match answer.body {
            _ if fault == Some(&Fault::EmptyBody) => (Outgoing::whole(Bytes::new()), None),
            Content::Watch(plan) => (self.stream(plan, fault), None),
            content @ (Content::Json(_) | Content::Pretty(_) | Content::Text(_)) => {
                body_of(bytes_of(content, request), fault)
            }
        };
        let mut response = bare(answer.status, body);
        for (name, value) in &answer.headers {
            add_header(&mut response, name, value);
        }
        if !has_type {
            add_header(&mut response, "Content-Type", "application/json");
        }
        self.add_date(&mut response);
        if let Some(length) = length {
            add_header(&mut response, "Content-Length", &length.to_string());
        }
        response
    }

    fn stream(&self, plan: Plan, fault: Option<&Fault>) -> Outgoing {
        let (outlet, body) = outlet(fault);
        tokio::spawn(outgoing::send_watch(outlet, plan, Arc::clone(&self.shared)));
        body
    }
}

/// A body with what befalls it, and the length to announce where that is not its own affair.
fn body_of(bytes: Bytes, fault: Option<&Fault>) -> (Outgoing, Option<usize>) {
    let blanks = if let Some(Fault::HugeBody(blanks)) = fault {
        *blanks
    } else {
        0
    };
    let length = match fault {
        Some(Fault::TruncateBody(_) | Fault::SlowBody(_) | Fault::HugeBody(_)) => {
            Some(bytes.len().saturating_add(blanks))
        }
        Some(Fault::CutChunks(_)) => None,
        _ => return (Outgoing::whole(bytes), None),
    };
    let (outlet, body) = outlet(fault);
    tokio::spawn(outgoing::send(outlet, blanks, bytes));
    (body, length)
}

fn outlet(fault: Option<&Fault>) -> (Outlet, Outgoing) {
    match fault {
        Some(Fault::TruncateBody(left) | Fault::CutChunks(left)) => Outlet::new(Some(*left), None),
        Some(Fault::SlowBody(pause)) => Outlet::new(None, Some(*pause)),
        _ => Outlet::new(None, None),
    }
}

/// Reads a request to its end.
async fn read(incoming: hyper::Request<Incoming>) -> io::Result<Request> {
    let (head, body) = incoming.into_parts();
    let body = Limited::new(body, MAX_READ)
        .collect()
        .await
        .map_err(io::Error::other)?;
    let headers = head.headers.iter().map(|(name, value)| {
        (
            name.as_str().to_owned(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    });
    Ok(Request {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: body.to_bytes().to_vec(),
    })
}

fn bytes_of(content: Content, request: &Request) -> Bytes {
    let text = match content {
        Content::Pretty(value) => encode::pretty(&value),
        Content::Json(value) if is_pretty(request) => encode::pretty(&value),
        Content::Json(value) => encode::compact(&value) + "\n",
        Content::Text(text) => text,
        Content::Watch(_) => String::new(),
    };
    text.into()
}

fn bare(status: u16, body: Outgoing) -> Response<Outgoing> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// Adds a header; one that HTTP does not allow is left out.
fn add_header(response: &mut Response<Outgoing>, name: &str, value: &str) {
    let name = HeaderName::from_bytes(name.as_bytes());
    if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes())) {
        response.headers_mut().append(name, value);
    }
}

/// HTTP/1.1 without a host never reaches the API.
fn no_host() -> Response<Outgoing> {
    let text = "400 Bad Request: missing required Host header";
    let mut response = bare(400, Outgoing::whole(Bytes::from_static(text.as_bytes())));
    add_header(&mut response, "Content-Type", "text/plain; charset=utf-8");
    add_header(&mut response, "Connection", "close");
    response
}
