//! [`Builder`]: from settings to a running elector.

use core::time::Duration;
#[cfg(feature = "kubeconfig")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use kubelease_core::elector::{Create, Timing};
use kubelease_core::session::UpdateMode;

#[cfg(feature = "annotation-lock")]
use crate::annotation::AnnotationLock;
#[cfg(feature = "events")]
use crate::client::ApiClient;
use crate::clock::{self, Clock, SharedClock};
use crate::connection::{Connection, ConnectionError};
use crate::error::StartError;
#[cfg(feature = "events")]
use crate::events::{Recorder, Regarding};
use crate::handle::Handle;
use crate::identity::{random_seed, unique_identity};
use crate::launch::Launch;
use crate::line::Line;
use crate::place::Place;
use crate::settings::Settings;
use crate::shared_line::SharedLine;

/// Where a running elector begins: [`Elector::builder`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Elector;

impl Elector {
    /// The settings of a new elector.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

/// The settings of an elector, from [`Elector::builder`].
///
/// The way to the server is a [`Connection`], or one of [`infer`](Self::infer),
/// [`in_cluster`](Self::in_cluster), [`kubeconfig`](Self::kubeconfig) and
/// [`server`](Self::server); what else is said about it here goes before what these find.
/// [`name`](Self::name) has no default either. Everything is checked by [`start`](Self::start).
#[derive(Clone, Debug, Default)]
#[must_use = "nothing runs before `start`"]
pub struct Builder {
    way: Option<Way>,
    /// What was said about the connection here.
    connection: Connection,
    namespace: Option<String>,
    name: Option<String>,
    identity: Option<String>,
    identity_prefix: Option<String>,
    timing: Timing,
    labels: Vec<(String, String)>,
    create: Create,
    treat_own_as_foreign: bool,
    trust_renew_time: Option<Duration>,
    release_budget: Option<Duration>,
    work_budget: Option<Duration>,
    dedicated_thread: bool,
    patch_mode: bool,
    watch: bool,
    clock: Option<Arc<dyn Clock>>,
    #[cfg(feature = "annotation-lock")]
    lock: Option<AnnotationLock>,
    #[cfg(feature = "events")]
    component: Option<String>,
}

impl Builder {
    /// The way to the server as a whole. The last of this and the next three decides.
    pub fn connection(mut self, connection: Connection) -> Self {
        self.way = Some(Way::Given(Box::new(connection)));
        self
    }

    /// The way that each pod has, as by [`Connection::in_cluster`].
    pub fn in_cluster(mut self) -> Self {
        self.way = Some(Way::InCluster);
        self
    }

    /// A context of a kubeconfig file, as by [`Connection::kubeconfig`].
    #[cfg(feature = "kubeconfig")]
    pub fn kubeconfig(mut self, file: Option<&Path>, context: Option<&str>) -> Self {
        self.way = Some(Way::Kubeconfig {
            file: file.map(Path::to_owned),
            context: context.map(str::to_owned),
        });
        self
    }

    /// What kubectl would use, as by [`Connection::infer`].
    #[cfg(feature = "kubeconfig")]
    pub fn infer(mut self) -> Self {
        self.way = Some(Way::Infer);
        self
    }

    /// The API server, as in [`Connection::to`].
    pub fn server(self, url: impl Into<String>) -> Self {
        self.with(|connection| connection.server(url))
    }

    /// The token sent with each request, as in [`Connection::bearer_token`]. One that expires, as
    /// those mounted into pods do after an hour or so, wants a file instead.
    pub fn bearer_token(self, token: impl Into<String>) -> Self {
        self.with(|connection| connection.bearer_token(token))
    }

    /// A file with the token sent with each request, as in [`Connection::bearer_token_file`].
    pub fn bearer_token_file(self, path: impl Into<PathBuf>) -> Self {
        self.with(|connection| connection.bearer_token_file(path))
    }

    /// The authorities that may name the server, as in [`Connection::ca_pem`].
    pub fn ca_pem(self, pem: impl Into<Vec<u8>>) -> Self {
        self.with(|connection| connection.ca_pem(pem))
    }

