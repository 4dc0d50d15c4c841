//! Leader election on a real cluster.
#![forbid(unsafe_code)]
