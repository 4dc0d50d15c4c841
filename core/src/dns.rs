//! The names of RFC 1123 that Kubernetes builds on.

/// Longest DNS label.
pub(crate) const LABEL_MAX: usize = 63;

/// Longest DNS subdomain.
pub(crate) const SUBDOMAIN_MAX: usize = 253;

/// Whether `text`, which is not empty, has the form of a DNS label: lower-case letters, digits and
/// inner `-`.
pub(crate) const fn is_label(text: &[u8]) -> bool {
    is_dns1123(text, false)
}

/// Whether `text`, which is not empty, has the form of labels with dots between them.
pub(crate) const fn is_subdomain(text: &[u8]) -> bool {
    is_dns1123(text, true)
}

const fn is_dns1123(text: &[u8], dots: bool) -> bool {
    let mut rest = text;
    let mut before = b'.';
    while let Some((byte, after)) = rest.split_first() {
        let good = match *byte {
            b'a'..=b'z' | b'0'..=b'9' => true,
            b'-' => before != b'.',
            b'.' => dots && before != b'.' && before != b'-',
            _ => false,
        };
        if !good {
            return false;
        }
        before = *byte;
        rest = after;
    }
    before != b'.' && before != b'-'
}
