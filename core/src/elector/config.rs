//! [`Config`]: who runs for election, and how.

use core::fmt;

use super::timing::{Timing, TimingError};
use crate::dns;
use crate::identity::{self, IdentityFault};
use crate::lease::Label;
use crate::time::Duration;

/// Longest identity: as long as the name of any object.
pub const IDENTITY_MAX: usize = identity::IDENTITY_MAX;

/// Most labels that an elector asserts.
pub const LABELS_MAX: usize = 4;

/// Longest value of a label, and longest part of its key after the `/`.
const LABEL_NAME_MAX: usize = 63;

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
    /// and `\`. It has to be unique for each living process: a second one with the same identity
    /// takes the lease over at once, as a restart does, and both lead until the first finds out at
    /// its next renewal, or its renew deadline. The setting
    /// [`treat_own_as_foreign`](Self::treat_own_as_foreign) closes that gap: restarts wait, too.
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
    /// How long giving up the lease may take; the renew deadline unless said. With zero it is not
    /// even tried: others wait for the lease duration.
    pub release_budget: Option<Duration>,
    /// Seeds the jitter. Give each process its own, or all look at the same moments; nothing secret
    /// is made of it.
    pub seed: u64,
}

/// A configuration that was checked: an elector can be made of it without fail, in place.
#[derive(Clone, Copy, Debug)]
pub struct CheckedConfig<'a>(pub(super) Config<'a>);

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
        identity::check(self.identity)?;
        self.timing.validate().map_err(ConfigError::Timing)?;
        if self.labels.len() > LABELS_MAX {
            return Err(ConfigError::TooManyLabels);
        }
        if !self.labels.iter().all(label_is_valid) {
            return Err(ConfigError::LabelInvalid);
        }
        let times = |key: &str| self.labels.iter().filter(|label| label.key == key).count();
        if self.labels.iter().any(|label| times(label.key) > 1) {
            return Err(ConfigError::LabelTwice);
        }
        Ok(())
    }

    /// The configuration, where [`validate`](Self::validate) finds nothing wrong with it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn checked(self) -> Result<CheckedConfig<'a>, ConfigError> {
        self.validate()?;
        Ok(CheckedConfig(self))
    }

    pub(crate) fn release_budget(&self) -> Duration {
        self.release_budget.unwrap_or(self.timing.renew_deadline)
    }
}

impl From<IdentityFault> for ConfigError {
    fn from(fault: IdentityFault) -> Self {
        match fault {
            IdentityFault::Empty => Self::IdentityEmpty,
            IdentityFault::TooLong => Self::IdentityTooLong,
            IdentityFault::Character => Self::IdentityCharacter,
        }
    }
}

/// The server's own rule (`IsQualifiedName` and `IsValidLabelValue` of apimachinery): a name,
/// behind a DNS subdomain and `/` where there is one; a value is like a name, or empty.
fn label_is_valid(label: &Label<'_>) -> bool {
    let key = label.key.as_bytes();
    let prefix_length = key.iter().position(|byte| *byte == b'/');
    let name = match prefix_length.and_then(|length| key.split_at_checked(length)) {
        Some((prefix, [_, name @ ..])) if is_label_prefix(prefix) => name,
        Some(_) => return false,
        None => key,
    };
    is_label_name(name) && (label.value.is_empty() || is_label_name(label.value.as_bytes()))
}

fn is_label_prefix(text: &[u8]) -> bool {
    text.len() <= dns::SUBDOMAIN_MAX && dns::is_subdomain(text)
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_label_name(text: &[u8]) -> bool {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= LABEL_NAME_MAX
        && is_edge(text.first())
        && is_edge(text.last())
        && text.iter().all(is_inner)
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
    /// Two labels with one key.
    LabelTwice,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdentityEmpty => f.write_str("expected an identity, found an empty one"),
            Self::IdentityTooLong => {
                write!(
                    f,
                    "expected an identity of at most {IDENTITY_MAX} bytes, found a longer one"
                )
            }
            Self::IdentityCharacter => f.write_str(
                "expected an identity without control characters, quotes and backslashes, \
                 found one of them",
            ),
            Self::Timing(error) => error.fmt(f),
            Self::TooManyLabels => write!(f, "expected at most {LABELS_MAX} labels, found more"),
            Self::LabelInvalid => {
                f.write_str("expected labels by the rules of Kubernetes, found another")
            }
            Self::LabelTwice => f.write_str("expected each label once, found one twice"),
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};

    use super::*;

    fn labels_error(labels: &[Label<'_>]) -> Option<ConfigError> {
        Config {
            labels,
            ..Config::new("a")
        }
        .validate()
        .err()
    }

    #[test]
    fn labels_keep_the_rules_of_the_server() {
        let long = "n".repeat(63);
        let prefix = [long.as_str(); 4].join(".")[..253].to_string();
        let longest = std::format!("{prefix}/{long}");
        for key in ["a", "A-b_c.9", "example.com/zone", "x/y", longest.as_str()] {
            assert_eq!(labels_error(&[Label { key, value: "" }]), None, "{key}");
        }
        let too_long = std::format!("{long}n");
        let far_too_long = std::format!("n{prefix}/x");
        let bad = [
            "",
            "/",
            "a/",
            "/a",
            "-a",
            "a.",
            "a b",
            "a/b/c",
            "Example.com/a",
            "é",
        ];
        for key in bad
            .into_iter()
            .chain([too_long.as_str(), far_too_long.as_str()])
        {
            let error = labels_error(&[Label { key, value: "" }]);
            assert_eq!(error, Some(ConfigError::LabelInvalid), "{key}");
        }
        for (value, good) in [("", true), ("A.b-c_9", true), ("-", false), ("a/b", false)] {
            assert_eq!(
                labels_error(&[Label { key: "k", value }]).is_none(),
                good,
                "{value}"
            );
        }
    }

    #[test]
    fn a_label_can_be_given_once_and_four_at_most() {
        let label = |key| Label { key, value: "v" };
        let twice = [label("a"), label("b"), label("a")];
        assert_eq!(labels_error(&twice), Some(ConfigError::LabelTwice));
        let five = ["a", "b", "c", "d", "e"].map(label);
        assert_eq!(labels_error(&five), Some(ConfigError::TooManyLabels));
        assert_eq!(labels_error(&five[1..]), None);
    }

    #[test]
    fn each_error_says_what_was_expected() {
        let timing = TimingError::MarginTooSmall;
        let texts = [
            (
                ConfigError::IdentityEmpty,
                "expected an identity, found an empty one",
            ),
            (
                ConfigError::IdentityTooLong,
                "expected an identity of at most 253 bytes, found a longer one",
            ),
            (
                ConfigError::IdentityCharacter,
                "expected an identity without control characters, quotes and backslashes, found \
                 one of them",
            ),
            (
                ConfigError::TooManyLabels,
                "expected at most 4 labels, found more",
            ),
            (
                ConfigError::LabelInvalid,
                "expected labels by the rules of Kubernetes, found another",
            ),
            (
                ConfigError::LabelTwice,
                "expected each label once, found one twice",
            ),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
        let of_timing: String = ConfigError::Timing(timing).to_string();
        assert_eq!(of_timing, timing.to_string());
    }
}
