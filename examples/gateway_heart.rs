//! A gateway in C beats for its Node: through a crash, a restart, a Node that is registered anew,
//! an end, and work that hangs. What the API server saw of it is judged.
//!
//! ```text
//! make -C examples/c heartbeat_curl
//! cargo run --example gateway_heart -- examples/c/heartbeat_curl
//! ```
//!
//! It starts an API server of its own, ends by itself within two minutes, and with an error where
//! anything went other than promised.

use core::error::Error;
use core::time::Duration;
use std::process::{Child, Command};
use std::thread::sleep;

use kubelease::testing::ApiServer;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Longest wait for a beat each half second, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> Outcome {
    let program = std::env::args()
        .nth(1)
        .ok_or("usage: gateway_heart heartbeat_curl")?;
    let server = ApiServer::start()?;
    let world = World { server, program };
    world.a_crash_and_a_restart()?;
    world.a_node_registered_anew()?;
    world.work_that_hangs()
}

struct World {
    server: ApiServer,
    program: String,
}

impl World {
    /// The second process takes the lease up where the first left it.
    fn a_crash_and_a_restart(&self) -> Outcome {
        self.server.create_node("gw1", "node-1");
        let mut gateway = self.gateway(&[])?;
        self.beats(4)?;
        self.is(self.owner() == "node-1", "the Node owns the lease")?;
        gateway.kill("KILL")?;
        let before = self.renew_time();
        let mut gateway = self.gateway(&[])?;
        self.beats(4)?;
        self.is(self.renew_time() > before, "renewTime rises past a crash")?;
        let created = |it: &kubelease::testing::LoggedRequest| it.status == Some(201);
        let created = self.server.count_if(created);
        self.is(created == 1, "a restart creates nothing")?;
        gateway.kill("TERM")?;
        let last = self.renew_time();
        sleep(Duration::from_secs(1));
        self.is(
            self.renew_time() == last,
            "an end leaves the lease as it is",
        )
    }

    /// The garbage collector takes the lease of the old Node; the new Node owns the next one.
    fn a_node_registered_anew(&self) -> Outcome {
        let mut gateway = self.gateway(&["--retire", "delete"])?;
        self.beats(2)?;
        self.server.create_node("gw1", "node-2");
        self.server.delete_lease("kube-node-lease", "gw1");
        self.beats(2)?;
        self.is(self.owner() == "node-2", "the lease is the new Node's")?;
        gateway.kill("TERM")?;
        let lease = self.server.lease("kube-node-lease", "gw1");
        self.is(lease.is_none(), "the lease is deleted at the end")
    }

    /// Beats end with the work that they vouch for, and come back with it.
    fn work_that_hangs(&self) -> Outcome {
        let file = std::env::temp_dir().join(format!("gateway-heart-{}", std::process::id()));
        std::fs::write(&file, "at work")?;
        let path = file.to_string_lossy().into_owned();
        let mut gateway = self.gateway(&["--alive-file", &path, "--alive-ms", "1500"])?;
        self.beats(2)?;
        sleep(Duration::from_millis(2500));
        let requests = self.server.requests().len();
        sleep(Duration::from_secs(1));
        let is_silent = self.server.requests().len() == requests;
        std::fs::write(&file, "again")?;
        let beats = self.beats(2);
        std::fs::remove_file(&file)?;
        self.is(is_silent, "a gateway whose work hangs is silent")?;
        beats?;
        gateway.kill("TERM")
    }

    fn gateway(&self, more: &[&str]) -> Outcome<Gateway> {
        let url = self.server.url();
        let process = Command::new(&self.program)
            .args(["--server", &url, "--node", "gw1"])
            .args(["--lease-duration-ms", "4000", "--interval-ms", "500"])
            .args(more)
            .spawn()?;
        Ok(Gateway(process))
    }

    /// Waits for so many higher renewTimes; a lower one is an error.
    fn beats(&self, count: u32) -> Outcome {
        let end = self.server.uptime() + PATIENCE;
        let (mut seen, mut last) = (0, self.renew_time());
        while seen < count {
            if self.server.uptime() > end {
                return Err(format!("{seen} of {count} beats in {PATIENCE:?}").into());
            }
            sleep(Duration::from_millis(20));
            let time = self.renew_time();
            if time < last && !time.is_empty() {
                return Err(format!("renewTime went from {last} to {time}").into());
            }
            if time > last {
                seen += 1;
            }
            last = time;
        }
        Ok(())
    }

    fn renew_time(&self) -> String {
        self.member("/spec/renewTime")
    }

    fn owner(&self) -> String {
        self.member("/metadata/ownerReferences/0/uid")
    }

    /// A text in the lease; empty where there is none.
    fn member(&self, pointer: &str) -> String {
        let lease = self.server.lease("kube-node-lease", "gw1");
        let member = lease.as_ref().and_then(|lease| lease.pointer(pointer));
        let text = member.and_then(|member| member.as_str());
        text.unwrap_or_default().to_owned()
    }

    fn is(&self, holds: bool, promise: &str) -> Outcome {
        let seconds = self.server.uptime().as_secs_f64();
        println!("{seconds:8.3} s  {promise}: {holds}");
        if holds {
            Ok(())
        } else {
            Err(format!("not so: {promise}").into())
        }
    }
}

/// The program in C.
struct Gateway(Child);

impl Gateway {
    /// Sends a signal and waits for the end, which has to be a good one where it was asked for.
    fn kill(&mut self, signal: &str) -> Outcome {
        let process = self.0.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", signal, &process])
            .status()?;
        let status = self.0.wait()?;
        if !sent.success() || (signal == "TERM" && !status.success()) {
            return Err(format!("kill -s {signal}: {sent}, the gateway: {status}").into());
        }
        Ok(())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
