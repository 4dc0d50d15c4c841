//! [`Process`]: a program that a test starts, and what it says.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::until;

/// A running program. It is killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it. All that it says goes to the end of `log`.
    ///
    /// # Errors
    /// Where there is no such program, or no log can be written.
    pub fn start(command: &mut Command, log: &Path) -> io::Result<Self> {
        let file: File = OpenOptions::new().append(true).create(true).open(log)?;
        command.stdin(Stdio::null());
        let command = command.stdout(file.try_clone()?).stderr(file);
        Ok(Self {
            child: command.spawn()?,
            log: log.to_owned(),
        })
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// Where the process has ended.
    pub fn signal(&self, signal: Signal) {
        let sent = kill_process(Pid::from_child(&self.child), signal);
        sent.expect("the process to run");
    }

    /// SIGKILL, and waits until the process is gone.
    ///
    /// # Panics
    /// Where the process has ended.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("an end");
    }

    /// SIGTERM, and waits for the end.
    ///
    /// # Panics
    /// Where it is not over within 10 s, or with another exit code than 0.
    pub async fn terminate(mut self) {
        self.signal(Signal::TERM);
        let mut status = None;
        let patience = core::time::Duration::from_secs(10);
        until("an end after SIGTERM", patience, async || {
            status = self.child.try_wait().expect("a status");
            status.is_some()
        })
        .await;
        let code = status.and_then(|status| status.code());
        assert_eq!(code, Some(0), "it said: {}", self.said());
    }

    /// All that it and those before it have written to this log.
    #[must_use]
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
