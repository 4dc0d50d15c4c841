//! The checked way to a server: everything of a client that never changes.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Proxy, Url, redirect, retry};

use super::pem::Material;
use super::secret::Secret;
use super::{Connection, ConnectionError, ProxyChoice, Text, address, in_cluster, proxy};

/// Idle connections end here: the server closes its side at 90 s, and a request that meets the
/// closing has an unknown outcome.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// Never one that begins with `curl`, `Wget` or `Mozilla`: those get pretty-printed answers.
pub(crate) const USER_AGENT: &str = concat!("kubelease/", env!("CARGO_PKG_VERSION"));

/// Where the server is, and how to talk to it.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The server in words: its URL, the setting that has it, and that of a proxy.
    pub(crate) server: String,
    /// What requests are sent to. Its host is the name that the certificate has to have.
    pub(crate) url: Url,
    /// The host and port of the server itself, where that name is another.
    pub(crate) host: Option<HeaderValue>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    dial: Arc<Dial>,
    insecure_skip_tls_verify: bool,
    /// Its URL may have a password in it, which its own `Debug` shows.
    proxy: Option<Secret<Proxy>>,
    /// Bounds a dial that outlives its request.
    connect_timeout: Duration,
    /// How many connections are kept that have nothing to do.
    pub(crate) idle_connections: usize,
}

impl Route {
    /// Checks where `connection` leads to.
    pub(crate) fn new(
        connection: &Connection,
        connect_timeout: Duration,
    ) -> Result<Self, ConnectionError> {
        let (place, text) = match &connection.server {
            Some(server) => (server.place.as_str(), server.text.as_str()),
            None => ("server", ""),
        };
        let url = address::server_url(place, text)?;
        let mut route = Self {
            server: format!("{text} (by {place})"),
            host: None,
            headers: connection.headers.clone(),
            dial: Arc::default(),
            insecure_skip_tls_verify: connection.insecure_skip_tls_verify,
            proxy: None,
            connect_timeout,
            idle_connections: 1,
            url,
        };
        if let Some((place, proxy)) = proxy_to(&route.url, connection.proxy.as_ref())? {
            route.proxy = Some(proxy);
            route.server += &format!(" over the proxy of {place}");
            route.check_name_beside(place, connection.tls_server_name.as_ref())?;
        }
        if let Some(name) = &connection.tls_server_name {
            route.rename(&name.place, &name.text)?;
        }
        Ok(route)
    }

    /// Asks the server for a certificate of this name.
    ///
    /// The client has one name for everything, so the URL gets this one, and the server's own goes
    /// to the `Host` header and to the resolver.
    fn rename(&mut self, place: &str, name: &str) -> Result<(), ConnectionError> {
        let own = self.url.host_str().unwrap_or_default().to_owned();
        if !self.is_other_name(name) {
            return Ok(());
        }
        let unlike = |expected, found: &str| Err(ConnectionError::new(place, expected, found));
        let host = HeaderValue::try_from(address::authority(&self.url)).ok();
        let is_name = self.url.set_host(Some(name)).is_ok() && !address::is_address(&self.url);
        if !is_name {
            return unlike("a host name", &format!("`{name}`"));
        }
        let bare = own.trim_matches(['[', ']']).to_owned();
        self.dial = Arc::new(Dial::to(bare));
        self.host = host;
        Ok(())
    }

