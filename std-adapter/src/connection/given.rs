//! A client that the program has already, in place of our own.

use core::error::Error;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};

/// A client that the program has already.
#[derive(Clone)]
pub(crate) struct GivenClient(Arc<dyn Sender>);

/// An answer on its way, or in words why there is none.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<reqwest::Response, String>> + Send>>;

trait Sender: Send + Sync {
    fn send(&self, request: Request<Vec<u8>>) -> Answering;
}

struct Closure<F>(F);

impl<F, A, B, E> Sender for Closure<F>
where
    F: Fn(Request<Vec<u8>>) -> A + Send + Sync,
    A: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    E: fmt::Display,
{
    fn send(&self, request: Request<Vec<u8>>) -> Answering {
        let answer = self.0(request);
        Box::pin(async move {
            let answer = answer.await.map_err(|error| error.to_string())?;
            let wrap = |body| reqwest::Body::wrap(Shared(Mutex::new(Box::pin(body))));
            Ok(answer.map(wrap).into())
        })
    }
}

impl GivenClient {
    pub(crate) fn new<F, A, B, E>(send: F) -> Self
    where
        F: Fn(Request<Vec<u8>>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: fmt::Display + 'static,
    {
        Self(Arc::new(Closure(send)))
    }

    pub(crate) fn send(&self, request: Request<Vec<u8>>) -> Answering {
        self.0.send(request)
    }
}

impl fmt::Debug for GivenClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GivenClient")
    }
}

/// A body that no two threads look at at once, so that they may share it, as reqwest wants them to.
struct Shared<B>(Mutex<Pin<Box<B>>>);

impl<B: Body> Body for Shared<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let body = self.get_mut().0.get_mut();
        let body = body.unwrap_or_else(PoisonError::into_inner);
        body.as_mut().poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        let body = self.0.lock();
        body.unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.0.lock();
        body.unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
