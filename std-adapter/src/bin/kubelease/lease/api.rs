//! The few requests on Leases that no election sends.

use core::fmt::Write;
use core::time::Duration;

use kubelease::kubelease_core::wire::path::LeasePath;
use kubelease::{ApiAnswer, ApiClient};
use serde_json::Value;
use tokio::time::timeout;

use crate::connect::Connected;
use crate::exit::Failure;
use crate::telling::REFUSED_CREDENTIALS;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Leases in one answer of a list.
const PAGE: u32 = 500;

const API: &str = "/apis/coordination.k8s.io/v1";

/// Leases on one server.
#[derive(Debug)]
pub(super) struct LeaseApi(ApiClient);

/// One lease as a list has it.
#[derive(Debug)]
pub(super) struct Listed {
    /// `None` where there is none.
    pub(super) lease: Option<Value>,
    /// The version from which a watch goes on.
    pub(super) version: String,
}

/// Why a list or a watch came to nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// 403: the right is missing.
    Forbidden(Failure),
    /// 410: the server has forgotten what was since this version.
    Expired,
    Other(Failure),
}

/// What became of a conditional write.
#[derive(Debug)]
pub(super) enum Written {
    Done,
    /// Somebody else wrote since.
    Conflict,
}

impl LeaseApi {
    pub(super) fn new(connected: &Connected) -> Result<Self, Failure> {
        Ok(Self(ApiClient::new(&connected.connection, TIMEOUT)?))
    }

    /// Reads a lease; `None` where there is none.
    pub(super) async fn get(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        let answer = self.0.get(&target(namespace, name)?).await?;
        match answer.status() {
            404 => Ok(None),
            200 => read(answer).await.map(Some),
            _ => Err(refusal("get", answer).await),
        }
    }

    /// Reads all leases of a namespace, or of all.
    pub(super) async fn list(&mut self, namespace: Option<&str>) -> Result<Vec<Value>, Failure> {
        let place = match namespace {
            // Any name will do: the check is the namespace's.
            Some(namespace) => target(namespace, "x")?.trim_end_matches("/x").to_owned(),
            None => format!("{API}/leases"),
        };
        let (mut leases, mut token) = (Vec::new(), String::new());
        loop {
            let target = format!("{place}?limit={PAGE}&continue={token}");
            let answer = self.0.get(&target).await?;
            if answer.status() != 200 {
                return Err(refusal("list", answer).await);
            }
            let mut page = read(answer).await?;
            if let Some(items) = page.get_mut("items").and_then(Value::as_array_mut) {
                leases.append(items);
            }
            let next = page.pointer("/metadata/continue").and_then(Value::as_str);
            match next.filter(|next| !next.is_empty()) {
                Some(next) => token = escape(next),
                None => return Ok(leases),
            }
        }
    }

    /// Reads a lease in the way that a watch can go on from.
    pub(super) async fn list_one(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Listed, Trouble> {
        let answer = self.0.get(&selecting(namespace, name)?).await?;
        if answer.status() != 200 {
            return Err(trouble("list", answer).await);
        }
        let mut list = read(answer).await?;
        let version = list.pointer("/metadata/resourceVersion");
        Ok(Listed {
            version: version
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            lease: list.pointer_mut("/items/0").map(Value::take),
        })
    }

    /// Watches a lease for `length` from `version`, with bookmarks.
    pub(super) async fn watch_one(
        &mut self,
        namespace: &str,
        name: &str,
        version: &str,
        length: Duration,
    ) -> Result<ApiAnswer, Trouble> {
        let selecting = selecting(namespace, name)?;
        let seconds = length.as_secs();
        let target = format!(
            "{selecting}&watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}\
             &resourceVersion={}",
            escape(version)
        );
        let answer = self.0.get(&target).await?;
        if answer.status() == 200 {
            Ok(answer)
        } else {
            Err(trouble("watch", answer).await)
        }
    }

    /// Writes a lease back, on condition that it is still in the version that it carries.
    pub(super) async fn put(
        &mut self,
        namespace: &str,
        name: &str,
        lease: &Value,
    ) -> Result<Written, Failure> {
        let body = serde_json::to_vec(lease)?;
        let target = format!("{}?fieldManager=kubelease", target(namespace, name)?);
        let request = self.0.request("PUT", &target, "application/json", &body);
        let answer = request.await?;
        match answer.status() {
            200 => Ok(Written::Done),
            404 | 409 => Ok(Written::Conflict),
            _ => Err(refusal("update", answer).await),
        }
    }
}

impl<E: Into<Failure>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// All leases of a namespace that have this name.
fn selecting(namespace: &str, name: &str) -> Result<String, Failure> {
    let target = target(namespace, name)?;
    let place = target.strip_suffix(name).unwrap_or_default();
    let place = place.trim_end_matches('/');
    Ok(format!("{place}?fieldSelector=metadata.name%3D{name}"))
}

fn target(namespace: &str, name: &str) -> Result<String, Failure> {
    // Both are plain once they are checked, and need no escapes.
    LeasePath::new(namespace, name)
        .map_err(|error| Failure::new(format_args!("namespace or name: {error}")))?;
    Ok(format!("{API}/namespaces/{namespace}/leases/{name}"))
}

async fn read(answer: ApiAnswer) -> Result<Value, Failure> {
    let late = |_| {
        Failure::new(format_args!(
            "expected a whole answer within {TIMEOUT:?}, found its begin"
        ))
    };
    let body = timeout(TIMEOUT, answer.body()).await.map_err(late)??;
    serde_json::from_slice(&body)
        .map_err(|error| Failure::new(format_args!("expected a Lease in JSON, found: {error}")))
}

async fn trouble(verb: &str, answer: ApiAnswer) -> Trouble {
    let status = answer.status();
    let failure = refusal(verb, answer).await;
    match status {
        403 => Trouble::Forbidden(failure),
        410 => Trouble::Expired,
        _ => Trouble::Other(failure),
    }
}

/// The server's own words.
async fn refusal(verb: &str, answer: ApiAnswer) -> Failure {
    let status = answer.status();
    let body = answer.body().await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let words = body.get("message").and_then(Value::as_str);
    let hint = match status {
        401 => REFUSED_CREDENTIALS,
        _ => "",
    };
    Failure::new(format_args!(
        "{verb}: the server answered {status}: {}{hint}",
        words.unwrap_or("no reason was given")
    ))
}

/// Escapes a value of a query.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing into a String does not fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_with_signs_survives_the_query() {
        assert_eq!(escape("aZ0-._~"), "aZ0-._~");
        assert_eq!(escape("a+b/c= "), "a%2Bb%2Fc%3D%20");
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        assert!(target("default", "../pods").is_err());
        assert!(target("a/b", "x").is_err());
        let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/job";
        assert_eq!(target("default", "job").unwrap(), path);
        let all = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
        let one = format!("{all}?fieldSelector=metadata.name%3Djob");
        assert_eq!(selecting("default", "job").unwrap(), one);
    }
}
