//! What an elector is told, owned by its task.

use core::time::Duration;

use kubelease_core::elector::{Config, Create, Elector, Timing};
use kubelease_core::lease::Label;
use kubelease_core::session::{Session, UpdateMode};
use kubelease_core::time::{self, Now};
use kubelease_core::wire::path::LeasePath;

use crate::error::StartError;

/// The settings of one elector but for the way to its server.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) identity: String,
    pub(crate) timing: Timing,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) create: Create,
    pub(crate) treat_own_as_foreign: bool,
    pub(crate) trust_renew_time: Option<Duration>,
    pub(crate) release_budget: Option<Duration>,
    pub(crate) patch_mode: bool,
    pub(crate) watch: bool,
    pub(crate) seed: u64,
}

impl Settings {
    /// The labels as [`Self::session`] borrows them.
    pub(crate) fn labels(&self) -> Vec<Label<'_>> {
        self.labels
            .iter()
            .map(|(key, value)| Label { key, value })
            .collect()
    }

    /// The session with these settings, which the core checks.
    pub(crate) fn session<'a>(
        &'a self,
        labels: &'a [Label<'a>],
        now: Now,
        update: UpdateMode<'a>,
    ) -> Result<Session<'a, Elector<'a>>, StartError> {
        let path = LeasePath::new(&self.namespace, &self.name).map_err(StartError::Path)?;
        let elector = Elector::new(self.config(labels), now).map_err(StartError::Config)?;
        let mut session = Session::new(elector, path, update);
        if self.watch {
            session.watch();
        }
        Ok(session)
    }

    fn config<'a>(&'a self, labels: &'a [Label<'a>]) -> Config<'a> {
        Config {
            timing: self.timing,
            labels,
            create: self.create,
            treat_own_as_foreign: self.treat_own_as_foreign,
            trust_renew_time: self.trust_renew_time.map(millis),
            release_budget: self.release_budget.map(millis),
            seed: self.seed,
            ..Config::new(&self.identity)
        }
    }
}

/// A length of time in the core's unit, rounded down; saturates.
pub(crate) fn millis(duration: Duration) -> time::Duration {
    time::Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
impl Settings {
    /// Settings that the core takes.
    pub(crate) fn for_tests() -> Self {
        Self {
            namespace: "n".to_owned(),
            name: "l".to_owned(),
            identity: "a".to_owned(),
            timing: Timing::KUBERNETES,
            labels: Vec::new(),
            create: Create::Post,
            treat_own_as_foreign: false,
            trust_renew_time: None,
            release_budget: None,
            patch_mode: false,
            watch: false,
            seed: 0,
        }
    }
}
