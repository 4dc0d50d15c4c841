//! A request on its way out.

use crate::wire::http::{ACCEPT, Method, RequestHead};
use crate::wire::path::{LeasePath, write_query};
use crate::wire::{Body, ByteWriter};

/// A request that is ready to be written.
pub(super) struct Outgoing<'s> {
    pub(super) method: Method,
    pub(super) path: &'s LeasePath<'s>,
    pub(super) timeout_ms: u32,
    pub(super) body: Body<'s>,
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
        self.path.write_path(out, self.method == Method::Post);
        out.put(b"?");
        write_query(out, self.method != Method::Get, self.timeout_ms);
    }
}
