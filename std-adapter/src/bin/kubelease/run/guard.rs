//! The guard: a second small process, which ends the command in time whatever becomes of `run`.
//!
//! It is the parent of the command, in a session of its own, so that what stops, kills or hangs
//! `run` or its process group does not reach it. It knows one thing: until when the command may
//! run. At that instant it kills the command with all that it started, stopped or not, unless it
//! was told a later one before.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;

use clap::Args;
use kubelease::kubelease_core::time::Duration;
use kubelease::{Clock, Instant, SystemClock};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, pidfd_open,
    set_child_subreaper, setsid, waitid,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::descriptor;
use super::kill::{kill_tree, reap_children, signal_group};
use super::words::{Bounds, Order, Report, take_line};
use crate::exit::Outcome;

/// What is not dead by then is tried again.
const KILL_AGAIN: Duration = Duration::from_millis(20);

/// What the kernel does not let die, such as a frozen or hanging one, is tried ever more rarely, up
/// to this: each try looks at all processes.
const KILL_AGAIN_MAX: Duration = Duration::from_secs(1);

/// How often what the command left behind is killed before the guard gives up on it.
const SWEEPS_MAX: u32 = 250;

/// What the guard begins with.
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// When the command gets SIGTERM, in milliseconds of the clock that counts suspend.
    #[arg(long)]
    pub(super) term_at: u64,
    /// When it gets SIGKILL.
    #[arg(long)]
    pub(super) kill_at: u64,
    #[arg(last = true, required = true)]
    pub(super) command: Vec<OsString>,
}

/// Starts the command and guards it to its end. Standard input is the line to `run`, from which
/// the command's own standard input comes first.
pub(crate) fn run(args: GuardArgs) -> Outcome {
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdin = descriptor::receive(&control)?;
    let bounds = Bounds {
        term_at: Instant::from_millis(args.term_at),
        kill_at: Instant::from_millis(args.kill_at),
    };
    if now() >= bounds.term_at {
        // It was stopped on its way here, and nothing has begun.
        tell(&control, Report::TooLate);
        return Ok(0);
    }
    let group = spawn(&args.command, stdin)?;
    tell(&control, Report::Started(group.as_raw_nonzero().get()));
    let report = Guard::new(control.try_clone()?, group, bounds)?.watch()?;
    tell(&control, report);
    // The command is not reaped, so that its number stays taken until `run` has read this.
    Ok(0)
}

/// The program itself, also where its file was replaced since.
const MYSELF: &str = "/proc/self/exe";

fn spawn(command: &[OsString], stdin: OwnedFd) -> io::Result<Pid> {
    let child = Command::new(MYSELF)
        .arg0("kubelease")
        .args(["exec-child", "--guard"])
        .arg(getpid().as_raw_nonzero().to_string())
        .arg("--")
        .args(command)
        .stdin(Stdio::from(stdin))
        .process_group(0)
        .spawn()?;
    Ok(Pid::from_child(&child))
}

fn tell(mut control: &UnixStream, report: Report) {
    // It fails where `run` is dead, and then nobody wants to know.
    let _ = control.write_all(report.to_line().as_bytes());
}

fn now() -> Instant {
    SystemClock::new().now().instant
}

/// One command under guard.
#[derive(Debug)]
struct Guard {
    control: UnixStream,
    /// Whether `run` still holds the other end.
    is_orphan: bool,
    read: Vec<u8>,
    group: Pid,
    pidfd: OwnedFd,
    timer: OwnedFd,
    bounds: Bounds,
    /// Whether the command was told to end.
    is_told: bool,
    /// Between this kill and the next.
    kill_again: Duration,
}

impl Guard {
    fn new(control: UnixStream, group: Pid, bounds: Bounds) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        Ok(Self {
            control,
            is_orphan: false,
            read: Vec::new(),
            group,
            pidfd: pidfd_open(group, PidfdFlags::empty())?,
            timer: timerfd_create(
                TimerfdClockId::Boottime,
                TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
            )?,
            bounds,
            is_told: false,
            kill_again: KILL_AGAIN,
        })
    }

    /// Guards the command to its end, and what it started with it.
    fn watch(mut self) -> io::Result<Report> {
        let status = loop {
            if let Some(status) = self.ended()? {
                break status;
            }
            let wake_at = self.act(now());
            self.wait(wake_at)?;
            self.read_orders();
        };
        if !self.sweep() {
            return Ok(Report::Survived);
        }
        let signal = status.terminating_signal().map(Report::Signaled);
        Ok(signal.unwrap_or_else(|| Report::Exited(status.exit_status().unwrap_or_default())))
    }

    /// How the command ended, if it has. It stays a zombie, and its number taken.
    fn ended(&self) -> io::Result<Option<WaitIdStatus>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.group), options)?)
    }

    /// Does what is due at `now`; answers with when there is more to do.
    fn act(&mut self, now: Instant) -> Instant {
        let Bounds { term_at, kill_at } = self.bounds;
        if now >= kill_at {
            kill_tree(Some(self.group), getpid());
            let next = now.saturating_add(self.kill_again);
            self.kill_again = KILL_AGAIN_MAX.min(self.kill_again.saturating_mul(2));
            return next;
        }
        if now >= term_at && !self.is_told {
            self.is_told = true;
            signal_group(self.group, Signal::TERM);
            // A stopped process hears SIGTERM only once it goes on.
            signal_group(self.group, Signal::CONT);
        }
        if self.is_told {
            kill_at
        } else {
            term_at.min(kill_at)
        }
    }

    /// Waits for the instant, an order or the end of the command.
    fn wait(&self, until: Instant) -> io::Result<()> {
        let millis = until.as_millis().max(1);
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: (millis / 1_000).try_into().unwrap_or(i64::MAX),
                tv_nsec: (millis % 1_000 * 1_000_000).try_into().unwrap_or(0),
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        let mut sources = vec![
            PollFd::new(&self.timer, PollFlags::IN),
            PollFd::new(&self.pidfd, PollFlags::IN),
        ];
        if !self.is_orphan {
            sources.push(PollFd::new(&self.control, PollFlags::IN));
        }
        match poll(&mut sources, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn read_orders(&mut self) {
        let mut buffer = [0; 256];
        loop {
            match self.control.read(&mut buffer) {
                Ok(0) => return self.is_left_alone(),
                Ok(length) => self.read.extend(buffer.iter().take(length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.is_left_alone(),
            }
        }
        while let Some(line) = take_line(&mut self.read) {
            match Order::parse(&line) {
                Some(Order::Bounds(bounds)) => self.bounds = bounds,
                Some(Order::Signal(number)) => {
                    if let Some(signal) = Signal::from_named_raw(number) {
                        signal_group(self.group, signal);
                    }
                }
                None => {}
            }
        }
        reap_children(Some(self.group));
    }

    /// `run` is dead: nobody will renew, so that the command is told at once, and has what is left
    /// of its time.
    fn is_left_alone(&mut self) {
        if !self.is_orphan {
            self.is_orphan = true;
            self.bounds.term_at = now();
        }
    }

    /// Kills what the command left behind; says whether nothing is left.
    fn sweep(&self) -> bool {
        for _ in 0..SWEEPS_MAX {
            let is_left = kill_tree(Some(self.group), getpid());
            reap_children(Some(self.group));
            if !is_left {
                return true;
            }
            sleep(KILL_AGAIN.into());
        }
        false
    }
}
