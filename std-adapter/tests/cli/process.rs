//! Processes of a test: what is started, who its children are, and that nothing is left.

use core::time::Duration;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Far longer than anything takes here, on the slowest machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The command, in a process group of its own.
pub(crate) fn kubelease<I: AsRef<OsStr>>(words: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubelease"));
    command
        .args(words)
        .env_remove("KUBELEASE_SERVER")
        .env_remove("KUBELEASE_TOKEN")
        .process_group(0);
    command
}

/// Runs it to its end.
pub(crate) fn output(words: &[&str]) -> Output {
    kubelease(words).stdin(Stdio::null()).output().unwrap()
}

/// A process of a test, which takes everything below it along.
#[derive(Debug)]
pub(crate) struct Job(Child);

impl Job {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// What it prints, where that was piped.
    pub(crate) fn outputs(&mut self) -> (ChildStdout, ChildStderr) {
        (self.0.stdout.take().unwrap(), self.0.stderr.take().unwrap())
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).unwrap();
    }

    /// The exit code, once there is one; `None` after a signal.
    pub(crate) fn code(&mut self) -> Option<i32> {
        let mut status = None;
        until("an exit", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    /// The guard, once it is there.
    pub(crate) fn guard(&self) -> Pid {
        child_of(self.pid())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server in a process of its own, and its URL.
pub(crate) fn dev_server(options: &[&str]) -> (Job, String) {
    let words = [&["dev-server"], options].concat();
    let mut job = Job::start(kubelease(words).stdout(Stdio::piped()));
    let mut url = String::new();
    BufReader::new(job.0.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    (job, url.trim().to_owned())
}

/// The first child of a process, once it has one.
pub(crate) fn child_of(parent: Pid) -> Pid {
    let parent = parent.as_raw_nonzero();
    let path = format!("/proc/{parent}/task/{parent}/children");
    let mut child = None;
    until("a child", || {
        let children = fs::read_to_string(&path).unwrap_or_default();
        let first = children.split_whitespace().next();
        child = first.and_then(|first| Pid::from_raw(first.parse().unwrap()));
        child.is_some()
    });
    child.unwrap()
}

/// Whether a process is there, and no zombie.
pub(crate) fn is_alive(pid: Pid) -> bool {
    Stat::of(pid).is_some_and(|stat| !stat.is_zombie())
}

/// What proc_pid_stat(5) says of a process behind its name, which may have blanks in it.
struct Stat(Vec<String>);

impl Stat {
    fn of(pid: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        Some(Self(fields.split_whitespace().map(str::to_owned).collect()))
    }

    /// A field by its number in the manual page, 3 or higher.
    fn field(&self, number: usize) -> &str {
        self.0
            .get(number - 3)
            .expect("the kernel writes all fields")
    }

    fn is_zombie(&self) -> bool {
        self.field(3) == "Z"
    }
}

/// Whether a process is dead, or about to be: the kernel may take a moment to end it.
pub(crate) fn is_killed(pid: Pid) -> bool {
    const SIGKILL: u64 = 1 << 8;
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    let Ok(status) = status else { return true };
    let pending = |name| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & SIGKILL != 0
    };
    !is_alive(pid) || pending("SigPnd:") || pending("ShdPnd:")
}

/// The session of a process: 0 where its leader can't be seen from here, as in a container.
pub(crate) fn session_of(pid: Pid) -> i32 {
    Stat::of(pid).unwrap().field(6).parse().unwrap()
}

/// What a process has of the processor until it is no more, a zombie apart.
pub(crate) fn cpu_until_gone(pid: Pid) -> Duration {
    // There are a hundred ticks in a second on every Linux.
    const TICK: Duration = Duration::from_millis(10);
    let mut ticks = 0;
    until("its end", || {
        let Some(stat) = Stat::of(pid) else {
            return true;
        };
        // A zombie still has its times.
        let ticks_of = |field| stat.field(field).parse::<u32>().unwrap();
        ticks = ticks_of(14) + ticks_of(15);
        stat.is_zombie()
    });
    TICK * ticks
}

/// Waits until `holds`; answers with how long that took.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = instant();
    while !holds() {
        assert!(start.elapsed() < LONG, "{what}: not within {LONG:?}");
        sleep(Duration::from_millis(2));
    }
    start.elapsed()
}

#[expect(clippy::disallowed_methods, reason = "tests measure real time")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}
