//! Where the server is.

use reqwest::Url;

use super::error::ConnectionError;

/// The URL of a server as a setting has it.
pub(super) fn server_url(place: &str, text: &str) -> Result<Url, ConnectionError> {
    let url = Url::parse(text).ok().filter(|url| {
        let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        let has_more = url.query().is_some() || url.fragment().is_some();
        is_http && !has_credentials && !has_more
    });
    url.ok_or_else(|| {
        let expected = "an http or https URL with a host and without credentials, query and \
                        fragment";
        ConnectionError::new(place, expected, "another text")
    })
}

/// The URL of a server by host and port, as the environment of a pod has them. An IPv6 address
/// comes with brackets or without; an empty port is the usual one.
pub(super) fn in_cluster_url(host: &str, port: &str) -> Result<String, ConnectionError> {
    const HOST: &str = "KUBERNETES_SERVICE_HOST";
    const PORT: &str = "KUBERNETES_SERVICE_PORT";
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let bare = bare.unwrap_or(host);
    if bare.contains('%') {
        let expected = "an address without a zone";
        return Err(ConnectionError::new(HOST, expected, format!("`{host}`")));
    }
    let host = if bare.contains(':') {
        format!("[{bare}]")
    } else {
        bare.to_owned()
    };
    let port = match port {
        "" => String::new(),
        port if port.parse::<u16>().is_ok() => format!(":{port}"),
        port => {
            let found = format!("`{port}`");
            return Err(ConnectionError::new(PORT, "a port or nothing", found));
        }
    };
    let url = format!("https://{host}{port}");
    let is_plain = !host.contains(['/', '?', '#', '@', ' ', '\\']);
    if is_plain && server_url(HOST, &url).is_ok() {
        Ok(url)
    } else {
        let found = format!("`{bare}`");
        Err(ConnectionError::new(HOST, "a host name or address", found))
    }
}

/// Whether the URL names its host by an address instead of a name.
pub(crate) fn is_address(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host.starts_with('[') || host.parse::<core::net::Ipv4Addr>().is_ok()
}

/// Host and port as they stand in a `Host` header, without the usual port.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        None => host.to_owned(),
        Some(port) => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_an_http_url_and_nothing_more() {
        let good = [
            "http://a",
            "https://a/",
            "https://a:6443/k8s/clusters/c-1",
            "https://[fd00::1]:6443",
        ];
        for url in good {
            server_url("server", url).unwrap();
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
            "https://[fe80::1%25eth0]",
        ];
        for url in bad {
            assert_eq!(
                server_url("server", url).unwrap_err().place(),
                "server",
                "{url}"
            );
        }
    }

    /// B85: an IPv6 literal gets its brackets once, and a zone is an error.
    #[test]
    fn b85_an_address_of_any_form_becomes_an_authority() {
        let hosts = [
            ("fd49::1", "[fd49::1]"),
            ("[fd49::1]", "[fd49::1]"),
            ("10.0.0.1", "10.0.0.1"),
            ("api.example", "api.example"),
        ];
        for (host, authority) in hosts {
            for (port, ending) in [("443", ":443"), ("6443", ":6443"), ("", "")] {
                let url = in_cluster_url(host, port).unwrap();
                assert_eq!(url, format!("https://{authority}{ending}"));
            }
        }
        for zone in ["fe80::1%eth0", "[fe80::1%eth0]"] {
            let error = in_cluster_url(zone, "443").unwrap_err().to_string();
            let expected = "KUBERNETES_SERVICE_HOST: expected an address without a zone, found ";
            assert_eq!(error, format!("{expected}`{zone}`"));
        }
    }

    #[test]
    fn what_is_no_host_and_no_port_is_named() {
        for host in ["", "a b", "a/b", "u@a", "::g", "a?", "1.2.3.4.5.6:1"] {
            let error = in_cluster_url(host, "443").unwrap_err();
            assert_eq!(error.place(), "KUBERNETES_SERVICE_HOST", "{host}");
        }
        for port in ["x", "-1", "65536", " 1"] {
            let error = in_cluster_url("a", port).unwrap_err();
            assert_eq!(error.place(), "KUBERNETES_SERVICE_PORT", "{port}");
        }
    }

    #[test]
    fn hosts_are_told_from_addresses() {
        let cases = [
            ("https://a:1", false, "a:1"),
            ("https://10.0.0.1", true, "10.0.0.1"),
            ("https://[::1]:443", true, "[::1]"),
        ];
        for (text, is_one, host) in cases {
            let url = Url::parse(text).unwrap();
            assert_eq!(is_address(&url), is_one, "{text}");
            assert_eq!(authority(&url), host, "{text}");
        }
    }
}