    /// A file with the authorities that may name the server, as in [`Connection::ca_file`].
    pub fn ca_file(self, path: impl Into<PathBuf>) -> Self {
        self.with(|connection| connection.ca_file(path))
    }

    /// A proxy for all requests, as in [`Connection::proxy`].
    pub fn proxy(self, url: impl Into<String>) -> Self {
        self.with(|connection| connection.proxy(url))
    }

    fn with(mut self, change: impl FnOnce(Connection) -> Connection) -> Self {
        self.connection = change(self.connection);
        self
    }

    /// The namespace of the lease. Unless said: the pod's own or the context's.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The name of the lease.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name of this candidate, which no other living process may have. Unless said: one by
    /// [`unique_identity`].
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// What the name of this candidate begins with, such as that of its pod; a random part
    /// follows. Unless said: the host name.
    pub fn identity_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.identity_prefix = Some(prefix.into());
        self
    }

    /// The durations; [`Timing::KUBERNETES`] unless said.
    pub const fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// A label asserted on each write that acquires; four at most. All other labels are kept.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// What to do where there is no lease; [`Create::Post`] unless said.
    pub const fn create(mut self, create: Create) -> Self {
        self.create = create;
        self
    }

    /// Writes by merge patch instead of PUT: shorter, but it needs the right `patch`, which Roles
    /// made for client-go do not grant, in place of `update`; and the server's
    /// priority for leader-election traffic knows only PUT.
    pub const fn patch_mode(mut self) -> Self {
        self.patch_mode = true;
        self
    }

    /// Holds a watch on the lease while it is a candidate, instead of reading it every retry
    /// period: a release is taken over within milliseconds, and a quiet candidate sends one or two
    /// requests in five minutes. It needs the right `watch`, which Roles made for client-go do not
    /// grant; without it, and behind proxies that hold streams back, it reads as before.
    pub const fn watch(mut self) -> Self {
        self.watch = true;
        self
    }

    /// Waits out a record with this identity that an earlier life left, as if it were another's.
    /// For identities that are not surely unique.
    pub const fn treat_own_as_foreign(mut self) -> Self {
        self.treat_own_as_foreign = true;
        self
    }

    /// Takes a lease at once where its `renewTime` is past by its duration and `max_skew`, by the
    /// server's clock. It then rests on the clock of every writer.
    pub const fn trust_renew_time(mut self, max_skew: Duration) -> Self {
        self.trust_renew_time = Some(max_skew);
        self
    }

    /// How long [`Handle::shutdown`] may take to release the lease; the renew deadline unless
    /// said.
    pub const fn release_budget(mut self, budget: Duration) -> Self {
        self.release_budget = Some(budget);
        self
    }

    /// How long [`Handle::shutdown`] waits for work in [`Handle::leading`] before it cancels it;
    /// the renew deadline unless said.
    pub const fn work_budget(mut self, budget: Duration) -> Self {
        self.work_budget = Some(budget);
        self
    }

    /// Runs the elector on a thread of its own, with a runtime of its own: work that blocks the
    /// caller's runtime, however long, then holds up no renewal. [`start`](Self::start) needs no
    /// runtime then. What work can't be told while it blocks is the end of its term: it asks
    /// [`Guard::is_valid`](crate::Guard::is_valid) before each step.
    pub const fn dedicated_thread(mut self) -> Self {
        self.dedicated_thread = true;
        self
    }

    /// The clock that decides; the system's unless said.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Keeps the record in an annotation of another object instead of a Lease.
    /// [`name`](Self::name) and [`namespace`](Self::namespace) are those of that object.
    #[cfg(feature = "annotation-lock")]
    pub fn annotation_lock(mut self, lock: AnnotationLock) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Posts a core/v1 Event about the lease, of this component, when a term begins and when it
    /// ends, as client-go does: at most 25 at once and one in five minutes after that, and never in
    /// the way of a renewal. One that gets no answer is sent again for two minutes. It needs the
    /// right `create` on `events`, and [`Handle::shutdown`] takes up to a second more.
    #[cfg(feature = "events")]
    pub fn record_events(mut self, component: impl Into<String>) -> Self {
        self.component = Some(component.into());
        self
    }

