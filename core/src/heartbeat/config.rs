//! [`HeartbeatConfig`] and [`HeartbeatIdentity`]: how to beat, and whose heart it is.

use core::fmt;

use crate::dns;
use crate::identity::{self, IdentityFault};
use crate::lease::UID_MAX;
use crate::prng::percent_of;
use crate::time::Duration;

/// Default jitter in hundredths of the interval, as kubelet's.
pub const JITTER_PERCENT_DEFAULT: u32 = 4;

/// Most jitter that can be asked for, in hundredths of the interval.
pub const JITTER_PERCENT_MAX: u32 = 100;

/// Longest default of the request timeout.
pub const REQUEST_TIMEOUT_DEFAULT_MAX: Duration = Duration::from_secs(15);

/// How to beat. It has no names in it, so that all heartbeats of a fleet share one.
///
/// ```
/// use kubelease_core::heartbeat::HeartbeatConfig;
/// use kubelease_core::time::Duration;
///
/// let config = HeartbeatConfig { watch_node: true, ..HeartbeatConfig::NODE };
/// assert_eq!(config.interval, Duration::from_secs(10));
/// assert!(config.validate().is_ok());
/// ```
#[expect(
    clippy::exhaustive_structs,
    reason = "users write it with `..HeartbeatConfig::NODE`"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatConfig {
    /// `leaseDurationSeconds` of the record; whole seconds from 1 to `i32::MAX`. The node
    /// controller does not look at it.
    pub lease_duration: Duration,
    /// Time between beats; a quarter of the lease duration unless said. It is counted from the
    /// schedule: slow calls do not delay later beats.
    pub interval: Duration,
    /// Hundredths of the interval by which each beat is spread, at most [`JITTER_PERCENT_MAX`].
    pub jitter_percent: u32,
    /// How long one request may take; half of the interval unless said, at most 15 s.
    pub request_timeout: Duration,
    /// How long [`retire`](super::Heartbeat::retire) may take; the interval unless said.
    pub retire_budget: Duration,
    /// Whether the first beat comes at a random moment of the first interval; on unless said, so
    /// that a thousand that start together do not beat together. Without, it comes at once.
    pub spread_first_beat: bool,
    /// Whether to create the lease by PUT to its own URL, which a Role with `resourceNames` can
    /// grant, instead of by POST.
    pub create_with_put: bool,
    /// Whether nothing is ever created without the owner, nor a lease beaten that has no owner of
    /// the Node's name. Leases without one stay behind when their Node goes.
    pub owner_required: bool,
    /// Whether to beat a lease although somebody else holds it. Without, his record is waited out
    /// for the duration that it says, from when this process first saw it.
    pub force_owner: bool,
    /// How long one call of [`alive`](super::Heartbeat::alive) lets the heart beat; for ever
    /// unless said. The heartbeat then vouches for the host's work, not for its own loop.
    pub liveness_ttl: Option<Duration>,
    /// Whether to look at the Node after the first beat and after an outage of a lease duration or
    /// more, and to say [`NodeNotReady`](crate::protocol::Event::NodeNotReady) until it is ready:
    /// a beating lease does not bring a Node back that was found dead.
    pub watch_node: bool,
}

impl HeartbeatConfig {
    /// A node's heartbeat with kubelet's durations: 40 s and 10 s.
    pub const NODE: Self = Self::new(Duration::from_secs(40));

    /// The defaults for this lease duration.
    #[must_use]
    pub const fn new(lease_duration: Duration) -> Self {
        let interval = lease_duration.half().half();
        let half = interval.half();
        let short = half.as_millis() < REQUEST_TIMEOUT_DEFAULT_MAX.as_millis();
        Self {
            lease_duration,
            interval,
            jitter_percent: JITTER_PERCENT_DEFAULT,
            request_timeout: if short {
                half
            } else {
                REQUEST_TIMEOUT_DEFAULT_MAX
            },
            retire_budget: interval,
            spread_first_beat: true,
            create_with_put: false,
            owner_required: false,
            force_owner: false,
            liveness_ttl: None,
            watch_node: false,
        }
    }

