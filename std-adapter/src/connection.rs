//! [`Connection`]: where the API server is, and by what one is known there.

mod address;
mod error;
#[cfg(feature = "kubeconfig")]
mod exec;
#[cfg(feature = "own-client")]
mod given;
pub(crate) mod hint;
mod in_cluster;
#[cfg(feature = "kubeconfig")]
mod kubeconfig;
mod pem;
mod proxy;
mod route;
mod secret;

#[cfg(feature = "own-client")]
use core::{error::Error, fmt, future::Future};
use std::path::{Path, PathBuf};
#[cfg(feature = "kubeconfig")]
use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};

pub use self::error::ConnectionError;
#[cfg(feature = "kubeconfig")]
pub(crate) use self::exec::Plugin;
#[cfg(feature = "own-client")]
pub(crate) use self::given::GivenClient;
pub(crate) use self::in_cluster::NAMESPACE_FILE;
pub(crate) use self::pem::{Material, bearer};
pub(crate) use self::route::Route;
#[cfg(test)]
pub(crate) use self::route::USER_AGENT;
pub(crate) use self::secret::{Item, Secret};

/// Where the API server is, and by what one is known there.
///
/// It comes from a pod's environment ([`in_cluster`](Self::in_cluster)), from kubeconfig files
/// (`kubeconfig`, `infer`) or from settings ([`to`](Self::to)), and settings may follow to replace
/// what was found. Files are read when an elector starts and again while it runs:
///
/// - a token, a client certificate or an authority in a file is looked at when a request finds the
///   last look 30 s old, when the server answered 401, and when a request got no answer, as after
///   a handshake that failed. What has changed is used from that request on, over a new connection
///   where it is a certificate;
/// - a file that is missing, empty or malformed then keeps what was read last;
/// - a program that issues credentials (`exec`) runs again half a minute before they expire, and
///   when the server answered 401.
///
/// No secret appears in its `Debug`.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is connected by itself"]
pub struct Connection {
    pub(crate) server: Option<Text>,
    pub(crate) tls_server_name: Option<Text>,
    pub(crate) insecure_skip_tls_verify: bool,
    pub(crate) ca: Option<Item>,
    /// A certificate and its key.
    pub(crate) client: Option<(Item, Item)>,
    pub(crate) identity: Identity,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) proxy: Option<ProxyChoice>,
    pub(crate) namespace: Option<String>,
    #[cfg(feature = "own-client")]
    pub(crate) given: Option<GivenClient>,
}

/// A text and the setting that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) place: String,
    pub(crate) text: String,
}

/// What goes into the `Authorization` header.
#[derive(Clone, Debug, Default)]
pub(crate) enum Identity {
    #[default]
    Nothing,
    /// The first that can be read; where both are given, the file, and until it can be read the
    /// token.
    Token {
        file: Option<Item>,
        given: Option<Item>,
    },
    Basic {
        username: String,
        password: Secret<String>,
    },
    #[cfg(feature = "kubeconfig")]
    Exec(Arc<exec::Spec>),
}

#[derive(Clone, Debug)]
pub(crate) enum ProxyChoice {
    Given { place: String, url: Secret<String> },
    Environment,
}

impl Connection {
    /// The API server, such as `https://10.96.0.1:443` or `https://[fd00::1]:6443`. A path in it
    /// comes before the paths of the API, as a proxy for many clusters wants it. Over `http://`
    /// everything travels in the clear, a bearer token too.
    ///
    /// No proxy is used unless [`proxy`](Self::proxy) or
    /// [`proxy_from_environment`](Self::proxy_from_environment) follows.
    pub fn to(server: impl Into<String>) -> Self {
        Self::default().server(server)
    }

    /// What the API server gives to each pod: its address in the environment, and the files of a
    /// service account. The proxy is the environment's, as for every client.
    ///
    /// # Errors
    /// [`ConnectionError`] outside of a pod, or in one without a service account.
    pub fn in_cluster() -> Result<Self, ConnectionError> {
        in_cluster::load(&in_cluster::variable, Path::new(in_cluster::FOLDER))
    }

