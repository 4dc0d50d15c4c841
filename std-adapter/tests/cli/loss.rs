//! `kubelease run` when everything goes wrong: no two commands ever run at once.

use core::time::Duration;
use std::fs;
use std::thread::sleep;

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Line, Stage};
use crate::process::{dev_server, is_alive, is_killed, until};

/// Beyond the lease of 6 s, so that another may have taken over since.
const BEYOND: Duration = Duration::from_millis(7_500);

/// What ends a command in time, and how soon that has to be: renew deadline, grace, and what a
/// busy machine may lose.
const DEADLINE_S: f64 = 5.0 + 0.3;

fn command(line: &Line) -> Pid {
    Pid::from_raw(line.pid).unwrap()
}

#[test]
fn a_killed_kubelease_takes_its_command_along() {
    let stage = Stage::new("kill");
    let a = stage.candidate("a", &[]);
    let first = stage.leader("a", 0);
    let _b = stage.candidate("b", &[]);
    a.signal(Signal::KILL);
    let took = until("the command is dead", || !is_alive(command(&first)));
    assert!(took < Duration::from_secs(1), "{took:?}");
    stage.leader("b", first.fence);
    assert_eq!(stage.terms().len(), 2);
}

#[test]
fn the_command_of_a_killed_kubelease_has_no_more_than_the_rest_of_its_time() {
    let stage = Stage::new("kill-deaf");
    let a = stage.candidate_after("a", &[], "trap '' TERM");
    let first = stage.leader("a", 0);
    let _b = stage.candidate("b", &[]);
    a.signal(Signal::KILL);
    let second = stage.leader("b", first.fence);
    let (_, last) = &stage.terms()[0];
    assert!(last.at - first.at < DEADLINE_S, "{last:?}");
    assert!(
        second.at - last.at > 0.3,
        "killed well before: {last:?}, {second:?}"
    );
}

#[test]
fn a_stopped_kubelease_loses_its_command_and_leads_again_later() {
    let stage = Stage::new("stop");
    let a = stage.candidate_after("a", &[], "trap '' TERM");
    let first = stage.leader("a", 0);
    let b = stage.candidate("b", &[]);
    a.signal(Signal::STOP);
    let second = stage.leader("b", first.fence);
    assert!(!is_alive(command(&first)));
    sleep(Duration::from_secs(1));
    a.signal(Signal::CONT);
    sleep(Duration::from_secs(1));
    b.signal(Signal::TERM);
    let third = stage.leader("a", second.fence);
    let terms = stage.terms();
    assert_eq!(terms.len(), 3);
    assert!(terms[0].1.at - first.at < DEADLINE_S, "{terms:?}");
    assert!(third.at > second.at);
}

#[test]
fn a_stopped_group_loses_its_command_though_that_is_stopped_too() {
    let stage = Stage::new("stop-group");
    let a = stage.candidate_after("a", &[], "trap '' TERM");
    let first = stage.leader("a", 0);
    let _b = stage.candidate("b", &[]);
    a.signal_group(Signal::STOP);
    rustix::process::kill_process_group(command(&first), Signal::STOP).unwrap();
    let second = stage.leader("b", first.fence);
    assert!(
        !is_alive(command(&first)),
        "the guard kills the stopped, too"
    );
    a.signal_group(Signal::CONT);
    sleep(Duration::from_secs(1));
    let terms = stage.terms();
    assert_eq!(terms.len(), 2);
    assert_eq!(terms[1].0.fence, second.fence);
}

#[test]
fn an_outage_ends_the_command_and_its_end_begins_a_new_term() {
    let stage = Stage::new("outage");
    let _a = stage.candidate("a", &[]);
    let first = stage.leader("a", 0);
    let _b = stage.candidate("b", &[]);
    stage.server.pause();
    until("the command is dead", || !is_alive(command(&first)));
    sleep(Duration::from_secs(2));
    stage.server.resume();
    until("a second term", || stage.terms().len() == 2);
    sleep(Duration::from_secs(1));
    let terms = stage.terms();
    assert_eq!(terms.len(), 2);
    assert!(terms[0].1.at - first.at < DEADLINE_S, "{terms:?}");
}