    /// Checks everything that a heartbeat rests on.
    ///
    /// # Errors
    /// The first thing that is wrong, in the order of the variants of [`HeartbeatError`].
    pub fn validate(&self) -> Result<(), HeartbeatError> {
        use HeartbeatError as Bad;
        let Self {
            lease_duration,
            interval,
            request_timeout,
            ..
        } = *self;
        let (seconds, rest) = lease_duration.as_secs_and_millis();
        let jitter = Duration::from_millis(u64::from(percent_of(interval, self.jitter_percent)));
        let latest = interval
            .saturating_add(jitter)
            .saturating_add(request_timeout);
        let relations = [
            (lease_duration != Duration::ZERO, Bad::LeaseDurationZero),
            (rest == 0, Bad::LeaseDurationNotWholeSeconds),
            (i32::try_from(seconds).is_ok(), Bad::LeaseDurationTooLong),
            (interval != Duration::ZERO, Bad::IntervalZero),
            (request_timeout != Duration::ZERO, Bad::RequestTimeoutZero),
            (
                self.jitter_percent <= JITTER_PERCENT_MAX,
                Bad::JitterTooLarge,
            ),
            (latest <= lease_duration, Bad::BeatTooLate),
            (
                self.liveness_ttl != Some(Duration::ZERO),
                Bad::LivenessTtlZero,
            ),
        ];
        for (holds, error) in relations {
            if !holds {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The lease duration as the record has it.
    pub(crate) fn lease_duration_seconds(&self) -> u32 {
        self.lease_duration.as_secs_and_millis().0
    }
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        Self::NODE
    }
}

/// Whose heart it is.
#[expect(
    clippy::exhaustive_structs,
    reason = "users write it with `..HeartbeatIdentity::new(holder)`"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatIdentity<S> {
    /// `holderIdentity`: 1 to 253 bytes without control characters, `"` and `\`.
    pub holder: S,
    /// The Node that owns the lease, where one does.
    pub node: Option<S>,
    /// The Node's uid, where the host knows it; it is read from the server where it is needed
    /// otherwise, and whenever the lease was deleted: the Node may have been registered anew.
    pub node_uid: Option<S>,
    /// Seeds the jitter. Give each heartbeat its own; nothing secret is made of it.
    pub seed: u64,
}

impl<S> HeartbeatIdentity<S> {
    /// A heart that belongs to no Node.
    #[must_use]
    pub const fn new(holder: S) -> Self {
        Self {
            holder,
            node: None,
            node_uid: None,
            seed: 0,
        }
    }

    /// That of the Node `name`, which holds and owns its lease.
    #[must_use]
    pub const fn of_node(name: S) -> Self
    where
        S: Copy,
    {
        Self {
            node: Some(name),
            ..Self::new(name)
        }
    }

    /// Checks the names.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), HeartbeatError>
    where
        S: AsRef<str>,
    {
        use HeartbeatError as Bad;
        identity::check(self.holder.as_ref()).map_err(|fault| match fault {
            IdentityFault::Empty => Bad::HolderEmpty,
            IdentityFault::TooLong => Bad::HolderTooLong,
            IdentityFault::Character => Bad::HolderCharacter,
        })?;
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= dns::SUBDOMAIN_MAX
                && dns::is_subdomain(name.as_bytes())
        };
        if !self.node.as_ref().is_none_or(|name| is_name(name.as_ref())) {
            return Err(Bad::NodeNameMalformed);
        }
        let is_uid = |uid: &str| {
            let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
            !uid.is_empty() && uid.len() <= UID_MAX && uid.bytes().all(plain)
        };
        if !self
            .node_uid
            .as_ref()
            .is_none_or(|uid| is_uid(uid.as_ref()))
        {
            return Err(Bad::NodeUidMalformed);
        }
        if self.node.is_none() && self.node_uid.is_some() {
            return Err(Bad::NodeUidWithoutNode);
        }
        Ok(())
    }
}

/// What is wrong with a [`HeartbeatConfig`] or a [`HeartbeatIdentity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeartbeatError {
    /// The lease duration is zero.
    LeaseDurationZero,
    /// The record has whole seconds only.
    LeaseDurationNotWholeSeconds,
    /// The record has 31 bits of seconds.
    LeaseDurationTooLong,
    /// The interval is zero.
    IntervalZero,
    /// The request timeout is zero.
    RequestTimeoutZero,
    /// More jitter than [`JITTER_PERCENT_MAX`].
    JitterTooLarge,
    /// A beat that takes its whole timeout would come after the lease has run out.
    BeatTooLate,
    /// With a liveness TTL of zero it would never beat.
    LivenessTtlZero,
    /// The holder is empty.
    HolderEmpty,
    /// The holder is longer than 253 bytes.
    HolderTooLong,
    /// The holder has a control character, `"` or `\`.
    HolderCharacter,
    /// The Node's name is no DNS-1123 subdomain of at most 253 bytes.
    NodeNameMalformed,
    /// The Node's uid is empty, too long, or has characters of no uid.
    NodeUidMalformed,
    /// A uid, but no Node.
    NodeUidWithoutNode,
    /// An owner is required, but there is no Node.
    OwnerRequiredWithoutNode,
    /// The Node is to be watched, but there is none.
    WatchWithoutNode,
}

