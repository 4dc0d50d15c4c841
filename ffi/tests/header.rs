//! The committed header is the one that cbindgen makes of the sources.
#![allow(clippy::unwrap_used, reason = "tests may")]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn generated() -> String {
    let ffi = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(ffi.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_crate(ffi)
        .generate()
        .unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_committed_header_is_up_to_date() {
    let path = root().join("include/kubelease.h");
    let generated = generated();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "include/kubelease.h differs from what the sources say: \
         UPDATE=1 cargo test -p kubelease-ffi --test header"
    );
}
