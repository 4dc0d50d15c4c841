//! Leader election on a real cluster.
#![forbid(unsafe_code)]

#[cfg(feature = "testing")]
pub mod testing;