impl fmt::Display for HeartbeatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseDurationZero => "expected a lease duration of at least 1 s, found zero",
            Self::LeaseDurationNotWholeSeconds => {
                "expected a lease duration of whole seconds, found a fraction"
            }
            Self::LeaseDurationTooLong => {
                "expected a lease duration of at most 2147483647 s, found a longer one"
            }
            Self::IntervalZero => "expected an interval above zero, found zero",
            Self::RequestTimeoutZero => "expected a request timeout above zero, found zero",
            Self::JitterTooLarge => "expected a jitter of at most 100 percent, found more",
            Self::BeatTooLate => {
                "expected interval, jitter and request timeout within the lease duration, \
                 found a longer sum"
            }
            Self::LivenessTtlZero => "expected a liveness TTL above zero, found zero",
            Self::HolderEmpty => "expected a holder, found an empty one",
            Self::HolderTooLong => "expected a holder of at most 253 bytes, found a longer one",
            Self::HolderCharacter => {
                "expected a holder without control characters, quotes and backslashes, \
                 found one of them"
            }
            Self::NodeNameMalformed => {
                "expected a node name of at most 253 bytes of a-z, 0-9, inner '-' and single \
                 inner '.', found something else"
            }
            Self::NodeUidMalformed => {
                "expected a node uid of 1 to 40 visible characters, found something else"
            }
            Self::NodeUidWithoutNode => "expected a node name beside the node uid, found none",
            Self::OwnerRequiredWithoutNode => "expected a node as the required owner, found none",
            Self::WatchWithoutNode => "expected a node to watch, found none",
        })
    }
}

