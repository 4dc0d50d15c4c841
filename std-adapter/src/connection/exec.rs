//! Programs that issue credentials: `client.authentication.k8s.io`, `v1` and `v1beta1`.

mod answer;
mod group;

use core::time::Duration;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use kubelease_core::time::{Instant, Now};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) use self::answer::Issued;
use self::group::Group;
use super::ConnectionError;
use super::secret::Secret;

/// A program that takes longer is killed. Some ask another service, and that one yet another.
const RUN_MAX: Duration = Duration::from_secs(60);

/// An answer has a token and a pair of certificate and key; the longest chains have a few KiB.
const ANSWER_MAX: u64 = 1024 * 1024;

/// So long before its credentials expire a program is run again, in the background.
const EARLY_MS: u64 = 30_000;

/// A program whose answers are about to expire already is not run again sooner than this.
const PAUSE_MS: u64 = 10_000;

/// The program, as a kubeconfig has it.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// The member of the file, for errors.
    pub(super) place: String,
    pub(super) api_version: String,
    pub(super) command: PathBuf,
    /// They may have secrets in them, such as that of an OAuth client.
    pub(super) args: Vec<Secret<String>>,
    pub(super) env: Vec<(String, Secret<String>)>,
    pub(super) install_hint: Option<String>,
    /// What the program is told of the cluster, where it wants to know.
    pub(super) cluster: Option<Secret<Value>>,
}

impl Spec {
    fn unlike(&self, expected: impl Into<String>, found: impl Into<String>) -> ConnectionError {
        ConnectionError::new(&self.place, expected, found)
    }

    /// What the program finds in `KUBERNETES_EXEC_INFO`.
    fn info(&self) -> String {
        let spec = match &self.cluster {
            Some(Secret(cluster)) => json!({"interactive": false, "cluster": cluster}),
            None => json!({"interactive": false}),
        };
        let info = json!({
            "apiVersion": self.api_version,
            "kind": "ExecCredential",
            "spec": spec,
        });
        info.to_string()
    }

    /// Runs the program once. Dropping the future kills it, and what it has started.
    async fn run(&self) -> Result<Issued, ConnectionError> {
        let mut child = self.spawn()?;
        let mut group = Group::of(&child);
        let mut answer = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            let read = stdout.take(ANSWER_MAX).read_to_end(&mut answer).await;
            read.map_err(|error| self.unlike("an answer", error.to_string()))?;
        }
        let status = child.wait().await;
        group.leave();
        let status = status.map_err(|error| self.unlike("an exit status", error.to_string()))?;
        if !status.success() {
            return Err(self.unlike("exit status 0", status.to_string()));
        }
        answer::read(self, &answer)
    }

    fn spawn(&self) -> Result<Child, ConnectionError> {
        let mut command = Command::new(&self.command);
        command
            .args(self.args.iter().map(|argument| &argument.0))
            .envs(self.env.iter().map(|(name, value)| (name, &value.0)))
            .env("KUBERNETES_EXEC_INFO", self.info())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Group::prepare(&mut command);
        let child = command.spawn();
        child.map_err(|error| self.cannot_start(&error))
    }

    /// No answer came within `limit`.
    fn late(&self, limit: Duration) -> ConnectionError {
        let program = self.command.display();
        let expected = format!("an answer of the program `{program}` within {limit:?}");
        self.unlike(expected, "none")
    }

    fn cannot_start(&self, error: &std::io::Error) -> ConnectionError {
        let hint = self.install_hint.as_deref().unwrap_or_default().trim();
        let hint = if hint.is_empty() {
            String::new()
        } else {
            format!(" ({hint})")
        };
        let expected = format!("the program `{}`{hint}", self.command.display());
        self.unlike(expected, error.to_string())
    }
}

/// A program, and what it issued last.
#[derive(Debug)]
pub(crate) struct Plugin {
    spec: Arc<Spec>,
    issued: Option<Issued>,
    /// Outlives the request that began it, since a request may give up sooner.
    running: Option<JoinHandle<Result<Issued, ConnectionError>>>,
    begun_at: Option<Instant>,
}

impl Plugin {
    pub(crate) const fn new(spec: Arc<Spec>) -> Self {
        Self {
            spec,
            issued: None,
            running: None,
            begun_at: None,
        }
    }

    /// What it issued last.
    pub(crate) const fn issued(&self) -> Option<&Issued> {
        self.issued.as_ref()
    }

    /// What is to say where nothing was issued within `limit`; `None` where the program does not
    /// run.
    pub(crate) fn late(&self, limit: Duration) -> Option<ConnectionError> {
        self.running.as_ref().map(|_| self.spec.late(limit))
    }

    /// The server refused what was issued.
    pub(crate) fn reject(&mut self) {
        self.issued = None;
    }

    /// Sees to it that there is something issued that has not expired.
    pub(crate) async fn renew(&mut self, now: Now) -> Result<(), ConnectionError> {
        let left_ms = self.left_ms(now);
        if left_ms < EARLY_MS && (left_ms == 0 || self.has_paused(now)) {
            self.begin(now);
        }
        let is_over = self.running.as_ref().is_some_and(JoinHandle::is_finished);
        if left_ms > 0 && !is_over {
            return Ok(());
        }
        let outcome = self.finish().await;
        match outcome {
            Some(Ok(issued)) => self.issued = Some(issued),
            // What is left of the last ones is used up first.
            Some(Err(error)) if left_ms == 0 => return Err(error),
            Some(Err(_)) | None => {}
        }
        Ok(())
    }

