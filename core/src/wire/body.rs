//! Bodies of requests, made from state.

use super::json_reader::{hex_value, unescape};
use super::json_writer::ByteWriter;
use super::keep::{Keep, Part};
use super::owner::{OWNER_REFERENCES, OwnerWriting};
use super::path::LeasePath;
use crate::lease::{Label, LeaseSpec, Version};
use crate::protocol::Changes;

/// The body of a request.
#[derive(Debug)]
pub(crate) enum Body<'r> {
    /// None.
    Nothing,
    /// A new Lease, by POST or PUT.
    Create {
        path: &'r LeasePath<'r>,
        spec: LeaseSpec<'r>,
        labels: &'r [Label<'r>],
        owner: Option<OwnerWriting<'r>>,
    },
    /// A whole Lease, with all that was kept of the last one.
    Replace {
        path: &'r LeasePath<'r>,
        spec: LeaseSpec<'r>,
        version: &'r Version,
        labels: &'r [Label<'r>],
        owner: Option<OwnerWriting<'r>>,
        keep: &'r Keep<'r>,
    },
    /// A merge patch (RFC 7386) on condition of the version.
    Patch {
        spec: LeaseSpec<'r>,
        version: &'r Version,
        changes: Changes,
        labels: &'r [Label<'r>],
        owner: Option<OwnerWriting<'r>>,
    },
    /// The conditions of a deletion.
    Delete { version: &'r Version },
}

impl Body<'_> {
    /// Writes it.
    pub(crate) fn write(&self, out: &mut ByteWriter<'_>) {
        match self {
            Self::Nothing => {}
            Self::Create {
                path,
                spec,
                labels,
                owner,
            } => {
                begin_lease(out, path);
                write_labels(out, labels, None);
                write_owner(out, owner.as_ref(), None);
                out.put(b"},\"spec\":{");
                write_spec(out, spec, Changes::Acquire);
                out.put(b"}}");
            }
            Self::Replace {
                path,
                spec,
                version,
                labels,
                owner,
                keep,
            } => {
                begin_lease(out, path);
                if !version.uid.is_empty() {
                    out.put(b",\"uid\":");
                    out.put_text_bytes(version.uid.as_bytes());
                }
                out.put(b",\"resourceVersion\":");
                out.put_text_bytes(version.resource_version.as_bytes());
                write_labels(out, labels, Some(keep));
                write_owner(out, owner.as_ref(), Some(keep));
                write_kept(out, keep, Part::Metadata, owner.is_some());
                out.put(b"},\"spec\":{");
                write_spec(out, spec, Changes::Acquire);
                write_kept(out, keep, Part::Spec, false);
                out.put(b"}");
                write_kept(out, keep, Part::Lease, false);
                out.put(b"}");
            }
            Self::Patch {
                spec,
                version,
                changes,
                labels,
                owner,
            } => {
                // Without the version the server would apply the patch to whatever is there. The
                // uid adds nothing: a lease that was made anew has another version.
                out.put(b"{\"metadata\":{\"resourceVersion\":");
                out.put_text_bytes(version.resource_version.as_bytes());
                write_labels(out, labels, None);
                write_owner(out, owner.as_ref(), None);
                out.put(b"},\"spec\":{");
                write_spec(out, spec, *changes);
                out.put(b"}}");
            }
            Self::Delete { version } => write_preconditions(out, version),
        }
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

fn write_preconditions(out: &mut ByteWriter<'_>, version: &Version) {
    out.put(b"{\"preconditions\":{");
    if !version.uid.is_empty() {
        out.put(b"\"uid\":");
        out.put_text(version.uid.as_str());
        out.put(b",");
    }
    out.put(b"\"resourceVersion\":");
    out.put_text(version.resource_version.as_str());
    out.put(b"}}");
}

/// The members of `spec` that `changes` names.
fn write_spec(out: &mut ByteWriter<'_>, spec: &LeaseSpec<'_>, changes: Changes) {
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
    if let Some(time) = spec.acquire_time.filter(|_| !is_renewal) {
        out.put(b",\"acquireTime\":");
        out.put_time(time);
    }
    out.put(b",\"renewTime\":");
    out.put_time(spec.renew_time);
    if let Some(transitions) = spec
        .lease_transitions
        .filter(|_| !is_renewal && !is_release)
    {
        out.put(b",\"leaseTransitions\":");
        out.put_number(transitions);
    }
}

/// Own labels, and those kept ones that are not set anew.
fn write_labels(out: &mut ByteWriter<'_>, labels: &[Label<'_>], keep: Option<&Keep<'_>>) {
    let kept = keep.into_iter().flat_map(|keep| keep.members(Part::Labels));
    let mut kept = kept.filter(|member| !labels.iter().any(|label| has_key(member, label.key)));
    let mut separator: &[u8] = b",\"labels\":{";
    for label in labels {
        out.put(separator);
        out.put_text(label.key);
        out.put(b":");
        out.put_text(label.value);
        separator = b",";
    }
    for member in kept.by_ref() {
        out.put(separator);
        out.put(member);
        separator = b",";
    }
    if separator.len() == 1 {
        out.put(b"}");
    }
}

