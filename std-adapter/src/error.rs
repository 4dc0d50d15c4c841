//! What can go wrong before an elector, a heartbeat or a fleet starts, and after it has stopped.

use core::error::Error;
use core::fmt;

use kubelease_core::elector::ConfigError;
use kubelease_core::heartbeat::HeartbeatError;
use kubelease_core::session::RequestError;
use kubelease_core::wire::path::PathError;

use crate::connection::ConnectionError;

/// Why an elector, a heartbeat or a fleet was not started. Nothing runs then, and nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// A setting without a default was not given: its name.
    Missing(&'static str),
    /// There is no way to the server: the file or the setting that is wrong.
    Connection(ConnectionError),
    /// The namespace or the name of the lease is none.
    Path(PathError),
    /// Identity, timing or labels.
    Config(ConfigError),
    /// How to beat.
    Heartbeat(HeartbeatError),
    /// This system has no known clock that counts the time in suspend.
    NoClock,
    /// There is no tokio runtime here.
    NoRuntime,
    /// The operating system gives no random bytes for identity and jitter.
    NoRandomness,
    /// A part of the annotation lock can't stand in a path or an object: its name.
    AnnotationLock(&'static str),
    /// An object other than a Lease is not to be created by PUT: without a version that would
    /// write over what somebody else has just made.
    CreateByPut,
    /// An object other than a Lease is not watched.
    WatchOfAnnotation,
    /// The operating system gives no thread, or no event queue for one.
    NoThread,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(setting) => write!(f, "{setting}: expected a value, found none"),
            Self::Connection(error) => write!(f, "{error}"),
            Self::Path(error) => write!(f, "namespace or name: {error}"),
            Self::Config(error) => write!(f, "identity, timing or labels: {error}"),
            Self::Heartbeat(error) => write!(f, "heartbeat: {error}"),
            Self::NoClock => f.write_str(
                "clock: expected one that counts suspend, found none on this system; give one of \
                 your own",
            ),
            Self::NoRuntime => {
                f.write_str("expected to be called inside a tokio runtime, found none")
            }
            Self::NoRandomness => {
                f.write_str("expected random bytes from the operating system, found none")
            }
            Self::AnnotationLock(part) => write!(
                f,
                "annotation lock: {part}: expected one by the rules of Kubernetes, found another"
            ),
            Self::CreateByPut => {
                f.write_str("create: expected POST for an annotation lock, found PUT")
            }
            Self::WatchOfAnnotation => {
                f.write_str("watch: expected polling for an annotation lock, found a watch")
            }
            Self::NoThread => f.write_str(
                "dedicated_thread: expected a thread and its event queue from the operating \
                 system, found none",
            ),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connection(error) => Some(error),
            Self::Path(error) => Some(error),
            Self::Config(error) => Some(error),
            Self::Heartbeat(error) => Some(error),
            Self::Missing(_)
            | Self::NoClock
            | Self::NoRuntime
            | Self::NoRandomness
            | Self::AnnotationLock(_)
            | Self::CreateByPut
            | Self::WatchOfAnnotation
            | Self::NoThread => None,
        }
    }
}

/// Why an elector or a heartbeat did not stop as asked. It leads and beats no more in any case, but
/// its lease may be held until it has run out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShutdownError {
    /// The task ended before it was asked to: it panicked, or its runtime was shut down.
    TaskDied,
    /// The task ended at a request that it could not write.
    Request(RequestError),
    /// Work went on although it was cancelled, so nothing was released: another must not lead
    /// before it has ended, or the lease has run out.
    WorkStuck,
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TaskDied => f.write_str("expected the task to stop when asked, found it dead"),
            Self::Request(error) => write!(f, "expected a request to be written: {error}"),
            Self::WorkStuck => f.write_str(
                "expected cancelled work to end, found it going on; the lease was not released",
            ),
        }
    }
}

impl Error for ShutdownError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::TaskDied | Self::WorkStuck => None,
            Self::Request(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use kubelease_core::elector::TimingError;

    use super::*;

    #[test]
    fn messages_name_the_setting() {
        let cases = [
            (
                StartError::Missing("server"),
                "server: expected a value, found none",
            ),
            (
                StartError::Connection(ConnectionError::new(
                    "ca_pem",
                    "at least one certificate in PEM",
                    "none",
                )),
                "ca_pem: expected at least one certificate in PEM, found none",
            ),
            (
                StartError::Path(PathError::NameEmpty),
                "namespace or name: expected a lease name, found an empty text",
            ),
            (
                StartError::Config(ConfigError::Timing(TimingError::LeaseDurationZero)),
                "identity, timing or labels: expected a lease duration of at least 1 s, found zero",
            ),
            (
                StartError::AnnotationLock("plural"),
                "annotation lock: plural: expected one by the rules of Kubernetes, found another",
            ),
            (
                StartError::CreateByPut,
                "create: expected POST for an annotation lock, found PUT",
            ),
            (
                StartError::WatchOfAnnotation,
                "watch: expected polling for an annotation lock, found a watch",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
        assert_eq!(
            ShutdownError::TaskDied.to_string(),
            "expected the task to stop when asked, found it dead"
        );
    }
}
