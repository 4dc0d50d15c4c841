//! Three candidates elect a leader over HTTP; the leader crashes, another takes over; that one
//! shuts down, and the third takes over at once.
//!
//! ```text
//! cargo run --example failover
//! cargo run --example failover -- --server URL [--token TOKEN] [--ca FILE] [--namespace NAME]
//! ```
//!
//! Without `--server` it starts an API server of its own. It prints who leads as it happens, ends
//! by itself within 30 s, and with an error where anything went other than promised.

use core::error::Error;
use core::time::Duration;

use kubelease::testing::ApiServer;
use kubelease::{Builder, Elector, Finish, Guard, Handle, ShutdownError, Timing};
use tokio::time::Instant;

/// Longest wait for any leader, well above what the timing promises.
const PATIENCE: Duration = Duration::from_secs(8);

/// How often each candidate is asked whether it leads, as its work would ask.
const TICK: Duration = Duration::from_millis(5);

/// What a takeover may cost above the timing's promise: round trips, and a busy machine.
const ROUND_TRIPS: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let own = if arguments.server.is_none() {
        Some(ApiServer::start()?)
    } else {
        None
    };
    let url = own
        .as_ref()
        .map(ApiServer::url)
        .or_else(|| arguments.server.clone());
    let mut stage = Stage::new(&arguments, &url.unwrap_or_default())?;

    let first = stage.next_leader("the first election").await?;
    stage.watch(Duration::from_secs(4)).await;

    stage.note(first, "crashes: nothing is released");
    stage.crash(first);
    let crash = Instant::now();
    let second = stage.next_leader("the crash").await?;
    let crash = crash.elapsed();
    stage.watch(Duration::from_secs(3)).await;

    stage.note(second, "shuts down and releases the lease");
    let graceful = Instant::now();
    let shutdown = stage.shut_down(second);
    let third = stage.next_leader("the shutdown").await?;
    let graceful = graceful.elapsed();
    stage.watch(Duration::from_secs(2)).await;
    stage.released(second, shutdown.await?)?;

    stage.note(third, "shuts down and releases the lease");
    let shutdown = stage.shut_down(third).await?;
    stage.released(third, shutdown)?;
    stage.summary(crash, graceful)
}

/// Short durations, so that a crash is over in seconds: 3 s, 2 s, 500 ms.
fn timing() -> Timing {
    let millis = |millis| Duration::from_millis(millis).into();
    Timing::new(millis(3_000), millis(2_000), millis(500))
}

/// What the command line says.
struct Arguments {
    server: Option<String>,
    token: Option<String>,
    ca: Option<Vec<u8>>,
    namespace: String,
}

impl Arguments {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut arguments = Self {
            server: None,
            token: None,
            ca: None,
            namespace: "default".to_owned(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(option) = words.next() {
            if option == "--help" {
                println!("failover [--server URL] [--token TOKEN] [--ca FILE] [--namespace NAME]");
                std::process::exit(0);
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{option} wants a value"))?;
            match option.as_str() {
                "--server" => arguments.server = Some(value),
                "--token" => arguments.token = Some(value),
                "--ca" => {
                    let pem = std::fs::read(&value).map_err(|error| format!("{value}: {error}"))?;
                    arguments.ca = Some(pem);
                }
                "--namespace" => arguments.namespace = value,
                _ => return Err(format!("unknown option {option}").into()),
            }
        }
        if arguments.server.is_none() && (arguments.token.is_some() || arguments.ca.is_some()) {
            return Err("--token and --ca are for a --server".into());
        }
        Ok(arguments)
    }

    fn candidate(&self, url: &str, identity: &str) -> Builder {
        let mut builder = Elector::builder()
            .server(url)
            .namespace(&self.namespace)
            .name("failover-example")
            .identity(identity)
            .timing(timing());
        if let Some(token) = &self.token {
            builder = builder.bearer_token(token);
        }
        if let Some(ca) = &self.ca {
            builder = builder.ca_pem(ca.clone());
        }
        builder
    }
}

/// A candidate, until it crashes or shuts down, and the term that its work last ran in.
struct Candidate {
    name: &'static str,
    handle: Option<Handle>,
    guard: Option<Guard>,
}

impl Candidate {
    /// Whether work of this candidate would go on now.
    fn leads(&mut self) -> bool {
        if let Some(guard) = self.handle.as_ref().and_then(Handle::guard) {
            self.guard = Some(guard);
        }
        self.guard.as_ref().is_some_and(Guard::is_valid)
    }
}

/// All candidates, and the log of who led when.
struct Stage {
    candidates: Vec<Candidate>,
    begun: Instant,
    leader: Option<usize>,
    /// The fencing token of each term, in order.
    tokens: Vec<u64>,
    looks: u64,
    looks_with_two_leaders: u64,
    requests: u64,
}

impl Stage {
    fn new(arguments: &Arguments, url: &str) -> Result<Self, Box<dyn Error>> {
        println!(
            "three candidates on {url}, namespace {}",
            arguments.namespace
        );
        let mut candidates = Vec::new();
        for name in ["ada", "bob", "cyd"] {
            let handle = Some(arguments.candidate(url, name).start()?);
            candidates.push(Candidate {
                name,
                handle,
                guard: None,
            });
        }
        Ok(Self {
            candidates,
            begun: Instant::now(),
            leader: None,
            tokens: Vec::new(),
            looks: 0,
            looks_with_two_leaders: 0,
            requests: 0,
        })
    }

