//! Which server is asked, with whose credentials, and what is said where that comes to nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use kubelease::testing::ApiServer;
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::process::{Job, LONG, dev_server, is_alive, kubelease, output, until};

/// A folder with a kubeconfig in it.
struct Config(tempfile::TempDir);

impl Config {
    /// For this server, and with this user.
    fn new(url: &str, user: &str) -> Self {
        Self::with(url, |_| user.to_owned())
    }

    /// With a program that waits for ever for one that it starts.
    fn with_a_hanging_program() -> Self {
        Self::with("http://127.0.0.1:9", |folder| {
            let pid = folder.join("pid");
            format!(
                "exec: {{apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, \
                 interactiveMode: Never, args: [-c, 'sleep 600 & echo $! > {}; wait']}}",
                pid.display()
            )
        })
    }

    fn with(url: &str, user: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let user = user(folder.path());
        let config = Self(folder);
        config.write(
            "config",
            &format!(
                "current-context: x\n\
                 contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
                 clusters: [{{name: c, cluster: {{server: '{url}'}}}}]\n\
                 users: [{{name: u, user: {{{user}}}}}]\n"
            ),
        );
        config
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self) -> String {
        self.path("config").to_str().unwrap().to_owned()
    }

    /// What the program started, once it has.
    fn started(&self) -> Pid {
        let mut pid = None;
        until("a program", || {
            let text = fs::read_to_string(self.path("pid")).unwrap_or_default();
            pid = text.trim().parse().ok().and_then(Pid::from_raw);
            pid.is_some()
        });
        pid.unwrap()
    }
}

