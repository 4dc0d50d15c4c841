//! [`Builder`]: from settings to a running elector.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use kubelease_core::elector::{Create, Timing};
use kubelease_core::session::UpdateMode;
use reqwest::header::HeaderValue;
use reqwest::{Certificate, Proxy, Url};
use tokio::runtime;
use tokio::sync::mpsc;

use crate::clock::{self, Clock, SharedClock};
use crate::error::StartError;
use crate::handle::Handle;
use crate::http::{HttpTransport, Server, Traffic, describe};
use crate::identity::{random_identity, random_seed};
use crate::settings::Settings;
use crate::state::Shared;
use crate::task::{self, Publisher};

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
/// [`server`](Self::server), [`namespace`](Self::namespace) and [`name`](Self::name) have no
/// default; everything is checked by [`start`](Self::start).
#[derive(Clone, Debug, Default)]
#[must_use = "nothing runs before `start`"]
pub struct Builder {
    server: Option<String>,
    bearer_token: Option<Secret>,
    ca_pem: Option<Vec<u8>>,
    proxy: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    identity: Option<String>,
    timing: Timing,
    labels: Vec<(String, String)>,
    create: Create,
    treat_own_as_foreign: bool,
    trust_renew_time: Option<Duration>,
    release_budget: Option<Duration>,
    patch_mode: bool,
    clock: Option<Arc<dyn Clock>>,
}

impl Builder {
    /// The API server, such as `https://10.96.0.1:443` or `https://[fd00::1]:6443`. A path in it
    /// comes before the paths of the API, as a proxy for many clusters wants it. Over `http://`
    /// everything travels in the clear, a bearer token too.
    pub fn server(mut self, url: impl Into<String>) -> Self {
        self.server = Some(url.into());
        self
    }

    /// The token sent with each request, as it is: it is not read again. One that expires, as
    /// those mounted into pods do after an hour or so, needs a new elector in time. It appears in
    /// no log and no `Debug`.
    pub fn bearer_token(mut self, token: impl Into<String>) -> Self {
        self.bearer_token = Some(Secret(token.into()));
        self
    }

    /// The certificates, in PEM, of the only authorities that are trusted to name the server.
    /// Without them those of the platform are.
    pub fn ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_pem = Some(pem.into());
        self
    }

    /// An HTTP proxy for all requests, by an `http` or `https` URL. Without it there is none,
    /// whatever the environment says.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// The namespace of the lease.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The name of the lease.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name of this candidate, which no other living process may have. Unless said: the host
    /// name, `_` and 128 random bits.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
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

    /// The clock that decides; the system's unless said.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Checks all settings and starts the elector, as one task of the tokio runtime it is called
    /// in. The runtime needs its I/O and time drivers (`enable_all`).
    ///
    /// # Errors
    /// [`StartError`] names the setting that is wrong; nothing runs then.
    pub fn start(self) -> Result<Handle, StartError> {
        let clock = self
            .clock
            .clone()
            .or_else(clock::system)
            .ok_or(StartError::NoClock)?;
        let server = self.server_settings()?;
        let settings = self.settings()?;
        // The task makes it anew; here the core only checks what it will be made of.
        settings.session(&settings.labels(), clock.now(), UpdateMode::MergePatch)?;
        let runtime = runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let client = server
            .client()
            .map_err(|error| StartError::Client(describe(error)))?;

        let traffic = Traffic::default();
        let transport = HttpTransport::new(server, client, traffic.clone());
        let (sender, receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::new(Arc::clone(&clock)));
        let publisher = Publisher::new(Arc::clone(&shared), receiver);
        let identity = settings.identity.clone();
        let task = runtime.spawn(task::run(
            settings,
            transport,
            SharedClock(clock),
            publisher,
        ));
        Ok(Handle::new(shared, sender, task, identity, traffic))
    }

    fn server_settings(&self) -> Result<Server, StartError> {
        let url = self
            .server
            .as_deref()
            .ok_or(StartError::Missing("server"))?;
        Ok(Server {
            url: server_url(url).ok_or(StartError::Server)?,
            authorization: self.bearer_token.as_ref().map(Secret::header).transpose()?,
            ca: self
                .ca_pem
                .as_deref()
                .map(certificates)
                .transpose()?
                .unwrap_or_default(),
            proxy: self.proxy.as_deref().map(proxy).transpose()?,
            connect_timeout: self.timing.request_timeout.into(),
        })
    }

    fn settings(self) -> Result<Settings, StartError> {
        Ok(Settings {
            namespace: self.namespace.ok_or(StartError::Missing("namespace"))?,
            name: self.name.ok_or(StartError::Missing("name"))?,
            identity: self.identity.map_or_else(random_identity, Ok)?,
            timing: self.timing,
            labels: self.labels,
            create: self.create,
            treat_own_as_foreign: self.treat_own_as_foreign,
            trust_renew_time: self.trust_renew_time,
            release_budget: self.release_budget,
            patch_mode: self.patch_mode,
            seed: random_seed()?,
        })
    }
}

