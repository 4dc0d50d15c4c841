//! A request on its way out.

use crate::lease::ResourceVersion;
use crate::time::Duration;
use crate::wire::http::{ACCEPT, Method, RequestHead};
use crate::wire::path::{LeasePath, write_query};
use crate::wire::{Body, ByteWriter, WatchWire};

/// A request that is ready to be written.
pub(super) struct Outgoing<'s> {
    pub(super) method: Method,
    pub(super) path: &'s LeasePath<'s>,
    pub(super) timeout_ms: u32,
    pub(super) body: Body<'s>,
    /// What a watch begins at, and for how long the server may go on.
    pub(super) watch: Option<(&'static WatchWire, &'s ResourceVersion, Duration)>,
}

impl Outgoing<'_> {
    pub(super) fn head(&self) -> RequestHead {
        let mut target = ByteWriter::counting();
        self.write_target(&mut target);
        let mut body = ByteWriter::counting();
        self.body.write(&mut body);
        RequestHead {
            method: self.method,
            content_type: self.method.content_type(),
            accept: ACCEPT,
            target_length: target.total(),
            body_length: body.total(),
        }
    }

    pub(super) fn write_target(&self, out: &mut ByteWriter<'_>) {
        let of_collection = self.method == Method::Post || self.watch.is_some();
        self.path.write_path(out, of_collection);
        out.put(b"?");
        if let Some((wire, version, timeout)) = self.watch {
            (wire.write_query)(out, self.path, version, timeout);
            return;
        }
        write_query(out, self.method != Method::Get, self.timeout_ms);
    }
}
