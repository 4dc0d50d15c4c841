//! Kubeconfig files: which ones, how several become one, and what a context of it means.

mod file;
mod resolve;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use self::file::{Cluster, Context, File, User};
use super::{Connection, ConnectionError, in_cluster};

/// A member of a list, and the file that it stands in.
#[derive(Clone, Debug)]
struct Entry<T> {
    name: String,
    file: PathBuf,
    value: T,
}

/// What all files say together.
#[derive(Debug, Default)]
struct Merged {
    /// In the order in which they decide.
    files: Vec<PathBuf>,
    clusters: Vec<Entry<Cluster>>,
    users: Vec<Entry<User>>,
    contexts: Vec<Entry<Context>>,
    current_context: Option<String>,
}

/// A context of one file, or of the usual files.
pub(super) fn load(
    variable: &dyn Fn(&str) -> Option<OsString>,
    file: Option<&Path>,
    context: Option<&str>,
) -> Result<Connection, ConnectionError> {
    let merged = match file {
        Some(file) => {
            let mut merged = Merged::default();
            if !merged.add(file)? {
                let place = file.display().to_string();
                return Err(ConnectionError::new(place, "a kubeconfig file", "none"));
            }
            merged
        }
        None => Merged::usual(variable)?,
    };
    resolve::context(&merged, context)
}

/// The current context of the usual files, or the pod's own way where they are empty.
pub(super) fn infer(
    variable: &dyn Fn(&str) -> Option<OsString>,
    folder: &Path,
) -> Result<Connection, ConnectionError> {
    let merged = Merged::usual(variable)?;
    if !merged.is_empty() {
        return resolve::context(&merged, None);
    }
    in_cluster::load(variable, folder).map_err(|error| {
        let files = merged.places();
        let found = format!("nothing in {files}, and no pod: {error}");
        ConnectionError::new("kubeconfig or pod", "a way to the API server", found)
    })
}

impl Merged {
    /// The files of `KUBECONFIG`, or the one in the home folder. Those that do not exist count as
    /// empty.
    fn usual(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, ConnectionError> {
        let list = variable("KUBECONFIG").filter(|list| !list.is_empty());
        let home = || variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
        let files: Vec<PathBuf> = match (list, home()) {
            (Some(list), _) => env::split_paths(&list).collect(),
            (None, Some(home)) => vec![Path::new(&home).join(".kube").join("config")],
            (None, None) => Vec::new(),
        };
        let mut merged = Self::default();
        for file in files.iter().filter(|file| !file.as_os_str().is_empty()) {
            if !merged.files.contains(file) {
                merged.add(file)?;
            }
        }
        Ok(merged)
    }

    /// Takes from a file what no earlier file has; answers whether the file exists.
    fn add(&mut self, path: &Path) -> Result<bool, ConnectionError> {
        self.files.push(path.to_owned());
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => {
                let place = path.display().to_string();
                let found = error.to_string();
                return Err(ConnectionError::new(place, "a readable file", found));
            }
        };
        let file = File::parse(path, &bytes)?;
        let named = |named: file::NamedCluster| (named.name, named.cluster);
        add_new(
            &mut self.clusters,
            path,
            file.clusters.into_iter().flatten().map(named),
        );
        let named = |named: file::NamedUser| (named.name, named.user);
        add_new(
            &mut self.users,
            path,
            file.users.into_iter().flatten().map(named),
        );
        let named = |named: file::NamedContext| (named.name, named.context);
        add_new(
            &mut self.contexts,
            path,
            file.contexts.into_iter().flatten().map(named),
        );
        let current = file.current_context.filter(|name| !name.is_empty());
        self.current_context = self.current_context.take().or(current);
        Ok(true)
    }

    const fn is_empty(&self) -> bool {
        self.clusters.is_empty()
            && self.users.is_empty()
            && self.contexts.is_empty()
            && self.current_context.is_none()
    }

    /// All files, for errors.
    fn places(&self) -> String {
        let files = self.files.iter().map(|file| file.display().to_string());
        let files: Vec<String> = files.collect();
        if files.is_empty() {
            "KUBECONFIG".to_owned()
        } else {
            files.join(", ")
        }
    }
}

