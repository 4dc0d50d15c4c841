//! Bodies of requests, made from state.

use super::json_reader::{hex_value, unescape};
use super::json_writer::ByteWriter;
use super::keep::{Keep, Members, Part};
use super::owner::{OWNER_REFERENCES, WriteOwners};
use super::path::LeasePath;
use crate::lease::{Label, LeaseSpec, NodeRef, RecordSpec, Version};
use crate::protocol::Changes;

/// A Lease, or a merge patch (RFC 7386) of one.
#[derive(Debug)]
pub(crate) struct LeaseBody<'r> {
    pub(crate) path: &'r LeasePath<'r>,
    pub(crate) spec: &'r LeaseSpec<'r>,
    /// The spec that was read, for what `spec` leaves as it is: of a whole Lease that is put back.
    pub(crate) read: Option<&'r RecordSpec>,
    pub(crate) labels: &'r [Label<'r>],
    pub(crate) owner: Option<(&'r NodeRef<'r>, WriteOwners)>,
    /// The condition, where there is one.
    pub(crate) version: Option<&'r Version>,
    /// What a patch changes; a whole Lease has all.
    pub(crate) changes: Changes,
    pub(crate) is_patch: bool,
    /// What was kept of the last one, to be put back.
    pub(crate) keep: Option<&'r Keep<'r>>,
}

/// Writes the conditions of a deletion.
pub(crate) fn write_preconditions(out: &mut ByteWriter<'_>, version: &Version) {
    out.put(b"{\"preconditions\":{");
    write_version(out, version, true);
    out.put(b"}}");
}

impl LeaseBody<'_> {
    /// Writes it.
    pub(crate) fn write(&self, out: &mut ByteWriter<'_>) {
        if self.is_patch {
            out.put(b"{\"metadata\":{");
        } else {
            begin_lease(out, self.path);
        }
        if let Some(version) = self.version {
            if !self.is_patch {
                out.put(b",");
            }
            // Without the version the server would apply a patch to whatever is there. The uid
            // adds nothing to it: a lease that was made anew has another version.
            write_version(out, version, !self.is_patch);
        }
        write_labels(out, self.labels, self.keep);
        if let Some((owner, write_owners)) = self.owner {
            write_owners(owner, self.keep, out);
        }
        write_kept(out, self.keep, Part::Metadata, self.owner.is_some());
        out.put(b"},\"spec\":{");
        let changes = if self.is_patch {
            self.changes
        } else {
            Changes::Acquire
        };
        write_spec(out, self.spec, self.read, changes);
        write_kept(out, self.keep, Part::Spec, false);
        out.put(b"}");
        write_kept(out, self.keep, Part::Lease, false);
        out.put(b"}");
    }
}

/// Everything of a Lease up to the name's end, with `metadata` open.
fn begin_lease(out: &mut ByteWriter<'_>, path: &LeasePath<'_>) {
    out.put(
        b"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":",
    );
    out.put_text(path.name());
    out.put(b",\"namespace\":");
    out.put_text(path.namespace());
}

fn write_version(out: &mut ByteWriter<'_>, version: &Version, with_uid: bool) {
    if with_uid && !version.uid.is_empty() {
        out.put(b"\"uid\":");
        out.put_text_bytes(version.uid.as_bytes());
        out.put(b",");
    }
    out.put(b"\"resourceVersion\":");
    out.put_text_bytes(version.resource_version.as_bytes());
}

/// The members of `spec` that `changes` names.
fn write_spec(
    out: &mut ByteWriter<'_>,
    spec: &LeaseSpec<'_>,
    read: Option<&RecordSpec>,
    changes: Changes,
) {
    let (is_renewal, is_release) = match changes {
        Changes::Acquire => (false, false),
        Changes::Renew => (true, false),
        Changes::Release => (false, true),
    };
    if !is_renewal {
        out.put(b"\"holderIdentity\":");
        out.put_text(spec.holder_identity);
        out.put(b",");
    }
    out.put(b"\"leaseDurationSeconds\":");
    out.put_number(spec.lease_duration_seconds);
    let acquire_time = spec
        .acquire_time
        .or_else(|| read.and_then(|read| read.acquire_time.timestamp()));
    if let Some(time) = acquire_time.filter(|_| !is_renewal) {
        out.put(b",\"acquireTime\":");
        out.put_time(time);
    }
    out.put(b",\"renewTime\":");
    out.put_time(spec.renew_time);
    let transitions = spec
        .lease_transitions
        .or_else(|| u32::try_from(read?.lease_transitions?).ok());
    if let Some(transitions) = transitions.filter(|_| !is_renewal && !is_release) {
        out.put(b",\"leaseTransitions\":");
        out.put_number(transitions);
    }
}

