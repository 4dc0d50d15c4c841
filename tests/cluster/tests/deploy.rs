//! The manifests of `examples/deploy` on a real server: each is enough, and no verb of it is too
//! much.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use core::time::Duration;

use kubelease::kubelease_core::time::Duration as Millis;
use kubelease::{
    Builder, Changes, Connection, Create, Elector, Event, Finish, HeartbeatConfig, NodeHeartbeat,
    Retire, Timing, TroubleKind, Verb,
};
use kubelease_cluster::client::Client;
use kubelease_cluster::log::wall_us;
use kubelease_cluster::manifest::Manifest;
use kubelease_cluster::{Cluster, node_lease, until};
use serde_json::json;
use tokio_stream::StreamExt as _;

const LONG: Duration = Duration::from_secs(20);

const TIMING: Timing = Timing::new(
    Millis::from_millis(8_000),
    Millis::from_millis(6_000),
    Millis::from_millis(300),
);

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/plant-3/leases";

/// Makes the objects of a file, and answers with those that grant something.
async fn apply(cluster: &Cluster, file: &str) -> Vec<Manifest> {
    let admin = cluster.admin();
    let namespace = r#"{"metadata":{"name":"plant-3"}}"#;
    let answer = admin.ask("POST", "/api/v1/namespaces", namespace).await;
    assert!(matches!(answer.status, 201 | 409), "{answer:?}");
    let manifests = Manifest::read(file);
    for manifest in &manifests {
        manifest.apply(&admin).await;
    }
    let grants = ["Role", "ClusterRole", "FlowSchema"];
    manifests
        .into_iter()
        .filter(|manifest| grants.contains(&manifest.kind.as_str()))
        .collect()
}

/// The verb of the first refusal that is told.
async fn forbidden(mut changes: Changes) -> Verb {
    loop {
        let event = changes.next().await.expect("an event");
        if let Event::Trouble {
            kind: TroubleKind::Forbidden,
            verb,
        } = event
        {
            return verb;
        }
    }
}

/// One whole life of a candidate: it makes the lease, renews it and gives it up. The error is the
/// right that it lacked.
async fn life(cluster: &Cluster, elector: Builder) -> Result<(), Verb> {
    let admin = cluster.admin();
    let target = format!("{LEASES}/pump-control");
    admin.ask("DELETE", &target, "").await;
    let handle = elector.start().unwrap();
    let forbidden = forbidden(handle.changes());
    let renews = async {
        until("it leads", LONG, async || handle.is_leading()).await;
        let first = handle.leading_until();
        until("it renews", LONG, async || {
            handle.is_leading() && handle.leading_until() > first
        })
        .await;
    };
    tokio::select! {
        verb = forbidden => return Err(verb),
        () = renews => {}
    }
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
    Ok(())
}

