//! A command that runs while its `kubelease` leads, and its own log of when it ran.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use kubelease::testing::ApiServer;

use crate::process::{Job, kubelease, until};

/// 6 s, 4 s, 800 ms: the command has a second after the renew deadline, and another leads a second
/// later at the soonest. Shorter, and a machine that is busy for a second loses the lease.
pub(crate) const FAST: [&str; 2] = ["--lease-duration", "6s"];

/// Writes who it is, its fence and the boot clock in seconds, again and again.
const SCRIPT: &str = r#"
while :; do
  read up rest < /proc/uptime
  echo "$KUBELEASE_IDENTITY $KUBELEASE_FENCE $up $$" >> "$LOG"
  sleep 0.02
done"#;

/// A server, and the log that all commands write to.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) server: ApiServer,
    /// Where candidates find their server: the one above, unless a test has another.
    pub(crate) url: String,
    log: PathBuf,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) identity: String,
    pub(crate) fence: u64,
    /// Seconds since the start of the system.
    pub(crate) at: f64,
    /// The command.
    pub(crate) pid: i32,
}

impl Stage {
    /// A stage of this name, which no other test has.
    pub(crate) fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let log = folder.join(format!("{name}-{}.log", std::process::id()));
        let _ = fs::remove_file(&log);
        let server = ApiServer::start().unwrap();
        Self {
            url: server.url(),
            server,
            log,
        }
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// A candidate whose command logs.
    pub(crate) fn candidate(&self, identity: &str, options: &[&str]) -> Job {
        self.candidate_with(identity, options, SCRIPT)
    }

    /// A candidate whose command first does something else, and then logs.
    pub(crate) fn candidate_after(&self, identity: &str, options: &[&str], first: &str) -> Job {
        self.candidate_with(identity, options, &format!("{first}\n{SCRIPT}"))
    }

    fn candidate_with(&self, identity: &str, options: &[&str], script: &str) -> Job {
        let lease = ["run", "--server", &self.url, "--lease", "default/job"];
        let timing = if options.contains(&FAST[0]) {
            &[][..]
        } else {
            &FAST[..]
        };
        let words = [
            &lease[..],
            &["--identity", identity],
            timing,
            options,
            &["--", "sh", "-c", script],
        ]
        .concat();
        let mut command = kubelease(words);
        Job::start(command.env("LOG", &self.log).stdin(Stdio::null()))
    }

    /// What the commands have written so far.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(Line::parse).collect()
    }

    /// Waits until the command of `identity` runs with a higher fence than `after`; answers with
    /// its first line.
    pub(crate) fn leader(&self, identity: &str, after: u64) -> Line {
        let mut found = None;
        until("a leader", || {
            found = self
                .lines()
                .into_iter()
                .find(|line| line.identity == identity && line.fence > after);
            found.is_some()
        });
        found.unwrap()
    }

    /// Each term with its first and last instant, and that no two of them overlap.
    pub(crate) fn terms(&self) -> Vec<(Line, Line)> {
        let mut terms: Vec<(Line, Line)> = Vec::new();
        for line in self.lines() {
            match terms
                .iter_mut()
                .find(|(first, _)| first.fence == line.fence)
            {
                Some((first, last)) => {
                    assert_eq!(first.identity, line.identity, "one fence, two leaders");
                    *last = line;
                }
                None => terms.push((line.clone(), line)),
            }
        }
        for ((_, last), (first, _)) in terms.iter().zip(terms.iter().skip(1)) {
            assert!(last.at <= first.at, "{last:?} runs on beside {first:?}");
            assert!(last.fence < first.fence, "{last:?} before {first:?}");
        }
        terms
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.log);
    }
}

impl Line {
    fn parse(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let [identity, fence, at, pid] = words[..] else {
            panic!("{line}");
        };
        Self {
            identity: identity.to_owned(),
            fence: fence.parse().unwrap(),
            at: at.parse().unwrap(),
            pid: pid.parse().unwrap(),
        }
    }
}
