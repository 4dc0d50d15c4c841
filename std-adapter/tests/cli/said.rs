//! What `run` and `heartbeat` say while they go on.

use core::time::Duration;
use std::io::{BufRead, BufReader, Lines};
use std::process::{ChildStderr, ChildStdout, Stdio};
use std::thread::sleep;

use kubelease::testing::{ApiServer, CannedAnswer, Fault, Rule};
use rustix::process::Signal;

use crate::command::FAST;
use crate::process::{Job, kubelease};

/// A process, and what it says on standard error.
#[derive(Debug)]
struct Talker {
    lines: Lines<BufReader<ChildStderr>>,
    job: Job,
    /// Nobody reads it, but somebody could.
    _out: ChildStdout,
}

impl Talker {
    fn start(words: &[&str]) -> Self {
        let mut command = kubelease(words);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut job = Job::start(command.stderr(Stdio::piped()));
        let (out, error) = job.outputs();
        Self {
            lines: BufReader::new(error).lines(),
            job,
            _out: out,
        }
    }

    /// Candidate `a`, whose command does nothing for long.
    fn candidate(server: &ApiServer) -> Self {
        let url = server.url();
        let words = ["run", "--server", &url, "--lease", "default/job"];
        let command = ["--identity", "a", "--", "sleep", "600"];
        Self::start(&[&words[..], &FAST[..], &command[..]].concat())
    }

    /// What it says up to the line with these words, that line included.
    fn until(&mut self, expected: &str) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            let line = self.lines.next();
            let line = line.unwrap_or_else(|| panic!("{expected}: not in {said:?}"));
            let line = line.unwrap();
            let is_last = line.contains(expected);
            said.push(line);
            if is_last {
                return said;
            }
        }
    }

    /// What it says to its end.
    fn rest(mut self) -> Vec<String> {
        self.job.signal(Signal::TERM);
        let said = self.lines.by_ref().map(Result::unwrap).collect();
        self.job.code();
        said
    }
}

#[test]
fn a_lease_that_is_made_anew_under_the_command_is_told_with_its_fence() {
    let server = ApiServer::start().unwrap();
    let mut a = Talker::candidate(&server);
    a.until("leading as a, term 1, fence ");
    server.delete_lease("default", "job");
    let said = a.until("was deleted and made anew");
    let last = said.last().unwrap();
    assert!(last.contains("the command has that of its start"), "{last}");
    let rest = a.rest();
    assert_eq!(rest.last().unwrap(), "kubelease: the lease: released");
}

#[test]
fn fencing_tokens_that_start_lower_are_told() {
    let server = ApiServer::start().unwrap();
    let port = server.addr().port();
    let mut a = Talker::candidate(&server);
    a.until("leading as a, term 1, fence ");
    drop(server);
    a.until("term 1 is over");
    let _empty = ApiServer::builder().port(port).start().unwrap();
    let said = a.until("leading as a, term 2, fence ");
    assert!(
        said.iter()
            .any(|line| line.contains("fencing tokens went back: ")),
        "{said:?}"
    );
}

#[test]
fn the_end_of_a_term_is_told_before_the_next_is_waited_for() {
    let server = ApiServer::start().unwrap();
    let mut a = Talker::candidate(&server);
    a.until("leading as a, term 1");
    a.job.signal(Signal::STOP);
    sleep(Duration::from_millis(6_500));
    a.job.signal(Signal::CONT);
    let said = a.until("standing by");
    assert!(
        said.iter().any(|line| line.contains("term 1 is over: ")),
        "{said:?}"
    );
}

fn heart(server: &ApiServer, options: &[&str]) -> Talker {
    let url = server.url();
    let words = ["heartbeat", "--node", "gw1", "--server", &url, "--at-once"];
    let fast = ["--lease-duration", "2s", "--interval", "250ms"];
    Talker::start(&[&words[..], &fast, options].concat())
}

#[test]
fn a_heart_says_once_that_it_beats_again_after_trouble() {
    let server = ApiServer::start().unwrap();
    server.create_node("gw1", "11111111-2222-3333-4444-555555555555");
    let mut heart = heart(&server, &[]);
    heart.until("the lease is beaten");
    let away = Fault::Answer(CannedAnswer::status(503));
    server.inject(Rule::new(away).path("/leases"));
    heart.until("the server does not answer");
    server.clear_faults();
    heart.until("the lease is beaten again");
    server.delete_lease("kube-node-lease", "gw1");
    heart.until("the lease was deleted, and is made anew");
    let rest = heart.rest();
    assert_eq!(rest, ["kubelease: the lease: left as it is, and runs out"]);
}

#[test]
fn a_heart_says_why_its_node_is_not_ready_in_words() {
    let server = ApiServer::start().unwrap();
    let mut heart = heart(&server, &["--watch-node", "--register"]);
    heart.until("the Node is not ready: nobody has said yet that it is");
    sleep(Duration::from_secs(1));
    let rest = heart.rest();
    let again = rest.iter().filter(|line| line.contains("not ready"));
    assert_eq!(again.count(), 0, "{rest:?}");
}

#[test]
fn credentials_that_are_refused_are_told_with_what_may_be_the_cause() {
    let server = ApiServer::builder().token("right", "u").start().unwrap();
    let url = server.url();
    let asked = [
        "--server",
        &url,
        "--token",
        "wrong",
        "--lease",
        "default/job",
    ];
    let run = [&["run"][..], &asked, &["--", "true"]].concat();
    let heartbeat = [&["heartbeat"][..], &asked, &["--holder", "a", "--at-once"]].concat();
    for words in [run, heartbeat] {
        let mut command = Talker::start(&words);
        let said = command.until("401 Unauthorized");
        let cause = "; perhaps --token-file or --token is missing or wrong";
        assert!(said.last().unwrap().ends_with(cause), "{said:?}");
        command.rest();
    }
}