    /// The files of a service account, as they are mounted into pods, from another folder: `token`,
    /// `ca.crt` and `namespace`.
    ///
    /// # Errors
    /// [`ConnectionError`] where the folder has no token or no authority.
    pub fn service_account(
        server: impl Into<String>,
        folder: impl AsRef<Path>,
    ) -> Result<Self, ConnectionError> {
        in_cluster::service_account(server.into(), folder.as_ref())
    }

    /// A context of a kubeconfig file. Without a file it is those that `KUBECONFIG` lists, and
    /// without that variable `~/.kube/config`; of several, the first that names a cluster, a user,
    /// a context or the current context decides about it. Without a context it is the current one.
    /// A `proxy-url` is used; without one the proxy is the environment's.
    ///
    /// # Errors
    /// [`ConnectionError`] names the file and the member of it.
    #[cfg(feature = "kubeconfig")]
    pub fn kubeconfig(file: Option<&Path>, context: Option<&str>) -> Result<Self, ConnectionError> {
        kubeconfig::load(&in_cluster::variable, file, context)
    }

    /// What kubectl would use: the current context of the kubeconfig files, or where none of them
    /// has anything in it, what the API server gives to each pod.
    ///
    /// # Errors
    /// [`ConnectionError`] names the file and the member of it, or says that there is nothing.
    #[cfg(feature = "kubeconfig")]
    pub fn infer() -> Result<Self, ConnectionError> {
        kubeconfig::infer(&in_cluster::variable, Path::new(in_cluster::FOLDER))
    }

    /// A client that the program has already, in place of one of ours: it gets requests with a path
    /// and no host, and adds address and credentials. Nothing else said about a connection but the
    /// namespace then counts.
    ///
    /// A `kube::Client` needs no more than this, and brings its ways to authenticate along:
    ///
    /// ```ignore
    /// let client = kube::Client::try_default().await?;
    /// let connection = Connection::over(move |request| {
    ///     let client = client.clone();
    ///     async move { client.send(request.map(Into::into)).await }
    /// });
    /// ```
    ///
    /// The future is dropped where the election gives a request up, and that has to end the
    /// exchange. One thing is no longer ours to do: a connection on which nothing comes back is the
    /// client's to leave. Over HTTP/2 it needs pings for that, more often than the lease is
    /// renewed, or a network that changes costs the leadership. A failure of the client's counts
    /// as one after which the request may have been done.
    #[cfg(feature = "own-client")]
    pub fn over<F, A, B, E>(send: F) -> Self
    where
        F: Fn(http::Request<Vec<u8>>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<http::Response<B>, E>> + Send + 'static,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
        E: fmt::Display + 'static,
    {
        Self {
            given: Some(GivenClient::new(send)),
            ..Self::default()
        }
    }

    /// The API server, as in [`to`](Self::to). Credentials that are there already stay, and go to
    /// this server then.
    pub fn server(self, url: impl Into<String>) -> Self {
        self.server_from(url, "server")
    }

    /// The API server, and what errors about it name: the setting that the URL comes from.
    pub fn server_from(mut self, url: impl Into<String>, place: impl Into<String>) -> Self {
        self.server = Some(Text::new(place, url));
        self
    }

    /// The token sent with each request, as it is. It takes the place of whatever else identifies
    /// to the server but a client certificate.
    pub fn bearer_token(mut self, token: impl Into<String>) -> Self {
        let given = Some(Item::given("bearer_token", token.into()));
        self.identity = Identity::Token { file: None, given };
        self
    }

    /// A file with the token sent with each request, which is read again as it changes. It takes
    /// the place of whatever else identifies to the server but a client certificate.
    pub fn bearer_token_file(mut self, path: impl Into<PathBuf>) -> Self {
        let file = Some(Item::file("bearer_token_file", path));
        self.identity = Identity::Token { file, given: None };
        self
    }

    /// A user and a password, which few servers take. They take the place of whatever else
    /// identifies to the server but a client certificate.
    pub fn basic_auth(mut self, username: impl Into<String>, password: impl Into<String>) -> Self {
        self.identity = Identity::Basic {
            username: username.into(),
            password: Secret(password.into()),
        };
        self
    }

    /// The certificates, in PEM, of the only authorities that are trusted to name the server.
    /// Without them those of the platform are. A server's own certificate is no authority unless it
    /// signed itself.
    pub fn ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca = Some(Item::given("ca_pem", pem));
        self.insecure_skip_tls_verify = false;
        self
    }

