//! Identities and seeds that no other process has.

use core::fmt::Write;

use crate::error::StartError;

/// Longest part of the host name that is kept; Linux has 64 bytes for the whole.
const HOST_NAME_MAX: usize = 64;

/// The host name, for people, and 128 random bits, for uniqueness: `node-7_5f0c…`.
pub(crate) fn random_identity() -> Result<String, StartError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| StartError::NoRandomness)?;
    let mut identity = plain(&host_name().unwrap_or_default());
    if !identity.is_empty() {
        identity.push('_');
    }
    for byte in random {
        // Writing into a String does not fail.
        let _ = write!(identity, "{byte:02x}");
    }
    Ok(identity)
}

/// A seed for jitter.
pub(crate) fn random_seed() -> Result<u64, StartError> {
    getrandom::u64().map_err(|_| StartError::NoRandomness)
}

/// What of a host name can stand in an identity, and in a log line without quotes.
fn plain(host_name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    host_name
        .chars()
        .filter(is_plain)
        .take(HOST_NAME_MAX)
        .collect()
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
        let (one, other) = (random_identity().unwrap(), random_identity().unwrap());
        assert_ne!(one, other);
        let random = one.rsplit('_').next().unwrap();
        assert_eq!(random.len(), 32);
        assert!(random.bytes().all(|byte| byte.is_ascii_hexdigit()), "{one}");
    }

    #[test]
    fn a_host_name_keeps_only_what_an_identity_may_have() {
        assert_eq!(plain("node-7.example_a"), "node-7.example_a");
        assert_eq!(plain("a\"b\\c\n d"), "abcd");
        assert_eq!(plain(&"x".repeat(300)).len(), HOST_NAME_MAX);
    }
}
