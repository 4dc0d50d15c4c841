//! Where a Lease lives on an API server, and the query that goes with each request.

use core::fmt;

use super::json_writer::ByteWriter;
use crate::dns;

/// Longest namespace: a DNS-1123 label.
pub const NAMESPACE_MAX: usize = dns::LABEL_MAX;

/// Longest name of a Lease: a DNS-1123 subdomain.
pub const NAME_MAX: usize = dns::SUBDOMAIN_MAX;

/// The field manager of all writes: one name keeps `managedFields` to one entry.
pub const FIELD_MANAGER: &str = "kubelease";

/// The address of one Lease. Both parts are checked, so nothing in it needs escaping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasePath<'a> {
    namespace: &'a str,
    name: &'a str,
}

impl<'a> LeasePath<'a> {
    /// The Lease `name` in `namespace`, by the rules of the API server: a DNS-1123 label of at
    /// most [`NAMESPACE_MAX`] bytes, and a DNS-1123 subdomain of at most [`NAME_MAX`].
    ///
    /// # Errors
    /// [`PathError`] says which part breaks which rule.
    pub const fn new(namespace: &'a str, name: &'a str) -> Result<Self, PathError> {
        if namespace.is_empty() {
            return Err(PathError::NamespaceEmpty);
        }
        if namespace.len() > NAMESPACE_MAX {
            return Err(PathError::NamespaceTooLong);
        }
        if !dns::is_label(namespace.as_bytes()) {
            return Err(PathError::NamespaceMalformed);
        }
        if name.is_empty() {
            return Err(PathError::NameEmpty);
        }
        if name.len() > NAME_MAX {
            return Err(PathError::NameTooLong);
        }
        if !dns::is_subdomain(name.as_bytes()) {
            return Err(PathError::NameMalformed);
        }
        Ok(Self { namespace, name })
    }

    /// The namespace.
    #[must_use]
    pub const fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// Writes the URL's path: of the Lease, or of the collection it is in.
    pub(crate) fn write_path(&self, out: &mut ByteWriter<'_>, of_collection: bool) {
        out.put(b"/apis/coordination.k8s.io/v1/namespaces/");
        out.put(self.namespace.as_bytes());
        out.put(b"/leases");
        if !of_collection {
            out.put(b"/");
            out.put(self.name.as_bytes());
        }
    }
}

/// Writes the path of the Node `name`.
pub(crate) fn write_node_path(out: &mut ByteWriter<'_>, name: &str) {
    out.put(b"/api/v1/nodes/");
    out.put(name.as_bytes());
}

/// Writes the query. Never a `resourceVersion`: a read with one may come from a cache.
pub(crate) fn write_query(out: &mut ByteWriter<'_>, is_write: bool, timeout_ms: u32) {
    if is_write {
        out.put(b"fieldManager=");
        out.put(FIELD_MANAGER.as_bytes());
        out.put(b"&");
    }
    out.put(b"timeout=");
    out.put_number(timeout_ms);
    out.put(b"ms");
}

/// Why a namespace or a name cannot be that of a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathError {
    /// The namespace is empty.
    NamespaceEmpty,
    /// The namespace has more than [`NAMESPACE_MAX`] bytes.
    NamespaceTooLong,
    /// The namespace is no DNS-1123 label.
    NamespaceMalformed,
    /// The name is empty.
    NameEmpty,
    /// The name has more than [`NAME_MAX`] bytes.
    NameTooLong,
    /// The name is no DNS-1123 subdomain.
    NameMalformed,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NamespaceEmpty => "expected a namespace, found an empty text",
            Self::NamespaceTooLong => {
                "expected a namespace of at most 63 bytes, found a longer one"
            }
            Self::NamespaceMalformed => {
                "expected a namespace of a-z, 0-9 and inner '-', found something else"
            }
            Self::NameEmpty => "expected a lease name, found an empty text",
            Self::NameTooLong => "expected a lease name of at most 253 bytes, found a longer one",
            Self::NameMalformed => {
                "expected a lease name of a-z, 0-9, inner '-' and single inner '.', \
                 found something else"
            }
        })
    }
}

impl core::error::Error for PathError {}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};

    use super::*;

    fn path(namespace: &str, name: &str) -> Result<(), PathError> {
        LeasePath::new(namespace, name).map(|_| ())
    }

    #[test]
    fn ok_names_that_the_server_takes() {
        let longest = "a".repeat(253);
        for name in [
            "a",
            "0",
            "a-b",
            "a.b",
            "1.2-3.4",
            "node-1.example.com",
            &longest,
        ] {
            assert_eq!(path("default", name), Ok(()), "{name}");
        }
        assert_eq!(path(&"n".repeat(63), "a"), Ok(()));
    }

    #[test]
    fn err_names_that_the_server_refuses() {
        let bad = [
            "Cluster Coordinator",
            "Node-A",
            "a/b",
            "..",
            ".",
            "-",
            "a-",
            "-a",
            "a.",
            ".a",
            "a..b",
            "a.-b",
            "a-.b",
            "a_b",
            "a%2fb",
            "é",
            "a\0",
            "a ",
            "a?b",
            "a#b",
        ];
        for name in bad {
            assert_eq!(
                path("default", name),
                Err(PathError::NameMalformed),
                "{name}"
            );
        }
        for namespace in ["a.b", "A", "a/b", "..", "-a", "a-", "a b"] {
            assert_eq!(
                path(namespace, "a"),
                Err(PathError::NamespaceMalformed),
                "{namespace}"
            );
        }
        assert_eq!(path("default", ""), Err(PathError::NameEmpty));
        assert_eq!(
            path("default", &"a".repeat(254)),
            Err(PathError::NameTooLong)
        );
        assert_eq!(path("", "a"), Err(PathError::NamespaceEmpty));
        assert_eq!(path(&"n".repeat(64), "a"), Err(PathError::NamespaceTooLong));
    }

    #[test]
    fn errors_say_what_was_expected_and_found() {
        assert_eq!(
            PathError::NameMalformed.to_string(),
            "expected a lease name of a-z, 0-9, inner '-' and single inner '.', found something else"
        );
        assert_eq!(
            PathError::NamespaceTooLong.to_string(),
            "expected a namespace of at most 63 bytes, found a longer one"
        );
    }

    fn written(write: impl FnOnce(&mut ByteWriter<'_>)) -> String {
        let mut buffer = [0; 400];
        let mut out = ByteWriter::new(&mut buffer, 0);
        write(&mut out);
        let length = out.written();
        String::from_utf8(buffer.iter().copied().take(length).collect()).unwrap()
    }

    #[test]
    fn paths_and_queries_are_those_of_the_api() {
        let path = LeasePath::new("kube-system", "a.b").unwrap();
        assert_eq!(
            written(|out| path.write_path(out, false)),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a.b"
        );
        assert_eq!(
            written(|out| path.write_path(out, true)),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
        );
        assert_eq!(
            written(|out| write_query(out, false, 5000)),
            "timeout=5000ms"
        );
        assert_eq!(
            written(|out| write_query(out, true, u32::MAX)),
            "fieldManager=kubelease&timeout=4294967295ms"
        );
    }
}
