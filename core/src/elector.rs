//! Leader election.
mod config;
mod report;
mod timing;

pub use config::{Config, ConfigError, Create, IDENTITY_MAX, LABELS_MAX};
pub use report::Report;
pub use timing::{
    JITTER_PERCENT_DEFAULT, JITTER_PERCENT_MAX, MARGIN_MIN, REQUEST_TIMEOUT_DEFAULT_MAX, Timing,
    TimingError,
};
/// x
pub(crate) const LATE: crate::time::Duration = crate::time::Duration::from_millis(1);
/// y
pub(crate) const SLOWEST_RETRY: crate::time::Duration = crate::time::Duration::from_secs(30);