    /// For how long what was issued can be used; nothing where there is nothing.
    fn left_ms(&self, now: Now) -> u64 {
        match (&self.issued, now.wall) {
            (None, _) => 0,
            (Some(issued), wall) => match (issued.expires_at, wall) {
                (Some(end), Some(wall)) => end.millis_since(wall).unwrap_or(0),
                // It never expires, or there is no telling: the server's 401 will say.
                (None, _) | (_, None) => u64::MAX,
            },
        }
    }

    fn has_paused(&self, now: Now) -> bool {
        self.begun_at.is_none_or(|begun| {
            now.instant < begun || now.instant.saturating_since(begun).as_millis() >= PAUSE_MS
        })
    }

    fn begin(&mut self, now: Now) {
        if self.running.is_some() {
            return;
        }
        let spec = Arc::clone(&self.spec);
        self.begun_at = Some(now.instant);
        self.running = Some(tokio::spawn(async move {
            let run = timeout(RUN_MAX, spec.run()).await;
            run.unwrap_or_else(|_| Err(spec.late(RUN_MAX)))
        }));
    }

    /// Waits for the program; `None` where it does not run. Dropping the future loses nothing.
    async fn finish(&mut self) -> Option<Result<Issued, ConnectionError>> {
        let outcome = self.running.as_mut()?.await;
        self.running = None;
        let died = |_| Err(self.spec.unlike("an answer", "the end of the runtime"));
        Some(outcome.unwrap_or_else(died))
    }
}

impl Drop for Plugin {
    /// No program outlives the elector that asked for it.
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use kubelease_core::timestamp::Timestamp;

    use super::*;

    /// Far longer than a shell takes, on the slowest machine.
    const LONG: Duration = Duration::from_secs(20);

    fn plugin(script: String) -> Plugin {
        Plugin::new(Arc::new(Spec {
            place: "exec".to_owned(),
            api_version: "client.authentication.k8s.io/v1".to_owned(),
            command: PathBuf::from("/bin/sh"),
            args: vec![Secret("-c".to_owned()), Secret(script)],
            env: Vec::new(),
            install_hint: None,
            cluster: None,
        }))
    }

    /// So many seconds after the start, and after ten o'clock.
    fn at(seconds: u64) -> Now {
        let ten = Timestamp::parse("2030-01-01T10:00:00Z").unwrap();
        let wall = ten.checked_add_millis(seconds * 1_000).unwrap();
        Now::with_wall(Instant::from_millis(seconds * 1_000), wall)
    }

    fn say(folder: &Path, token: &str, expires: &str) {
        let answer = json!({
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "status": {"token": token, "expirationTimestamp": expires},
        });
        fs::write(folder.join("answer"), answer.to_string()).unwrap();
    }

    fn token(plugin: &Plugin) -> String {
        let header = plugin.issued().unwrap().authorization.as_ref().unwrap();
        header.to_str().unwrap().to_owned()
    }

    async fn until_it_has_run(plugin: &Plugin) {
        let wait = async {
            while !plugin.running.as_ref().unwrap().is_finished() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(LONG, wait).await.expect("the shell ends");
    }

    #[tokio::test]
    async fn what_is_about_to_expire_serves_on_until_there_is_something_new() {
        let folder = tempfile::tempdir().unwrap();
        let mut plugin = plugin(format!("cat {}/answer", folder.path().display()));
        say(folder.path(), "one", "2030-01-01T10:01:00Z");
        plugin.renew(at(0)).await.unwrap();
        plugin.renew(at(30)).await.unwrap();
        assert!(
            plugin.running.is_none(),
            "30 s before the end it is too soon"
        );

        say(folder.path(), "two", "2030-01-01T10:01:05Z");
        plugin.renew(at(31)).await.unwrap();
        assert_eq!(token(&plugin), "Bearer one");
        until_it_has_run(&plugin).await;
        plugin.renew(at(32)).await.unwrap();
        assert_eq!(token(&plugin), "Bearer two");

        // It expires soon, too: not a reason to run all the time.
        plugin.renew(at(40)).await.unwrap();
        assert!(plugin.running.is_none());
        plugin.renew(at(41)).await.unwrap();
        assert!(plugin.running.is_some());
        until_it_has_run(&plugin).await;

        // One that fails is no reason to give up what is still good.
        fs::write(folder.path().join("answer"), "").unwrap();
        plugin.renew(at(52)).await.unwrap();
        plugin.renew(at(53)).await.unwrap();
        until_it_has_run(&plugin).await;
        plugin.renew(at(54)).await.unwrap();
        assert_eq!(token(&plugin), "Bearer two");
        plugin.renew(at(65)).await.unwrap_err();
    }

    #[tokio::test]
    async fn neither_a_program_nor_what_it_started_outlives_who_asked_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let mut plugin = plugin(format!("sleep 600 & echo $! > {}; wait", pid.display()));
        let wait = Duration::from_millis(200);
        timeout(wait, plugin.renew(at(0))).await.unwrap_err();
        let read = || {
            fs::read_to_string(&pid)
                .ok()
                .filter(|text| text.ends_with('\n'))
        };
        let until = |holds: &dyn Fn() -> bool| {
            (0..10_000).any(|_| {
                std::thread::sleep(Duration::from_millis(2));
                holds()
            })
        };
        assert!(until(&|| read().is_some()));
        let process = Path::new("/proc")
            .join(read().unwrap().trim())
            .join("cmdline");
        assert!(fs::read(&process).is_ok_and(|line| !line.is_empty()));
        drop(plugin);
        tokio::task::yield_now().await;
        // A process that is dead and not yet waited for has an empty line.
        assert!(until(
            &|| fs::read(&process).map_or(true, |line| line.is_empty())
        ));
    }
}
