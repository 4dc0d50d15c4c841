//! The machine's requests about a Lease, sent as requests about another object.

use kubelease_core::drive::{Piece, Transport};
use kubelease_core::protocol::Failure;
use kubelease_core::time::Instant;
use kubelease_core::wire::BODY_MAX;
use kubelease_core::wire::http::{HttpRequest, Method};
use serde_json::Value;

use super::AnnotationLock;
use super::object::{Object, created};

/// Another transport whose server has an annotation and no Lease.
#[derive(Debug)]
pub(crate) struct AnnotationTransport<T> {
    inner: T,
    lock: AnnotationLock,
    namespace: String,
    name: String,
    /// What the server answered last: the base of the next write.
    seen: Option<Object>,
    stage: Stage,
    /// The body of the answer: as it came, then as a Lease.
    body: Vec<u8>,
    /// The header that was read last.
    header: (Vec<u8>, Vec<u8>),
}

/// How far the answer was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// As it comes: nothing was read yet, or it is an error.
    Passing,
    /// A success, whose whole body is to become a Lease.
    Collecting,
    /// All but the end.
    Ending,
    /// A conflict that the server was not asked about.
    Conflict,
}

impl<T: Transport> AnnotationTransport<T> {
    pub(crate) const fn new(
        inner: T,
        lock: AnnotationLock,
        namespace: String,
        name: String,
    ) -> Self {
        Self {
            inner,
            lock,
            namespace,
            name,
            seen: None,
            stage: Stage::Passing,
            body: Vec::new(),
            header: (Vec::new(), Vec::new()),
        }
    }

    /// The body of the request; `None` where it rests on a state that is past.
    fn written(&self, method: Method, body: &[u8]) -> Option<Vec<u8>> {
        if method == Method::Get {
            return Some(Vec::new());
        }
        let lease: Value = serde_json::from_slice(body).ok()?;
        if method == Method::Post {
            return created(&lease, &self.lock);
        }
        let seen = self.seen.as_ref().filter(|seen| seen.has_version(&lease))?;
        match method {
            Method::Put => seen.replaced(&lease, &self.lock.key),
            Method::Patch => seen.patch(&lease, &self.lock.key),
            Method::Get | Method::Post | Method::Delete => None,
        }
    }

    /// Reads on in a success, to its next header or to its end, and says whether it was a header.
    async fn collect(&mut self) -> Result<bool, Failure> {
        loop {
            match self.inner.next().await? {
                Piece::Header { name, value } => {
                    self.header = (name.to_vec(), value.to_vec());
                    return Ok(true);
                }
                Piece::Body(bytes) => self.body.extend_from_slice(bytes),
                Piece::End => break,
                Piece::Status(_) => {}
            }
            if self.body.len() > BODY_MAX as usize {
                return Err(Failure::Unknown);
            }
        }
        // What is no such object goes to the machine as it is: it knows how to name that.
        if let Some(object) = Object::read(&self.body, &self.lock) {
            if let Some(lease) = object.as_lease(&self.lock.key) {
                self.body = lease;
            }
            self.seen = Some(object);
        }
        Ok(false)
    }
}

impl<T: Transport> Transport for AnnotationTransport<T> {
    async fn send(&mut self, request: HttpRequest<'_>, deadline: Instant) -> Result<(), Failure> {
        (self.stage, self.body) = (Stage::Passing, Vec::new());
        let Some(body) = self.written(request.method, request.body) else {
            // The server has been seen in a later state than the machine knows.
            self.stage = Stage::Conflict;
            return Ok(());
        };
        let name = Some(self.name.as_str()).filter(|_| request.method != Method::Post);
        let path = self.lock.path(&self.namespace, name);
        let target = format!("{path}?{}", request.query());
        let mut request = request;
        request.target = &target;
        request.body = &body;
        self.inner.send(request, deadline).await
    }

    async fn next(&mut self) -> Result<Piece<'_>, Failure> {
        match self.stage {
            Stage::Conflict => {
                self.stage = Stage::Ending;
                return Ok(Piece::Status(409));
            }
            Stage::Ending => return Ok(Piece::End),
            Stage::Collecting => {
                if self.collect().await? {
                    let (name, value) = (&self.header.0, &self.header.1);
                    return Ok(Piece::Header { name, value });
                }
                self.stage = Stage::Ending;
                return Ok(Piece::Body(&self.body));
            }
            Stage::Passing => {}
        }
        let piece = self.inner.next().await?;
        if let Piece::Status(200 | 201) = piece {
            self.stage = Stage::Collecting;
        }
        Ok(piece)
    }

    fn abort(&mut self) {
        self.inner.abort();
    }

    fn reconnect(&mut self) {
        self.inner.reconnect();
    }

    fn refresh_credentials(&mut self) {
        self.inner.refresh_credentials();
    }
}