fn said(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

fn in_environment(words: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command: Command = kubelease(words);
    command.envs(variables.iter().copied());
    command.stdin(Stdio::null()).output().unwrap()
}

/// A server that knows one token, with a lease.
fn server(token: &str) -> ApiServer {
    let server = ApiServer::builder().token(token, "u").start().unwrap();
    let spec = json!({"spec": {"holderIdentity": "ada", "leaseDurationSeconds": 3}});
    server.put_lease("default", "job", spec);
    server
}

#[test]
fn a_kubeconfig_beats_the_environment_and_its_credentials_stay_its_own() {
    let (own, other) = (server("s3cret"), server("s3cret"));
    let config = Config::new(&own.url(), "token: s3cret");
    let (file, url) = (config.file(), other.url());
    let environment = [("KUBELEASE_SERVER", url.as_str()), ("KUBELEASE_TOKEN", "t")];
    for words in [
        &["status", "default/job", "--kubeconfig", &file][..],
        &["list", "-A", "--kubeconfig", &file, "--context", "x"][..],
        &[
            "release",
            "default/job",
            "--identity",
            "ada",
            "--kubeconfig",
            &file,
        ][..],
    ] {
        let output = in_environment(words, &environment);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
    }
    let run = [
        "run",
        "-q",
        "--lease",
        "default/run",
        "--kubeconfig",
        &file,
        "--",
        "true",
    ];
    assert_eq!(in_environment(&run, &environment).status.code(), Some(0));
    assert_eq!(other.requests().len(), 0);
    assert!(own.requests().len() > 4);

    // The same context, found by KUBECONFIG.
    let usual = [environment[0], ("KUBECONFIG", file.as_str())];
    let words = ["status", "default/job", "--context", "x"];
    let output = in_environment(&words, &usual);
    assert_eq!(output.status.code(), Some(3), "released before: {output:?}");
    assert_eq!(other.requests().len(), 0);
    // No kubeconfig is read beside a server.
    let output = in_environment(&["status", "default/job"], &usual);
    assert!(said(&output).contains("system:anonymous"), "{output:?}");
}

#[test]
fn options_that_name_two_servers_or_two_tokens_are_refused() {
    let server = ["--server", "http://127.0.0.1:9"];
    for (first, second) in [
        (&server[..], &["--kubeconfig", "/f"][..]),
        (&server[..], &["--context", "x"][..]),
        (&server[..], &["--embedded"][..]),
        (&["--token", "t"][..], &["--token-file", "/f"][..]),
        (&["--token", "t"][..], &["--embedded"][..]),
        (&["--token-file", "/f"][..], &["--embedded"][..]),
        (&["--ca", "/f"][..], &["--embedded"][..]),
    ] {
        let words = [&["status", "default/job"], first, second].concat();
        let output = output(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(said(&output).contains("cannot be used with"), "{output:?}");
    }
}

#[test]
fn an_embedded_server_says_that_the_one_of_the_environment_is_ignored() {
    let words = ["run", "-q", "--embedded", "--lease", "a/b", "--", "true"];
    let output = in_environment(&words, &[("KUBELEASE_SERVER", "https://10.0.0.1")]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        said(&output),
        "kubelease: --embedded: KUBELEASE_SERVER is set, and ignored\n"
    );
}

#[test]
fn a_token_on_the_command_line_beats_that_of_the_environment() {
    let server = server("right");
    let config = Config::new("", "");
    config.write("token", "right\n");
    let (url, token) = (server.url(), config.path("token"));
    let environment = [
        ("KUBELEASE_SERVER", url.as_str()),
        ("KUBELEASE_TOKEN", "wrong"),
    ];
    for option in [
        ["--token", "right"],
        ["--token-file", token.to_str().unwrap()],
    ] {
        let words = [&["status", "default/job"], &option[..]].concat();
        let output = in_environment(&words, &environment);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let output = in_environment(&["status", "default/job"], &environment);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("answered 401"), "{output:?}");
    let hint = "; perhaps --token-file or --token is missing or wrong\n";
    assert!(said(&output).ends_with(hint), "{output:?}");
}

#[test]
fn a_given_server_is_reached_by_the_proxy_of_the_environment() {
    let words = ["status", "a/b", "--server", "https://kube.invalid"];
    let output = in_environment(&words, &[("HTTPS_PROXY", "socks5://127.0.0.1:1")]);
    assert!(said(&output).contains("HTTPS_PROXY"), "{output:?}");
    assert!(said(&output).contains("a SOCKS proxy"), "{output:?}");

    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let (asked, asks) = mpsc::channel();
    thread::spawn(move || {
        let (stream, _) = proxy.accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        asked.send(line).unwrap();
    });
    let output = in_environment(&words, &[("HTTPS_PROXY", &url)]);
    assert_eq!(output.status.code(), Some(1));
    let line = asks.recv_timeout(LONG).unwrap();
    assert!(line.starts_with("CONNECT kube.invalid:443 "), "{line}");
    let excepted = [("HTTPS_PROXY", url.as_str()), ("NO_PROXY", ".invalid")];
    let output = in_environment(&words, &excepted);
    assert!(said(&output).contains("dns error"), "{output:?}");
}

#[test]
fn a_lease_without_a_namespace_says_where_one_is_looked_for() {
    let output = output(&["status", "x", "--server", "http://127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        said(&output),
        "kubelease: the lease: expected NAMESPACE/x, or a namespace in the kubeconfig's context \
         or the pod, found neither\n"
    );
}

#[test]
fn a_program_that_issues_credentials_takes_all_it_started_along() {
    let config = Config::with_a_hanging_program();
    let file = config.file();
    let run = ["run", "-q", "--lease", "a/b", "--", "true"];
    let list = ["list", "-A"];
    for (words, signal) in [
        (&run[..], Signal::TERM),
        (&list[..], Signal::TERM),
        (&list[..], Signal::INT),
    ] {
        let (verb, rest) = words.split_first().unwrap();
        let words = [&[verb, "--kubeconfig", &file], rest].concat();
        let mut job = Job::start(kubelease(words).stderr(Stdio::null()));
        let sleep = config.started();
        assert!(is_alive(sleep));
        job.signal(signal);
        assert_eq!(job.code(), Some(128 + signal.as_raw()));
        until("the end of it", || !is_alive(sleep));
        fs::remove_file(config.path("pid")).unwrap();
    }
}

#[test]
fn a_program_that_does_not_answer_is_named_and_ends_with_all_it_started() {
    let config = Config::with_a_hanging_program();
    let output = output(&["list", "-A", "--kubeconfig", &config.file()]);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "kubelease: {}: users[u].user.exec: expected an answer of the program `/bin/sh` within \
         10s, found none\n",
        config.file()
    );
    assert_eq!(said(&output), expected);
    let sleep = config.started();
    until("the end of it", || !is_alive(sleep));
}

#[test]
fn a_server_that_is_not_reached_is_named_with_where_it_was_said() {
    // Nobody listens here any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", port.local_addr().unwrap());
    drop(port);
    let status = ["status", "default/job"];
    let by_option = output(&[&status[..], &["--server", &url]].concat());
    let said_of = |output: &Output, place: &str| {
        let end = format!("; the server is {url} (by {place})\n");
        assert!(said(output).contains("refused"), "{output:?}");
        assert!(said(output).ends_with(&end), "{output:?}, not {end}");
    };
    said_of(&by_option, "--server");
    let environment = [("KUBELEASE_SERVER", url.as_str())];
    said_of(&in_environment(&status, &environment), "KUBELEASE_SERVER");
    let config = Config::new(&url, "");
    let file = config.file();
    let by_file = output(&[&status[..], &["--kubeconfig", &file]].concat());
    said_of(&by_file, &format!("{file}: clusters[c].cluster.server"));
}

#[test]
fn a_wrong_scheme_and_an_unknown_authority_are_guessed() {
    let config = Config::new("", "");
    let ca = config.path("ca.crt");
    let (_tls, url) = dev_server(&["--tls-ca", ca.to_str().unwrap()]);
    let said_at = |url: &str| {
        let output = output(&["status", "default/job", "--server", url]);
        assert_eq!(output.status.code(), Some(1));
        said(&output).trim().to_owned()
    };
    let unknown = said_at(&url);
    let hint = "(by --server); its authority has to be named, by `ca_file` or --ca";
    assert!(unknown.ends_with(hint), "{unknown}");
    let in_the_clear = said_at(&url.replace("https", "http"));
    let hint = "(by --server); perhaps it speaks https and not http";
    assert!(in_the_clear.ends_with(hint), "{in_the_clear}");
    let server = server("t");
    let encrypted = said_at(&server.url().replace("http", "https"));
    let hint = "(by --server); perhaps it speaks http and not https";
    assert!(encrypted.ends_with(hint), "{encrypted}");
}

#[test]
fn a_kubeconfig_that_is_empty_or_no_yaml_is_said_to_be_so() {
    let config = Config::new("", "");
    let file = config.file();
    let said_of = |text: &str| {
        config.write("config", text);
        let output = output(&["status", "a/b", "--kubeconfig", &file]);
        assert_eq!(output.status.code(), Some(1));
        said(&output).replace(&file, "F")
    };
    let expected = "kubelease: F: expected a kubeconfig, found nothing of one\n";
    assert_eq!(said_of(""), expected);
    assert_eq!(said_of("{}"), expected);
    let broken = said_of("contexts: [{name: x\nclusters: - ]");
    assert!(broken.starts_with("kubelease: F: expected YAML, found something else at line "));
}
