//! From a context to a connection.

use std::ffi::OsStr;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::super::exec::Spec;
use super::super::secret::{Item, Secret};
use super::super::{Connection, ConnectionError, Identity, ProxyChoice, Text};
use super::file::{Cluster, Exec, User};
use super::{Entry, Merged};

/// Under which name a cluster has what a program is told besides.
const EXTENSION: &str = "client.authentication.k8s.io/exec";

/// The connection that a context means; the current one where none is named.
pub(super) fn context(merged: &Merged, name: Option<&str>) -> Result<Connection, ConnectionError> {
    if merged.is_empty() {
        let found = "nothing of one";
        return Err(ConnectionError::new(merged.places(), "a kubeconfig", found));
    }
    let name = name.or(merged.current_context.as_deref()).ok_or_else(|| {
        let names: Vec<&str> = merged.contexts.iter().map(|entry| &*entry.name).collect();
        let expected = format!("the name of a context ({})", names.join(", "));
        ConnectionError::new(merged.places() + ": current-context", expected, "none")
    })?;
    let context = find(merged, &merged.contexts, "contexts", name)?;
    let place = context.place("contexts");
    let cluster = match &context.value.cluster {
        Some(name) if !name.is_empty() => find(merged, &merged.clusters, "clusters", name)?,
        Some(_) | None => {
            let place = place + ".context.cluster";
            return Err(ConnectionError::new(place, "the name of a cluster", "none"));
        }
    };
    let mut connection = from_cluster(cluster)?;
    if let Some(name) = context
        .value
        .user
        .as_deref()
        .filter(|name| !name.is_empty())
    {
        let user = find(merged, &merged.users, "users", name)?;
        add_user(&mut connection, user, cluster)?;
    }
    let namespace = context.value.namespace.clone();
    connection.namespace = namespace.filter(|namespace| !namespace.is_empty());
    Ok(connection)
}

fn find<'a, T>(
    merged: &Merged,
    entries: &'a [Entry<T>],
    list: &str,
    name: &str,
) -> Result<&'a Entry<T>, ConnectionError> {
    let found = entries.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| {
        let place = format!("{}: {list}", merged.places());
        ConnectionError::new(place, format!("one named `{name}`"), "none")
    })
}

impl<T> Entry<T> {
    fn place(&self, list: &str) -> String {
        format!("{}: {list}[{}]", self.file.display(), self.name)
    }

    /// A path of the file, which is relative to the file's own folder. It leads there also from
    /// another working directory, such as that of a daemon.
    fn path(&self, text: &str) -> PathBuf {
        let folder = self.file.parent().unwrap_or_else(|| Path::new(""));
        let path = folder.join(text);
        // It fails where there is no working directory any more.
        path::absolute(&path).unwrap_or(path)
    }

    /// Something that a file or, with precedence, the member itself has.
    fn item(
        &self,
        place: &str,
        member: &str,
        file: Option<&String>,
        data: Option<&String>,
    ) -> Result<Option<Item>, ConnectionError> {
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            let place = format!("{place}.{member}-data");
            let packed: String = data.split_ascii_whitespace().collect();
            let bytes = STANDARD.decode(packed);
            let unlike = |_| ConnectionError::new(&*place, "base64", "another text");
            return Ok(Some(Item::given(&*place, bytes.map_err(unlike)?)));
        }
        let file = file.filter(|file| !file.is_empty());
        Ok(file.map(|file| Item::file(format!("{place}.{member}"), self.path(file))))
    }
}

fn from_cluster(entry: &Entry<Cluster>) -> Result<Connection, ConnectionError> {
    let cluster = &entry.value;
    let place = entry.place("clusters") + ".cluster";
    let is_insecure = cluster.insecure_skip_tls_verify.unwrap_or_default();
    let ca = entry.item(
        &place,
        "certificate-authority",
        cluster.certificate_authority.as_ref(),
        cluster.certificate_authority_data.as_ref(),
    )?;
    if is_insecure && ca.is_some() {
        // As client-go does it: nobody can mean both.
        let place = place + ".insecure-skip-tls-verify";
        return Err(ConnectionError::new(
            place,
            "no certificate-authority beside it",
            "one",
        ));
    }
    let server = cluster
        .server
        .as_deref()
        .filter(|server| !server.is_empty());
    let server = server.ok_or_else(|| {
        ConnectionError::new(format!("{place}.server"), "the URL of a server", "none")
    })?;
    let is_tls = is_insecure || ca.is_some();
    let server = match (server.contains("://"), is_tls) {
        (true, _) => server.to_owned(),
        (false, true) => format!("https://{server}"),
        (false, false) => format!("http://{server}"),
    };
    let name = cluster
        .tls_server_name
        .clone()
        .filter(|name| !name.is_empty());
    let proxy = cluster.proxy_url.clone().filter(|url| !url.0.is_empty());
    let proxy = proxy.map(|url| ProxyChoice::Given {
        place: format!("{place}.proxy-url"),
        url,
    });
    Ok(Connection {
        server: Some(Text::new(format!("{place}.server"), server)),
        tls_server_name: name.map(|name| Text::new(format!("{place}.tls-server-name"), name)),
        insecure_skip_tls_verify: is_insecure,
        ca,
        proxy: Some(proxy.unwrap_or(ProxyChoice::Environment)),
        ..Connection::default()
    })
}

