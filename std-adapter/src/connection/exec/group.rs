//! The processes of a program: it, and all that it starts.

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A process group, which is killed where its program has not ended by itself. It has to be
/// dropped before its [`Child`], whose process keeps the number from others.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    leader: Option<Pid>,
}

impl Group {
    /// Gives the program a group of its own.
    pub(super) fn prepare(command: &mut Command) {
        #[cfg(unix)]
        command.process_group(0);
        command.kill_on_drop(true);
    }

    #[cfg(unix)]
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(Pid::from_raw);
        Self { leader }
    }

    /// There are no groups here: the program alone is killed.
    #[cfg(not(unix))]
    pub(super) const fn of(_: &Child) -> Self {
        Self {}
    }

    /// The program has ended: what it left behind, such as an agent that keeps what it found out,
    /// is none of ours.
    pub(super) const fn leave(&mut self) {
        #[cfg(unix)]
        {
            self.leader = None;
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // It fails where nobody is left.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}