    /// Checks all settings and starts the elector, as one task of the tokio runtime it is called
    /// in, unless it has a [`dedicated_thread`](Self::dedicated_thread). The runtime needs its I/O
    /// and time drivers (`enable_all`).
    ///
    /// # Errors
    /// [`StartError`] names the setting that is wrong; nothing runs then.
    pub fn start(self) -> Result<Handle, StartError> {
        #[cfg(feature = "annotation-lock")]
        let lock = self.checked_lock()?;
        #[cfg(feature = "events")]
        let component = self.component.clone();
        #[cfg(feature = "events")]
        let regarding = self.regarding();
        let work_budget = self.work_budget;
        let clock = self
            .clock
            .clone()
            .or_else(clock::system)
            .ok_or(StartError::NoClock)?;
        let clock = SharedClock(clock);
        let connection = self.connection_settings()?;
        let timeout = self.timing.request_timeout.into();
        let line = Line::new(&connection, clock.clone(), timeout, 1);
        let line = SharedLine::new(line.map_err(StartError::Connection)?, clock.clone());
        let dedicated_thread = self.dedicated_thread;
        let settings = self.settings(connection.default_namespace())?;
        // The task makes it anew; here the core only checks what it will be made of.
        settings.session(&settings.labels(), clock.0.now(), UpdateMode::MergePatch)?;
        let place = Place::of(dedicated_thread)?;
        #[cfg(feature = "events")]
        let recorder = match component {
            Some(component) => {
                let line = Line::new(&connection, clock.clone(), timeout, 1);
                let client = ApiClient::over(line.map_err(StartError::Connection)?, timeout);
                let identity = settings.identity.clone();
                let (recorder, posts) = Recorder::new(regarding(&settings), identity, component);
                Some((recorder, posts, client))
            }
            None => None,
        };
        Launch {
            settings,
            clock,
            line,
            place,
            work_budget,
            #[cfg(feature = "annotation-lock")]
            lock,
            #[cfg(feature = "events")]
            recorder,
        }
        .run()
    }

    /// The way to the server, with what was said about it here.
    fn connection_settings(&self) -> Result<Connection, StartError> {
        let way = self.way.as_ref().map(Way::connection).transpose();
        let way = way.map_err(StartError::Connection)?.unwrap_or_default();
        let connection = way.with(self.connection.clone());
        if !connection.leads_anywhere() {
            return Err(StartError::Missing("server"));
        }
        Ok(connection)
    }

    /// What Events are about.
    #[cfg(feature = "events")]
    fn regarding(&self) -> impl Fn(&Settings) -> Regarding + use<> {
        #[cfg(feature = "annotation-lock")]
        let lock = self.lock.clone();
        move |settings| {
            #[cfg(feature = "annotation-lock")]
            if let Some(lock) = &lock {
                return lock.regarding(&settings.namespace, &settings.name);
            }
            Regarding {
                api_version: "coordination.k8s.io/v1".to_owned(),
                kind: "Lease".to_owned(),
                namespace: Some(settings.namespace.clone()),
                name: settings.name.clone(),
            }
        }
    }

    #[cfg(feature = "annotation-lock")]
    fn checked_lock(&self) -> Result<Option<AnnotationLock>, StartError> {
        let Some(lock) = &self.lock else {
            return Ok(None);
        };
        lock.check()?;
        if self.create == Create::Put {
            return Err(StartError::CreateByPut);
        }
        if self.watch {
            return Err(StartError::WatchOfAnnotation);
        }
        Ok(Some(lock.clone()))
    }