/// A candidate in watch mode waits until another gives the lease up, and then lives as it would
/// otherwise.
async fn succession(cluster: &Cluster, elector: Builder) -> Result<(), Verb> {
    let admin = cluster.admin();
    let (target, begun) = (format!("{LEASES}/pump-control"), wall_us());
    admin.ask("DELETE", &target, "").await;
    let held = json!({"metadata": {"name": "pump-control"},
        "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600}});
    let answer = admin.ask("POST", LEASES, &held.to_string()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let handle = elector.clone().start().unwrap();
    let succeeds = async {
        until("it watches", LONG, async || {
            let audited = cluster.audited("pump-control").into_iter();
            let mut since = audited.filter(|request| request.received_us > begun);
            since.any(|request| request.verb == "watch" && request.status == 200)
        })
        .await;
        let released = r#"{"spec":{"holderIdentity":""}}"#;
        admin.ask("PATCH", &target, released).await;
        until("it leads", LONG, async || handle.is_leading()).await;
    };
    tokio::select! {
        verb = forbidden(handle.changes()) => return Err(verb),
        () = succeeds => {}
    }
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
    life(cluster, elector).await
}

fn verb_of(right: &str) -> Verb {
    match right {
        "get" => Verb::Get,
        "create" => Verb::Create,
        "update" | "patch" => Verb::Update,
        "watch" => Verb::Watch,
        other => panic!("an elector needs no {other}"),
    }
}

/// Waits until the server's rules are as they were written: whether the account may do this.
async fn until_it_counts(account: &Client, verb: &str, name: &str, is_allowed: bool) {
    let target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = json!({"spec": {"resourceAttributes": {"group": "coordination.k8s.io",
        "resource": "leases", "namespace": "plant-3", "verb": verb, "name": name}}});
    until("the rules count", LONG, async || {
        let answer = account.ask("POST", target, &review.to_string()).await;
        answer.at("/status/allowed") == is_allowed
    })
    .await;
}

async fn each_verb_of_an_elector_is_necessary(
    file: &str,
    mode: fn(Builder) -> Builder,
    life: impl AsyncFn(&Cluster, Builder) -> Result<(), Verb>,
) {
    let cluster = Cluster::running();
    let manifests = apply(&cluster, file).await;
    let token = cluster
        .admin()
        .account_token("plant-3", "pump-control")
        .await;
    let account = Client::new(&cluster.url(), &cluster.ca_pem(), &token);
    let elector = mode(
        Elector::builder()
            .server(cluster.url())
            .ca_pem(cluster.ca_pem())
            .bearer_token(&token)
            .namespace("plant-3")
            .name("pump-control")
            .timing(TIMING),
    );
    let [role] = manifests.as_slice() else {
        panic!("expected one Role, found {manifests:?}");
    };
    let grants = role.verbs(&cluster.admin()).await;
    for grant in &grants {
        until_it_counts(&account, &grant.verb, "pump-control", true).await;
    }
    assert_eq!(life(&cluster, elector.clone()).await, Ok(()));
    for grant in &grants {
        role.take_away(&cluster.admin(), grant).await;
        until_it_counts(&account, &grant.verb, "pump-control", false).await;
        let found = life(&cluster, elector.clone()).await;
        println!("{file} without {}: {found:?}", grant.verb);
        // A creation by PUT needs `update` before it is asked for `create`.
        let is_told = found == Err(verb_of(&grant.verb))
            || (grant.verb == "update" && found == Err(Verb::Create));
        assert!(is_told, "{file} without {}: {found:?}", grant.verb);
        role.apply(&cluster.admin()).await;
        until_it_counts(&account, &grant.verb, "pump-control", true).await;
    }
}

#[tokio::test]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn each_verb_of_the_role_for_put_is_necessary() {
    each_verb_of_an_elector_is_necessary("elector.yaml", |elector| elector, life).await;
}

#[tokio::test]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn each_verb_of_the_role_tied_to_a_name_is_necessary() {
    let by_name = |elector: Builder| elector.create(Create::Put);
    each_verb_of_an_elector_is_necessary("elector-by-name.yaml", by_name, life).await;
}

#[tokio::test]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn each_verb_of_the_role_for_patches_is_necessary() {
    let by_patch = |elector: Builder| elector.patch_mode();
    each_verb_of_an_elector_is_necessary("elector-patch.yaml", by_patch, life).await;
}

#[tokio::test]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn each_verb_of_the_role_for_watch_mode_is_necessary() {
    let by_watch = |elector: Builder| elector.watch();
    each_verb_of_an_elector_is_necessary("elector-watch.yaml", by_watch, succession).await;
}