fn add_user(
    connection: &mut Connection,
    entry: &Entry<User>,
    cluster: &Entry<Cluster>,
) -> Result<(), ConnectionError> {
    let user = &entry.value;
    let place = entry.place("users") + ".user";
    if let Some(provider) = &user.auth_provider {
        let expected = "a program in `exec` in place of the removed auth-provider";
        let found = format!("`{}`", provider.name.as_deref().unwrap_or_default());
        return Err(ConnectionError::new(
            place + ".auth-provider",
            expected,
            found,
        ));
    }
    connection.client = client(entry, &place)?;
    connection.identity = identity(entry, &place, cluster)?;
    connection.headers = impersonation(user, &place)?;
    Ok(())
}

fn client(entry: &Entry<User>, place: &str) -> Result<Option<(Item, Item)>, ConnectionError> {
    let user = &entry.value;
    let certificate = entry.item(
        place,
        "client-certificate",
        user.client_certificate.as_ref(),
        user.client_certificate_data.as_ref(),
    )?;
    let key = entry.item(
        place,
        "client-key",
        user.client_key.as_ref(),
        user.client_key_data.as_ref().map(|data| &data.0),
    )?;
    let lacks = |member: &str, what| {
        let place = format!("{place}.{member}");
        Err(ConnectionError::new(place, what, "none"))
    };
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) => lacks("client-key", "the key of the client-certificate"),
        (None, Some(_)) => lacks("client-certificate", "the certificate of the client-key"),
    }
}

/// As client-go does it: a token or a password goes before a program, and both together are an
/// error.
fn identity(
    entry: &Entry<User>,
    place: &str,
    cluster: &Entry<Cluster>,
) -> Result<Identity, ConnectionError> {
    let user = &entry.value;
    let token = user.token.as_ref().filter(|token| !token.0.is_empty());
    let given = token.map(|token| Item::given(format!("{place}.token"), token.0.as_bytes()));
    let file = user.token_file.as_deref().filter(|file| !file.is_empty());
    let file = file.map(|file| Item::file(format!("{place}.tokenFile"), entry.path(file)));
    let has_token = given.is_some() || file.is_some();
    let username = user.username.clone().unwrap_or_default();
    let password = user.password.clone();
    let password = password.unwrap_or_else(|| Secret(String::new()));
    let has_basic = !username.is_empty() || !password.0.is_empty();
    match (has_token, has_basic, &user.exec) {
        (true, true, _) => {
            let place = format!("{place}.token");
            Err(ConnectionError::new(
                place,
                "no username or password beside it",
                "one",
            ))
        }
        (true, false, _) => Ok(Identity::Token { file, given }),
        (false, true, _) => Ok(Identity::Basic { username, password }),
        (false, false, Some(exec)) => {
            let spec = program(entry, exec, &format!("{place}.exec"), cluster)?;
            Ok(Identity::Exec(Arc::new(spec)))
        }
        (false, false, None) => Ok(Identity::Nothing),
    }
}

fn program(
    entry: &Entry<User>,
    exec: &Exec,
    place: &str,
    cluster: &Entry<Cluster>,
) -> Result<Spec, ConnectionError> {
    const V1: &str = "client.authentication.k8s.io/v1";
    const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";
    let unlike = |member: &str, expected: String, found: &str| {
        let found = if found.is_empty() {
            "none".to_owned()
        } else {
            format!("`{found}`")
        };
        Err(ConnectionError::new(
            format!("{place}.{member}"),
            expected,
            found,
        ))
    };
    let version = exec.api_version.as_deref().unwrap_or_default();
    if ![V1, V1BETA1].contains(&version) {
        return unlike("apiVersion", format!("{V1} or {V1BETA1}"), version);
    }
    // There is no terminal here that a program could ask at.
    let mode = exec.interactive_mode.as_deref().unwrap_or_default();
    let may_be_missing = version == V1BETA1 && mode.is_empty();
    if !may_be_missing && !["Never", "IfAvailable"].contains(&mode) {
        return unlike("interactiveMode", "Never or IfAvailable".to_owned(), mode);
    }
    let command = exec.command.as_deref().unwrap_or_default();
    if command.is_empty() {
        return unlike("command", "a program".to_owned(), "");
    }
    let variables = exec.env.iter().flatten().map(|variable| {
        let value = variable.value.clone();
        (
            variable.name.clone(),
            value.unwrap_or_else(|| Secret(String::new())),
        )
    });
    let wants_cluster = exec.provide_cluster_info.unwrap_or_default();
    Ok(Spec {
        place: place.to_owned(),
        api_version: version.to_owned(),
        command: program_path(entry, command),
        args: exec.args.clone().unwrap_or_default(),
        env: variables.collect(),
        install_hint: exec.install_hint.clone(),
        cluster: wants_cluster
            .then(|| cluster_info(cluster))
            .transpose()?
            .map(Secret),
    })
}

