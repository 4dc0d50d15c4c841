//! Which proxy leads to a server: one that was given, or what the environment says, by the rules
//! of Go's `httpproxy`, since a Deployment's variables are written for programs in Go.

use core::net::IpAddr;
use std::ffi::OsString;

use ipnet::IpNet;
use reqwest::Url;

use super::error::ConnectionError;

/// Checks the URL of a proxy.
///
/// The client takes any URL, and goes straight to the server where it does not know the scheme.
pub(super) fn check(place: &str, text: &str) -> Result<(), ConnectionError> {
    let unlike = |found| {
        let expected = "an http or https URL with a host";
        Err(ConnectionError::new(place, expected, found))
    };
    match Url::parse(text) {
        Ok(url) if url.scheme().starts_with("socks") => unlike("a SOCKS proxy"),
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(()),
        _ => unlike("another text"),
    }
}

/// The variable and the proxy that it names for `url`; `None` where the way is straight.
pub(super) fn from_environment(
    url: &Url,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Option<(&'static str, String)> {
    let first = |names: [&'static str; 2]| {
        names.into_iter().find_map(|name| {
            let value = variable(name)?.into_string().ok()?;
            (!value.is_empty()).then_some((name, value))
        })
    };
    let names = match url.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy"],
        // In a CGI program this one would come from a header of the request.
        _ if variable("REQUEST_METHOD").is_some() => return None,
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    let (name, value) = first(names)?;
    let exceptions = first(["NO_PROXY", "no_proxy"]);
    if is_direct(url, exceptions.as_ref().map_or("", |(_, list)| list)) {
        return None;
    }
    let has_scheme = value.contains("://");
    Some((
        name,
        if has_scheme {
            value
        } else {
            format!("http://{value}")
        },
    ))
}

/// Whether the way to `url` leads around every proxy: to this machine, or as `exceptions` say.
fn is_direct(url: &Url, exceptions: &str) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host
        .trim_matches(['[', ']'])
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let port = url.port_or_known_default();
    exceptions
        .split(',')
        .map(|exception| exception.trim().to_ascii_lowercase())
        .filter(|exception| !exception.is_empty())
        .any(|exception| is_excepted(&host, address, port, &exception))
}

/// Whether one entry of the list means the host.
fn is_excepted(host: &str, address: Option<IpAddr>, port: Option<u16>, entry: &str) -> bool {
    if entry == "*" {
        return true;
    }
    if let Ok(network) = entry.parse::<IpNet>() {
        return address.is_some_and(|address| network.contains(&address));
    }
    let (name, wanted_port) = split_port(entry);
    if wanted_port.is_some() && wanted_port != port {
        return false;
    }
    if let Ok(wanted) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
        return address == Some(wanted);
    }
    let name = name.strip_prefix('*').unwrap_or(name);
    match name.strip_prefix('.') {
        // A leading dot: below the domain, and not the domain itself.
        Some(_) => host.ends_with(name),
        None => host == name || host.ends_with(&format!(".{name}")),
    }
}

/// The name of an entry, and its port where it has one. An IPv6 address without brackets has none.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    let is_bare_address = entry.parse::<IpAddr>().is_ok();
    match entry.rsplit_once(':') {
        Some((name, port)) if !is_bare_address => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str, variables: &[(&str, &str)]) -> Option<(&'static str, String)> {
        let url = Url::parse(url).unwrap();
        from_environment(&url, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_scheme_of_the_server_picks_the_variable() {
        let all = [("HTTPS_PROXY", "http://s:1"), ("HTTP_PROXY", "http://h:1")];
        let found = |url| proxy(url, &all).map(|(_, proxy)| proxy);
        assert_eq!(found("https://api"), Some("http://s:1".to_owned()));
        assert_eq!(found("http://api"), Some("http://h:1".to_owned()));
        assert_eq!(proxy("https://api", &[("HTTP_PROXY", "http://h:1")]), None);
        assert_eq!(proxy("https://api", &[("HTTPS_PROXY", "")]), None);
        let small = [("HTTPS_PROXY", ""), ("https_proxy", "p:8080")];
        let expected = Some(("https_proxy", "http://p:8080".to_owned()));
        assert_eq!(proxy("https://api", &small), expected);
        let in_cgi = [("HTTP_PROXY", "http://h:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(proxy("http://api", &in_cgi), None);
    }

    #[test]
    fn the_exceptions_are_those_of_go() {
        let cases = [
            ("https://api.example", "", true),
            ("https://api.example", "*", false),
            ("https://api.example", "example", false),
            ("https://api.example.", "example", false),
            ("https://API.example", "Example", false),
            ("https://api.example", ".example", false),
            ("https://api.example", "*.example", false),
            ("https://example", ".example", true),
            ("https://example", "example", false),
            ("https://badexample", "example", true),
            ("https://api.example", "other, example ,", false),
            ("https://api.example", "example:443", false),
            ("https://api.example:6443", "example:443", true),
            ("https://api.example:6443", "example:6443", false),
            ("https://10.1.2.3", "10.0.0.0/8", false),
            ("https://11.1.2.3", "10.0.0.0/8", true),
            ("https://10.1.2.3", "10.1.2.3", false),
            ("https://10.1.2.3", "10.1.2.3:443", false),
            ("https://10.1.2.3", "10.1.2.3:6443", true),
            ("https://10.1.2.3", "2.3", false),
            ("https://[fd00::1]", "fd00::/8", false),
            ("https://[fd00::1]", "fd00::1", false),
            ("https://[fd00::1]:6443", "[fd00::1]:6443", false),
            ("https://[fd00::2]", "fd00::1", true),
            ("https://localhost:6443", "", false),
            ("https://127.0.0.2:6443", "", false),
            ("https://[::1]:6443", "", false),
        ];
        for (url, exceptions, is_proxied) in cases {
            let variables = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", exceptions)];
            assert_eq!(
                proxy(url, &variables).is_some(),
                is_proxied,
                "{url} {exceptions}"
            );
        }
    }

    #[test]
    fn a_proxy_is_an_http_url_and_nothing_else() {
        for good in ["http://p", "https://p:3128", "http://u:p@[fd00::1]:1"] {
            check("proxy", good).unwrap();
        }
        for (bad, found) in [
            ("socks5://p:1", "a SOCKS proxy"),
            ("socks5h://p:1", "a SOCKS proxy"),
            ("p:3128", "another text"),
            ("htp://p", "another text"),
            ("no url", "another text"),
        ] {
            let error = check("proxy", bad).unwrap_err().to_string();
            let text = format!("proxy: expected an http or https URL with a host, found {found}");
            assert_eq!(error, text);
        }
    }
}