    /// A proxy is asked for the host in the URL, and so can't lead to a server whose certificate
    /// has another name.
    fn check_name_beside(&self, proxy: &str, name: Option<&Text>) -> Result<(), ConnectionError> {
        match name {
            Some(name) if self.is_other_name(&name.text) => {
                let expected = format!("no name other than the server's beside `{proxy}`");
                Err(ConnectionError::new(&name.place, expected, "both"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a certificate is asked for, and by another name than the server's own.
    fn is_other_name(&self, name: &str) -> bool {
        self.url.scheme() == "https" && Some(name) != self.url.host_str()
    }

    /// A client of its own: HTTP/1.1 alone, since one silent HTTP/2 connection would swallow every
    /// later request, and without redirects, retries or proxies that nobody asked for.
    pub(crate) fn client(&self, material: &Material) -> reqwest::Result<Client> {
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .http1_only()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .tcp_nodelay(true)
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(self.idle_connections)
            .dns_resolver(Arc::clone(&self.dial));
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy.0.clone());
        }
        let authorities = material.authorities();
        if !authorities.is_empty() {
            builder = builder.tls_certs_only(authorities);
        }
        if let Some(identity) = material.identity() {
            builder = builder.identity(identity);
        }
        if self.insecure_skip_tls_verify {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        builder.build()
    }
}

/// The proxy on the way to `url`, and what names it.
fn proxy_to<'a>(
    url: &Url,
    choice: Option<&'a ProxyChoice>,
) -> Result<Option<(&'a str, Secret<Proxy>)>, ConnectionError> {
    let found = match choice {
        None => None,
        Some(ProxyChoice::Given { place, url }) => Some((place.as_str(), url.0.clone())),
        Some(ProxyChoice::Environment) => proxy::from_environment(url, &in_cluster::variable),
    };
    let Some((place, text)) = found else {
        return Ok(None);
    };
    proxy::check(place, &text)?;
    let proxy = Proxy::all(text);
    let unlike = |_| ConnectionError::new(place, "the URL of a proxy", "another text");
    proxy
        .map(|proxy| Some((place, Secret(proxy))))
        .map_err(unlike)
}

/// Finds the addresses of names, and begins with another one at each dial: where the first of
/// several is dead, the next attempt does not wait for it again.
#[derive(Debug, Default)]
struct Dial {
    /// Looked up instead of the name that is asked for.
    host: Option<String>,
    dials: AtomicUsize,
}

impl Dial {
    const fn to(host: String) -> Self {
        Self {
            host: Some(host),
            dials: AtomicUsize::new(0),
        }
    }
}

impl Resolve for Dial {
    fn resolve(&self, name: Name) -> Resolving {
        let host = self.host.clone();
        let host = host.unwrap_or_else(|| name.as_str().to_owned());
        let dials = self.dials.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            // The port is the URL's.
            let found = tokio::net::lookup_host((host, 0)).await?;
            let addrs: Addrs = Box::new(begin_with(dials, found.collect()).into_iter());
            Ok(addrs)
        })
    }
}

/// The addresses in their order, from the one on whose turn it is.
fn begin_with(turn: usize, mut addrs: Vec<SocketAddr>) -> Vec<SocketAddr> {
    if let Some(first) = turn.checked_rem(addrs.len()) {
        addrs.rotate_left(first);
    }
    addrs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(connection: &Connection) -> Result<Route, ConnectionError> {
        Route::new(connection, Duration::from_secs(5))
    }

    /// B84: a dead first address is not the first one again at the next attempt.
    #[test]
    fn b84_each_dial_begins_with_the_next_address() {
        let addr = |n: u8| SocketAddr::from(([10, 0, 0, n], 0));
        let all = || vec![addr(1), addr(2), addr(3)];
        assert_eq!(begin_with(0, all()), [addr(1), addr(2), addr(3)]);
        assert_eq!(begin_with(1, all()), [addr(2), addr(3), addr(1)]);
        assert_eq!(begin_with(5, all()), [addr(3), addr(1), addr(2)]);
        assert_eq!(begin_with(7, Vec::new()), []);
    }

    #[test]
    fn another_name_of_the_server_goes_into_the_url_and_its_own_into_the_header() {
        let connection = Connection::to("https://[fd00::1]:6443/k8s").tls_server_name("api.local");
        let route = route(&connection).unwrap();
        assert_eq!(route.url.as_str(), "https://api.local:6443/k8s");
        assert_eq!(route.host.unwrap(), "[fd00::1]:6443");
        assert_eq!(route.dial.host.as_deref(), Some("fd00::1"));
    }

    #[test]
    fn a_name_that_can_not_be_asked_for_is_refused() {
        let to = |name| Connection::to("https://10.0.0.1").tls_server_name(name);
        for bad in ["10.0.0.2", "[::1]", "", "a b"] {
            let error = route(&to(bad)).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("tls_server_name: expected a host name, found `{bad}`")
            );
        }
        let error = route(&to("api").proxy("http://p:1"))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "tls_server_name: expected no name other than the server's beside `proxy`, found both"
        );
        // In the clear nobody asks for a certificate.
        let clear = Connection::to("http://10.0.0.1").tls_server_name("api");
        assert_eq!(route(&clear).unwrap().host, None);
    }

    #[test]
    fn a_proxy_of_an_unknown_kind_is_refused() {
        let error = route(&Connection::to("https://a").proxy("socks5://p:1")).unwrap_err();
        assert_eq!(error.place(), "proxy");
    }

    #[test]
    fn the_password_of_a_proxy_is_shown_to_nobody() {
        let connection = Connection::to("https://a").proxy("http://user:s3cret@p:1");
        let text = format!("{:?}", route(&connection).unwrap());
        assert!(!text.contains("s3cret"), "{text}");
    }
}