    fn note(&self, who: usize, what: &str) {
        let name = self
            .candidates
            .get(who)
            .map_or("", |candidate| candidate.name);
        println!(
            "{:8.3} s  {name} {what}",
            self.begun.elapsed().as_secs_f64()
        );
    }

    /// Looks on until somebody else than the last leader leads.
    async fn next_leader(&mut self, after: &str) -> Result<usize, Box<dyn Error>> {
        let (last, end) = (self.leader, Instant::now() + PATIENCE);
        while Instant::now() < end {
            self.look();
            if let Some(leader) = self.leader.filter(|leader| Some(*leader) != last) {
                return Ok(leader);
            }
            tokio::time::sleep(TICK).await;
        }
        let reasons = self.candidates.iter().filter_map(|candidate| {
            let error = candidate.handle.as_ref()?.last_error()?;
            Some(format!("; {}: {error}", candidate.name))
        });
        Err(format!(
            "nobody leads {PATIENCE:?} after {after}{}",
            reasons.collect::<String>()
        )
        .into())
    }

    /// Looks on for a while.
    async fn watch(&mut self, length: Duration) {
        let end = Instant::now() + length;
        while Instant::now() < end {
            self.look();
            tokio::time::sleep(TICK).await;
        }
    }

    /// Asks every candidate whether it leads, and logs what is new.
    fn look(&mut self) {
        let asked = self.candidates.iter_mut().map(Candidate::leads);
        let leaders: Vec<usize> = asked
            .enumerate()
            .filter_map(|(who, leads)| leads.then_some(who))
            .collect();
        self.looks += 1;
        self.looks_with_two_leaders += u64::from(leaders.len() > 1);
        let Some(&leader) = leaders.first() else {
            return;
        };
        if self.leader != Some(leader) {
            self.leader = Some(leader);
            let guard = self
                .candidates
                .get(leader)
                .and_then(|found| found.guard.as_ref());
            let token = guard.and_then(Guard::fence).and_then(|fence| fence.token());
            self.tokens.push(token.unwrap_or_default());
            self.note(
                leader,
                &format!("leads, fencing token {}", token.unwrap_or_default()),
            );
        }
    }

    fn crash(&mut self, who: usize) {
        if let Some(handle) = self.take(who) {
            handle.kill();
        }
    }

    /// Begins the shutdown of a candidate, whose guard stays on the stage.
    fn shut_down(
        &mut self,
        who: usize,
    ) -> impl Future<Output = Result<Result<Finish, ShutdownError>, tokio::task::JoinError>> + use<>
    {
        let handle = self.take(who);
        tokio::spawn(async move {
            match handle {
                Some(handle) => handle.shutdown().await,
                None => Ok(Finish::NotHolder),
            }
        })
    }

    fn take(&mut self, who: usize) -> Option<Handle> {
        let handle = self.candidates.get_mut(who)?.handle.take()?;
        self.requests += handle.requests_sent();
        Some(handle)
    }

    fn released(
        &self,
        who: usize,
        finish: Result<Finish, ShutdownError>,
    ) -> Result<(), Box<dyn Error>> {
        let finish = finish?;
        if finish == Finish::Released {
            return Ok(());
        }
        self.note(who, &format!("ended with {finish:?}"));
        Err("a leader that shut down did not release its lease".into())
    }

    /// Prints what happened, and judges it.
    fn summary(&self, crash: Duration, graceful: Duration) -> Result<(), Box<dyn Error>> {
        let report = timing().report();
        let most = |promised| Duration::from(promised) + ROUND_TRIPS;
        let rising = self.tokens.is_sorted_by(|one, next| one < next);
        let checks = [
            (
                crash <= most(report.crash_takeover),
                "the crash takeover took too long",
            ),
            (
                graceful <= most(report.graceful_takeover),
                "the graceful takeover took too long",
            ),
            (
                self.looks_with_two_leaders == 0,
                "two led at the same moment",
            ),
            (
                self.tokens.len() == 3 && rising,
                "the fencing tokens do not rise with each term",
            ),
        ];
        println!();
        println!(
            "takeover after the crash     {crash:.3?}, promised {:.3?} and round trips",
            Duration::from(report.crash_takeover)
        );
        println!(
            "takeover after the shutdown  {graceful:.3?}, promised {:.3?} and round trips",
            Duration::from(report.graceful_takeover)
        );
        println!("fencing tokens               {:?}", self.tokens);
        println!("requests sent                {}", self.requests);
        println!(
            "moments with two leaders     {} of {}",
            self.looks_with_two_leaders, self.looks
        );
        for (holds, fault) in checks {
            if !holds {
                return Err(fault.into());
            }
        }
        Ok(())
    }
}
