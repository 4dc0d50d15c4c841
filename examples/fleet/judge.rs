//! The server in a process of its own, which sees every request and misbehaves a little.

use core::error::Error;
use core::time::Duration;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};

use kubelease::testing::{ApiServer, Fault, LoggedRequest, Rule};

use crate::PATIENCE;
use crate::options::Options;

/// One in so many requests hangs.
const HANGS: u64 = 100;

/// The lease that is deleted half-way.
const DELETED: &str = "device-0";

/// The process of the server, as the fleet sees it.
#[derive(Debug)]
pub(crate) struct Judge {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Judge {
    pub(crate) fn start(options: &Options) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(std::env::current_exe()?)
            .args([
                "--serve",
                "--for",
                &options.length.as_secs_f64().to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("no output")?;
        let output = BufReader::new(output);
        Ok(Self { process, output })
    }

    pub(crate) fn url(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// Ends the server, prints what it saw, and judges that.
    pub(crate) fn verdict(mut self, options: &Options) -> Result<(), Box<dyn Error>> {
        drop(self.process.stdin.take());
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        self.process.wait()?;
        println!("\nWhat the server saw:\n{text}");
        let figure = |name: &str| -> Result<f64, Box<dyn Error>> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            Ok(line.ok_or_else(|| format!("no {name}"))?.trim().parse()?)
        };
        let patience = PATIENCE.max(options.interval * 4).as_secs_f64();
        if figure("leases seen:")? < f64::from(options.leases) {
            return Err("not every lease was written".into());
        }
        if figure("longest time without a write, in s:")? > patience {
            return Err("a lease went too long without a write".into());
        }
        if figure("busiest 100 ms against the mean:")? > 3.0 {
            return Err("the load is not even".into());
        }
        // It is found gone by its next beat, for which a shorter run has no time.
        let is_due = options.length > options.interval * 2 + Duration::from_secs(5);
        if is_due && figure("the deleted lease is back:")? < 1.0 {
            return Err("the deleted lease is not back".into());
        }
        let creates = if options.restarts {
            figure("creations in the last half:")?
        } else {
            1.0
        };
        if creates > 1.0 || figure("deletions:")? > 0.0 {
            return Err("a restart created or deleted leases".into());
        }
        Ok(())
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // It has ended already where all went well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What was seen of the requests.
#[derive(Debug, Default)]
struct Seen {
    requests: u64,
    begun: Duration,
    last_write: HashMap<String, Duration>,
    longest_gap: Duration,
    tenths: BTreeMap<u128, u32>,
    connections: HashSet<u64>,
    creations: BTreeMap<u64, u64>,
    deletions: u64,
}

impl Seen {
    /// Counts a request; whether it hangs.
    fn see(&mut self, request: &LoggedRequest) -> bool {
        if self.requests == 0 {
            self.begun = request.at;
        }
        self.requests += 1;
        self.connections.insert(request.connection);
        *self.tenths.entry(request.at.as_millis() / 100).or_default() += 1;
        let hangs = self.requests.is_multiple_of(HANGS);
        match request.method.as_str() {
            "POST" => *self.creations.entry(request.at.as_secs()).or_default() += 1,
            "DELETE" => self.deletions += 1,
            "GET" => return hangs,
            _ => {}
        }
        if !hangs && let Some(name) = name(request) {
            let last = self
                .last_write
                .insert(name, request.at)
                .unwrap_or(self.begun);
            self.longest_gap = self.longest_gap.max(request.at.saturating_sub(last));
        }
        hangs
    }
}

/// The lease that a write is about.
fn name(request: &LoggedRequest) -> Option<String> {
    if request.method != "POST" {
        return request.path.rsplit('/').next().map(str::to_owned);
    }
    let body = core::str::from_utf8(&request.body).ok()?;
    let (_, rest) = body.split_once("\"name\":\"")?;
    rest.split('"').next().map(str::to_owned)
}

/// The server's process: until its input ends.
pub(crate) fn serve(options: &Options) -> Result<(), Box<dyn Error>> {
    let server = ApiServer::start()?;
    let seen = Arc::new(Mutex::new(Seen::default()));
    let shared = Arc::clone(&seen);
    server.inject(Rule::new(Fault::BlackHole).when(move |request| {
        let mut seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
        seen.see(request)
    }));
    println!("{}", server.url());

    let (sender, ended) = channel::<()>();
    std::thread::spawn(move || {
        // Its end is all that it says.
        let _ = std::io::stdin().read(&mut [0]);
        drop(sender);
    });
    let mut is_deleted = false;
    while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
        // The log would grow with each request.
        server.clear_requests();
        if !is_deleted && server.uptime() > options.length / 2 {
            is_deleted = server.delete_lease("default", DELETED);
        }
    }
    let is_back = server.lease("default", DELETED).is_some();
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    report(&seen, server.uptime(), is_back);
    Ok(())
}

fn report(seen: &Seen, now: Duration, is_back: bool) {
    let busiest = seen.tenths.values().max().copied().unwrap_or(0);
    let mean = seen.requests as f64 / (now.saturating_sub(seen.begun).as_secs_f64() * 10.0);
    let quiet = |last: &Duration| now.saturating_sub(*last);
    let gap = seen
        .last_write
        .values()
        .map(quiet)
        .max()
        .unwrap_or_default();
    let half = now.as_secs() / 2;
    let late: u64 = seen
        .creations
        .range(half + 2..)
        .map(|(_, count)| count)
        .sum();
    println!("requests: {}", seen.requests);
    println!("leases seen: {}", seen.last_write.len());
    println!("connections: {}", seen.connections.len());
    println!(
        "longest time without a write, in s: {:.1}",
        seen.longest_gap.max(gap).as_secs_f64()
    );
    println!(
        "busiest 100 ms against the mean: {:.2}",
        f64::from(busiest) / mean
    );
    println!("creations: {}", seen.creations.values().sum::<u64>());
    println!("creations in the last half: {late}");
    println!("deletions: {}", seen.deletions);
    println!("the deleted lease is back: {}", u8::from(is_back));
}