    /// Where the object is. One without a namespace has it in no path: any will do.
    fn default_namespace<'n>(&self, found: Option<&'n str>) -> Option<&'n str> {
        #[cfg(feature = "annotation-lock")]
        if self.lock.as_ref().is_some_and(|lock| !lock.is_namespaced()) {
            return Some("default");
        }
        found
    }

    fn settings(self, namespace: Option<&str>) -> Result<Settings, StartError> {
        let namespace = self.default_namespace(namespace);
        let namespace = self.namespace.or_else(|| namespace.map(str::to_owned));
        let prefix = self.identity_prefix.as_deref();
        let make_identity = || unique_identity(prefix);
        Ok(Settings {
            namespace: namespace.ok_or(StartError::Missing("namespace"))?,
            name: self.name.ok_or(StartError::Missing("name"))?,
            identity: self.identity.map_or_else(make_identity, Ok)?,
            timing: self.timing,
            labels: self.labels,
            create: self.create,
            treat_own_as_foreign: self.treat_own_as_foreign,
            trust_renew_time: self.trust_renew_time,
            release_budget: self.release_budget,
            patch_mode: self.patch_mode,
            watch: self.watch,
            seed: random_seed()?,
        })
    }
}

/// How a connection is found.
#[derive(Clone, Debug)]
enum Way {
    Given(Box<Connection>),
    InCluster,
    #[cfg(feature = "kubeconfig")]
    Kubeconfig {
        file: Option<PathBuf>,
        context: Option<String>,
    },
    #[cfg(feature = "kubeconfig")]
    Infer,
}

impl Way {
    fn connection(&self) -> Result<Connection, ConnectionError> {
        match self {
            Self::Given(connection) => Ok(Connection::clone(connection)),
            Self::InCluster => Connection::in_cluster(),
            #[cfg(feature = "kubeconfig")]
            Self::Kubeconfig { file, context } => {
                Connection::kubeconfig(file.as_deref(), context.as_deref())
            }
            #[cfg(feature = "kubeconfig")]
            Self::Infer => Connection::infer(),
        }
    }
}

#[cfg(test)]
mod tests {
    use kubelease_core::elector::ConfigError;
    use kubelease_core::wire::path::PathError;

    use super::*;

    /// A builder that lacks nothing.
    fn complete() -> Builder {
        Elector::builder()
            .server("https://127.0.0.1:6443")
            .namespace("n")
            .name("l")
    }

    fn error(builder: Builder) -> StartError {
        builder.start().unwrap_err()
    }

    #[tokio::test]
    async fn what_has_no_default_must_be_given() {
        complete().start().unwrap();
        let builder = Elector::builder();
        assert_eq!(error(builder.clone()), StartError::Missing("server"));
        let builder = builder.server("http://[::1]:80");
        assert_eq!(error(builder.clone()), StartError::Missing("namespace"));
        assert_eq!(error(builder.namespace("n")), StartError::Missing("name"));
    }

    #[tokio::test]
    async fn what_the_core_or_the_client_refuses_is_refused_before_anything_runs() {
        let cases = [
            (
                complete().name("UPPER"),
                StartError::Path(PathError::NameMalformed),
            ),
            (
                complete().identity(""),
                StartError::Config(ConfigError::IdentityEmpty),
            ),
            (
                complete().label("", "x"),
                StartError::Config(ConfigError::LabelInvalid),
            ),
        ];
        for (builder, expected) in cases {
            assert_eq!(error(builder), expected);
        }
    }

    #[tokio::test]
    async fn a_connection_that_can_not_be_is_named_by_its_setting() {
        let cases = [
            (complete().server("10.0.0.1"), "server"),
            (complete().bearer_token("a\nb"), "bearer_token"),
            (complete().bearer_token(" "), "bearer_token"),
            (complete().ca_pem("no certificate"), "ca_pem"),
            (complete().proxy("socks5://127.0.0.1:1"), "proxy"),
            (
                complete().bearer_token_file("no/file"),
                "bearer_token_file: no/file",
            ),
        ];
        for (builder, place) in cases {
            let StartError::Connection(error) = error(builder) else {
                panic!("{place}: another error")
            };
            assert_eq!(error.place(), place);
        }
    }
}