/// One life of a heartbeat: it finds its Node, makes the lease, beats and says that the Node is
/// ready. The error is what it lacked.
async fn beat(cluster: &Cluster, token: &str) -> Result<(), String> {
    let admin = cluster.admin();
    admin.ask("DELETE", &node_lease("gateway-7"), "").await;
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
    let status = "/api/v1/nodes/gateway-7/status";
    let answer = admin.ask("PATCH", status, &unready.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let connection = Connection::to(cluster.url())
        .ca_pem(cluster.ca_pem())
        .bearer_token(token);
    let config = HeartbeatConfig {
        interval: Millis::from_millis(300),
        create_with_put: true,
        ..NodeHeartbeat::CONFIG
    };
    let heart = NodeHeartbeat::builder("gateway-7")
        .connection(connection)
        .config(config)
        .keep_ready()
        .start()
        .unwrap();
    let is_refused = |text: String| text.contains("nodes/status") && text.contains("403");
    let no_status = until("it may not say so", LONG, async || {
        heart.last_error().is_some_and(is_refused)
    });
    let beats = until("it beats and the Node is ready", LONG, async || {
        let node = admin.ask("GET", status, "").await;
        heart.requests_sent() > 5 && node.at("/status/conditions/0/status") == "True"
    });
    tokio::select! {
        verb = forbidden(heart.changes()) => return Err(format!("{verb:?}")),
        () = no_status => return Err("PatchStatus".to_owned()),
        () = beats => {}
    }
    assert_eq!(heart.retire(Retire::Keep).await, Ok(Finish::Kept));
    Ok(())
}

#[tokio::test]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn each_verb_of_the_roles_for_a_heartbeat_is_necessary() {
    let cluster = Cluster::running();
    let admin = cluster.admin();
    let node = r#"{"metadata":{"name":"gateway-7"}}"#;
    let answer = admin.ask("POST", "/api/v1/nodes", node).await;
    assert!(matches!(answer.status, 201 | 409), "{answer:?}");
    let manifests = apply(&cluster, "heartbeat.yaml").await;
    let token = admin.account_token("kube-node-lease", "gateway-7").await;
    let is_enough = async || beat(&cluster, &token).await == Ok(());
    until("the roles count", LONG, is_enough).await;
    let mut tried = Vec::new();
    for manifest in &manifests {
        for grant in manifest.verbs(&admin).await {
            manifest.take_away(&admin, &grant).await;
            let mut found = Ok(());
            until("a refusal", LONG, async || {
                found = beat(&cluster, &token).await;
                found.is_err()
            })
            .await;
            println!("heartbeat.yaml without {}: {found:?}", grant.verb);
            tried.push((grant.verb, found.unwrap_err()));
            manifest.apply(&admin).await;
            until("the roles count again", LONG, is_enough).await;
        }
    }
    let expected = [
        ("get", "Get"),
        ("create", "Create"),
        // A creation by PUT needs `update` before it is asked for `create`.
        ("update", "Create"),
        ("get", "GetNode"),
        ("patch", "PatchStatus"),
    ];
    assert_eq!(tried.len(), expected.len(), "{tried:?}");
    for ((verb, found), expected) in tried.iter().zip(expected) {
        assert_eq!((verb.as_str(), found.as_str()), expected);
    }
}

/// The requests of electors in each mode.
const REQUESTS: [(&str, &str, &str); 5] = [
    ("get", "GET", "/pump-control"),
    ("create", "POST", ""),
    ("update", "PUT", "/pump-control"),
    ("patch", "PATCH", "/pump-control"),
    (
        "watch",
        "GET",
        "?watch=1&timeoutSeconds=1&resourceVersion=0",
    ),
];

#[tokio::test]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn requests_of_electors_get_a_seat_of_their_own_and_each_verb_of_it_is_necessary() {
    let cluster = Cluster::running();
    let admin = cluster.admin();
    apply(&cluster, "elector.yaml").await;
    let manifests = apply(&cluster, "priority.yaml").await;
    let [schema] = manifests.as_slice() else {
        panic!("expected one FlowSchema, found {manifests:?}");
    };
    let token = cluster
        .admin()
        .account_token("plant-3", "pump-control")
        .await;
    let account = Client::new(&cluster.url(), &cluster.ca_pem(), &token);
    let stored = admin.ask("GET", &schema.path(), "").await;
    let uid = stored.at("/metadata/uid");
    // Who may do it and what the body says matters later than the seat.
    let is_seated = async |verb: &str| {
        let (_, method, target) = *REQUESTS.iter().find(|(name, ..)| *name == verb).unwrap();
        let body = if method == "GET" { "" } else { "{}" };
        let answer = account
            .ask(method, &format!("{LEASES}{target}"), body)
            .await;
        answer.header("x-kubernetes-pf-flowschema-uid") == uid
    };
    let grants = schema.verbs(&admin).await;
    assert_eq!(grants.len(), REQUESTS.len());
    for grant in &grants {
        until("a seat", LONG, async || is_seated(&grant.verb).await).await;
        schema.take_away(&admin, grant).await;
        until("no seat", LONG, async || !is_seated(&grant.verb).await).await;
        schema.apply(&admin).await;
    }
    let other = cluster.client("elector");
    let answer = other
        .ask("GET", &format!("{LEASES}/pump-control"), "")
        .await;
    assert_ne!(answer.header("x-kubernetes-pf-flowschema-uid"), uid);
}

#[tokio::test]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn the_deployment_is_taken() {
    let cluster = Cluster::running();
    apply(&cluster, "elector.yaml").await;
    let manifests = Manifest::read("deployment.yaml");
    let [deployment] = manifests.as_slice() else {
        panic!("expected one object, found {manifests:?}");
    };
    let answer = deployment.apply(&cluster.admin()).await;
    let account = "/spec/template/spec/serviceAccountName";
    assert_eq!(answer.at(account), "pump-control");
}
