//! A candidate in C and one in Rust elect a leader between them: the C one leads first, hands
//! over to Rust and is handed over to, and then is killed.
//!
//! ```text
//! make -C examples/c leader_curl
//! cargo run --example mixed_fleet -- examples/c/leader_curl
//! ```
//!
//! It starts an API server of its own, ends by itself within two minutes, and with an error where
//! anything went other than promised.

use core::error::Error;
use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use kubelease::testing::ApiServer;
use kubelease::{Elector, Finish, Handle};
use tokio::time::Instant;

/// What the C candidate runs while it leads. It says so, with its fencing token.
const WORK: &str = "trap 'exit 0' TERM; echo $KUBELEASE_FENCE; while :; do sleep 0.1; done";

/// Longest wait for a leader: the lease duration of 15 s, one look of a candidate, a busy machine.
const PATIENCE: Duration = Duration::from_secs(25);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args()
        .nth(1)
        .ok_or("usage: mixed_fleet leader_curl")?;
    let server = ApiServer::start()?;
    let begun = Instant::now();
    let note = |text: &str| println!("{:8.3} s  {text}", begun.elapsed().as_secs_f64());

    let mut c = Gateway::start(&program, &server.url(), "c-1")?;
    let first = c.leads().await?;
    note(&format!("C leads, fencing token {first}"));

    let rust = candidate(&server.url())?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    if rust.guard().is_some() {
        return Err("two lead at the same moment".into());
    }
    c.signal("TERM")?;
    let second = leads(&rust).await?;
    note(&format!("C hands over: Rust leads, fencing token {second}"));
    if !c.process.wait()?.success() {
        return Err("the C candidate did not end well".into());
    }

    let mut c = Gateway::start(&program, &server.url(), "c-2")?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    if rust.shutdown().await? != Finish::Released {
        return Err("Rust did not give the lease up".into());
    }
    let third = c.leads().await?;
    note(&format!("Rust hands over: C leads, fencing token {third}"));

    let rust = candidate(&server.url())?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    c.signal("KILL")?;
    let killed = Instant::now();
    c.process.wait()?;
    let fourth = leads(&rust).await?;
    let takeover = killed.elapsed();
    note(&format!(
        "C is killed: Rust leads after {takeover:.1?}, fencing token {fourth}"
    ));
    rust.shutdown().await?;

    if !(first < second && second < third && third < fourth) {
        return Err("the fencing tokens do not rise with each term".into());
    }
    if takeover < Duration::from_secs(10) {
        return Err("a lease was taken over before it had run out".into());
    }
    Ok(())
}

fn candidate(url: &str) -> Result<Handle, Box<dyn Error>> {
    let builder = Elector::builder()
        .server(url)
        .namespace("default")
        .name("mixed-fleet")
        .identity("rust");
    Ok(builder.start()?)
}

/// Waits until this process leads; its token.
async fn leads(handle: &Handle) -> Result<u64, Box<dyn Error>> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(guard) = handle.guard() {
            let token = guard.fence().and_then(|fence| fence.token());
            return token.ok_or_else(|| "no fencing token".into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err("Rust does not lead".into())
}

/// A candidate in C, and what its work says.
struct Gateway {
    process: Child,
    tokens: Receiver<u64>,
}

impl Gateway {
    fn start(program: &str, url: &str, identity: &str) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(program)
            .args([
                "--server",
                url,
                "--namespace",
                "default",
                "--lease",
                "mixed-fleet",
            ])
            .args(["--identity", identity, "sh", "-c", WORK])
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        let (sender, tokens) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let token = line.parse().ok();
                if token.is_none_or(|token| sender.send(token).is_err()) {
                    break;
                }
            }
        });
        Ok(Self { process, tokens })
    }

    /// Waits until it leads; its token.
    async fn leads(&self) -> Result<u64, Box<dyn Error>> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Ok(token) = self.tokens.try_recv() {
                return Ok(token);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("C does not lead".into())
    }

    fn signal(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let process = self.process.id().to_string();
        let status = Command::new("kill")
            .args([&format!("-{name}"), &process])
            .status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("kill -{name} {process} failed").into())
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
