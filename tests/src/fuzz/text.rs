//! Any text in every place that takes one: against plain vectors, the rules of names, and JSON.

use kubelease_core::elector::Config;
use kubelease_core::lease::{Label, ResourceVersion, Uid, Version};
use kubelease_core::protocol::Reply;
use kubelease_core::session::{Action, Session, UpdateMode};
use kubelease_core::text::{Clipped, Text};
use kubelease_core::wire::Answer;
use kubelease_core::wire::path::LeasePath;
use serde_json::Value;

use super::stub::{NOW, Stub, renew_time};
use super::{bodies, stub};
use crate::choices::Bytes;

/// Gives texts to whatever takes some.
pub fn text(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    match bytes.byte() % 4 {
        0 => bounded(bytes),
        1 => paths(bytes),
        2 => identities(bytes),
        _ => json_strings(bytes),
    }
}

/// The next bytes as characters; those that are none become others.
fn characters(bytes: &mut Bytes<'_>) -> String {
    let length = usize::from(bytes.byte());
    String::from_utf8_lossy(bytes.take(length)).into_owned()
}

/// At most `max` bytes of it, cut between characters.
fn cut(mut text: String, max: usize) -> String {
    while text.len() > max {
        text.pop();
    }
    text
}

fn bounded(mut bytes: Bytes<'_>) {
    let (mut text, mut held) = (Text::<8>::new(), Vec::new());
    let (mut clipped, mut whole) = (Clipped::<8>::new(), Vec::new());
    for _ in 0..32 {
        let length = usize::from(bytes.byte() % 12);
        let piece = bytes.take(length);
        if length == 11 {
            text.clear();
            held.clear();
            clipped.clear();
            whole.clear();
        }
        let fits = held.len() + piece.len() <= 8;
        let result = match piece {
            [byte] => text.push_byte(*byte),
            _ => text.push_bytes(piece),
        };
        assert_eq!(result.is_ok(), fits);
        if fits {
            held.extend_from_slice(piece);
        }
        clipped.push_bytes(piece);
        whole.extend_from_slice(piece);
        assert_eq!((text.as_bytes(), text.as_str()), (&held[..], valid(&held)));
        assert_eq!(text.is_empty(), held.is_empty());
        check_clipped(&clipped, &whole);
    }
}

fn check_clipped(clipped: &Clipped<8>, whole: &[u8]) {
    let kept = &whole[..whole.len().min(8)];
    assert_eq!(clipped.as_str(), valid(kept));
    assert_eq!(clipped.length() as usize, whole.len());
    assert_eq!(clipped.is_empty(), whole.is_empty());
    assert_eq!(clipped.is_clipped(), whole.len() > 8);
    let mut one_by_one = Clipped::<8>::new();
    whole.iter().for_each(|byte| one_by_one.push_byte(*byte));
    assert_eq!(*clipped, one_by_one);
    let Ok(text) = core::str::from_utf8(whole) else {
        return;
    };
    assert_eq!(*clipped, Clipped::from(text));
    assert!(clipped.matches(text));
    assert!(!clipped.matches(&format!("{text}x")));
    let mut other = text.to_owned();
    if let Some(last) = other.pop() {
        assert!(!clipped.matches(&other));
        other.push(if last == 'x' { 'y' } else { 'x' });
        assert!(!clipped.matches(&other));
    }
}

/// The text up to the first byte that is not UTF-8.
fn valid(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// RFC 1123 as Kubernetes has it.
fn is_label(part: &str) -> bool {
    let inner = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-');
    !part.is_empty() && part.chars().all(inner) && !part.starts_with('-') && !part.ends_with('-')
}

fn paths(mut bytes: Bytes<'_>) {
    let namespace = characters(&mut bytes);
    let name = String::from_utf8_lossy(bytes.rest()).into_owned();
    let is_namespace = is_label(&namespace) && namespace.len() <= 63;
    let is_name = name.split('.').all(is_label) && name.len() <= 253;
    let path = LeasePath::new(&namespace, &name);
    assert_eq!(
        path.is_ok(),
        is_namespace && is_name,
        "{namespace:?} {name:?}"
    );
    let Ok(path) = path else { return };
    assert_eq!((path.namespace(), path.name()), (&*namespace, &*name));
    let mut session = Session::new(Stub::new("me", &[]), path, UpdateMode::MergePatch);
    let Action::Send { id, .. } = session.poll(NOW) else {
        panic!("a read comes first")
    };
    let mut room = [0; 512];
    let request = session.request(id, &mut room).expect("room enough");
    let prefix = "/apis/coordination.k8s.io/v1/namespaces";
    assert_eq!(
        request.path(),
        format!("{prefix}/{namespace}/leases/{name}")
    );
    assert_eq!(request.query(), "timeout=5000ms");
}

fn identities(mut bytes: Bytes<'_>) {
    let (key, value) = (characters(&mut bytes), characters(&mut bytes));
    let identity = String::from_utf8_lossy(bytes.rest()).into_owned();
    let refused = |c: char| c.is_control() || "\"\\".contains(c);
    let is_identity = (1..=253).contains(&identity.len()) && !identity.contains(refused);
    let config = Config::new(&identity);
    assert_eq!(config.validate().is_ok(), is_identity, "{identity:?}");
    let labels = [Label {
        key: &key,
        value: &value,
    }];
    let labelled = Config {
        labels: &labels,
        ..config
    };
    // What is refused here the server may take; what is taken here must fit the server's rules.
    if labelled.validate().is_ok() {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        assert!(is_identity && !key.is_empty() && value.len() <= 63);
        assert!(key.chars().all(plain) && value.chars().all(|c| plain(c) && c != '/'));
    }
}

/// Whatever stands in a text, JSON says it, and reads it back the same.
fn json_strings(mut bytes: Bytes<'_>) {
    let version = Version {
        uid: Uid::try_from(&*cut(characters(&mut bytes), 40)).unwrap(),
        resource_version: ResourceVersion::try_from(&*cut(characters(&mut bytes), 32)).unwrap(),
    };
    let (key, value) = (characters(&mut bytes), characters(&mut bytes));
    let labels = [Label {
        key: &key,
        value: &value,
    }];
    let holder = String::from_utf8_lossy(bytes.rest()).into_owned();
    let stub = Stub::writing(&holder, &labels, version.clone());
    let path = LeasePath::new("default", "a").unwrap();
    let mut session = Session::new(stub, path, UpdateMode::MergePatch);
    let Action::Send { id, .. } = session.poll(NOW) else {
        assert!(version.resource_version.is_empty());
        return;
    };
    let length = session.request_head(id).unwrap().body_length;
    let mut body = vec![0; length];
    // Out of small pieces, as a device sends it.
    for (number, piece) in body.chunks_mut(7).enumerate() {
        let written = session.write_body(id, number * 7, piece);
        assert_eq!(written, Ok(piece.len()));
    }
    let written: Value = serde_json::from_slice(&body).expect("JSON is written");
    assert_eq!(
        written,
        bodies::patched(&stub::spec(&holder), &version, &labels)
    );
    let mut answer = Answer::new();
    answer.begin(200, None);
    answer.body(&body, None);
    let Reply::Lease(record) = answer.end(None).reply else {
        panic!("what is written can be read")
    };
    assert_eq!(record.version.resource_version, version.resource_version);
    let spec = record.spec.as_ref().expect("a spec");
    assert!(spec.holder.matches(&holder));
    assert_eq!(spec.renew_time.timestamp(), Some(renew_time()));
}
