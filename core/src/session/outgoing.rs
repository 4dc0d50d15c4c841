//! A request on its way out.

use super::store::Store;
use crate::protocol::{Changes, Operation};
use crate::wire::http::{ACCEPT, CONTENT_STRATEGIC_PATCH, Method, RequestHead};
use crate::wire::path::{LeasePath, write_node_path, write_query};
use crate::wire::{ByteWriter, LeaseBody, NodeWire, WatchWire, write_preconditions};

/// A request that is ready to be written.
pub(super) struct Outgoing<'s> {
    pub(super) method: Method,
    pub(super) operation: &'s Operation<'s>,
    pub(super) path: &'s LeasePath<'s>,
    pub(super) store: &'s Store<'s>,
    pub(super) timeout_ms: u32,
    /// What a watch takes, where the session has that.
    pub(super) watch: Option<&'static WatchWire>,
    /// What Nodes take, where the machine has that.
    pub(super) nodes: Option<&'static NodeWire>,
}

impl Outgoing<'_> {
    /// Says all but the texts and their lengths.
    pub(super) fn tell(&self, head: &mut RequestHead) {
        head.method = self.method;
        head.content_type = self.content_type();
        head.accept = ACCEPT;
    }

    /// A merge patch would set the whole list of owners, which is not at hand: a strategic one
    /// merges it by `uid`, and so adds one to others.
    const fn content_type(&self) -> Option<&'static str> {
        match self.operation {
            Operation::Update {
                owner: Some(change),
                ..
            } if change.has_others && matches!(self.method, Method::Patch) => {
                Some(CONTENT_STRATEGIC_PATCH)
            }
            Operation::Update { .. }
            | Operation::Get
            | Operation::Create { .. }
            | Operation::GetNode { .. }
            | Operation::Delete { .. }
            | Operation::Watch { .. } => self.method.content_type(),
        }
    }

    pub(super) fn write_target(&self, out: &mut ByteWriter<'_>) {
        let is_watch = matches!(self.operation, Operation::Watch { .. });
        if let Operation::GetNode { name } = self.operation {
            write_node_path(out, name);
        } else {
            let of_collection = is_watch || self.method == Method::Post;
            self.path.write_path(out, of_collection);
        }
        out.put(b"?");
        if let (Operation::Watch { version, timeout }, Some(wire)) = (self.operation, self.watch) {
            (wire.write_query)(out, self.path, version, *timeout);
            return;
        }
        let names_manager = !matches!(self.method, Method::Get | Method::Delete);
        write_query(out, names_manager, self.timeout_ms);
    }

    pub(super) fn write_body(&self, out: &mut ByteWriter<'_>) {
        let (spec, labels, node, version, changes) = match *self.operation {
            Operation::Get | Operation::GetNode { .. } | Operation::Watch { .. } => return,
            Operation::Delete { version } => return write_preconditions(out, version),
            Operation::Create {
                ref spec,
                labels,
                ref owner,
                by_put: _,
            } => (spec, labels, owner.as_ref(), None, Changes::Acquire),
            Operation::Update {
                ref spec,
                version,
                changes,
                labels,
                ref owner,
            } => {
                let node = owner.as_ref().map(|change| &change.node);
                (spec, labels, node, Some(version), changes)
            }
        };
        let write_owners = self.nodes.map(|nodes| nodes.write_owners);
        let is_put_back = version.is_some() && self.method == Method::Put;
        let keep = self.store.keep.as_ref().filter(|_| is_put_back);
        LeaseBody {
            path: self.path,
            spec,
            // What the machine does not write stays as it was read: the keep has no place for the
            // members that are known.
            read: keep.and_then(|_| self.store.answer.record().spec.as_ref()),
            labels,
            owner: node.zip(write_owners),
            version,
            changes,
            is_patch: self.method == Method::Patch,
            keep,
        }
        .write(out);
    }
}
