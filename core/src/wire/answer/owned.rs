//! Answers to a machine that names the owner of its Lease: Leases whose owners are looked at, and
//! Nodes. A program without such a machine has no code for them.

use super::super::json_reader::{Sink, Want};
use super::super::keep::Keep;
use super::super::owner::{OWNER_REFERENCES, OwnerScan, WriteOwners, write_owners};
use super::node::{NodeReading, NodeSink};
use super::{Answer, FieldSink, Place, Reading, is_success};
use crate::lease::NodeRef;
use crate::protocol::{BadAnswer, Reply, Response};

/// What a success has in its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A Lease.
    Lease,
    /// A Node.
    Node,
    /// Nothing that matters: the status says it all.
    Nothing,
}

/// What machines with Nodes take, behind pointers.
#[derive(Debug)]
pub(crate) struct NodeWire {
    /// Begins the content of an answer that has begun.
    pub(crate) begin: fn(&mut Answer, Content),
    /// Takes a piece of the body.
    pub(crate) body: fn(&mut Answer, &[u8], Option<&mut Keep<'_>>, Option<&NodeRef<'_>>) -> Reading,
    /// Ends the answer.
    pub(crate) end: for<'x> fn(&'x mut Answer, Option<&mut Keep<'_>>) -> Response<'x>,
    /// Writes the owners of a Lease, and this one among them.
    pub(crate) write_owners: WriteOwners,
}

pub(crate) static NODE_WIRE: NodeWire = NodeWire {
    begin: Answer::begin_owned,
    body: Answer::body_owned,
    end: Answer::end_owned,
    write_owners,
};

/// What is read besides the members of a Lease.
#[derive(Clone, Debug, Default)]
pub(super) enum Beside {
    /// Nothing.
    #[default]
    Nothing,
    /// The owners of the Lease.
    Owners(OwnerScan),
    /// A Node.
    Node(NodeReading),
}

impl Answer {
    /// Says what is in the body of the answer that begins, if it is a success.
    ///
    /// A Node takes the place of the last Lease: nothing of that can be put back any more.
    fn begin_owned(&mut self, content: Content) {
        self.beside = match content {
            Content::Lease => Beside::Owners(OwnerScan::BLANK),
            Content::Node => Beside::Node(NodeReading::default()),
            Content::Nothing => Beside::Nothing,
        };
    }

    /// Takes the next piece of the body; `owner` is looked for among the owners of a Lease.
    fn body_owned(
        &mut self,
        piece: &[u8],
        keep: Option<&mut Keep<'_>>,
        owner: Option<&NodeRef<'_>>,
    ) -> Reading {
        if !is_success(self.status) {
            return self.body(piece, None);
        }
        if self.is_over(piece) {
            return Reading::Enough;
        }
        let read = match &mut self.beside {
            Beside::Nothing => Ok(()),
            Beside::Node(reading) => {
                let mut sink = NodeSink {
                    reading,
                    scratch: &mut self.fields.scratch,
                    uid: &mut self.fields.lease.record.version.uid,
                };
                self.reader.feed(&mut sink, piece)
            }
            Beside::Owners(scan) => {
                let fields = FieldSink {
                    fields: &mut self.fields,
                    keep,
                };
                let mut sink = OwnerSink {
                    inner: fields,
                    scan,
                    owner: owner.unwrap_or(&NOBODY),
                };
                self.reader.feed(&mut sink, piece)
            }
        };
        self.took(read)
    }

    /// Ends the answer: what it says. Only a good Lease makes `keep` whole.
    fn end_owned(&mut self, keep: Option<&mut Keep<'_>>) -> Response<'_> {
        if !is_success(self.status) {
            return self.end(None);
        }
        let server_time = self.headers.server_time;
        let retry_after = self.headers.retry_after(None);
        let reply = match &self.beside {
            Beside::Owners(scan) => {
                self.fields.lease.record.owners = scan.owners();
                return self.end(keep);
            }
            Beside::Nothing => Reply::Deleted,
            Beside::Node(node) => match self.failure.map_or_else(|| self.reader.finish(), Err) {
                Ok(()) => match node.finish(&self.fields.lease.record.version.uid) {
                    Ok(node) => Reply::Node(node),
                    Err(failure) => Reply::BadAnswer(failure),
                },
                Err(failure) => Reply::BadAnswer(failure),
            },
        };
        Response {
            server_time,
            retry_after,
            reply,
        }
    }
}

/// Fits no reference.
const NOBODY: NodeRef<'_> = NodeRef { name: "", uid: b"" };

/// Takes a Lease, and looks at its owners on the way.
struct OwnerSink<'s, 'k> {
    inner: FieldSink<'s, 'k>,
    scan: &'s mut OwnerScan,
    owner: &'s NodeRef<'s>,
}

impl Sink for OwnerSink<'_, '_> {
    fn key_begin(&mut self) {
        self.inner.key_begin();
    }

    fn key_piece(&mut self, piece: &[u8]) {
        self.inner.key_piece(piece);
    }

    fn key_end(&mut self, whole: Option<&[u8]>) -> Result<Want, BadAnswer> {
        let fields = &self.inner.fields;
        let key = whole.or_else(|| fields.scratch.short());
        let is_list = fields.place == Place::Metadata && key == Some(OWNER_REFERENCES.as_bytes());
        let want = self.inner.key_end(whole)?;
        if is_list {
            self.scan.start();
            return Ok(Want::Raw);
        }
        Ok(want)
    }

    fn open(&mut self) {
        self.inner.open();
    }

    fn close(&mut self) {
        self.inner.close();
    }

    fn piece(&mut self, piece: &[u8]) -> Result<(), BadAnswer> {
        self.inner.piece(piece)
    }

    fn end(&mut self) -> Result<(), BadAnswer> {
        self.inner.end()
    }

    fn null(&mut self) {
        self.inner.null();
    }

    fn raw(&mut self, piece: &[u8]) {
        if self.scan.is_running() {
            let scratch = &mut self.inner.fields.scratch;
            self.scan.feed(piece, scratch, self.owner);
        }
        self.inner.raw(piece);
    }

    fn raw_end(&mut self) {
        if self.scan.stop() {
            self.inner.fields.scratch.clear();
        }
        self.inner.raw_end();
    }
}
