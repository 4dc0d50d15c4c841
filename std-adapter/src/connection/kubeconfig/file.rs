//! The form of one file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::secret::Secret;
use super::ConnectionError;

/// What of a file is read. Every member may be missing or `null`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) clusters: Option<Vec<NamedCluster>>,
    pub(super) users: Option<Vec<NamedUser>>,
    pub(super) contexts: Option<Vec<NamedContext>>,
    pub(super) current_context: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedCluster {
    pub(super) name: String,
    pub(super) cluster: Option<Cluster>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedUser {
    pub(super) name: String,
    pub(super) user: Option<User>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedContext {
    pub(super) name: String,
    pub(super) context: Option<Context>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Cluster {
    pub(super) server: Option<String>,
    pub(super) tls_server_name: Option<String>,
    pub(super) insecure_skip_tls_verify: Option<bool>,
    pub(super) certificate_authority: Option<String>,
    pub(super) certificate_authority_data: Option<String>,
    pub(super) proxy_url: Option<Secret<String>>,
    pub(super) extensions: Option<Vec<Extension>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Extension {
    pub(super) name: String,
    pub(super) extension: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct User {
    pub(super) client_certificate: Option<String>,
    pub(super) client_certificate_data: Option<String>,
    pub(super) client_key: Option<String>,
    pub(super) client_key_data: Option<Secret<String>>,
    pub(super) token: Option<Secret<String>>,
    #[serde(rename = "tokenFile")]
    pub(super) token_file: Option<String>,
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret<String>>,
    pub(super) r#as: Option<String>,
    pub(super) as_uid: Option<String>,
    pub(super) as_groups: Option<Vec<String>>,
    pub(super) as_user_extra: Option<BTreeMap<String, Vec<String>>>,
    pub(super) exec: Option<Exec>,
    pub(super) auth_provider: Option<AuthProvider>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exec {
    pub(super) api_version: Option<String>,
    pub(super) command: Option<String>,
    pub(super) args: Option<Vec<Secret<String>>>,
    pub(super) env: Option<Vec<Variable>>,
    pub(super) install_hint: Option<String>,
    pub(super) interactive_mode: Option<String>,
    pub(super) provide_cluster_info: Option<bool>,
}

/// A variable for a program. Its value may be a secret.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: Option<Secret<String>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct AuthProvider {
    pub(super) name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Context {
    pub(super) cluster: Option<String>,
    pub(super) user: Option<String>,
    pub(super) namespace: Option<String>,
}

impl File {
    /// Reads a file. An empty one says nothing, and is none the worse for it.
    ///
    /// No error has a value of the file in it, since that may be a secret: only where it is, and
    /// what was expected there.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ConnectionError> {
        let place = path.display().to_string();
        let unlike = |at: &str, found: String| {
            let at = at.trim_end_matches(".?");
            let place = if at.is_empty() || at == "." {
                place.clone()
            } else {
                format!("{place}: {at}")
            };
            Err(ConnectionError::new(
                place,
                "what a kubeconfig has there",
                found,
            ))
        };
        let Ok(text) = core::str::from_utf8(bytes) else {
            return unlike("", "bytes that are no UTF-8".to_owned());
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut at = String::new();
        let options = serde_saphyr::options! { with_snippet: false };
        let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| {
            serde_path_to_error::deserialize::<_, Option<Self>>(yaml).map_err(|error| {
                at = error.path().to_string();
                error.into_inner()
            })
        });
        read.map(Option::unwrap_or_default).or_else(|error| {
            let line = error.location().map(|location| location.line());
            let line = line.map_or_else(|| "an unknown line".to_owned(), |n| format!("line {n}"));
            let found = format!("something else at {line}");
            if serde_saphyr::from_str::<IgnoredAny>(text).is_err() {
                return Err(ConnectionError::new(&*place, "YAML", found));
            }
            unlike(&at, found)
        })
    }
}
