//! What the API server gives to each pod.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::address::in_cluster_url;
use super::{Connection, ConnectionError, Identity, Item, Text};

/// Where the files of the service account are mounted.
pub(super) const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The namespace of the pod.
pub(crate) const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

/// A variable of this process's environment.
pub(super) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

pub(super) fn load(
    variable: &dyn Fn(&str) -> Option<OsString>,
    folder: &Path,
) -> Result<Connection, ConnectionError> {
    let text = |name| {
        let value = variable(name).unwrap_or_default();
        value
            .into_string()
            .map_err(|_| ConnectionError::new(name, "a text", "bytes that are none"))
    };
    let host = text(HOST)?;
    if host.is_empty() {
        let expected = "the variable that each pod has";
        return Err(ConnectionError::new(HOST, expected, "none"));
    }
    let url = in_cluster_url(&host, &text(PORT)?)?;
    let mut connection = service_account(url, folder)?.proxy_from_environment();
    if let Some(server) = &mut connection.server {
        HOST.clone_into(&mut server.place);
    }
    Ok(connection)
}

pub(super) fn service_account(
    server: String,
    folder: &Path,
) -> Result<Connection, ConnectionError> {
    let file = |name| Item::file("service account", folder.join(name));
    let (token, ca) = (file("token"), file("ca.crt"));
    token.read()?;
    ca.read()?;
    // Not every pod-like place has it, and a setting may name the namespace.
    let namespace = fs::read_to_string(folder.join("namespace")).ok();
    let namespace = namespace.map(|text| text.trim().to_owned());
    Ok(Connection {
        server: Some(Text::new("server", server)),
        ca: Some(ca),
        identity: Identity::Token {
            file: Some(token),
            given: None,
        },
        namespace: namespace.filter(|text| !text.is_empty()),
        ..Connection::default()
    })
}
