//! Values that cannot be meant, and output that nobody reads.

use kubelease::testing::ApiServer;

use crate::process::{kubelease, output};

fn refused(words: &[&str], expected: &str) {
    let output = output(words);
    let said = str::from_utf8(&output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    assert!(said.contains(expected), "{words:?}: {said}");
}

#[test]
fn a_value_that_cannot_be_meant_is_the_command_lines_fault_whatever_the_command() {
    let run = |options: &[&str], expected: &str| {
        let lease = ["run", "--embedded", "--lease", "demo/b"];
        let command = ["--", "echo", "started"];
        refused(&[&lease[..], options, &command].concat(), expected);
    };
    run(&["--lease-duration", "0s"], "expected a lease duration");
    run(&["--lease-duration", "1500ms"], "whole seconds");
    run(&["--jitter", "501"], "timing: expected");
    run(&["--identity", ""], "--identity");
    let namespace = ["run", "--embedded", "--lease", "DEMO/b", "--", "true"];
    refused(&namespace, "namespace");
    refused(&["timing", "--retry-period", "0s"], "timing: expected");
    let heart = ["heartbeat", "--embedded", "--lease", "a/b", "--holder", "c"];
    let heart = |options: &[&str], expected: &str| {
        refused(&[&heart[..], options].concat(), expected);
    };
    heart(&["--lease-duration", "1500ms"], "heartbeat: expected");
    heart(&["--register"], "--register needs --node");
    refused(&["heartbeat", "--embedded", "--node", ""], "--node");
    refused(&["simulate", "--crash", "zed@5s"], "found `zed`");
    refused(&["simulate", "--for", "0s"], "--for: expected more than 0s");
    let often = "simulate --for 1d --lease-duration 1s --renew-deadline 500ms --retry-period 10ms";
    let often: Vec<&str> = often.split(' ').collect();
    refused(&often, "--for: expected at most 1000000 renewals and looks");
    let watch = ["watch", "a/b", "--server", "http://127.0.0.1:1"];
    for option in ["--interval", "--silence"] {
        let expected = format!("{option}: expected more than 0s");
        refused(&[&watch[..], &[option, "0s"]].concat(), &expected);
    }
    refused(&["dev-server", "--namespace", "\u{dc}"], "--namespace: ");
    refused(&["man", "walk"], "no command `walk`");
    let lease = [
        "release",
        "a/b",
        "--server",
        "http://127.0.0.1:1",
        "--force",
    ];
    refused(
        &[&lease[..], &["--observe", "0s"]].concat(),
        "--observe: expected more than 0s",
    );
    refused(&lease[..2], "<--identity <NAME>|--force>");
}

#[test]
fn what_nobody_reads_ends_a_command_without_a_word_as_sigpipe_would() {
    let server = ApiServer::start().unwrap();
    let url = server.url();
    let commands: [&[&str]; 5] = [
        &["list", "-A", "--server", &url],
        &["list", "-A", "-o", "json", "--server", &url],
        &["timing"],
        &["simulate"],
        &["man"],
    ];
    for words in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = kubelease(words).stdout(writer).output().unwrap();
        let said = str::from_utf8(&output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said),
            (Some(128 + 13), ""),
            "{words:?}"
        );
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let server = ApiServer::start().unwrap();
    let port = server.addr().port().to_string();
    let output = output(&["dev-server", "--port", &port]);
    let said = str::from_utf8(&output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with(&format!("kubelease: --port {port}: ")),
        "{said}"
    );
}
