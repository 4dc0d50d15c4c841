//! `status`, `list`, `release` and what is printed for people and shells.

use std::process::Output;

use kubelease::testing::ApiServer;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::command::Stage;
use crate::process::{Job, dev_server, kubelease, output};

/// Runs a command against `server`.
fn on(server: &ApiServer, words: &[&str]) -> Output {
    let url = server.url();
    output(&[words, &["--server", &url]].concat())
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A server with a lease of ada's.
pub(crate) fn server() -> ApiServer {
    let server = ApiServer::start().unwrap();
    let spec = json!({
        "holderIdentity": "ada",
        "leaseDurationSeconds": 3,
        "leaseTransitions": 4,
        "acquireTime": "2001-02-03T04:05:06.000007Z",
        "renewTime": "2001-02-03T04:05:06.000007Z",
    });
    server.put_lease("default", "job", json!({ "spec": spec }));
    server
}

#[test]
fn status_says_who_holds_a_lease_and_for_how_long_it_did_not_change() {
    let server = server();
    let output = on(&server, &["status", "default/job", "--observe", "300ms"]);
    assert_eq!(code(&output), 0);
    let said = text(&output.stdout);
    for line in ["holder       ada", "duration     3s", "transitions  4"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(said.contains("changed      not in 0."), "{said}");

    let output = on(&server, &["status", "default/job", "-o", "json"]);
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(read.get("holderIdentity").unwrap(), "ada");
    assert_eq!(read.get("leaseTransitions").unwrap(), 4);
    assert_eq!(read.get("changedMsAgo").unwrap(), &Value::Null);
}

#[test]
fn status_sees_a_leader_renew() {
    let stage = Stage::new("renew");
    let _job = stage.candidate("a", &[]);
    stage.leader("a", 0);
    let output = on(&stage.server, &["status", "default/job", "--observe", "1s"]);
    let said = text(&output.stdout);
    let changed = said
        .lines()
        .find(|line| line.starts_with("changed"))
        .unwrap();
    assert!(changed.ends_with("s ago"), "{said}");
}

#[test]
fn a_lease_that_is_not_there_or_free_has_an_exit_code_of_its_own() {
    let server = server();
    let output = on(&server, &["status", "default/other"]);
    assert_eq!(code(&output), 3);
    assert_eq!(text(&output.stderr), "kubelease: no lease default/other\n");
    server.put_lease("default", "free", json!({}));
    let output = on(&server, &["status", "default/free"]);
    assert_eq!(code(&output), 3);
    assert!(text(&output.stdout).contains("holder       nobody"));
    server.deny("system:anonymous", "get", "leases");
    let output = on(&server, &["status", "default/job"]);
    assert_eq!(code(&output), 1);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("kubelease: get: the server answered 403: "),
        "{said}"
    );
}

#[test]
fn list_shows_a_namespace_or_all() {
    let server = server();
    server.create_namespace("plant");
    for number in 0..3 {
        server.put_lease("plant", &format!("pump-{number}"), json!({}));
    }
    let output = on(&server, &["list", "-n", "plant"]);
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines
            .first()
            .unwrap()
            .starts_with("NAMESPACE  NAME    HOLDER")
    );
    assert!(lines.last().unwrap().starts_with("plant      pump-2  -"));
    let output = on(&server, &["list", "-A", "-o", "json"]);
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(read.as_array().unwrap().len(), 4);
    let output = on(&server, &["list"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("--namespace"));
}

#[test]
fn release_gives_up_what_is_ones_own_and_nothing_else() {
    let server = server();
    let output = on(&server, &["release", "default/job", "--identity", "bob"]);
    assert_eq!(code(&output), 3);
    assert_eq!(
        text(&output.stderr),
        "kubelease: not released: ada holds it\n"
    );
    let output = on(&server, &["release", "default/job", "--identity", "ada"]);
    assert_eq!(code(&output), 0);
    let lease = server.lease("default", "job").unwrap();
    assert_eq!(lease.pointer("/spec/holderIdentity").unwrap(), "");
    assert_eq!(lease.pointer("/spec/leaseTransitions").unwrap(), 4);
    let output = on(&server, &["release", "default/job", "--identity", "ada"]);
    assert_eq!(
        text(&output.stderr),
        "kubelease: not released: nobody holds it\n"
    );
    assert_eq!(code(&on(&server, &["release", "default/job"])), 2);
}

#[test]
fn a_forced_release_takes_the_lease_from_the_dead_and_not_from_the_living() {
    let stage = Stage::new("force");
    let job = stage.candidate("a", &[]);
    stage.leader("a", 0);
    let output = on(&stage.server, &["release", "default/job", "--force"]);
    assert_eq!(code(&output), 3);
    assert!(text(&output.stderr).ends_with("not released: a is alive\n"));
    drop(job);
    let short = ["release", "default/job", "--force", "--observe", "100ms"];
    let output = on(&stage.server, &short);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(
        said.contains("may be shorter than the retry period of a"),
        "{said}"
    );
    let lease = stage.server.lease("default", "job").unwrap();
    assert_eq!(lease.pointer("/spec/holderIdentity").unwrap(), "");
}

#[test]
fn the_dev_server_serves_until_a_signal_and_wants_its_token() {
    let (mut server, url) = dev_server(&["--token", "secret", "--namespace", "plant"]);
    let url = url.as_str();
    let run = |token: &str| {
        let words = [
            "run", "-q", "--server", url, "--lease", "plant/x", "--token", token,
        ];
        Job::start(&mut kubelease([&words[..], &["--", "true"]].concat()))
    };
    assert_eq!(run("secret").code(), Some(0));
    let output = output(&["status", "plant/x", "--server", url, "--token", "other"]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("401"), "{output:?}");
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(0));
}

