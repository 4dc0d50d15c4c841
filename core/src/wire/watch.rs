//! The lines of a watch: `{"type":"MODIFIED","object":{…}}`, one object each.
//!
//! What stands around an object is the API server's own, always the same bytes (`WatchEvent` of
//! apimachinery), and is compared as such; the object itself is read like any answer.

use super::answer::{Answer, Reading};
use super::json_writer::ByteWriter;
use super::keep::Keep;
use super::path::LeasePath;
use crate::lease::ResourceVersion;
use crate::protocol::{BadAnswer, WatchEvent};
use crate::time::Duration;

/// Reads a stream line by line. It begins at the beginning of one.
#[derive(Debug)]
pub(crate) struct WatchLines {
    /// Which of [`KINDS`] the line has.
    named: Option<u8>,
    /// How much was read of the text that comes next: [`HEAD`], or that of its kind.
    length: u8,
    is_in_object: bool,
}

/// What a line says about its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Changed,
    Deleted,
    Bookmark,
    Error,
}

impl Kind {
    /// The status code of an answer that would have such an object as its body. A bookmark is a
    /// Lease with nothing in it, and must not take the place of the one that is known.
    const fn as_status(self) -> u16 {
        match self {
            Self::Changed | Self::Deleted => 200,
            Self::Bookmark | Self::Error => 500,
        }
    }
}

/// The text before the kind.
const HEAD: &[u8] = b"{\"type\":\"";

/// The text from the kind to the object. The first letters differ.
const KINDS: [(&[u8], Kind); 5] = [
    (b"MODIFIED\",\"object\":", Kind::Changed),
    (b"ADDED\",\"object\":", Kind::Changed),
    (b"DELETED\",\"object\":", Kind::Deleted),
    (b"BOOKMARK\",\"object\":", Kind::Bookmark),
    (b"ERROR\",\"object\":", Kind::Error),
];

impl WatchLines {
    pub(crate) const fn new() -> Self {
        Self {
            named: None,
            length: 0,
            is_in_object: false,
        }
    }

    /// Takes of `rest` what it needs for the next line; nothing where that has not come yet, or
    /// where `answer` has failed.
    fn next<'x>(
        &mut self,
        answer: &'x mut Answer,
        mut keep: Option<&mut Keep<'_>>,
        rest: &mut &[u8],
    ) -> Option<WatchEvent<'x>> {
        while !rest.is_empty() && answer.failure().is_none() {
            if !self.is_in_object {
                let around = self.around(rest);
                match around {
                    Ok(Some(kind)) => answer.begin_member(kind.as_status(), keep.as_deref_mut()),
                    Ok(None) => {}
                    Err(failure) => answer.fail(failure),
                }
                continue;
            }
            // One line at most: the reader takes what follows its object for an error.
            let line_length = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(rest.len(), |at| at.saturating_add(1));
            let (line, after) = rest.split_at_checked(line_length)?;
            *rest = after;
            let reading = answer.body(line, keep.as_deref_mut());
            // Not before the end of the line: what else stands on it must not depend on how the
            // stream was cut.
            let is_ended = line.ends_with(b"\n");
            if is_ended && reading == Reading::More && answer.is_whole() {
                let (_, kind) = core::mem::replace(self, Self::new()).named()?;
                return event(kind, answer, keep);
            }
        }
        None
    }

    /// Takes one byte of the text around an object; its kind where the object follows.
    fn around(&mut self, rest: &mut &[u8]) -> Result<Option<Kind>, BadAnswer> {
        let Some((byte, after)) = rest.split_first() else {
            return Ok(None);
        };
        let text = self.named().map_or(HEAD, |(text, _)| text);
        let is_start = self.named.is_none() && self.length == 0;
        match text.get(usize::from(self.length)) {
            Some(expected) if expected == byte => self.length = self.length.saturating_add(1),
            Some(_) if is_start && byte.is_ascii_whitespace() => {}
            Some(_) if is_start => return Err(BadAnswer::NotJson),
            // The text of the kind begins.
            None if self.named.is_none() => {
                let begins = |(text, _): &(&[u8], Kind)| text.first() == Some(byte);
                let place = KINDS.iter().position(begins).ok_or(BadAnswer::Malformed)?;
                (self.named, self.length) = (u8::try_from(place).ok(), 1);
            }
            Some(_) | None => return Err(BadAnswer::Malformed),
        }
        *rest = after;
        let whole = self
            .named()
            .filter(|(text, _)| text.len() == usize::from(self.length));
        self.is_in_object = whole.is_some();
        Ok(whole.map(|(_, kind)| kind))
    }

    fn named(&self) -> Option<(&'static [u8], Kind)> {
        KINDS.get(usize::from(self.named?)).copied()
    }
}

/// What a line says that was read to its end.
fn event<'x>(
    kind: Kind,
    answer: &'x mut Answer,
    keep: Option<&mut Keep<'_>>,
) -> Option<WatchEvent<'x>> {
    match kind {
        Kind::Bookmark => return Some(WatchEvent::Bookmark),
        Kind::Error => return Some(WatchEvent::Error),
        Kind::Changed | Kind::Deleted => {}
    }
    if let Err(failure) = answer.close_member(keep) {
        answer.fail(failure);
        return None;
    }
    let record = answer.record();
    Some(match kind {
        Kind::Deleted => WatchEvent::Deleted(record),
        Kind::Changed | Kind::Bookmark | Kind::Error => WatchEvent::Changed(record),
    })
}

/// Writes the query of a watch on one Lease, which is one on the collection that a name narrows
/// down: on the Lease's own URL the server ignores `watch`. With the name in the selector a Role
/// with `resourceNames` can grant it.
fn write_watch_query(
    out: &mut ByteWriter<'_>,
    path: &LeasePath<'_>,
    version: &ResourceVersion,
    timeout: Duration,
) {
    let (seconds, _) = timeout.as_secs_and_millis();
    // A machine asks for numbers, which need no escaping. What a stream brings is never asked for,
    // but may be shown, and could be anything.
    let version = version.as_number().map_or("", |_| version.as_str());
    let texts: [&[u8]; 5] = [
        b"watch=1&fieldSelector=metadata.name%3D",
        path.name().as_bytes(),
        b"&resourceVersion=",
        version.as_bytes(),
        b"&allowWatchBookmarks=true&timeoutSeconds=",
    ];
    for text in texts {
        out.put(text);
    }
    out.put_number(seconds);
}

/// The wire format of watches, behind pointers: a program without them does not link it.
#[derive(Debug)]
pub(crate) struct WatchWire {
    pub(crate) next: NextLine,
    pub(crate) write_query: fn(&mut ByteWriter<'_>, &LeasePath<'_>, &ResourceVersion, Duration),
}

type NextLine = for<'x> fn(
    &mut WatchLines,
    &'x mut Answer,
    Option<&mut Keep<'_>>,
    &mut &[u8],
) -> Option<WatchEvent<'x>>;

pub(crate) static WATCH_WIRE: WatchWire = WatchWire {
    next: WatchLines::next,
    write_query: write_watch_query,
};