/// Own labels, and those kept ones that are not set anew.
fn write_labels(out: &mut ByteWriter<'_>, labels: &[Label<'_>], keep: Option<&Keep<'_>>) {
    let mut separator: &[u8] = b",\"labels\":{";
    for label in labels {
        out.put(separator);
        out.put_text(label.key);
        out.put(b":");
        out.put_text(label.value);
        separator = b",";
    }
    for member in Members::of(keep, Part::Labels) {
        if labels.iter().any(|label| has_key(member, label.key)) {
            continue;
        }
        out.put(separator);
        out.put(member);
        separator = b",";
    }
    if separator.len() == 1 {
        out.put(b"}");
    }
}

/// All kept members of `part`, each behind a comma; the owners only where they are not set anew.
fn write_kept(out: &mut ByteWriter<'_>, keep: Option<&Keep<'_>>, part: Part, without_owners: bool) {
    for member in Members::of(keep, part) {
        if without_owners && has_key(member, OWNER_REFERENCES) {
            continue;
        }
        out.put(b",");
        out.put(member);
    }
}

/// Whether the raw member `"key":value` has the key `key`, be it written with escapes.
///
/// Keys of labels are ASCII; an escape of anything else is that of another key.
pub(super) fn has_key(member: &[u8], key: &str) -> bool {
    let mut raw = member.get(1..).unwrap_or_default();
    for expected in key.bytes() {
        if unescaped(&mut raw) != Some(expected) {
            return false;
        }
    }
    raw.first() == Some(&b'"')
}

/// The next byte of a string of JSON; `None` at its end, and for an escape past ASCII.
fn unescaped(raw: &mut &[u8]) -> Option<u8> {
    let byte = next(raw)?;
    if byte == b'"' {
        return None;
    }
    if byte != b'\\' {
        return Some(byte);
    }
    let byte = next(raw)?;
    if byte != b'u' {
        return unescape(byte);
    }
    let mut unit = 0_u16;
    for _ in 0..4 {
        unit = (unit << 4) | hex_value(next(raw)?)?;
    }
    u8::try_from(unit).ok().filter(u8::is_ascii)
}

fn next(raw: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = raw.split_first()?;
    *raw = rest;
    Some(*byte)
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;
    use crate::lease::{ResourceVersion, Uid};
    use crate::timestamp::Timestamp;

    fn written(body: &LeaseBody<'_>) -> String {
        let mut buffer = [0; 1_024];
        let mut out = ByteWriter::new(&mut buffer, 0);
        body.write(&mut out);
        let length = out.written();
        String::from_utf8(buffer.iter().copied().take(length).collect()).unwrap()
    }

    fn body<'r>(path: &'r LeasePath<'r>) -> LeaseBody<'r> {
        LeaseBody {
            path,
            spec: &SPEC,
            read: None,
            labels: &[],
            owner: None,
            version: None,
            changes: Changes::Acquire,
            is_patch: false,
            keep: None,
        }
    }

    const SPEC: LeaseSpec<'_> = LeaseSpec {
        holder_identity: "é\u{1}",
        lease_duration_seconds: 15,
        acquire_time: None,
        renew_time: Timestamp::UNIX_EPOCH,
        lease_transitions: None,
    };

    #[test]
    fn members_that_are_none_are_left_out() {
        let path = LeasePath::new("ns", "a").unwrap();
        assert_eq!(
            written(&body(&path)),
            concat!(
                r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","#,
                r#""metadata":{"name":"a","namespace":"ns"},"spec":{"holderIdentity":"é\u0001","#,
                r#""leaseDurationSeconds":15,"renewTime":"1970-01-01T00:00:00.000000Z"}}"#
            )
        );
    }

    #[test]
    fn a_put_has_the_uid_where_it_is_known() {
        let path = LeasePath::new("ns", "a").unwrap();
        for (uid, expected) in [("", r#""ns","res"#), ("u", r#""ns","uid":"u","res"#)] {
            let version = Version {
                uid: Uid::try_from(uid).unwrap(),
                resource_version: ResourceVersion::try_from("5").unwrap(),
            };
            let put = LeaseBody {
                version: Some(&version),
                ..body(&path)
            };
            assert!(written(&put).contains(expected), "{}", written(&put));
        }
    }

    #[test]
    fn a_kept_key_is_known_in_any_spelling() {
        for member in [
            r#""a/b":"x""#,
            r#""a\/b":"x""#,
            r#""\u0061\u002Fb":1"#,
            r#""\u0061\u002fb":null"#,
        ] {
            assert!(has_key(member.as_bytes(), "a/b"), "{member}");
        }
        for member in [
            r#""a/bc":"x""#,
            r#""a/":"b""#,
            r#""a":"b""#,
            r#""":"b""#,
            r#""a\nb":"x""#,
            r#""a\u012fb":"x""#,
            r#""\ud83d\ude00":"x""#,
            r#""a\u2"#,
            "",
        ] {
            assert!(!has_key(member.as_bytes(), "a/b"), "{member}");
        }
    }
}
