//! [`Log`]: what a candidate does, for a checker to read.
//!
//! A line is microseconds of the boot clock and a word: `start IDENTITY`, `started`, `leads`,
//! `stopped`, `leader NAME`, `end`, and whatever else a candidate has to say. Each line is one
//! write, so that a kill loses none.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

/// An open log. Threads may share it.
#[derive(Debug)]
pub struct Log {
    file: File,
}

impl Log {
    /// Opens a file to append to.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { file })
    }

    /// Writes a line.
    ///
    /// # Panics
    /// Where it cannot: a candidate without a log proves nothing.
    pub fn line(&self, text: &str) {
        let line = format!("{} {text}\n", now_us());
        (&self.file).write_all(line.as_bytes()).expect("a log");
    }
}

/// The boot clock, which goes on in suspend, in microseconds.
#[must_use]
pub fn now_us() -> i64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec
        .saturating_mul(1_000_000)
        .saturating_add(now.tv_nsec / 1_000)
}

/// The civil clock, in microseconds since 1970.
#[must_use]
pub fn wall_us() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec
        .saturating_mul(1_000_000)
        .saturating_add(now.tv_nsec / 1_000)
}
