//! [`Gate`]: a proxy that speaks HTTP to a candidate and HTTPS to the API server, and sees each
//! request before it goes on.

use core::time::Duration;
use std::sync::Arc;

use tokio::io::{self, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::client::{Answer, Client};

/// Before the next try to take a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A request on its way.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The HTTP method.
    pub method: String,
    /// Path and query. What is put here is sent on.
    pub target: String,
    content_type: String,
    body: String,
}

/// What is done with the requests that pass.
pub trait Keeper: Send + Sync + 'static {
    /// Before a request goes on.
    fn before(&self, request: &mut Request);

    /// Before an answer goes back.
    fn after(&self, request: &Request, answer: &Answer) -> impl Future<Output = ()> + Send;
}

/// A running proxy; it ends when it is dropped.
#[derive(Debug)]
pub struct Gate {
    url: String,
    _tasks: JoinSet<()>,
}

impl Gate {
    /// Opens a gate. All requests are sent on as the user of `client`.
    ///
    /// # Errors
    /// Where there is no port to listen on.
    pub async fn open(client: Client, keeper: Arc<impl Keeper>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                while connections.try_join_next().is_some() {}
                let Ok((stream, _)) = listener.accept().await else {
                    // Out of descriptors, most likely: others must end first.
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let (client, keeper) = (client.clone(), Arc::clone(&keeper));
                connections.spawn(async move {
                    // An error ends the connection, as it would anywhere.
                    let _ = serve(stream, &client, &*keeper).await;
                });
            }
        });
        Ok(Self { url, _tasks: tasks })
    }

    /// The address to give to candidates.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

async fn serve(mut stream: TcpStream, client: &Client, keeper: &impl Keeper) -> io::Result<()> {
    let mut bytes = Vec::new();
    while let Some(mut request) = read(&mut stream, &mut bytes).await? {
        keeper.before(&mut request);
        let Request {
            method,
            target,
            content_type,
            body,
        } = &request;
        let answer = client.send(method, target, body, content_type).await;
        keeper.after(&request, &answer).await;
        if answer.status == 0 {
            return Ok(());
        }
        stream.write_all(text(&answer).as_bytes()).await?;
    }
    Ok(())
}

/// The next request; `None` at the end of the connection.
async fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<Option<Request>> {
    loop {
        if let Some((request, length)) = parse(bytes) {
            bytes.drain(..length);
            return Ok(Some(request));
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// A whole request, and its length in bytes.
fn parse(bytes: &[u8]) -> Option<(Request, usize)> {
    let text = core::str::from_utf8(bytes).ok()?;
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ').map(str::to_owned);
    let mut request = Request {
        method: words.next()?,
        target: words.next()?,
        ..Request::default()
    };
    let mut length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        match name.to_ascii_lowercase().as_str() {
            "content-type" => value.trim().clone_into(&mut request.content_type),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    rest.get(..length)?.clone_into(&mut request.body);
    Some((request, head.len() + 4 + length))
}

fn text(answer: &Answer) -> String {
    let mut text = format!("HTTP/1.1 {} x\r\n", answer.status);
    for (name, value) in &answer.headers {
        if !matches!(name.as_str(), "transfer-encoding" | "content-length") {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    text.push_str(&format!("content-length: {}\r\n\r\n", answer.text.len()));
    text.push_str(&answer.text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_when_it_is_whole() {
        let bytes = b"PUT /a?b HTTP/1.1\r\nContent-Length: 2\r\nContent-Type: c\r\n\r\nxyGET";
        let whole = bytes.len() - 3;
        for length in 0..whole {
            assert!(bytes.get(..length).and_then(parse).is_none(), "{length}");
        }
        let (request, length) = parse(bytes).unwrap();
        assert_eq!(length, whole);
        assert_eq!(request.method, "PUT");
        assert_eq!(request.target, "/a?b");
        assert_eq!(request.content_type, "c");
        assert_eq!(request.body, "xy");
    }
}
