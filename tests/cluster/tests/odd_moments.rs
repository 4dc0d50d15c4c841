//! The odd moments of a real API server, and what our machine makes of them.
//!
//! They stop and end parts of the cluster: one test at a time.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that panics has failed, and times it by itself"
)]

use core::time::Duration;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use kubelease::kubelease_core::time::Duration as Millis;
use kubelease::{Changes, Create, Event, Finish, Handle, StopReason, Timing, TroubleKind};
use kubelease_cluster::client::{Answer, Client};
use kubelease_cluster::gate::{Gate, Keeper, Request};
use kubelease_cluster::part::Part;
use kubelease_cluster::{Cluster, lease, until};
use serde_json::Value;
use tokio_stream::StreamExt as _;

const LONG: Duration = Duration::from_secs(60);

const fn timing(lease: u64, renew: u64, retry: u64) -> Timing {
    Timing::new(
        Millis::from_millis(lease),
        Millis::from_millis(renew),
        Millis::from_millis(retry),
    )
}

/// A name for a lease that no earlier run has used on this cluster.
fn unique(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

/// What a handle has told so far.
#[derive(Clone, Debug, Default)]
struct Told(Arc<Mutex<Vec<Event>>>);

impl Told {
    fn listen(mut changes: Changes) -> Self {
        let told = Self::default();
        let events = Arc::clone(&told.0);
        tokio::spawn(async move {
            while let Some(event) = changes.next().await {
                events.lock().unwrap().push(event);
            }
        });
        told
    }

    fn any(&self, is_it: impl Fn(&Event) -> bool) -> bool {
        self.0.lock().unwrap().iter().any(is_it)
    }
}

const fn is_trouble(event: &Event) -> bool {
    matches!(event, Event::Trouble { .. } | Event::IdentityCollision)
}

const fn is_forbidden(event: &Event) -> bool {
    matches!(
        event,
        Event::Trouble {
            kind: TroubleKind::Forbidden,
            ..
        }
    )
}

async fn leads(handle: &Handle) {
    until("it leads", LONG, async || handle.is_leading()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn a_restart_of_the_server_ends_no_term_and_the_403s_after_it_are_no_trouble() {
    let cluster = Cluster::running();
    cluster.let_candidates_elect().await;
    let name = unique("restart");
    // It asks often enough to meet the moment in which nobody has rights.
    let often = timing(30_000, 20_000, 50);
    let handle = cluster
        .elector("candidate-0", &name, often)
        .start()
        .unwrap();
    let told = Told::listen(handle.changes());
    leads(&handle).await;
    let refusals = || -> Vec<i64> {
        let audited = cluster.audited(&name).into_iter();
        let refused = audited.filter(|request| request.status == 403);
        refused.map(|request| request.received_us).collect()
    };
    for restarts in 1..=3 {
        let begun = Instant::now();
        cluster.api().kill();
        cluster.api().start();
        cluster.wait_until_serving().await;
        let before = handle.leading_until();
        until("a renewal", LONG, async || handle.leading_until() > before).await;
        let (took, refusals) = (begun.elapsed(), refusals().len());
        println!("restart {restarts}: {took:.1?}, refusals {refusals}");
        if refusals > 0 {
            break;
        }
    }
    let refusals = refusals();
    let (first, last) = (refusals.first().unwrap(), refusals.last().unwrap());
    // A slow machine takes longer to load the rules: then they are told, as they should be.
    let is_short = last - first < 900_000;
    let is_told = told.any(is_forbidden);
    assert!(!(is_short && is_told), "{told:?}");
    assert!(
        !told.any(|event| is_trouble(event) && !is_forbidden(event)),
        "{told:?}"
    );
    assert_eq!((handle.term(), handle.is_leading()), (1, true));
    assert!(
        !told.any(|event| matches!(event, Event::StoppedLeading { .. })),
        "{told:?}"
    );
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
}

/// Stops etcd under each POST, as long as the server waits for it.
struct StopsEtcd {
    etcd: Part,
    admin: Client,
    lease: String,
    /// The status of the POST, and whether it was written.
    answers: Mutex<Vec<(u16, bool)>>,
}

impl Keeper for StopsEtcd {
    fn before(&self, request: &mut Request) {
        if request.method == "POST" {
            self.etcd.pause();
            // The server gives up before the candidate does.
            let path = request.target.split('?').next().unwrap_or_default();
            request.target = format!("{path}?fieldManager=kubelease&timeout=2s");
        }
    }

    async fn after(&self, request: &Request, answer: &Answer) {
        if request.method != "POST" {
            return;
        }
        self.etcd.resume();
        // What etcd was sent it may still carry out.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let read = self.admin.ask("GET", &lease(&self.lease), "").await;
        self.answers
            .lock()
            .unwrap()
            .push((answer.status, read.status == 200));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn a_create_that_was_answered_504_and_written_is_found_and_is_ours() {
    let cluster = Cluster::running();
    cluster.let_candidates_elect().await;
    for number in 0..5 {
        let name = unique(&format!("unknown-outcome-{number}"));
        let keeper = Arc::new(StopsEtcd {
            etcd: cluster.etcd(),
            admin: cluster.admin(),
            lease: name.clone(),
            answers: Mutex::default(),
        });
        let gate = Gate::open(cluster.client("candidate-0"), Arc::clone(&keeper))
            .await
            .unwrap();
        let elector = cluster.elector("candidate-0", &name, timing(30_000, 20_000, 1_000));
        let handle = elector.server(gate.url()).start().unwrap();
        let told = Told::listen(handle.changes());
        // No POST is answered well: it leads when it has found one that was written.
        leads(&handle).await;

        let answers = keeper.answers.lock().unwrap().clone();
        println!("{name}: POSTs, each with its status and whether it was written: {answers:?}");
        let &(status, is_written) = answers.last().unwrap();
        assert!(status != 201 && is_written, "{answers:?}");
        let stored = cluster.admin().ask("GET", &lease(&name), "").await;
        assert_eq!(stored.at("/spec/holderIdentity"), handle.identity());
        assert_eq!(stored.at("/spec/leaseTransitions"), Value::from(0));
        assert!(!told.any(is_trouble), "{told:?}");
        assert_eq!(handle.shutdown().await, Ok(Finish::Released));
        // The server may close the connection in place of the answer.
        if status == 504 {
            return;
        }
    }
    panic!("no POST was both answered 504 and written");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn a_leader_whose_server_has_lost_etcd_stops_in_time_and_one_leads_when_it_is_back() {
    let cluster = Cluster::running();
    cluster.let_candidates_elect().await;
    let (name, timing) = (unique("no-etcd"), timing(6_000, 4_000, 500));
    let first = cluster
        .elector("candidate-0", &name, timing)
        .start()
        .unwrap();
    let told = Told::listen(first.changes());
    leads(&first).await;
    let second = cluster
        .elector("candidate-1", &name, timing)
        .start()
        .unwrap();
    let leader = first.identity().to_owned();
    until("the second knows", LONG, async || {
        second.leader().as_ref() == Some(&leader)
    })
    .await;

    cluster.etcd().pause();
    let paused = Instant::now();
    let ended = loop {
        assert!(!second.is_leading(), "it leads without a write");
        if !first.is_leading() {
            break paused.elapsed();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    for _ in 0..800 {
        assert!(
            !first.is_leading() && !second.is_leading(),
            "one leads without a write"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cluster.etcd().resume();
    let resumed = Instant::now();
    let back = loop {
        let leading = (first.is_leading(), second.is_leading());
        assert_ne!(leading, (true, true));
        if leading != (false, false) {
            break resumed.elapsed();
        }
        assert!(resumed.elapsed() < LONG, "nobody leads again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    println!("the term ended {ended:.2?} after etcd stopped; a leader {back:.2?} after it went on");
    assert!(ended < Duration::from_millis(4_100), "{ended:?}");
    assert!(told.any(|event| {
        matches!(
            event,
            Event::StoppedLeading {
                reason: StopReason::Deadline,
                ..
            }
        )
    }));
    first.shutdown().await.unwrap();
    second.shutdown().await.unwrap();
}

/// How long the server keeps a connection on which nothing comes.
fn idle_time(cluster: &Cluster) -> Duration {
    let address = cluster.url().replace("https://", "");
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-connect", &address])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    let request = b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n";
    std::io::Write::write_all(&mut input, request).unwrap();
    let begun = Instant::now();
    // It ends when the server closes.
    client.wait().unwrap();
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn a_connection_that_was_idle_for_more_than_90_s_costs_no_request() {
    let cluster = Cluster::running();
    cluster.let_candidates_elect().await;
    let closed = tokio::task::spawn_blocking({
        let cluster = cluster.clone();
        move || idle_time(&cluster)
    });
    let slow = timing(300_000, 240_000, 95_000);
    let handle = cluster
        .elector("candidate-0", &unique("idle"), slow)
        .start()
        .unwrap();
    let told = Told::listen(handle.changes());
    leads(&handle).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (sent, until_first) = (handle.requests_sent(), handle.leading_until());
    until(
        "a renewal after the pause",
        Duration::from_secs(110),
        async || handle.leading_until() > until_first,
    )
    .await;
    let closed = closed.await.unwrap();
    println!("the server closed after {closed:.1?}");
    assert!((85..95).contains(&closed.as_secs()), "{closed:?}");
    assert_eq!(handle.requests_sent(), sent + 1, "one request, one answer");
    assert_eq!(handle.last_error(), None);
    assert!(!told.any(|event| *event == Event::ReconnectAdvised || is_trouble(event)));
    assert_eq!(handle.shutdown().await, Ok(Finish::Released));
}

/// SIGTERM to the server, and another in its place as soon as it takes no new connections. It goes
/// on for those that it has.
async fn replace_api(cluster: &Cluster) -> Part {
    let ending = cluster.api().set_aside("ending-api");
    ending.terminate();
    until("no new connections", LONG, async || {
        let client = cluster.admin();
        client.ask("GET", "/livez", "").await.status == 0
    })
    .await;
    cluster.api().start();
    cluster.wait_until_serving().await;
    ending
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn a_watch_that_goes_on_at_a_server_that_ends_tells_what_is_written_at_the_next_one() {
    let cluster = Cluster::running();
    cluster.let_candidates_elect().await;
    let (name, timing) = (unique("ending"), timing(60_000, 40_000, 10_000));
    let start = |number: usize| {
        let elector = cluster.elector(&format!("candidate-{number}"), &name, timing);
        elector.watch().start().unwrap()
    };
    let first = start(0);
    leads(&first).await;
    let (second, third) = (start(1), start(2));
    let watching = |user: &str| {
        let audited = cluster.audited(&name).into_iter();
        let watches = audited.filter(|request| request.verb == "watch" && request.user == user);
        watches.count()
    };
    until("both watch", LONG, async || {
        watching("candidate-1") == 1 && watching("candidate-2") == 1
    })
    .await;
    let told = [
        Told::listen(second.changes()),
        Told::listen(third.changes()),
    ];
    let sent = [second.requests_sent(), third.requests_sent()];

    let ending = replace_api(&cluster).await;
    let before = first.leading_until();
    until("a renewal", LONG, async || first.leading_until() > before).await;
    assert!(ending.is_running(), "the watches have ended with it");
    assert_eq!(
        [second.requests_sent(), third.requests_sent()],
        sent,
        "they still watch at the one that ends"
    );

    let given_up = Instant::now();
    assert_eq!(first.shutdown().await, Ok(Finish::Released));
    until("one leads", LONG, async || {
        second.is_leading() || third.is_leading()
    })
    .await;
    let took = given_up.elapsed();
    println!("taken over {took:.2?} after the release, by a watch at the server that ends");
    // Those that ask again and again do so each 10 s.
    assert!(took < Duration::from_secs(5), "{took:?}");

    // One still watches there. It ends for good, and that one watches at the next.
    let (leader, other, user) = match second.is_leading() {
        true => (second, third, "candidate-2"),
        false => (third, second, "candidate-1"),
    };
    ending.kill();
    until("it watches again", LONG, async || watching(user) >= 2).await;
    let given_up = Instant::now();
    assert_eq!(leader.shutdown().await, Ok(Finish::Released));
    leads(&other).await;
    let took = given_up.elapsed();
    println!("taken over {took:.2?} after the release, by a watch at the next server");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(!told.iter().any(|told| told.any(is_trouble)), "{told:?}");
    let stored = cluster.admin().ask("GET", &lease(&name), "").await;
    assert_eq!(stored.at("/spec/leaseTransitions"), Value::from(2));
    assert_eq!(other.shutdown().await, Ok(Finish::Released));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn of_eight_that_create_by_put_at_once_one_leads_and_nobody_is_in_trouble() {
    let cluster = Cluster::running();
    cluster.let_candidates_elect().await;
    let mut refused = 0;
    for round in 0..8 {
        let name = unique(&format!("race-{round}"));
        let handles: Vec<_> = (0..8)
            .map(|number| {
                let user = format!("candidate-{}", number % 6);
                let elector = cluster.elector(&user, &name, timing(15_000, 10_000, 1_000));
                elector.create(Create::Put).start().unwrap()
            })
            .collect();
        let told: Vec<_> = handles
            .iter()
            .map(|handle| Told::listen(handle.changes()))
            .collect();
        until("all know one leader", LONG, async || {
            let leaders: Vec<_> = handles.iter().map(Handle::leader).collect();
            leaders
                .iter()
                .all(|leader| leader.is_some() && Some(leader) == leaders.first())
        })
        .await;
        assert_eq!(
            handles.iter().filter(|handle| handle.is_leading()).count(),
            1
        );
        assert!(!told.iter().any(|told| told.any(is_trouble)), "{told:?}");
        let audited = cluster.audited(&name);
        let count = |status| {
            audited
                .iter()
                .filter(|entry| entry.status == status)
                .count()
        };
        println!(
            "{name}: 201 {}, 422 {}, 409 {}",
            count(201),
            count(422),
            count(409)
        );
        assert_eq!(count(201), 1);
        refused += count(422);
        for handle in handles {
            handle.shutdown().await.unwrap();
        }
        if refused > 0 && round > 0 {
            break;
        }
    }
    assert!(refused > 0, "no creation by PUT met another");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn rights_that_are_missing_for_good_are_told() {
    let cluster = Cluster::running();
    let elector = cluster.elector("elector", "forbidden", timing(15_000, 10_000, 500));
    let handle = elector.start().unwrap();
    let told = Told::listen(handle.changes());
    until("it says so", LONG, async || told.any(is_forbidden)).await;
    assert!(!handle.is_leading());
}
