//! [`Config`]: who runs for election, and how.

use core::fmt;

use super::timing::{Timing, TimingError};
use crate::lease::Label;
use crate::time::Duration;

/// Longest identity: a Kubernetes name. Longer ones would not fit into an event either.
pub const IDENTITY_MAX: usize = 253;

/// Most labels that an elector asserts.
pub const LABELS_MAX: usize = 4;

/// Longest label key (prefix of 253, `/`, name of 63) and value.
const LABEL_KEY_MAX: usize = 317;
const LABEL_VALUE_MAX: usize = 63;

/// What an elector is told once.
///
/// ```
/// use kubelease_core::elector::{Config, Timing};
///
/// let config = Config { timing: Timing::EDGE, ..Config::new("gateway-7_1c9f") };
/// assert!(config.validate().is_ok());
/// ```
#[expect(
    clippy::exhaustive_structs,
    reason = "users write it with `..Config::new(identity)`"
)]
#[derive(Clone, Copy, Debug)]
pub struct Config<'a> {
    /// The name of this candidate: 1 to [`IDENTITY_MAX`] bytes without control characters, `"`
    /// and `\`. Unique for each living process; one that is not costs leadership, not safety.
    pub identity: &'a str,
    /// The durations; [`Timing::KUBERNETES`] unless said.
    pub timing: Timing,
    /// Labels asserted on each write that acquires, at most [`LABELS_MAX`]; all others are kept.
    pub labels: &'a [Label<'a>],
    /// What to do where there is no lease; [`Create::Post`] unless said.
    pub create: Create,
    /// Whether a record of this identity that an earlier life left is waited out like anybody's;
    /// off unless said: it is taken over at once.
    pub treat_own_as_foreign: bool,
    /// Take a lease at once where its `renewTime` is past by the duration and this much more,
    /// judged by the server's clock. Off unless said: it rests on the clock of every writer.
    pub trust_renew_time: Option<Duration>,
    /// How long giving up the lease may take; the renew deadline unless said.
    pub release_budget: Option<Duration>,
    /// Seeds the jitter. Give each process its own; nothing secret is made of it.
    pub seed: u64,
}

/// What to do where there is no lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Create {
    /// POST to the collection: needs `create` on all leases of the namespace.
    #[default]
    Post,
    /// PUT to the lease's own URL, which a Role with `resourceNames` can grant.
    Put,
    /// Never create; wait until somebody has.
    Never,
}

impl<'a> Config<'a> {
    /// The defaults for this identity.
    #[must_use]
    pub const fn new(identity: &'a str) -> Self {
        Self {
            identity,
            timing: Timing::KUBERNETES,
            labels: &[],
            create: Create::Post,
            treat_own_as_foreign: false,
            trust_renew_time: None,
            release_budget: None,
            seed: 0,
        }
    }

    /// Checks everything that an elector rests on.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_identity(self.identity)?;
        self.timing.validate().map_err(ConfigError::Timing)?;
        if self.labels.len() > LABELS_MAX {
            return Err(ConfigError::TooManyLabels);
        }
        if self.labels.iter().all(label_is_valid) {
            Ok(())
        } else {
            Err(ConfigError::LabelInvalid)
        }
    }

    pub(crate) fn release_budget(&self) -> Duration {
        self.release_budget.unwrap_or(self.timing.renew_deadline)
    }
}

/// Checks an identity.
fn check_identity(identity: &str) -> Result<(), ConfigError> {
    if identity.is_empty() {
        return Err(ConfigError::IdentityEmpty);
    }
    if identity.len() > IDENTITY_MAX {
        return Err(ConfigError::IdentityTooLong);
    }
    let refused = |c: char| c.is_control() || c == '"' || c == '\\';
    if identity.contains(refused) {
        Err(ConfigError::IdentityCharacter)
    } else {
        Ok(())
    }
}

/// The server's own rule: letters, digits, `-`, `_`, `.`, and one `/` in keys.
fn label_is_valid(label: &Label<'_>) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let key = label.key.as_bytes();
    let slashes = key.iter().filter(|byte| **byte == b'/').count();
    !key.is_empty()
        && key.len() <= LABEL_KEY_MAX
        && slashes <= 1
        && key.iter().all(|byte| plain(*byte) || *byte == b'/')
        && label.value.len() <= LABEL_VALUE_MAX
        && label.value.bytes().all(plain)
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigError {
    /// The identity is empty.
    IdentityEmpty,
    /// The identity is longer than [`IDENTITY_MAX`] bytes.
    IdentityTooLong,
    /// The identity has a control character, `"` or `\`.
    IdentityCharacter,
    /// A relation between durations does not hold.
    Timing(TimingError),
    /// More than [`LABELS_MAX`] labels.
    TooManyLabels,
    /// A label that the server would refuse.
    LabelInvalid,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdentityEmpty => f.write_str("expected an identity, found an empty one"),
            Self::IdentityTooLong => {
                f.write_str("expected an identity of at most 253 bytes, found a longer one")
            }
            Self::IdentityCharacter => f.write_str(
                "expected an identity without control characters, quotes and backslashes, \
                 found one of them",
            ),
            Self::Timing(error) => error.fmt(f),
            Self::TooManyLabels => f.write_str("expected at most 4 labels, found more"),
            Self::LabelInvalid => {
                f.write_str("expected labels by the rules of Kubernetes, found another")
            }
        }
    }
}

impl core::error::Error for ConfigError {}
