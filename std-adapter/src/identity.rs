//! Identities and seeds that no other process has.

use crate::error::StartError;

/// Longest part before the random one that is kept: the whole name of any pod, 63 characters in
/// nearly every case, and what leaves an identity within its 253.
const PREFIX_MAX: usize = 200;

/// A name that no other process has: `prefix`, or the host name, for people, and a random UUID for
/// uniqueness, as in `node-7_0b9e…`. In a pod the host name is the pod's, but for pods on the
/// node's own network; the downward API has the pod's name for all.
///
/// What can't stand in an identity, or in a log line without quotes, is left out of the first part.
///
/// # Errors
/// [`StartError::NoRandomness`].
pub fn unique_identity(prefix: Option<&str>) -> Result<String, StartError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| StartError::NoRandomness)?;
    let prefix = prefix.map(str::to_owned).or_else(host_name);
    let mut identity = plain(&prefix.unwrap_or_default());
    if !identity.is_empty() {
        identity.push('_');
    }
    identity.push_str(&uuid(u128::from_be_bytes(random)));
    Ok(identity)
}

/// A UUID of version 4 (RFC 9562, section 5.4) with these random bits.
fn uuid(random: u128) -> String {
    let bits = random & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let mut text = format!("{bits:032x}");
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    text
}

/// A seed for jitter.
pub(crate) fn random_seed() -> Result<u64, StartError> {
    getrandom::u64().map_err(|_| StartError::NoRandomness)
}

/// What of a name can stand in an identity, and in a log line without quotes.
fn plain(prefix: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    prefix.chars().filter(is_plain).take(PREFIX_MAX).collect()
}

#[cfg(unix)]
fn host_name() -> Option<String> {
    rustix::system::uname()
        .nodename()
        .to_str()
        .ok()
        .map(str::to_owned)
}

#[cfg(not(unix))]
fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_identities_differ_in_their_random_part() {
        let identity = |prefix| unique_identity(prefix).unwrap();
        let (one, other) = (identity(None), identity(None));
        assert_ne!(one, other);
        let random = one.rsplit('_').next().unwrap();
        assert_eq!(random.len(), 36);
        let pod = identity(Some("web-0"));
        assert_eq!(pod.len(), "web-0_".len() + 36);
        assert!(pod.starts_with("web-0_"), "{pod}");
    }

    #[test]
    fn a_uuid_says_its_version_and_keeps_the_other_bits() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let counted = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;
        assert_eq!(uuid(counted), "00112233-4455-4677-8899-aabbccddeeff");
    }

    #[test]
    fn a_prefix_keeps_only_what_an_identity_may_have() {
        assert_eq!(plain("node-7.example_a"), "node-7.example_a");
        assert_eq!(plain("a\"b\\c\n d"), "abcd");
        assert_eq!(plain(&"x".repeat(300)).len(), PREFIX_MAX);
    }
}