/// The first file to name something decides about all of it.
fn add_new<T: Default>(
    known: &mut Vec<Entry<T>>,
    path: &Path,
    found: impl Iterator<Item = (String, Option<T>)>,
) {
    for (name, value) in found {
        if !known.iter().any(|entry| entry.name == name) {
            known.push(Entry {
                name,
                file: path.to_owned(),
                value: value.unwrap_or_default(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Identity, ProxyChoice};
    use super::*;

    /// A folder with files, and an environment that knows of it.
    struct Place {
        folder: tempfile::TempDir,
        variables: Vec<(&'static str, OsString)>,
    }

    impl Place {
        fn new(files: &[(&str, &str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let variables = Vec::new();
            Self { folder, variables }
        }

        fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
            self.variables.push((name, value.into()));
            self
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn variable(&self, name: &str) -> Option<OsString> {
            let found = self.variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.clone())
        }

        fn load(&self, file: Option<&str>) -> Result<Connection, ConnectionError> {
            let file = file.map(|name| self.path(name));
            load(&|name| self.variable(name), file.as_deref(), None)
        }

        fn infer(&self) -> Result<Connection, ConnectionError> {
            infer(&|name| self.variable(name), &self.path("pod"))
        }

        /// The words of an error, without the folder's name.
        fn error(&self, file: Option<&str>) -> String {
            let text = self.load(file).unwrap_err().to_string();
            text.replace(&format!("{}/", self.folder.path().display()), "")
        }
    }

    /// A file with one context, whose cluster and user have these members.
    fn config(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
             contexts: [{{name: x, context: {{cluster: c, user: u, namespace: plant-3}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'https://api:6443', {cluster}}}}}]\n\
             users: [{{name: u, user: {{{user}}}}}]\n"
        )
    }

    fn loaded(cluster: &str, user: &str) -> Connection {
        let place = Place::new(&[("config", &config(cluster, user))]);
        place.load(Some("config")).unwrap()
    }

    fn error(cluster: &str, user: &str) -> String {
        Place::new(&[("config", &config(cluster, user))]).error(Some("config"))
    }

    #[test]
    fn a_context_has_a_server_a_namespace_and_the_proxy_of_the_environment() {
        let connection = loaded("", "token: t");
        assert_eq!(connection.server_url(), Some("https://api:6443"));
        assert_eq!(connection.default_namespace(), Some("plant-3"));
        assert!(matches!(connection.proxy, Some(ProxyChoice::Environment)));
        assert!(matches!(connection.identity, Identity::Token { .. }));
        // No CA: the authorities of the platform.
        assert!(connection.ca.is_none());
    }

    #[test]
    fn b87_paths_are_relative_to_the_folder_of_their_own_file() {
        let text = config(
            "certificate-authority: pki/ca.crt",
            "client-certificate: tls.crt, client-key: ../tls.key, tokenFile: /abs/token",
        );
        let place = Place::new(&[("deep/config", &text)]);
        let connection = place.load(Some("deep/config")).unwrap();
        let is_at = |item: &super::super::Item, path: &str| {
            let place = item.place();
            assert!(place.ends_with(path), "{place}");
        };
        let at = |name: &str| format!(": {}", place.path("deep").join(name).display());
        is_at(connection.ca.as_ref().unwrap(), &at("pki/ca.crt"));
        let (certificate, key) = connection.client.as_ref().unwrap();
        is_at(certificate, &at("tls.crt"));
        is_at(key, &at("../tls.key"));
        let Identity::Token {
            file: Some(file), ..
        } = &connection.identity
        else {
            panic!("{connection:?}");
        };
        is_at(file, ": /abs/token");
    }

    #[test]
    fn b87_a_program_with_a_folder_is_relative_and_a_bare_one_is_looked_for() {
        let command = |command: &str| {
            let exec = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ";
            let text = config("", &format!("{exec}{command}}}"));
            let place = Place::new(&[("config", &text)]);
            let connection = place.load(Some("config")).unwrap();
            let Identity::Exec(spec) = connection.identity else {
                panic!("{connection:?}");
            };
            let folder = place.folder.path();
            let command = spec.command.strip_prefix(folder);
            command.map_or_else(|_| spec.command.clone(), Path::to_owned)
        };
        assert_eq!(command("aws"), Path::new("aws"));
        assert_eq!(command("./login"), Path::new("login"));
        assert_eq!(command("bin/login"), Path::new("bin/login"));
        assert_eq!(command("/usr/bin/login"), Path::new("/usr/bin/login"));
    }

    #[test]
    fn b87_data_goes_before_a_file() {
        let connection = loaded(
            "certificate-authority: no/file, certificate-authority-data: Y2E=",
            "client-certificate: no, client-certificate-data: Yw==, \
             client-key: no, client-key-data: aw==",
        );
        assert_eq!(connection.ca.unwrap().read().unwrap().0, b"ca");
        let (certificate, key) = connection.client.unwrap();
        assert_eq!(certificate.read().unwrap().0, b"c");
        assert_eq!(key.read().unwrap().0, b"k");
    }

    #[test]
    fn b87_without_a_current_context_the_error_says_so() {
        let text = config("", "").replace("current-context: x", "current-context: ''");
        let place = Place::new(&[("config", &text)]);
        assert_eq!(
            place.error(Some("config")),
            "config: current-context: expected the name of a context (x), found none"
        );
    }

    #[test]
    fn errors_name_the_file_the_entry_and_the_member() {
        let exec = |rest: &str| {
            let user = format!("exec: {{apiVersion: client.authentication.k8s.io/v1, {rest}}}");
            error("", &user)
        };
        let cases = [
            (
                error("certificate-authority-data: '%'", ""),
                "clusters[c].cluster.certificate-authority-data: expected base64, found another \
                 text",
            ),
            (
                error(
                    "insecure-skip-tls-verify: true, certificate-authority: f",
                    "",
                ),
                "clusters[c].cluster.insecure-skip-tls-verify: expected no \
                 certificate-authority beside it, found one",
            ),
            (
                error("", "client-certificate: f"),
                "users[u].user.client-key: expected the key of the client-certificate, found none",
            ),
            (
                error("", "token: t, password: p"),
                "users[u].user.token: expected no username or password beside it, found one",
            ),
            (
                error("", "auth-provider: {name: gcp}"),
                "users[u].user.auth-provider: expected a program in `exec` in place of the \
                 removed auth-provider, found `gcp`",
            ),
            (
                error("", "as-groups: [a]"),
                "users[u].user.as: expected a user beside as-uid, as-groups and as-user-extra, \
                 found none",
            ),
            (
                error("", "exec: {apiVersion: v2, command: a}"),
                "users[u].user.exec.apiVersion: expected client.authentication.k8s.io/v1 or \
                 client.authentication.k8s.io/v1beta1, found `v2`",
            ),
            (
                exec("command: a"),
                "users[u].user.exec.interactiveMode: expected Never or IfAvailable, found none",
            ),
            (
                exec("command: a, interactiveMode: Always"),
                "users[u].user.exec.interactiveMode: expected Never or IfAvailable, found \
                 `Always`",
            ),
            (
                exec("interactiveMode: Never"),
                "users[u].user.exec.command: expected a program, found none",
            ),
            (
                error("tls-server-name: {}", ""),
                "clusters[0].cluster.tls-server-name: expected what a kubeconfig has there, found \
                 something else at line 5",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(error, format!("config: {expected}"));
        }
    }

    #[test]
    fn an_error_in_the_form_shows_nothing_of_the_file() {
        for user in [
            "token: [s3cret]",
            "exec: s3cret",
            "token: {a: s3cret",
            "as: [s3cret",
        ] {
            let error = error("", user);
            assert!(error.starts_with("config: "), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
            assert!(
                error.contains("line 5") || error.contains("line 6"),
                "{error}"
            );
        }
    }

    #[test]
    fn numbers_and_words_that_look_like_booleans_are_texts_where_texts_belong() {
        let connection = loaded("insecure-skip-tls-verify: true", "token: 0123");
        assert!(connection.insecure_skip_tls_verify);
        let Identity::Token {
            given: Some(item), ..
        } = connection.identity
        else {
            panic!("no token");
        };
        assert_eq!(item.read().unwrap().0, b"0123");
        let connection = loaded("", "username: yes, password: 1e5");
        let Identity::Basic { username, password } = connection.identity else {
            panic!("no password");
        };
        assert_eq!((&*username, &*password.0), ("yes", "1e5"));
    }

    #[test]
    fn of_several_files_the_first_to_name_something_decides_about_all_of_it() {
        let first = "current-context: x\nclusters: null\n\
                     users: [{name: u, user: {tokenFile: token}}]\n";
        let second = config("", "token: second, as: somebody");
        let place = Place::new(&[("a/first", first), ("b/second", &second), ("empty", "")]);
        let list = ["missing", "a/first", "empty", "b/second", "a/first"];
        let list = env::join_paths(list.map(|name| place.path(name))).unwrap();
        let place = place.with("KUBECONFIG", list);
        let connection = place.load(None).unwrap();
        assert_eq!(connection.server_url(), Some("https://api:6443"));
        assert!(connection.headers.is_empty());
        let Identity::Token {
            file: Some(file),
            given: None,
        } = &connection.identity
        else {
            panic!("{connection:?}");
        };
        let expected = place.path("a").join("token");
        assert!(
            file.place().ends_with(&expected.display().to_string()),
            "{file:?}"
        );
    }

    #[test]
    fn without_a_list_the_file_of_the_home_folder_is_read() {
        let place = Place::new(&[(".kube/config", &config("", ""))]);
        let home = place.folder.path().as_os_str().to_owned();
        let place = place.with("HOME", home).with("KUBECONFIG", "");
        assert_eq!(
            place.load(None).unwrap().server_url(),
            Some("https://api:6443")
        );
    }

    #[test]
    fn a_missing_file_that_was_asked_for_is_an_error() {
        let place = Place::new(&[]);
        assert_eq!(
            place.error(Some("config")),
            "config: expected a kubeconfig file, found none"
        );
        let place = place.with("KUBECONFIG", "no/file");
        assert_eq!(
            place.error(None),
            "no/file: expected a kubeconfig, found nothing of one"
        );
    }

    #[test]
    fn a_pod_is_taken_only_where_the_files_are_empty() {
        let pod = [
            ("pod/token", "t"),
            ("pod/namespace", "plant-7\n"),
            ("pod/ca.crt", "ca"),
            ("config", &config("", "")),
        ];
        let in_pod = |place: Place| {
            let place = place.with("KUBERNETES_SERVICE_HOST", "fd00::1");
            place.with("KUBERNETES_SERVICE_PORT", "443")
        };
        let place = in_pod(Place::new(&pod));
        let connection = place.infer().unwrap();
        assert_eq!(connection.server_url(), Some("https://[fd00::1]:443"));
        assert_eq!(connection.default_namespace(), Some("plant-7"));
        let config = place.path("config");
        let connection = place.with("KUBECONFIG", config).infer().unwrap();
        assert_eq!(connection.server_url(), Some("https://api:6443"));

        let error = Place::new(&[])
            .with("KUBECONFIG", "no/file")
            .infer()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "kubeconfig or pod: expected a way to the API server, found nothing in no/file, and \
             no pod: KUBERNETES_SERVICE_HOST: expected the variable that each pod has, found none"
        );
    }

    #[test]
    fn a_server_without_a_scheme_is_taken_as_kubectl_takes_it() {
        let url = |members: &str| {
            let text = config(members, "").replace("https://api:6443", "10.0.0.1:6443");
            let place = Place::new(&[("config", &text)]);
            place
                .load(Some("config"))
                .unwrap()
                .server_url()
                .unwrap()
                .to_owned()
        };
        assert_eq!(url("certificate-authority: f"), "https://10.0.0.1:6443");
        assert_eq!(
            url("insecure-skip-tls-verify: true"),
            "https://10.0.0.1:6443"
        );
        assert_eq!(url(""), "http://10.0.0.1:6443");
    }

    #[test]
    fn a_user_acts_as_another_by_headers() {
        let connection = loaded(
            "",
            "token: t, as: jane, as-uid: '7', as-groups: [a, b], \
             as-user-extra: {'example.com/x y': [one]}",
        );
        let headers = connection
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        let expected = [
            "impersonate-user: jane",
            "impersonate-uid: 7",
            "impersonate-group: a",
            "impersonate-group: b",
            "impersonate-extra-example.com%2fx%20y: one",
        ];
        assert_eq!(headers.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_debug_shows_a_secret() {
        let connection = loaded(
            "proxy-url: 'http://u:s3cret@p:1'",
            "username: u, password: s3cret, client-certificate: f, client-key-data: czNjcmV0",
        );
        let text = format!("{connection:?}");
        assert!(
            !text.contains("s3cret") && !text.contains("czNjcmV0"),
            "{text}"
        );
        let rest = "env: [{name: A, value: s3cret}], args: [--client-secret=s3cret], \
                    interactiveMode: Never, provideClusterInfo: true";
        let exec =
            format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: a, {rest}}}");
        let text = format!("{:?}", loaded("proxy-url: 'http://u:s3cret@p:1'", &exec));
        assert!(
            text.contains("interactive") || text.contains("command"),
            "{text}"
        );
        assert!(!text.contains("s3cret"), "{text}");
    }
}
