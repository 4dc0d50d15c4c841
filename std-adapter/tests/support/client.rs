//! An HTTP/1 client that sends byte for byte what it is given, and tells how an answer was framed.

#![allow(dead_code, reason = "each test program uses some of it")]

use core::fmt::Debug;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// An answer; of a stream only its head.
#[derive(Debug, Default, Clone)]
pub(crate) struct Answer {
    pub(crate) version: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// How the end of the body is told: `length`, `chunked`, `close` or `none`.
    pub(crate) framing: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// A member of the body, by its JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> Value {
        self.json()
            .and_then(|body| body.pointer(pointer).cloned())
            .unwrap_or_default()
    }
}

/// What a connection speaks over: TCP, or TLS.
pub(crate) trait Wire: Debug + Read + Send + Write {}

impl<T: Debug + Read + Send + Write> Wire for T {}

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<Box<dyn Wire>>,
    /// The socket under `stream`.
    socket: TcpStream,
}

impl Client {
    /// Connects; no read waits longer than `patience`.
    pub(crate) fn connect(addr: SocketAddr, patience: Duration) -> io::Result<Self> {
        let socket = TcpStream::connect(addr)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_nodelay(true)?;
        Ok(Self::over(Box::new(socket.try_clone()?), socket))
    }

    /// Speaks over what lies over a socket.
    pub(crate) fn over(stream: Box<dyn Wire>, socket: TcpStream) -> Self {
        Self {
            stream: BufReader::new(stream),
            socket,
        }
    }

    pub(crate) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(patience))
    }

    pub(crate) fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)?;
        self.stream.get_mut().flush()
    }

    /// Sends a request with a body of JSON and reads its answer.
    pub(crate) fn ask(&mut self, method: &str, target: &str, body: &str) -> io::Result<Answer> {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let head = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n");
        let length = body.len();
        self.send(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes())?;
        self.answer(method)
    }

    pub(crate) fn head(&mut self) -> io::Result<Answer> {
        let line = self.line()?;
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut parts = line.split_ascii_whitespace();
        let version = parts.next().unwrap_or_default().to_owned();
        let status = parts
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default();
        let mut answer = Answer {
            version,
            status,
            framing: "close",
            ..Answer::default()
        };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            answer
                .headers
                .push((name.to_owned(), value.trim().to_owned()));
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.framing = "chunked";
        } else if answer.header("content-length").is_some() {
            answer.framing = "length";
        }
        Ok(answer)
    }

    pub(crate) fn answer(&mut self, method: &str) -> io::Result<Answer> {
        let mut answer = self.head()?;
        if method == "HEAD" || answer.status < 200 {
            answer.framing = if answer.framing == "close" {
                "none"
            } else {
                answer.framing
            };
            return Ok(answer);
        }
        match answer.framing {
            "chunked" => {
                while let Some(chunk) = self.chunk()? {
                    answer.body.extend(chunk);
                }
            }
            "length" => {
                let length = answer
                    .header("content-length")
                    .and_then(|text| text.parse().ok());
                answer.body = vec![0; length.unwrap_or_default()];
                self.stream.read_exact(&mut answer.body)?;
            }
            _ => {
                self.stream.read_to_end(&mut answer.body)?;
            }
        }
        Ok(answer)
    }

    /// The next chunk; `None` for the one that ends the body.
    pub(crate) fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.line()?;
        let size = usize::from_str_radix(line.trim_end(), 16)
            .map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk)?;
        self.line()?;
        Ok((size > 0).then_some(chunk))
    }

    /// What comes until the server closes.
    pub(crate) fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).map(|_| rest)
    }

    /// Some bytes as they come; none when the server has closed.
    pub(crate) fn some(&mut self) -> io::Result<Vec<u8>> {
        let some = self.stream.fill_buf()?.to_vec();
        self.stream.consume(some.len());
        Ok(some)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).map(|_| line)
    }
}