    /// A file as in [`ca_pem`](Self::ca_pem), which is read again as it changes.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca = Some(Item::file("ca_file", path));
        self.insecure_skip_tls_verify = false;
        self
    }

    /// A certificate with those between it and its authority, and its key, both in PEM, by which
    /// one is known to the server. The key is an unencrypted PKCS#1, PKCS#8 or SEC1 one.
    pub fn client_certificate_pem(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.client = Some((
            Item::given("client_certificate_pem: certificate", certificate),
            Item::given("client_certificate_pem: key", key),
        ));
        self
    }

    /// Files as in [`client_certificate_pem`](Self::client_certificate_pem), which may be one and
    /// the same, and which are read again as they change. A pair that does not fit, as between two
    /// writes, changes nothing.
    pub fn client_certificate_files(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.client = Some((
            Item::file("client_certificate_files: certificate", certificate),
            Item::file("client_certificate_files: key", key),
        ));
        self
    }

    /// The name that the server's certificate has to have, and by which it is asked for one,
    /// instead of the host of its URL. Beside a proxy it is refused, unless it is that host.
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls_server_name = Some(Text::new("tls_server_name", name));
        self
    }

    /// Believes whatever server answers, and hands it the credentials: for tests alone.
    pub fn insecure_skip_tls_verify(mut self) -> Self {
        self.insecure_skip_tls_verify = true;
        self.ca = None;
        self
    }

    /// A proxy for all requests, by an `http` or `https` URL.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(ProxyChoice::Given {
            place: "proxy".to_owned(),
            url: Secret(url.into()),
        });
        self
    }

    /// The proxy that `HTTPS_PROXY` names, or `HTTP_PROXY` where the server's URL is an `http` one,
    /// unless `NO_PROXY` excepts the server. The names may be in small letters.
    pub fn proxy_from_environment(mut self) -> Self {
        self.proxy = Some(ProxyChoice::Environment);
        self
    }

    /// The namespace for whoever names none.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The URL of the API server; `None` where it was not said.
    #[must_use]
    pub fn server_url(&self) -> Option<&str> {
        self.server.as_ref().map(|server| server.text.as_str())
    }

    /// The namespace for whoever names none: the pod's own, or the context's.
    #[must_use]
    pub fn default_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether it was said how to reach a server.
    pub(crate) const fn leads_anywhere(&self) -> bool {
        #[cfg(feature = "own-client")]
        if self.given.is_some() {
            return true;
        }
        self.server.is_some()
    }

    /// This connection with whatever `settings` say in place of its own.
    pub(crate) fn with(self, settings: Self) -> Self {
        let is_insecure = settings.insecure_skip_tls_verify
            || (self.insecure_skip_tls_verify && settings.ca.is_none());
        let ca = settings.ca.or(self.ca);
        let is_anonymous = matches!(settings.identity, Identity::Nothing);
        let mut headers = self.headers;
        headers.extend(settings.headers);
        Self {
            server: settings.server.or(self.server),
            tls_server_name: settings.tls_server_name.or(self.tls_server_name),
            insecure_skip_tls_verify: is_insecure,
            ca: ca.filter(|_| !is_insecure),
            client: settings.client.or(self.client),
            identity: if is_anonymous {
                self.identity
            } else {
                settings.identity
            },
            headers,
            proxy: settings.proxy.or(self.proxy),
            namespace: settings.namespace.or(self.namespace),
            #[cfg(feature = "own-client")]
            given: settings.given.or(self.given),
        }
    }
}

impl Text {
    pub(crate) fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            text: text.into(),
        }
    }
}