/// A text that shows itself to nobody.
#[derive(Clone)]
struct Secret(String);

impl Secret {
    fn header(&self) -> Result<HeaderValue, StartError> {
        let token = self.0.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(StartError::BearerToken);
        }
        let mut header = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| StartError::BearerToken)?;
        header.set_sensitive(true);
        Ok(header)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

fn server_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    let has_more = url.query().is_some() || url.fragment().is_some();
    (is_http && !has_credentials && !has_more).then_some(url)
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate>, StartError> {
    let certificates = Certificate::from_pem_bundle(pem).map_err(|_| StartError::CaPem)?;
    if certificates.is_empty() {
        Err(StartError::CaPem)
    } else {
        Ok(certificates)
    }
}

/// The client takes any URL, and goes straight to the server where it does not know the scheme.
fn proxy(url: &str) -> Result<Proxy, StartError> {
    let parsed = Url::parse(url).map_err(|_| StartError::Proxy)?;
    if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
        return Err(StartError::Proxy);
    }
    Proxy::all(url).map_err(|_| StartError::Proxy)
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
    async fn a_server_is_an_http_url_and_nothing_more() {
        let good = [
            "http://a",
            "https://a/",
            "https://a:6443/k8s/clusters/c-1",
            "https://[fd00::1]:6443",
        ];
        for url in good {
            assert!(server_url(url).is_some(), "{url}");
        }
        let bad = [
            "",
            "10.0.0.1",
            "10.0.0.1:443",
            "ftp://a",
            "unix:///run/a",
            "https://",
            "https://u@a",
            "https://u:p@a",
            "https://a?q",
            "https://a#f",
        ];
        for url in bad {
            assert_eq!(error(complete().server(url)), StartError::Server, "{url}");
        }
    }

    #[tokio::test]
    async fn what_the_core_or_the_client_refuses_is_refused_before_anything_runs() {
        let cases = [
            (complete().bearer_token("a\nb"), StartError::BearerToken),
            (complete().bearer_token(" "), StartError::BearerToken),
            (complete().bearer_token("tökén"), StartError::BearerToken),
            (complete().proxy("htp://127.0.0.1:1"), StartError::Proxy),
            (complete().proxy("socks5://127.0.0.1:1"), StartError::Proxy),
            (complete().ca_pem("no certificate"), StartError::CaPem),
            (complete().proxy("no url"), StartError::Proxy),
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

    #[test]
    fn a_token_is_marked_so_that_nobody_prints_it() {
        let secret = Secret("s3cret".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret");
        let header = secret.header().unwrap();
        assert_eq!(header.as_bytes(), b"Bearer s3cret");
        assert!(!format!("{header:?}").contains("s3cret"));
    }
}
