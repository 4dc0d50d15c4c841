//! `kubelease heartbeat`: a Node's lease from its first beat to its end.

use kubelease::testing::ApiServer;
use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Job, kubelease, output, until};

const NAMESPACE: &str = "kube-node-lease";

/// `interval` is also what the end may take.
fn heart(server: &ApiServer, interval: &str, options: &[&str]) -> Job {
    let url = server.url();
    let words = [
        "heartbeat",
        "--node",
        "gateway-7",
        "--server",
        &url,
        "--at-once",
    ];
    let beat = [
        "--lease-duration",
        "40s",
        "--interval",
        interval,
        "--owner-required",
    ];
    Job::start(&mut kubelease([&words[..], &beat[..], options].concat()))
}

fn lease(server: &ApiServer) -> Option<Value> {
    server.lease(NAMESPACE, "gateway-7")
}

fn text(lease: &Value, pointer: &str) -> String {
    lease
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap()
        .to_owned()
}

#[test]
fn a_nodes_lease_is_owned_beaten_and_left_to_run_out() {
    let server = ApiServer::start().unwrap();
    server.create_node("gateway-7", "11111111-2222-3333-4444-555555555555");
    let mut job = heart(&server, "500ms", &[]);
    until("a beat", || lease(&server).is_some());
    let first = lease(&server).unwrap();
    assert_eq!(text(&first, "/spec/holderIdentity"), "gateway-7");
    let owner = text(&first, "/metadata/ownerReferences/0/uid");
    assert_eq!(owner, "11111111-2222-3333-4444-555555555555");
    let renewed = || text(&lease(&server).unwrap(), "/spec/renewTime");
    let begun = renewed();
    until("another beat", || renewed() > begun);
    job.signal(Signal::TERM);
    assert_eq!(job.code(), Some(0));
    assert_eq!(
        text(&lease(&server).unwrap(), "/spec/holderIdentity"),
        "gateway-7"
    );
}

#[test]
fn a_lease_can_be_deleted_at_the_end() {
    let server = ApiServer::start().unwrap();
    server.create_node("gateway-7", "11111111-2222-3333-4444-555555555555");
    let mut job = heart(&server, "10s", &["--retire", "delete"]);
    until("a beat", || lease(&server).is_some());
    job.signal(Signal::INT);
    assert_eq!(job.code(), Some(0));
    assert_eq!(lease(&server), None);
}

#[test]
fn a_node_can_be_registered_and_kept_ready() {
    let server = ApiServer::start().unwrap();
    let mut job = heart(&server, "500ms", &["--register", "--keep-ready"]);
    let is_ready = || {
        let node = server.object("nodes", "", "gateway-7")?;
        Some(node.pointer("/status/conditions/0/status")? == "True")
    };
    until("the condition", || is_ready() == Some(true));
    assert!(lease(&server).is_some());
    job.signal(Signal::TERM);
    assert_eq!(job.code(), Some(0));
}

#[test]
fn the_lease_is_made_and_beaten_with_the_requests_that_a_role_grants() {
    let cases: [(&[&str], [&str; 2]); 3] = [
        (&[], ["POST", "PUT"]),
        (&["--create-with-put"], ["PUT", "PUT"]),
        (&["--patch"], ["POST", "PATCH"]),
    ];
    for (options, expected) in cases {
        let server = ApiServer::start().unwrap();
        server.create_node("gateway-7", "11111111-2222-3333-4444-555555555555");
        let mut job = heart(&server, "500ms", options);
        let writes = || -> Vec<_> {
            let requests = server.requests().into_iter();
            let methods = requests.map(|request| request.method);
            methods.filter(|method| method != "GET").collect()
        };
        until("two beats", || writes().len() >= 2);
        assert_eq!(writes()[..2], expected, "{options:?}");
        job.signal(Signal::TERM);
        assert_eq!(job.code(), Some(0));
    }
}

#[test]
fn durations_that_do_not_go_together_are_named() {
    let lease = ["heartbeat", "--embedded", "--lease", "a/b", "--holder", "c"];
    let output = output(&[&lease[..], &["--lease-duration", "1500ms"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = str::from_utf8(&output.stderr).unwrap();
    assert!(said.starts_with("kubelease: heartbeat: expected"), "{said}");
}
