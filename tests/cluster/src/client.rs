//! [`Client`]: requests that a test makes itself.

use core::time::Duration;

use reqwest::{Certificate, Method};
use serde_json::Value;

/// Longer than any test.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A user of the API server.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    server: String,
    token: String,
}

/// An answer; status 0 is none at all.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub text: String,
}

impl Answer {
    /// A member of the body, by its JSON pointer.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Value {
        let body: Option<Value> = serde_json::from_str(&self.text).ok();
        body.and_then(|body| body.pointer(pointer).cloned())
            .unwrap_or_default()
    }

    /// A header; empty where there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

impl Client {
    /// # Panics
    /// Where the certificate is none.
    #[must_use]
    pub fn new(server: &str, ca_pem: &[u8], token: &str) -> Self {
        let authorities = Certificate::from_pem_bundle(ca_pem).expect("certificates");
        let http = reqwest::Client::builder()
            .tls_certs_only(authorities)
            .timeout(Duration::from_secs(70))
            .build();
        Self {
            http: http.expect("a client"),
            server: server.to_owned(),
            token: token.to_owned(),
        }
    }

    /// A request with a body of JSON, in a PATCH a merge patch, where it is not empty.
    pub async fn ask(&self, method: &str, target: &str, body: &str) -> Answer {
        let kind = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        self.send(method, target, body, kind).await
    }

    /// Gives each line of an answer to `each` as it comes, such as the events of a watch, to the
    /// end of the connection.
    pub async fn lines(&self, target: &str, mut each: impl FnMut(&str)) {
        let request = self.http.get(format!("{}{target}", self.server));
        let request = request.bearer_auth(&self.token).timeout(DAY);
        let Ok(mut response) = request.send().await else {
            return;
        };
        let mut bytes = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            bytes.extend_from_slice(&chunk);
            while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = bytes.drain(..=end).collect();
                each(String::from_utf8_lossy(&line).trim());
            }
        }
    }

    /// Makes an object, or changes it to what the YAML says.
    ///
    /// # Panics
    /// Where the server does not take it.
    pub async fn apply(&self, target: &str, yaml: &str) -> Answer {
        let target = format!("{target}?fieldManager=tests&force=true");
        let kind = "application/apply-patch+yaml";
        let answer = self.send("PATCH", &target, yaml, kind).await;
        assert!(answer.status < 300, "{target}: {answer:?}");
        answer
    }

    /// A token of a service account, as a pod has one.
    ///
    /// # Panics
    /// Where there is no such account.
    pub async fn account_token(&self, namespace: &str, name: &str) -> String {
        let target = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let answer = self.ask("POST", &target, r#"{"spec":{}}"#).await;
        let token = answer.at("/status/token");
        token.as_str().expect("a token").to_owned()
    }

    /// A request with a body of some kind.
    ///
    /// # Panics
    /// Where the method is none.
    pub async fn send(&self, method: &str, target: &str, body: &str, kind: &str) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self
            .http
            .request(method, format!("{}{target}", self.server))
            .bearer_auth(&self.token);
        if !body.is_empty() {
            request = request.header("content-type", kind).body(body.to_owned());
        }
        let Ok(response) = request.send().await else {
            return Answer::default();
        };
        let headers = response.headers().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        Answer {
            status: response.status().as_u16(),
            headers: headers.collect(),
            text: response.text().await.unwrap_or_default(),
        }
    }
}