/// A bare name is looked for on the `PATH`; with a folder it is relative to the file's own.
fn program_path(entry: &Entry<User>, command: &str) -> PathBuf {
    let is_bare = Path::new(command).file_name() == Some(OsStr::new(command));
    if is_bare {
        return PathBuf::from(command);
    }
    entry.path(command)
}

/// The cluster as programs are told of it, with the authority itself in place of its file.
fn cluster_info(entry: &Entry<Cluster>) -> Result<Value, ConnectionError> {
    let connection = from_cluster(entry)?;
    let cluster = &entry.value;
    let mut info = Map::new();
    let mut put = |member: &str, value: Option<Value>| {
        if let Some(value) = value {
            info.insert(member.to_owned(), value);
        }
    };
    put("server", connection.server_url().map(Value::from));
    put(
        "tls-server-name",
        cluster.tls_server_name.clone().map(Value::from),
    );
    let is_insecure = connection.insecure_skip_tls_verify;
    put(
        "insecure-skip-tls-verify",
        is_insecure.then_some(Value::Bool(true)),
    );
    if let Some(ca) = &connection.ca {
        let data = STANDARD.encode(ca.read()?.0);
        put("certificate-authority-data", Some(Value::from(data)));
    }
    let proxy = cluster.proxy_url.clone();
    put("proxy-url", proxy.map(|url| Value::from(url.0)));
    let mut extensions = cluster.extensions.iter().flatten();
    let config = extensions.find(|extension| extension.name == EXTENSION);
    put("config", config.and_then(|config| config.extension.clone()));
    Ok(Value::Object(info))
}

/// The headers by which a user acts as another one.
fn impersonation(
    user: &User,
    place: &str,
) -> Result<Vec<(HeaderName, HeaderValue)>, ConnectionError> {
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (name, uid) = (filled(&user.r#as), filled(&user.as_uid));
    let groups = user.as_groups.iter().flatten();
    let extra = user.as_user_extra.iter().flatten();
    let mut pairs = Vec::new();
    pairs.extend(
        name.clone()
            .map(|name| ("Impersonate-User".to_owned(), name)),
    );
    pairs.extend(uid.map(|uid| ("Impersonate-Uid".to_owned(), uid)));
    pairs.extend(groups.map(|group| ("Impersonate-Group".to_owned(), group.clone())));
    for (key, values) in extra {
        let header = format!("Impersonate-Extra-{}", escaped(key));
        pairs.extend(values.iter().map(|value| (header.clone(), value.clone())));
    }
    if name.is_none() && !pairs.is_empty() {
        let expected = "a user beside as-uid, as-groups and as-user-extra";
        return Err(ConnectionError::new(
            format!("{place}.as"),
            expected,
            "none",
        ));
    }
    let header = |(name, value): (String, String)| {
        let name = HeaderName::try_from(name).ok()?;
        Some((name, HeaderValue::try_from(value).ok()?))
    };
    let headers: Option<Vec<_>> = pairs.into_iter().map(header).collect();
    headers.ok_or_else(|| {
        let expected = "texts that can stand in a header";
        ConnectionError::new(format!("{place}.as"), expected, "others")
    })
}

/// A key with all that can't stand in the name of a header as `%xx`.
fn escaped(key: &str) -> String {
    let escape = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    key.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A daemon changes its working directory after it has started, and reads its files again.
    #[test]
    fn a_path_of_a_file_that_was_named_relatively_leads_there_from_everywhere() {
        let entry = Entry {
            name: "c".to_owned(),
            file: PathBuf::from("deep/config"),
            value: (),
        };
        let folder = std::env::current_dir().unwrap().join("deep");
        assert_eq!(entry.path("pki/ca.crt"), folder.join("pki/ca.crt"));
        assert_eq!(entry.path("/abs/token"), Path::new("/abs/token"));
    }
}
