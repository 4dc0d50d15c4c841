//! Heartbeats on a real server, with the real node-lifecycle controller as their judge: a Node is
//! Ready while it is beaten for, Unknown when that stops, and Ready again when it goes on.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use core::time::Duration;
use std::sync::Arc;

use kubelease_cluster::controllers::{Controllers, Pace};
use kubelease_cluster::device::{Device, Who, since};
use kubelease_cluster::log::wall_us;
use kubelease_cluster::nodes::{Nodes, Seen};
use kubelease_cluster::process::Process;
use kubelease_cluster::{Cluster, node_lease, until};
use rustix::process::Signal;
use serde_json::json;
use tokio::task::LocalSet;
use tokio::time::sleep;

const ALL: [Who; 5] = [
    Who::Node,
    Who::NodeByPatch,
    Who::Account,
    Who::NodeOverC,
    Who::ComponentHelpers,
];

const LONG: Duration = Duration::from_secs(20);

/// As long as it takes to tell that a Node stays as it is.
fn whole_grace(pace: Pace) -> Duration {
    pace.latest() + 2 * pace.monitor_period
}

/// What was measured of a device.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    first_ready: Duration,
    /// After SIGKILL, SIGSTOP and SIGTERM: from the last beat to Unknown, and from the start, or
    /// SIGCONT, to Ready.
    stops: [(Duration, Duration); 3],
    /// From the deletion of the Node to the new one's Ready.
    made_anew: Duration,
}

/// From the first beat over a crash to a stop that wakes again.
async fn begin(nodes: Nodes, device: Arc<Device>) -> (Process, Times) {
    let mut times = Times::default();
    let (process, took) = device.come_up().await;
    times.first_ready = took;
    let uid = nodes.last(device.name).uid;
    assert!(device.has_owner(&uid).await, "{:?}", device.lease().await);
    let labels = json!({"metadata": {"labels": {"plant": "3"}, "annotations": {"door": "7"}}});
    let target = node_lease(device.name);
    let admin = device.admin();
    let answer = admin.ask("PATCH", &target, &labels.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    // The condition is posted once: from here on only the lease says that it lives.
    sleep(whole_grace(device.pace)).await;
    assert_eq!(nodes.last(device.name).ready, "True");
    process.kill();
    let killed = device.be_unknown().await;

    // Beats alone do not bring it back.
    let process = device.start(false);
    device.beats().await;
    sleep(2 * device.pace.monitor_period + Duration::from_secs(1)).await;
    device.beats().await;
    assert_eq!(nodes.last(device.name).ready, "Unknown");
    if device.who.looks() {
        let said = process.said().to_lowercase();
        // In words, and over C by the name of what the Node says.
        let reasons = ["missed its beats", "unknown"];
        let says_it = |line: &str| {
            line.contains("not ready") && reasons.iter().any(|reason| line.ends_with(reason))
        };
        assert!(said.lines().any(says_it), "{said}");
    }
    process.terminate().await;
    let (process, took) = device.come_up().await;
    times.stops[0] = (killed, took);

    process.signal(Signal::STOP);
    let stopped = device.be_unknown().await;
    let woken = wall_us();
    process.signal(Signal::CONT);
    device.be_ready().await;
    times.stops[1] = (stopped, since(woken));
    (process, times)
}

/// From there over a stop in order to a Node that is made anew.
async fn go_on(nodes: Nodes, device: Arc<Device>, (process, mut times): (Process, Times)) -> Times {
    device.beats().await;
    process.terminate().await;
    let ended = device.be_unknown().await;
    let (process, took) = device.come_up().await;
    times.stops[2] = (ended, took);

    let lease = device.lease().await;
    assert_eq!(lease.at("/metadata/labels/plant"), "3");
    assert_eq!(lease.at("/metadata/annotations/door"), "7");
    assert_eq!(lease.at("/spec/holderIdentity"), device.name);

    let old = nodes.last(device.name).uid;
    let begun = wall_us();
    nodes.remove(device.name).await;
    if !device.who.registers() {
        nodes.make(device.name).await;
    }
    let is_new = |seen: &Seen| !seen.is_deleted && seen.uid != old;
    let new = nodes.until(device.name, LONG, is_new, "made anew").await;
    until("the lease has the new owner", LONG, async || {
        device.has_owner(&new.uid).await
    })
    .await;
    device.be_ready().await;
    times.made_anew = since(begun);
    // No garbage collector takes it away again.
    let made = device.lease().await.at("/metadata/uid");
    sleep(Duration::from_secs(2)).await;
    device.beats().await;
    assert_eq!(device.lease().await.at("/metadata/uid"), made);
    process.terminate().await;
    times
}

/// Runs them all beside one another, and answers in their order.
async fn all_at_once<T: 'static>(
    parts: impl Iterator<Item = impl Future<Output = T> + 'static>,
) -> Vec<T> {
    let here = LocalSet::new();
    let tasks: Vec<_> = parts.map(|part| here.spawn_local(part)).collect();
    let mut found = Vec::new();
    let collect = async {
        for task in tasks {
            found.push(task.await.unwrap());
        }
    };
    here.run_until(collect).await;
    found
}

