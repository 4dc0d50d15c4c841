//! Why a request can't be written.

use core::fmt;

use crate::protocol::StaleRequest;

/// Why a request can't be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The request is not in flight any more.
    StaleRequest,
    /// Its answer has begun, and took the place of what the request puts back.
    AnswerBegun,
    /// The buffer is too small.
    BufferTooSmall {
        /// How many bytes it takes.
        needed: usize,
    },
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleRequest => fmt::Display::fmt(&StaleRequest, f),
            Self::AnswerBegun => f.write_str(
                "expected a request without an answer, found one whose answer has begun",
            ),
            Self::BufferTooSmall { needed } => {
                write!(
                    f,
                    "expected a buffer of {needed} bytes, found a smaller one"
                )
            }
        }
    }
}

impl core::error::Error for RequestError {}
