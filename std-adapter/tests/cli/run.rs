//! `kubelease run` while all goes well: environment, exit codes, signals.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;

use crate::command::{FAST, Stage};
use crate::process::{Job, child_of, is_alive, kubelease, output, session_of, until};

fn embedded(script: &str) -> std::process::Output {
    let words = [
        "run",
        "--embedded",
        "--lease",
        "demo/job",
        "--",
        "sh",
        "-c",
        script,
    ];
    output(&words)
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[test]
fn an_embedded_run_prints_its_fence_and_passes_the_exit_code_on() {
    let output = embedded("echo leading as $KUBELEASE_FENCE of $KUBELEASE_LEASE; exit 7");
    let said = text(&output.stdout);
    let fence = said.strip_prefix("leading as ").unwrap();
    let fence = fence.strip_suffix(" of demo/job\n").unwrap();
    assert!(fence.parse::<u64>().unwrap() > 0, "{said}");
    assert_eq!(output.status.code(), Some(7));
    let log = text(&output.stderr);
    assert!(log.contains(&format!("fence {fence}")), "{log}");
    assert!(log.ends_with("kubelease: the lease: released\n"), "{log}");
}

#[test]
fn each_end_has_the_exit_code_of_a_shell() {
    let run = |command: &[&str]| {
        let words = ["run", "--quiet", "--embedded", "--lease", "demo/job", "--"];
        let output = output(&[&words[..], command].concat());
        (
            output.status.code().unwrap(),
            text(&output.stderr).to_owned(),
        )
    };
    assert_eq!(run(&["true"]), (0, String::new()));
    assert_eq!(run(&["sh", "-c", "exit 255"]), (255, String::new()));
    assert_eq!(run(&["sh", "-c", "kill -9 $$"]), (137, String::new()));
    let (code, reason) = run(&["no-such-command"]);
    assert_eq!(code, 127);
    assert!(
        reason.starts_with("kubelease: no-such-command: "),
        "{reason}"
    );
    let (code, reason) = run(&["/proc/version"]);
    assert_eq!(code, 126);
    assert!(reason.starts_with("kubelease: /proc/version: "), "{reason}");
}

#[test]
fn its_own_failures_have_codes_of_their_own() {
    let run = |words: &[&str]| {
        let output = output(words);
        let said = text(&output.stderr).to_owned();
        (output.status.code().unwrap(), said)
    };
    let (code, said) = run(&["run", "--lease", "a/b/c", "--", "true"]);
    assert_eq!(code, 2);
    assert!(said.contains("expected NAMESPACE/NAME"), "{said}");
    assert_eq!(run(&["run", "--lease", "a/b"]).0, 2);
    let lease = ["run", "--embedded", "--lease", "a/b"];
    let timing = ["--lease-duration", "1500ms", "--", "true"];
    let (code, said) = run(&[&lease[..], &timing[..]].concat());
    assert_eq!(code, 2);
    let expected = "kubelease: timing: expected a lease duration of whole seconds, found a \
                    fraction\n";
    assert_eq!(said, expected);
    let (code, said) = run(&["run", "--lease", "a/b", "--server", "ftp://x", "--", "true"]);
    assert_eq!(code, 125);
    assert!(said.starts_with("kubelease: --server: expected"), "{said}");
}

#[test]
fn the_command_does_not_get_the_token_of_the_server() {
    let words = ["run", "--quiet", "--embedded", "--lease", "demo/job", "--"];
    let mut command =
        kubelease([&words[..], &["sh", "-c", "echo ${KUBELEASE_TOKEN-none}"]].concat());
    let output = command.env("KUBELEASE_TOKEN", "s3cret").output().unwrap();
    assert_eq!(text(&output.stdout), "none\n");
}

#[test]
fn standard_input_reaches_the_command() {
    let words = [
        "run",
        "--quiet",
        "--embedded",
        "--lease",
        "demo/job",
        "--",
        "cat",
    ];
    let mut child = kubelease(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"to be read\n")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "to be read\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn signals_are_passed_on_and_the_end_is_the_commands_own() {
    let stage = Stage::new("signals");
    let usr1 = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("usr1");
    let _ = fs::remove_file(&usr1);
    let first = format!("trap 'echo > {}' USR1; trap 'exit 5' TERM", usr1.display());
    let mut job = stage.candidate_after("a", &[], &first);
    stage.leader("a", 0);
    job.signal(Signal::USR1);
    until("the command heard SIGUSR1", || usr1.exists());
    job.signal(Signal::TERM);
    assert_eq!(job.code(), Some(5));
    assert_released(&stage);
}

#[test]
fn a_command_that_does_not_end_is_killed_after_its_grace() {
    let stage = Stage::new("grace");
    let options = ["--grace", "300ms", "--lease-duration", "15s"];
    let mut job = stage.candidate_after("a", &options, "trap '' TERM");
    let line = stage.leader("a", 0);
    job.signal(Signal::TERM);
    assert_eq!(job.code(), Some(128 + 9));
    let (_, last) = &stage.terms()[0];
    assert!(last.at >= line.at, "it ran on in its grace");
    assert_released(&stage);
}

#[test]
fn what_the_command_leaves_behind_ends_with_it() {
    let stage = Stage::new("daemon");
    let pid_file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("daemon.pid");
    let _ = fs::remove_file(&pid_file);
    let script = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600' & \
         while [ ! -e {0} ]; do sleep 0.02; done; exit 3",
        pid_file.display()
    );
    let url = stage.server.url();
    let words = [
        "run",
        "--server",
        &url,
        "--lease",
        "default/job",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let mut job = Job::start(&mut kubelease(words));
    assert_eq!(job.code(), Some(3));
    let pid = fs::read_to_string(&pid_file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(!is_alive(rustix::process::Pid::from_raw(pid).unwrap()));
    assert_released(&stage);
}

#[test]
fn a_command_runs_on_while_the_lease_is_renewed() {
    let stage = Stage::new("renewed");
    let _job = stage.candidate("a", &[]);
    let first = stage.leader("a", 0);
    // Well beyond the first renew deadline and its grace, 5 s.
    std::thread::sleep(core::time::Duration::from_secs(7));
    let pid = rustix::process::Pid::from_raw(first.pid).unwrap();
    assert!(is_alive(pid));
    let terms = stage.terms();
    let [(_, last)] = &terms[..] else {
        panic!("{terms:?}");
    };
    assert!(last.at - first.at > 6.5, "{last:?}");
}

#[test]
fn a_candidate_that_stands_by_ends_at_once() {
    let stage = Stage::new("standby");
    let _leader = stage.candidate("a", &[]);
    stage.leader("a", 0);
    let mut standby = stage.candidate("b", &[]);
    until("it looks", || stage.server.count("GET") > 4);
    standby.signal(Signal::INT);
    assert_eq!(standby.code(), Some(128 + 2));
    assert!(stage.terms().iter().all(|(first, _)| first.identity == "a"));
}

#[test]
fn the_guard_lives_in_a_session_of_its_own() {
    let stage = Stage::new("session");
    let job = stage.candidate("a", &[]);
    let line = stage.leader("a", 0);
    let guard = job.guard();
    let own = guard.as_raw_nonzero().get();
    assert_eq!(session_of(guard), own);
    assert_ne!(session_of(job.pid()), own);
    let command = child_of(guard);
    assert_eq!(command.as_raw_nonzero().get(), line.pid);
    assert_eq!(rustix::process::getpgid(Some(command)).unwrap(), command);
}

#[test]
fn a_short_timing_is_the_one_that_the_tests_rest_on() {
    let output = output(&[&["timing"], &FAST[..]].concat());
    let said = text(&output.stdout);
    assert!(
        said.contains("work may go on past the deadline for   1s"),
        "{said}"
    );
}

/// The lease was released, so that the next candidate has not to wait.
fn assert_released(stage: &Stage) {
    let lease = stage.server.lease("default", "job").unwrap();
    assert_eq!(lease.pointer("/spec/holderIdentity").unwrap(), "");
}