/// All kept members of `part`, each behind a comma; the owners only where they are not set anew.
fn write_kept(out: &mut ByteWriter<'_>, keep: &Keep<'_>, part: Part, without_owners: bool) {
    for member in keep.members(part) {
        if without_owners && has_key(member, OWNER_REFERENCES) {
            continue;
        }
        out.put(b",");
        out.put(member);
    }
}

fn write_owner(
    out: &mut ByteWriter<'_>,
    owner: Option<&OwnerWriting<'_>>,
    keep: Option<&Keep<'_>>,
) {
    if let Some(owner) = owner {
        owner.write(keep, out);
    }
}

/// Whether the raw member `"key":value` has the key `key`, be it written with escapes.
///
/// Keys of labels are ASCII; an escape of anything else is that of another key.
pub(super) fn has_key(member: &[u8], key: &str) -> bool {
    let mut raw = member.iter().skip(1);
    for expected in key.bytes() {
        if unescaped(&mut raw) != Some(expected) {
            return false;
        }
    }
    raw.next() == Some(&b'"')
}

/// The next byte of a string of JSON; `None` at its end, and for an escape past ASCII.
fn unescaped<'r>(raw: &mut impl Iterator<Item = &'r u8>) -> Option<u8> {
    let byte = *raw.next()?;
    if byte == b'"' {
        return None;
    }
    if byte != b'\\' {
        return Some(byte);
    }
    let byte = *raw.next()?;
    if byte != b'u' {
        return unescape(byte);
    }
    let mut unit = 0_u16;
    for digit in raw.take(4) {
        unit = (unit << 4) | hex_value(*digit)?;
    }
    u8::try_from(unit).ok().filter(u8::is_ascii)
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;
    use crate::lease::{ResourceVersion, Uid};
    use crate::timestamp::Timestamp;

    fn written(body: &Body<'_>) -> String {
        let mut buffer = [0; 1_024];
        let mut out = ByteWriter::new(&mut buffer, 0);
        body.write(&mut out);
        let length = out.written();
        String::from_utf8(buffer.iter().copied().take(length).collect()).unwrap()
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
        let body = Body::Create {
            path: &path,
            spec: SPEC,
            labels: &[],
            owner: None,
        };
        assert_eq!(
            written(&body),
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
        let keep = Keep::new(&mut []);
        for (uid, expected) in [("", r#""ns","res"#), ("u", r#""ns","uid":"u","res"#)] {
            let version = Version {
                uid: Uid::try_from(uid).unwrap(),
                resource_version: ResourceVersion::try_from("5").unwrap(),
            };
            let body = Body::Replace {
                path: &path,
                spec: SPEC,
                version: &version,
                labels: &[],
                owner: None,
                keep: &keep,
            };
            assert!(written(&body).contains(expected), "{}", written(&body));
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
