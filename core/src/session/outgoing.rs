//! A request on its way out.

use crate::lease::ResourceVersion;
use crate::time::Duration;
use crate::wire::http::{ACCEPT, CONTENT_STRATEGIC_PATCH, Method, RequestHead};
use crate::wire::path::{LeasePath, write_node_path, write_query};
use crate::wire::{Body, ByteWriter, WatchWire};

/// A request that is ready to be written.
pub(super) struct Outgoing<'s> {
    pub(super) method: Method,
    pub(super) path: &'s LeasePath<'s>,
    pub(super) timeout_ms: u32,
    pub(super) body: Body<'s>,
    /// What a watch begins at, and for how long the server may go on.
    pub(super) watch: Option<(&'static WatchWire, &'s ResourceVersion, Duration)>,
    /// The Node, where the request is about one.
    pub(super) node: Option<&'s str>,
    /// Whether a patch adds to the list of owners, instead of setting it.
    pub(super) adds_owner: bool,
}

impl Outgoing<'_> {
    pub(super) fn head(&self) -> RequestHead {
        let mut target = ByteWriter::counting();
        self.write_target(&mut target);
        let mut body = ByteWriter::counting();
        self.body.write(&mut body);
        RequestHead {
            method: self.method,
            content_type: self.content_type(),
            accept: ACCEPT,
            target_length: target.total(),
            body_length: body.total(),
        }
    }

    const fn content_type(&self) -> Option<&'static str> {
        if self.adds_owner {
            Some(CONTENT_STRATEGIC_PATCH)
        } else {
            self.method.content_type()
        }
    }

    pub(super) fn write_target(&self, out: &mut ByteWriter<'_>) {
        let of_collection = self.method == Method::Post || self.watch.is_some();
        match self.node {
            Some(name) => write_node_path(out, name),
            None => self.path.write_path(out, of_collection),
        }
        out.put(b"?");
        if let Some((wire, version, timeout)) = self.watch {
            (wire.write_query)(out, self.path, version, timeout);
            return;
        }
        let names_manager = !matches!(self.method, Method::Get | Method::Delete);
        write_query(out, names_manager, self.timeout_ms);
    }
}