#[test]
fn a_dev_server_with_tls_is_trusted_by_its_authority_alone() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("dev-server.crt");
    let ca = file.to_str().unwrap();
    let (_server, url) = dev_server(&["--tls-ca", ca]);
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let words = ["run", "-q", "--server", &url, "--lease", "default/x"];
    let run = output(&[&words[..], &["--ca", ca, "--", "echo", "leading"]].concat());
    assert_eq!((code(&run), text(&run.stdout)), (0, "leading\n"));
    let status = output(&["status", "default/x", "--server", &url]);
    assert_eq!(code(&status), 1);
    assert!(text(&status.stderr).contains("certificate"), "{status:?}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_simulation_draws_a_lane_for_each_candidate() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulated.svg");
    let name = file.to_str().unwrap();
    let openshift = [
        "simulate",
        "--preset",
        "openshift",
        "--outage",
        "200s..250s",
    ];
    let output = output(&[&openshift[..], &["--crash", "leader@600s", "-f", name]].concat());
    let said = text(&output.stdout);
    assert!(said.contains("fence 101: it crashed\n"), "{said}");
    let drawn = std::fs::read_to_string(&file).unwrap();
    for shape in [
        ">ada<",
        ">bob<",
        ">cyd<",
        "50s without answers",
        "class=\"crash\"",
    ] {
        assert!(drawn.contains(shape), "{shape}");
    }
    std::fs::remove_file(&file).unwrap();
    let output = crate::process::output(&["simulate", "--crash", "zoe@1s"]);
    assert_eq!(code(&output), 2);
    let expected = "kubelease: expected one of ada, bob, cyd, found `zoe`\n";
    assert_eq!(text(&output.stderr), expected);
    let late = format!("ada@{}s", u64::MAX);
    let output = crate::process::output(&["simulate", "--crash", &late]);
    assert_eq!(code(&output), 2);
    let said = text(&output.stderr);
    assert!(
        said.contains("expected more than 0s and at most 1day"),
        "{said}"
    );
}

/// The picture in the README; `UPDATE=1` draws it anew.
#[test]
fn the_picture_of_an_outage_is_the_one_that_is_shown() {
    let shown = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openshift-outage.svg");
    let outages = ["--outage", "200s..250s", "--outage", "500s..800s"];
    let words = [
        "simulate",
        "--preset",
        "openshift",
        "--crash",
        "leader@1200s",
    ];
    let drawn = output(&[&words[..], &outages[..]].concat()).stdout;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(shown, &drawn).unwrap();
    }
    assert!(
        std::fs::read(shown).unwrap() == drawn,
        "UPDATE=1 draws it anew"
    );
}

#[test]
fn completions_that_nobody_reads_are_no_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = kubelease(["completions", "bash"]);
    let output = command.stdout(writer).output().unwrap();
    assert_eq!((code(&output), text(&output.stderr)), (128 + 13, ""));
}

#[test]
fn completions_and_the_manual_name_each_command() {
    for shell in ["bash", "zsh", "fish"] {
        let output = output(&["completions", shell]);
        let said = text(&output.stdout);
        assert!(said.contains("dev-server"), "{shell}");
        assert!(said.contains("on-lost"), "{shell}");
        assert!(!said.contains("guard-child"), "{shell}: nobody's business");
    }
    let man = |words: &[&str]| {
        let output = output(&[&["man"], words].concat());
        text(&output.stdout).replace("\\-", "-")
    };
    let said = man(&[]);
    let commands = [
        "run",
        "heartbeat",
        "release",
        "status",
        "list",
        "watch",
        "timing",
        "simulate",
    ];
    for command in commands {
        assert!(
            said.contains(&format!("kubelease-{command}(1)")),
            "{command}"
        );
    }
    assert!(said.contains("Exit codes"), "{said}");
    let said = man(&["run"]);
    for words in [".TH kubelease-run 1", "--on-lost", "KUBELEASE_FENCE"] {
        assert!(said.contains(words), "{said}");
    }
}