impl core::error::Error for HeartbeatError {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_config_keeps_its_relations() {
        use HeartbeatError as Bad;
        let good = HeartbeatConfig::NODE;
        let long = Duration::from_secs(1 << 31);
        let table = [
            (good, None),
            (HeartbeatConfig::new(Duration::from_secs(1)), None),
            (HeartbeatConfig::new(Duration::from_secs(3_600)), None),
            (
                HeartbeatConfig::new(Duration::ZERO),
                Some(Bad::LeaseDurationZero),
            ),
            (
                HeartbeatConfig::new(Duration::from_millis(1_500)),
                Some(Bad::LeaseDurationNotWholeSeconds),
            ),
            (HeartbeatConfig::new(long), Some(Bad::LeaseDurationTooLong)),
            (
                HeartbeatConfig {
                    interval: Duration::ZERO,
                    ..good
                },
                Some(Bad::IntervalZero),
            ),
            (
                HeartbeatConfig {
                    request_timeout: Duration::ZERO,
                    ..good
                },
                Some(Bad::RequestTimeoutZero),
            ),
            (
                HeartbeatConfig {
                    jitter_percent: 101,
                    ..good
                },
                Some(Bad::JitterTooLarge),
            ),
            (
                HeartbeatConfig {
                    request_timeout: Duration::from_millis(29_600),
                    ..good
                },
                None,
            ),
            (
                HeartbeatConfig {
                    request_timeout: Duration::from_millis(29_600).saturating_add(MS),
                    ..good
                },
                Some(Bad::BeatTooLate),
            ),
            (
                HeartbeatConfig {
                    liveness_ttl: Some(Duration::ZERO),
                    ..good
                },
                Some(Bad::LivenessTtlZero),
            ),
        ];
        for (config, error) in table {
            assert_eq!(config.validate().err(), error, "{config:?}");
        }
        assert_eq!(HeartbeatConfig::default(), good);
    }

    #[test]
    fn an_identity_has_names_that_the_server_takes() {
        use HeartbeatError as Bad;
        let (longest, longer) = ("a".repeat(253), "a".repeat(254));
        let node = HeartbeatIdentity::of_node("gw1");
        let with_uid = |uid| HeartbeatIdentity {
            node_uid: Some(uid),
            ..node
        };
        let forty = "u".repeat(40);
        let table = [
            (HeartbeatIdentity::new("a b"), None),
            (HeartbeatIdentity::of_node(&longest), None),
            (HeartbeatIdentity::new(""), Some(Bad::HolderEmpty)),
            (HeartbeatIdentity::new(&longer), Some(Bad::HolderTooLong)),
            (HeartbeatIdentity::new("a\"b"), Some(Bad::HolderCharacter)),
            (
                HeartbeatIdentity::of_node("A"),
                Some(Bad::NodeNameMalformed),
            ),
            (
                HeartbeatIdentity {
                    node: Some(""),
                    ..node
                },
                Some(Bad::NodeNameMalformed),
            ),
            (with_uid(&forty), None),
            (with_uid(""), Some(Bad::NodeUidMalformed)),
            (with_uid("a b"), Some(Bad::NodeUidMalformed)),
            (with_uid(&longer), Some(Bad::NodeUidMalformed)),
            (
                HeartbeatIdentity {
                    node: None,
                    ..with_uid("u")
                },
                Some(Bad::NodeUidWithoutNode),
            ),
        ];
        for (identity, error) in table {
            assert_eq!(identity.validate().err(), error, "{identity:?}");
        }
    }

    #[test]
    fn each_error_says_what_was_expected_and_found() {
        use HeartbeatError as Bad;
        let all = [
            Bad::LeaseDurationZero,
            Bad::LeaseDurationNotWholeSeconds,
            Bad::LeaseDurationTooLong,
            Bad::IntervalZero,
            Bad::RequestTimeoutZero,
            Bad::JitterTooLarge,
            Bad::BeatTooLate,
            Bad::LivenessTtlZero,
            Bad::HolderEmpty,
            Bad::HolderTooLong,
            Bad::HolderCharacter,
            Bad::NodeNameMalformed,
            Bad::NodeUidMalformed,
            Bad::NodeUidWithoutNode,
            Bad::OwnerRequiredWithoutNode,
            Bad::WatchWithoutNode,
        ];
        let mut texts = std::vec::Vec::new();
        for error in all {
            let text = error.to_string();
            assert!(
                text.starts_with("expected ") && text.contains(", found "),
                "{text}"
            );
            assert!(!texts.contains(&text), "{text}");
            texts.push(text);
        }
        assert_eq!(
            Bad::BeatTooLate.to_string(),
            "expected interval, jitter and request timeout within the lease duration, found a \
             longer sum"
        );
    }
}
