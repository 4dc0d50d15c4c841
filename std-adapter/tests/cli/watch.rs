//! `watch`: lists, watches and reads.

use std::io::{BufRead, BufReader, Lines};
use std::process::{ChildStderr, ChildStdout, Stdio};

use kubelease::testing::{ApiServer, CannedAnswer, Fault, LoggedRequest, Rule};

use crate::leases::server;
use crate::process::{Job, kubelease, output, until};

/// A running `kubelease watch`.
#[derive(Debug)]
struct Watch {
    out: Lines<BufReader<ChildStdout>>,
    error: Lines<BufReader<ChildStderr>>,
    _job: Job,
}

impl Watch {
    /// Watches ada's lease, whose first line is awaited.
    fn start(server: &ApiServer, options: &[&str]) -> Self {
        let url = server.url();
        let words = ["watch", "default/job", "--server", &url];
        let mut command = kubelease([&words[..], options].concat());
        let mut job = Job::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let (out, error) = job.outputs();
        let mut watch = Self {
            out: BufReader::new(out).lines(),
            error: BufReader::new(error).lines(),
            _job: job,
        };
        watch.says("held by ada, transitions 4");
        watch
    }

    fn says(&mut self, expected: &str) {
        let line = self.out.next().unwrap().unwrap();
        assert!(line.contains(expected), "{line}");
    }

    fn complains(&mut self, expected: &str) {
        let line = self.error.next().unwrap().unwrap();
        assert_eq!(line, expected);
    }
}

fn is_watch(request: &LoggedRequest) -> bool {
    request.query.contains("watch=true")
}

fn is_list(request: &LoggedRequest) -> bool {
    request.path.ends_with("/leases") && !is_watch(request)
}

fn give_to(server: &ApiServer, holder: &str) {
    assert!(server.edit_lease("default", "job", |lease| {
        *lease.pointer_mut("/spec/holderIdentity").unwrap() = holder.into();
    }));
}

/// Gives the next watch an answer of these lines, which ends behind them.
fn answer_watch(server: &ApiServer, lines: &str) {
    let answer = CannedAnswer::status(200).header("Content-Type", "application/json");
    let fault = Fault::Answer(answer.body(lines));
    server.inject(Rule::new(fault).when(is_watch).times(1));
}

#[test]
fn a_watch_prints_a_line_for_each_change_and_reads_nothing_meanwhile() {
    let server = server();
    let mut watch = Watch::start(&server, &[]);
    until("a watch", || server.count_if(is_watch) == 1);
    give_to(&server, "bob");
    watch.says("held by bob, transitions 4");
    server.edit_lease("default", "job", |lease| {
        *lease.pointer_mut("/spec/renewTime").unwrap() = "2001-02-03T04:05:07.000008Z".into();
    });
    server.send_bookmarks();
    give_to(&server, "");
    watch.says("held by nobody, transitions 4");
    server.delete_lease("default", "job");
    watch.says("there is no lease");
    let counts = (server.count_if(is_list), server.count("GET"));
    assert_eq!(counts, (1, 2), "one list and one watch");
}

#[test]
fn a_watch_that_ends_goes_on_from_the_last_bookmark() {
    let server = server();
    let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"VERSION"}}}"#;
    let version = server.resource_version().to_string();
    answer_watch(
        &server,
        &format!("{}\n", bookmark.replace("VERSION", &version)),
    );
    let mut watch = Watch::start(&server, &[]);
    until("a second watch", || server.count_if(is_watch) == 2);
    give_to(&server, "bob");
    watch.says("held by bob");
    assert_eq!(server.count_if(is_list), 1);
    let from = format!("resourceVersion={version}");
    let goes_on = |request: &LoggedRequest| is_watch(request) && request.query.contains(&from);
    assert!(server.count_if(goes_on) >= 1);
}

#[test]
fn a_version_that_the_server_forgot_is_followed_by_a_list() {
    let server = server();
    answer_watch(
        &server,
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n",
    );
    let gone = CannedAnswer::failure(410, "Expired", "too old resource version");
    let refused = Rule::new(Fault::Answer(gone)).when(is_watch).times(1);
    server.inject(refused);
    let mut watch = Watch::start(&server, &[]);
    until("a third list", || server.count_if(is_list) == 3);
    give_to(&server, "bob");
    watch.says("held by bob");
}

#[test]
fn a_connection_that_breaks_off_is_followed_by_a_list_that_tells_what_was_missed() {
    let server = server();
    let mut watch = Watch::start(&server, &[]);
    until("a watch", || server.count_if(is_watch) == 1);
    let failure = CannedAnswer::failure(500, "InternalError", "etcd is away");
    server.inject(Rule::new(Fault::Answer(failure)).when(is_list).times(2));
    server.close_connections();
    watch.says("unknown: list: the server answered 500: etcd is away");
    give_to(&server, "bob");
    watch.says("held by bob");
}

#[test]
fn a_silent_watch_is_followed_by_a_list() {
    let server = server();
    let _watch = Watch::start(&server, &["--silence", "50ms"]);
    until("a third list", || server.count_if(is_list) >= 3);
}

#[test]
fn without_the_right_to_watch_the_lease_is_read_and_that_is_said() {
    for verb in ["list", "watch"] {
        let server = server();
        server.deny("system:anonymous", verb, "leases");
        let mut watch = Watch::start(&server, &["--interval", "20ms"]);
        watch.complains(&format!(
            "kubelease: {verb}: the server answered 403: leases.coordination.k8s.io \"job\" is \
             forbidden: User \"system:anonymous\" cannot {verb} resource \"leases\" in API group \
             \"coordination.k8s.io\" in the namespace \"default\"; the lease is read every 20ms \
             instead"
        ));
        give_to(&server, "bob");
        watch.says("held by bob");
        assert_eq!(server.count_if(is_watch), usize::from(verb == "watch"));
    }
}

#[test]
fn a_watch_that_never_got_an_answer_fails_and_says_why() {
    for options in [&[][..], &["--poll"]] {
        let words = ["watch", "default/job", "--server", "http://127.0.0.1:1"];
        let output = output(&[&words[..], &["--for", "1s"], options].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = str::from_utf8(&output.stderr).unwrap();
        assert!(said.starts_with("kubelease: "), "{said}");
    }
    let server = server();
    let url = server.url();
    let words = ["watch", "default/job", "--server", &url, "--for", "500ms"];
    assert_eq!(output(&words).status.code(), Some(0));
}

#[test]
fn on_demand_the_lease_is_only_read() {
    let server = server();
    let mut watch = Watch::start(&server, &["--poll", "--interval", "20ms"]);
    give_to(&server, "bob");
    watch.says("held by bob");
    assert_eq!(
        server.count_if(|request| is_watch(request) || is_list(request)),
        0
    );
}
