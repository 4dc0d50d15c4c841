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

    /// SIGSTOP, and waits until each thread has stopped: on a busy machine some go on for a while.
    /// What comes meanwhile waits in its sockets.
    ///
    /// # Panics
    /// Where one goes on for 10 s.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        self.wait_until("stop", || self.thread_states().all(|state| state == "T"));
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
        self.start_with(&[]);
    }

    /// Starts the process with further flags.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn start_with(&self, flags: &[&str]) {
        let script = self.folder.join(format!("start-{}", self.name));
        let mut command = Command::new(&script);
        let status = command.args(flags).status().expect("a script of `up`");
        assert!(status.success(), "{script:?} failed");
    }

    /// The process under another name, so that one more can be started in its place.
    ///
    /// # Panics
    /// Where it was not started yet.
    #[must_use]
    pub fn set_aside(&self, name: &'static str) -> Self {
        let aside = Self::new(&self.folder, name);
        let moved = fs::copy(self.pid_file(), aside.pid_file());
        moved.expect("a process id");
        aside
    }

    /// Waits until the process is gone.
    ///
    /// # Panics
    /// Where it is still there after 10 s.
    pub fn wait_for_end(&self) {
        self.wait_until("end", || !self.is_running());
    }

    /// Whether the process lives, or is dying and may still hold its ports.
    #[must_use]
    pub fn is_running(&self) -> bool {
        // Nobody may have collected the status of a process that has ended.
        self.thread_states().any(|state| state != "Z")
    }

    /// The states of the threads, as `ps` has them; none of a process that is gone.
    fn thread_states(&self) -> impl Iterator<Item = String> {
        let threads = format!("/proc/{}/task", self.pid().as_raw_nonzero());
        let threads = fs::read_dir(threads).into_iter().flatten().flatten();
        threads.filter_map(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
            let (_, state) = stat.rsplit_once(") ")?;
            state.split(' ').next().map(str::to_owned)
        })
    }

    fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..2_000 {
            if is_so() {
                return;
            }
            sleep(Duration::from_millis(5));
        }
        panic!("{} does not {what}", self.name);
    }

    fn signal(&self, signal: Signal) {
        let result = kill_process(self.pid(), signal);
        assert!(result.is_ok(), "{} is gone: {result:?}", self.name);
    }

    fn pid(&self) -> Pid {
        let text = fs::read_to_string(self.pid_file());
        let pid = text.ok().and_then(|text| text.trim().parse().ok());
        pid.and_then(Pid::from_raw).expect("a process id")
    }

    fn pid_file(&self) -> PathBuf {
        self.folder.join(format!("{}.pid", self.name))
    }
}
