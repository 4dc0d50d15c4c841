//! What may be wrong where a server can't be talked to.

use reqwest::Url;

/// A hint for these words of the HTTP client about the server at `url`; empty where there is none.
/// TLS and HTTP have no types here that tell them apart: the words are those of rustls and hyper.
pub(crate) fn about(words: &str, url: &Url) -> &'static str {
    let is_tls = url.scheme() == "https";
    if is_tls && words.contains("InvalidContentType") {
        "; perhaps it speaks http and not https"
    } else if !is_tls && words.contains("invalid HTTP version") {
        "; perhaps it speaks https and not http"
    } else if words.contains("UnknownIssuer") {
        "; its authority has to be named, by `ca_file` or --ca"
    } else {
        ""
    }
}