fn print(device: &Device, times: &Times) {
    let seconds = |time: Duration| format!("{:5.2}", time.as_secs_f64());
    let [killed, stopped, ended] = times
        .stops
        .map(|(unknown, ready)| format!("{} {}", seconds(unknown), seconds(ready)));
    let who = format!("{:?}", device.who);
    let (first, anew) = (seconds(times.first_ready), seconds(times.made_anew));
    println!("{who:17} {first}   | {killed} | {stopped} | {ended} | {anew}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run"]
async fn nodes_are_ready_while_they_are_beaten_for_and_unknown_when_that_stops() {
    let cluster = Cluster::running();
    let nodes = Nodes::follow(&cluster.admin());
    let controllers = Controllers::start(&cluster, &nodes, Pace::FAST, &[]).await;
    let mut devices = Vec::new();
    for who in ALL {
        let device = Device::new(&cluster, &nodes, who, Pace::FAST).await;
        devices.push(Arc::new(device));
    }
    let begun = devices
        .iter()
        .map(|device| begin(nodes.clone(), Arc::clone(device)));
    let begun = all_at_once(begun).await;
    // The controllers start anew with the rule of older releases, under which each beat has to
    // raise renewTime; the new one also keeps a Node Ready that writes anything else.
    controllers.stop();
    let old_rule = ["--feature-gates=NodeControllerLeaseCircuitBreaker=false"];
    let controllers = Controllers::start(&cluster, &nodes, Pace::FAST, &old_rule).await;
    sleep(whole_grace(Pace::FAST)).await;
    let ends = devices.iter().zip(begun);
    let ends = ends.map(|(device, begun)| go_on(nodes.clone(), Arc::clone(device), begun));
    let times = all_at_once(ends).await;
    controllers.stop();
    println!("times in s      to Ready  | kill -9, back | STOP, CONT  | TERM, back  | new Node");
    for (device, times) in devices.iter().zip(&times) {
        print(device, times);
        let mut states = nodes.states(device.name, device.since_us);
        // Before anybody spoke for it.
        states.retain(|state| !state.is_empty());
        let expected = "True Unknown True Unknown True Unknown True deleted True";
        assert_eq!(states.join(" "), expected, "{}", device.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants a cluster: tests/cluster/run node_defaults"]
async fn with_all_defaults_a_dead_node_is_unknown_after_the_grace_period() {
    let cluster = Cluster::running();
    let nodes = Nodes::follow(&cluster.admin());
    let controllers = Controllers::start(&cluster, &nodes, Pace::DEFAULT, &[]).await;
    let device = Device::new(&cluster, &nodes, Who::Node, Pace::DEFAULT).await;
    let (process, first) = device.come_up().await;
    sleep(whole_grace(Pace::DEFAULT)).await;
    assert_eq!(nodes.last(device.name).ready, "True");
    process.kill();
    let unknown = device.be_unknown().await;
    let (process, back) = device.come_up().await;
    println!(
        "Ready after {first:.2?}; Unknown {unknown:.2?} after the last beat; back in {back:.2?}"
    );
    let mut states = nodes.states(device.name, device.since_us);
    states.retain(|state| !state.is_empty());
    assert_eq!(states, ["True", "Unknown", "True"]);
    process.terminate().await;
    controllers.stop();
}
