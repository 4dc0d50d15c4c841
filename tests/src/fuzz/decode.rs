//! Any answer, in any pieces: what it says, and what a PUT puts back of it.

use kubelease_core::prng::Prng;
use kubelease_core::protocol::{BadAnswer, Reply};
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::wire::http::Method;
use kubelease_core::wire::path::LeasePath;
use kubelease_core::wire::{Answer, Reading};
use serde_json::Value;

use super::stub::{NOW, Stub, spec};
use super::told::Told;
use super::{bodies, oracle};
use crate::choices::{Bytes, Choices};

/// Status codes with a meaning of their own; any other comes from two more bytes.
const STATUSES: &[u16] = &[
    200, 200, 200, 201, 202, 204, 100, 301, 400, 401, 403, 404, 404, 409, 410, 422, 422, 429, 500,
    503, 504, 0,
];

/// Names of headers.
const HEADERS: &[&[u8]] = &[b"Date", b"retry-after", b"X-Other"];

/// Sizes of the buffer for what a PUT puts back.
const KEEPS: &[usize] = &[0, 32, 100, 300, 1_024, 4_096];

/// An answer as a server sends it.
#[derive(Clone, Debug)]
struct Sent<'a> {
    status: u16,
    headers: Vec<(&'a [u8], &'a [u8])>,
    body: &'a [u8],
}

/// Reads an answer whole and in pieces, by itself and in a session.
pub fn decode(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let (keep, seed) = (bytes.one_of(KEEPS), bytes.below(256));
    let sent = Sent::new(bytes);
    let mut answer = Answer::new();
    let whole = sent.read(&mut answer, &[sent.body]);
    assert_eq!(whole.reply.is_ok(), sent.judge().is_some(), "{sent:?}");
    for pieces in [one_by_one(sent.body), at_random(sent.body, seed)] {
        // An answer that was used before reads the next one the same.
        assert_eq!(sent.read(&mut answer, &pieces), whole, "{pieces:?}");
        assert_eq!(sent.read(&mut Answer::new(), &pieces), whole, "{pieces:?}");
    }
    sent.check(&whole);
    let update = sent.update(&[sent.body], keep);
    assert_eq!(update.0, whole);
    let pieces = at_random(sent.body, seed);
    assert_eq!(sent.update(&pieces, keep), update, "{pieces:?}");
    if whole.reply.is_err() {
        assert_eq!(update.1, None, "a write over what was not read");
    }
}

impl<'a> Sent<'a> {
    fn new(mut bytes: Bytes<'a>) -> Self {
        let status = match bytes.one_of(STATUSES) {
            0 => u16::try_from(bytes.below(1 << 16)).unwrap_or_default(),
            status => status,
        };
        let count = bytes.below(4);
        let mut headers = Vec::new();
        for _ in 0..count {
            let (name, length) = (bytes.one_of(HEADERS), usize::from(bytes.byte()));
            headers.push((name, bytes.take(length)));
        }
        let body = bytes.rest();
        Self {
            status,
            headers,
            body,
        }
    }

    fn read(&self, answer: &mut Answer, pieces: &[&[u8]]) -> Told {
        answer.begin(self.status, None);
        for (name, value) in &self.headers {
            answer.header(name, value);
        }
        let mut reading = Reading::More;
        for piece in pieces {
            let next = answer.body(piece, None);
            let woke_up = (reading, next) == (Reading::Enough, Reading::More);
            assert!(!woke_up, "a byte mattered after enough of them");
            reading = next;
        }
        Told::from(answer.end(None))
    }

    /// The record, as serde_json reads it.
    fn judge(&self) -> Option<kubelease_core::lease::LeaseRecord> {
        if !matches!(self.status, 200 | 201) {
            return None;
        }
        oracle::record(self.body)
    }

    /// What the answer says against what the code alone would.
    fn check(&self, told: &Told) {
        let judged = self.judge();
        assert_eq!(told.reply.as_ref().ok().map(|it| &**it), judged.as_ref());
        let code = self.status;
        let right = match told.reply {
            Ok(_) => matches!(code, 200 | 201),
            Err(reply) => match reply {
                Reply::BadAnswer(BadAnswer::UnexpectedStatus) => matches!(code, 202..=299),
                Reply::BadAnswer(_) => matches!(code, 200 | 201),
                Reply::LeaseMissing | Reply::NamespaceMissing | Reply::ApiUnavailable => {
                    code == 404
                }
                Reply::Conflict => matches!(code, 409 | 422),
                Reply::BadRequest => code == 400,
                Reply::Unauthorized => code == 401,
                Reply::Forbidden | Reply::NamespaceTerminating => code == 403,
                Reply::Invalid => code == 422,
                Reply::Throttled => code == 429,
                Reply::ServerError(found) => code == found && matches!(code, 500..=599),
                Reply::Refused(found) => code == found && !matches!(code, 200..=299 | 500..=599),
                Reply::Lease(_)
                | Reply::Node(_)
                | Reply::Deleted
                | Reply::TooLarge
                | Reply::WatchEnded => false,
            },
        };
        assert!(right, "{code}: {told:?}");
    }

    /// What a machine is told that reads this answer, and how it then writes over it.
    fn update(&self, pieces: &[&[u8]], keep: usize) -> (Told, Option<Vec<u8>>) {
        let mut buffer = vec![0; keep];
        let mode = UpdateMode::Update {
            keep: &mut buffer,
            patch_when_too_large: true,
        };
        let path = LeasePath::new("default", "a").unwrap();
        let mut session = Session::new(Stub::new("me", &[]), path, mode);
        let Action::Send { id, .. } = session.poll(NOW) else {
            panic!("a read comes first")
        };
        session.response_begin(id, self.status).unwrap();
        for (name, value) in &self.headers {
            session.response_header(id, name, value).unwrap();
        }
        for piece in pieces {
            session.response_body(id, piece).unwrap();
        }
        session.response_end(NOW, id).unwrap();
        let told = session.machine().told[0].clone();
        let Action::Send { id, .. } = session.poll(NOW) else {
            return (told, None);
        };
        let mut room = vec![0; 1_000 + 2 * keep];
        let request = session.request(id, &mut room).unwrap();
        let written: Value = serde_json::from_slice(request.body).expect("JSON is written");
        let version = &session.machine().version;
        let expected = match request.method {
            Method::Put => bodies::replaced(self.body, &spec("me"), version, &[]),
            Method::Patch => bodies::patched(&spec("me"), version, &[]),
            Method::Get | Method::Post | Method::Delete => panic!("{request:?}"),
        };
        assert_eq!(written, expected);
        (told, Some(request.body.to_vec()))
    }
}

fn one_by_one(body: &[u8]) -> Vec<&[u8]> {
    body.chunks(1).collect()
}

/// Pieces of up to 40 bytes, empty ones too.
pub(super) fn at_random(body: &[u8], seed: u64) -> Vec<&[u8]> {
    let (mut random, mut rest, mut pieces) = (Prng::new(seed), body, Vec::new());
    while !rest.is_empty() {
        let length = usize::try_from(random.below(40)).unwrap_or_default();
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
