//! Killing a command with all that it started.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process_group, pidfd_open,
    pidfd_send_signal, waitpid,
};

/// Sends `signal` to a process group, of which nobody may be left.
pub(super) fn signal_group(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}

/// Kills a process group and everything below `root`, whatever group or session it is in by now;
/// `root` itself lives. Says whether anything was left to kill.
///
/// Whoever orphans a process under a subreaper inherits it, so that no double fork leads out of
/// the tree. Without `/proc` the group alone is killed.
pub(super) fn kill_tree(group: Option<Pid>, root: Pid) -> bool {
    if let Some(group) = group {
        signal_group(group, Signal::KILL);
    }
    let living: Vec<Process> = descendants(root)
        .into_iter()
        .filter(|process| !process.is_zombie)
        .collect();
    for process in &living {
        kill_one(process);
    }
    !living.is_empty()
}

/// Reaps the children of this process that have ended, but for `except`.
pub(super) fn reap_children(except: Option<Pid>) {
    let me = getpid();
    let path = format!("/proc/{0}/task/{0}/children", me.as_raw_nonzero());
    // A kernel without this file keeps a few zombies until the end of the term.
    for word in fs::read_to_string(path).unwrap_or_default().split(' ') {
        let pid = word.parse().ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|pid| Some(*pid) != except) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// A process, as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: i32,
    is_zombie: bool,
    /// In ticks since the start of the system: two processes with one number differ in it.
    started: u64,
}

/// Kills a process if it still is the one that was seen: its number could have been used again.
fn kill_one(seen: &Process) {
    let Ok(pidfd) = pidfd_open(seen.pid, PidfdFlags::empty()) else {
        return;
    };
    let found = process(seen.pid.as_raw_nonzero().get());
    if found.is_some_and(|found| found.started == seen.started) {
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
    }
}

fn descendants(root: Pid) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let Some(process) = pid.and_then(process) {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut parents = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        if !seen.insert(parent) {
            continue;
        }
        for process in children.get(&parent).into_iter().flatten() {
            parents.push(process.pid.as_raw_nonzero().get());
            found.push(*process);
        }
    }
    found
}

fn process(pid: i32) -> Option<Process> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Takes fields 1, 3, 4, 20 and 22 of proc_pid_stat(5); the name between may have blanks and
/// parentheses of its own.
fn parse_stat(stat: &str) -> Option<Process> {
    let pid = Pid::from_raw(stat.split_once(' ')?.0.parse().ok()?)?;
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    let state = rest.next()?;
    let parent = rest.next()?.parse().ok()?;
    let threads: u32 = rest.nth(15)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        // Where only the first thread has ended the others go on.
        is_zombie: matches!(state, "Z" | "X") && threads <= 1,
        started: rest.nth(1)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_hides_nothing() {
        let rest = "12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 8877 0";
        let process = parse_stat(&format!("12 (a) Z 1 (b) S 7 {rest}")).unwrap();
        let found = (process.parent, process.is_zombie, process.started);
        assert_eq!(found, (7, false, 8877));
        assert!(parse_stat(&format!("12 (x) Z 7 {rest}")).unwrap().is_zombie);
        let threads = rest.replace(" 20 0 1 0 8877", " 20 0 2 0 8877");
        let process = parse_stat(&format!("12 (x) Z 7 {threads}")).unwrap();
        assert!(!process.is_zombie, "one thread of two is left");
        assert_eq!(parse_stat("12 (x) S 7 1 2"), None);
        assert_eq!(parse_stat("12 (x"), None);
    }

    #[test]
    fn a_grandchild_is_a_descendant() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60; true"])
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let mut below = Vec::new();
        // Its own child takes a moment to appear.
        while below.is_empty() {
            below = descendants(pid);
        }
        let all = descendants(getpid());
        assert!(all.iter().any(|process| process.pid == pid));
        assert!(below.iter().all(|process| all.contains(process)));
        for process in &below {
            kill_one(process);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