/// A server that is stopped takes connections and says nothing.
#[test]
fn a_dev_server_that_says_nothing_ends_the_command_in_time() {
    let (server, url) = dev_server(&[]);
    let mut stage = Stage::new("silence");
    stage.url = url;
    let _a = stage.candidate_after("a", &[], "trap '' TERM");
    let first = stage.leader("a", 0);
    let _b = stage.candidate("b", &[]);
    server.signal(Signal::STOP);
    until("the command is dead", || !is_alive(command(&first)));
    sleep(Duration::from_secs(2));
    server.signal(Signal::CONT);
    until("a second term", || stage.terms().len() == 2);
    sleep(Duration::from_secs(1));
    let terms = stage.terms();
    assert_eq!(terms.len(), 2);
    assert!(terms[0].1.at - first.at < DEADLINE_S, "{terms:?}");
}

#[test]
fn a_loss_ends_kubelease_where_it_is_asked_to() {
    let stage = Stage::new("exit");
    let mut a = stage.candidate("a", &["--on-lost", "exit", "--lease-duration", "15s"]);
    let first = stage.leader("a", 0);
    stage.server.edit_lease("default", "job", |lease| {
        lease["spec"]["holderIdentity"] = "somebody".into();
    });
    assert_eq!(a.code(), Some(124));
    assert!(!is_alive(command(&first)));
}

#[test]
fn a_killed_guard_takes_the_command_and_kubelease_along() {
    let stage = Stage::new("guard");
    let mut a = stage.candidate_after("a", &[], "setsid sleep 600 & echo $! > \"$LOG.pid\"");
    let first = stage.leader("a", 0);
    kill_process(a.guard(), Signal::KILL).unwrap();
    assert_eq!(a.code(), Some(125));
    assert!(!is_alive(command(&first)));
    let file = format!("{}.pid", stage.log().display());
    let daemon = fs::read_to_string(&file).unwrap();
    let daemon = Pid::from_raw(daemon.trim().parse().unwrap()).unwrap();
    assert!(!is_alive(daemon), "what left the group is killed, too");
    fs::remove_file(file).unwrap();
    let lease = stage.server.lease("default", "job").unwrap();
    assert_eq!(
        lease["spec"]["holderIdentity"], "",
        "nothing is left, so it is released"
    );
}

#[test]
fn a_command_whose_both_keepers_are_killed_dies_too() {
    let stage = Stage::new("both");
    let a = stage.candidate_after("a", &[], "trap '' TERM");
    let first = stage.leader("a", 0);
    let guard = a.guard();
    a.signal(Signal::STOP);
    kill_process(guard, Signal::STOP).unwrap();
    a.signal(Signal::KILL);
    kill_process(guard, Signal::KILL).unwrap();
    let took = until("the command is dead", || !is_alive(command(&first)));
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_kubelease_that_wakes_too_late_kills_before_anything_else() {
    let stage = Stage::new("wake");
    let mut a = stage.candidate_after("a", &[], "trap '' TERM");
    let first = stage.leader("a", 0);
    // Nobody is left who could end the command.
    kill_process(a.guard(), Signal::STOP).unwrap();
    a.signal(Signal::STOP);
    sleep(BEYOND);
    assert!(is_alive(command(&first)));
    let requests = stage.server.requests().len();
    a.signal(Signal::CONT);
    let mut before = 0;
    let took = until("the command is killed", || {
        // In this order: what is counted was sent while the command was not killed.
        let sent = stage.server.requests().len() - requests;
        let is_killed = is_killed(command(&first));
        if !is_killed {
            before = sent;
        }
        is_killed
    });
    assert!(took < Duration::from_millis(500), "{took:?}");
    // What was on its way when it was stopped.
    assert!(before <= 1, "{before} requests before the kill");
    until("the command is dead", || !is_alive(command(&first)));
    assert_eq!(a.code(), Some(125), "a guard that says nothing is given up");
}

/// Where everything stood still, as in a frozen container, nothing can act in time. What is
/// promised then is only a short window.
#[test]
fn after_a_freeze_the_command_runs_for_a_moment_only() {
    let stage = Stage::new("freeze");
    let a = stage.candidate_after("a", &[], "trap '' TERM");
    let first = stage.leader("a", 0);
    let guard = a.guard();
    a.signal(Signal::STOP);
    kill_process(guard, Signal::STOP).unwrap();
    kill_process(command(&first), Signal::STOP).unwrap();
    sleep(BEYOND);
    let before = stage.lines().len();
    for pid in [command(&first), guard, a.pid()] {
        kill_process(pid, Signal::CONT).unwrap();
    }
    let window = until("the command is dead", || !is_alive(command(&first)));
    println!(
        "it ran for {window:?} after a freeze, and wrote {} lines",
        stage
            .lines()
            .iter()
            .skip(before)
            .filter(|line| line.fence == first.fence)
            .count()
    );
    assert!(window < Duration::from_millis(500), "{window:?}");
}
