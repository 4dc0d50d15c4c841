//! `run`'s side of the guard.

use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, WaitOptions, getpid, waitpid};
use tokio::net::UnixStream;
use tokio::time::sleep;

use super::descriptor;
use super::kill::{kill_tree, reap_children};
use super::words::{Bounds, Order, Report, take_line};

/// How long a guard that has nothing more to do may take to exit.
const GUARD_EXIT_MAX: Duration = Duration::from_secs(1);

/// Between two looks whether something has ended.
const TICK: Duration = Duration::from_millis(5);

/// How often what is left is killed before it is given up.
const SWEEPS_MAX: u32 = 1_000;

/// A guard and the command under it.
#[derive(Debug)]
pub(super) struct Keeper {
    guard: Child,
    control: UnixStream,
    read: Vec<u8>,
    group: Option<Pid>,
}

impl Keeper {
    /// Starts a guard, which starts the command.
    pub(super) fn start(
        command: &[OsString],
        environment: &[(&str, String)],
        bounds: Bounds,
    ) -> io::Result<Self> {
        let (here, there) = Pair::pair()?;
        let mut guard = Command::new("/proc/self/exe");
        guard
            .args(["guard-child", "--term-at"])
            .arg(bounds.term_at.as_millis().to_string())
            .arg("--kill-at")
            .arg(bounds.kill_at.as_millis().to_string())
            .arg("--")
            .args(command)
            // The server's credentials are none of the command's.
            .env_remove("KUBELEASE_TOKEN")
            .stdin(Stdio::from(OwnedFd::from(there)))
            .envs(environment.iter().map(|(name, value)| (name, value)));
        std::os::unix::process::CommandExt::arg0(&mut guard, "kubelease-guard");
        let guard = guard.spawn()?;
        descriptor::send(&here, io::stdin())?;
        here.set_nonblocking(true)?;
        Ok(Self {
            guard,
            control: UnixStream::from_std(here)?,
            read: Vec::new(),
            group: None,
        })
    }

    /// The guard's next word; `None` where it is dead. Dropping the future loses nothing.
    pub(super) async fn report(&mut self) -> Option<Report> {
        loop {
            if let Some(line) = take_line(&mut self.read) {
                let report = Report::parse(&line);
                if let Some(Report::Started(group)) = report {
                    self.group = Pid::from_raw(group);
                }
                return report;
            }
            self.control.readable().await.ok()?;
            let mut buffer = [0; 256];
            match self.control.try_read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => self.read.extend(buffer.iter().take(length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// Tells the guard something. A guard that takes nothing any more acts by what it was told
    /// before, and that is sooner.
    pub(super) fn order(&self, order: Order) {
        let line = order.to_line();
        let written = self.control.try_write(line.as_bytes());
        debug_assert!(written.is_err() || written.is_ok_and(|length| length == line.len()));
    }

    /// Kills the command with all that it started, past the guard. Its number is still taken: the
    /// guard does not reap it.
    pub(super) fn kill(&self) {
        kill_tree(self.group, Pid::from_child(&self.guard));
    }

    /// Ends a guard that has reported the end of the command.
    pub(super) async fn finish(mut self) {
        let mut waited = Duration::ZERO;
        while matches!(self.guard.try_wait(), Ok(None)) && waited < GUARD_EXIT_MAX {
            sleep(TICK).await;
            waited += TICK;
        }
        self.reap();
    }

    /// The guard is dead, or might as well be: kills it and everything. Says whether nothing is
    /// left.
    pub(super) async fn abandon(mut self) -> bool {
        self.kill();
        self.reap();
        for _ in 0..SWEEPS_MAX {
            let is_left = kill_tree(None, getpid());
            reap_children(None);
            if !is_left {
                return true;
            }
            sleep(TICK).await;
        }
        false
    }

    fn reap(&mut self) {
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        if let Some(group) = self.group {
            // The guard's children are this process's now.
            let _ = waitpid(Some(group), WaitOptions::NOHANG);
        }
    }
}
