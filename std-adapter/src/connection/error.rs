//! [`ConnectionError`]: why a way to the server can't be used.

use core::error::Error;
use core::fmt;

/// Why a way to the server can't be used: the file or the setting, what was expected of it and
/// what was found. It has no secret in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    place: String,
    expected: String,
    found: String,
}

impl ConnectionError {
    pub(crate) fn new(
        place: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The file, the member of it or the setting that is meant.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            expected,
            found,
        } = self;
        write!(f, "{place}: expected {expected}, found {found}")
    }
}

impl Error for ConnectionError {}
