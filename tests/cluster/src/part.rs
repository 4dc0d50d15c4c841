//! [`Part`]: a process of the cluster, and what befalls it.

use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;

use rustix::process::{Pid, Signal, kill_process};

/// A process that `up` started: it can be stopped, ended and started again.
#[derive(Clone, Debug)]
pub struct Part {
    folder: PathBuf,
    name: &'static str,
}

impl Part {
    pub(crate) fn new(folder: &Path, name: &'static str) -> Self {
        Self {
            folder: folder.to_owned(),
            name,
        }
    }

    /// SIGSTOP. What comes meanwhile waits in its sockets.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGKILL, and waits until the process is gone.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
        self.wait_for_end();
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Starts the process, and does not wait until it serves.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn start(&self) {
        let script = self.folder.join(format!("start-{}", self.name));
        let status = Command::new(&script).status().expect("a script of `up`");
        assert!(status.success(), "{script:?} failed");
    }

    /// Waits until the process is gone.
    ///
    /// # Panics
    /// Where it is still there after 10 s.
    pub fn wait_for_end(&self) {
        for _ in 0..500 {
            if !self.is_running() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        panic!("{} does not end", self.name);
    }

    /// Whether the process lives, or is dying and may still hold its ports.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let process = format!("/proc/{}", self.pid().as_raw_nonzero());
        // Nobody may have collected the status of a process that has ended.
        let Ok(stat) = fs::read_to_string(format!("{process}/stat")) else {
            return false;
        };
        let threads = fs::read_dir(format!("{process}/task")).map_or(0, Iterator::count);
        !stat.contains(") Z ") || threads > 1
    }

    fn signal(&self, signal: Signal) {
        let result = kill_process(self.pid(), signal);
        assert!(result.is_ok(), "{} is gone: {result:?}", self.name);
    }

    fn pid(&self) -> Pid {
        let text = fs::read_to_string(self.folder.join(format!("{}.pid", self.name)));
        let pid = text.ok().and_then(|text| text.trim().parse().ok());
        pid.and_then(Pid::from_raw).expect("a process id")
    }
}
