//! What a program says: an `ExecCredential` with a status.

use kubelease_core::timestamp::Timestamp;
use serde::Deserialize;

use super::super::pem::{Material, Missing};
use super::super::secret::{Item, Secret};
use super::super::{ConnectionError, bearer};
use super::Spec;
use reqwest::header::HeaderValue;

/// What a program issued.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) authorization: Option<HeaderValue>,
    /// A certificate and its key, in PEM.
    pub(crate) client: Option<Secret<Vec<u8>>>,
    pub(crate) expires_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: String,
    kind: String,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

/// Reads an answer. No error has anything of it but its kind and API version, for the rest is
/// secret.
pub(super) fn read(spec: &Spec, bytes: &[u8]) -> Result<Issued, ConnectionError> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| {
        let found = if bytes.trim_ascii().is_empty() {
            "nothing".to_owned()
        } else {
            format!("another text, from line {} on", error.line())
        };
        spec.unlike("an ExecCredential in JSON", found)
    })?;
    if answer.kind != "ExecCredential" || answer.api_version != spec.api_version {
        let expected = format!("an ExecCredential of {}", spec.api_version);
        let found = format!("a {} of {}", answer.kind, answer.api_version);
        return Err(spec.unlike(expected, found));
    }
    let status = answer
        .status
        .ok_or_else(|| spec.unlike("a status", "none"))?;
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let client = client(
        spec,
        filled(status.client_certificate_data),
        filled(status.client_key_data),
    )?;
    let token = filled(status.token);
    if token.is_none() && client.is_none() {
        return Err(spec.unlike("a token or a certificate and its key", "neither"));
    }
    let item = Item::given(format!("{}: status.token", spec.place), "");
    let authorization = token
        .map(|token| bearer(&item, token.as_bytes()))
        .transpose()?;
    let time = |text: String| {
        let unlike = |_| spec.unlike("an expirationTimestamp by RFC 3339", "another text");
        Timestamp::parse(&text).map_err(unlike)
    };
    Ok(Issued {
        authorization,
        client,
        expires_at: filled(status.expiration_timestamp).map(time).transpose()?,
    })
}

fn client(
    spec: &Spec,
    certificate: Option<String>,
    key: Option<String>,
) -> Result<Option<Secret<Vec<u8>>>, ConnectionError> {
    let (certificate, key) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => return Err(spec.unlike("a clientKeyData", "none")),
        (None, Some(_)) => return Err(spec.unlike("a clientCertificateData", "none")),
    };
    let pair = Material::pair(certificate.as_bytes(), key.as_bytes());
    pair.map(Some).map_err(|missing| match missing {
        Missing::Certificate => spec.unlike("a clientCertificateData in PEM", "none"),
        Missing::Key(found) => spec.unlike("an unencrypted clientKeyData in PEM", found),
    })
}
