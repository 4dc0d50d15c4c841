//! Ways to a server, each taken by a whole election.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod support;
#[path = "support/tls.rs"]
mod tls;

use kubelease::testing::ApiServer;
use kubelease::{Connection, Elector, Handle, StartError};
use support::{PATIENT, candidate, until};
use tls::{Authority, Front, Pair, lock, server};

/// A candidate for a lease of this name on `connection`.
fn start(connection: Connection, name: &str) -> Handle {
    let builder = Elector::builder().connection(connection);
    let builder = builder.namespace("default").name(name).timing(PATIENT);
    builder.start().unwrap()
}

async fn leads(connection: Connection, name: &str) {
    let handle = start(connection, name);
    until("leading", || handle.is_leading()).await;
    assert_eq!(handle.last_error(), None);
}

/// The words of the first request that gets no answer.
async fn fails(connection: Connection) -> String {
    let handle = start(connection, "unreached");
    until("an error", || handle.last_error().is_some()).await;
    assert!(!handle.is_leading());
    handle.last_error().unwrap()
}

#[tokio::test]
async fn the_given_authority_and_no_other_is_trusted() {
    let api = ApiServer::start().unwrap();
    let (authority, other) = (Authority::new(), Authority::new());
    let front = Front::start(api.addr(), authority.server()).await;
    let to = || Connection::to(front.url());
    for connection in [to(), to().ca_pem(other.pem)] {
        let error = fails(connection).await;
        assert!(error.contains("certificate"), "{error}");
    }
    assert_eq!(api.requests().len(), 0);
    leads(to().ca_pem(authority.pem), "a").await;
    // Nothing is believed of it, so it may be anybody.
    leads(to().insecure_skip_tls_verify(), "b").await;
}

/// Documented at `ca_pem`: an authority has to have signed it.
#[tokio::test]
async fn b87_a_server_is_its_own_authority_only_where_it_signed_itself() {
    let api = ApiServer::start().unwrap();
    let leaf = Authority::new().vouch_for("127.0.0.1");
    let front = Front::start(api.addr(), server(&leaf, None)).await;
    let to = || Connection::to(front.url());
    let error = fails(to().ca_pem(leaf.certificate.as_str())).await;
    assert!(error.contains("certificate"), "{error}");

    let alone = Pair::alone();
    front.present(server(&alone, None));
    leads(to().ca_pem(alone.certificate.as_str()), "a").await;
}

#[tokio::test]
async fn a_server_is_asked_for_a_certificate_of_another_name() {
    let api = ApiServer::start().unwrap();
    let authority = Authority::new();
    let pair = authority.vouch_for("api.plant.local");
    let front = Front::start(api.addr(), server(&pair, None)).await;
    let to = || Connection::to(front.url()).ca_pem(authority.pem.as_str());
    let error = fails(to()).await;
    assert!(error.contains("not valid for name"), "{error}");
    leads(to().tls_server_name("api.plant.local"), "a").await;
}

/// It has an address of each kind on most machines, and the server listens at one of them.
#[tokio::test]
async fn b84_a_name_with_a_dead_address_leads_to_the_next() {
    let api = ApiServer::start().unwrap();
    let url = format!("http://localhost:{}", api.addr().port());
    leads(Connection::to(url), "a").await;
}

#[tokio::test]
async fn b84_a_name_that_nobody_knows_is_named_and_asked_for_again() {
    let handle = start(Connection::to("http://no-such-host.invalid"), "a");
    until("two tries", || handle.requests_sent() >= 2).await;
    until("an error", || handle.last_error().is_some()).await;
    let error = handle.last_error().unwrap();
    assert!(error.contains("dns") || error.contains("lookup"), "{error}");
}

#[tokio::test]
async fn a_proxy_is_asked_for_the_server_with_its_own_credentials() {
    let api = ApiServer::builder().token("s3cret", "a").start().unwrap();
    let authority = Authority::new();
    let front = Front::start(api.addr(), authority.server()).await;
    let (proxy, heads) = tls::proxy().await;
    let connection = Connection::to(front.url())
        .ca_pem(authority.pem)
        .bearer_token("s3cret")
        .proxy(format!("http://user:word@{proxy}"));
    leads(connection, "a").await;
    let heads = lock(&heads).clone();
    let head = heads.first().unwrap();
    assert!(
        head.starts_with(&format!("CONNECT {} ", front.addr())),
        "{head}"
    );
    let head = head.to_ascii_lowercase();
    assert!(
        head.contains("proxy-authorization: basic dxnlcjp3b3jk"),
        "{head}"
    );
    assert!(!head.contains("s3cret"), "{head}");
}

#[tokio::test]
async fn a_service_account_has_all_that_is_needed() {
    let api = ApiServer::builder().token("one", "pod").start().unwrap();
    let authority = Authority::new();
    let front = Front::start(api.addr(), authority.server()).await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("ca.crt", &authority.pem);
    let error = Connection::service_account(front.url(), folder.path()).unwrap_err();
    let token = folder.path().join("token");
    let expected = "expected a readable file, found none";
    assert_eq!(
        error.to_string(),
        format!("service account: {}: {expected}", token.display())
    );
    write("token", "one\n");
    write("namespace", "plant-3\n");
    api.create_namespace("plant-3");
    let connection = Connection::service_account(front.url(), folder.path()).unwrap();
    let builder = Elector::builder().connection(connection).name("a");
    let handle = builder
        .identity_prefix("web-0")
        .timing(PATIENT)
        .start()
        .unwrap();
    until("leading", || handle.is_leading()).await;
    let lease = api.lease("plant-3", "a").unwrap();
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap();
    assert!(holder.starts_with("web-0_"), "{holder}");
}

#[tokio::test]
async fn b89_a_name_that_is_none_is_an_error_before_any_request() {
    let api = ApiServer::start().unwrap();
    let long = "a".repeat(254);
    for name in ["Cluster Coordinator", "Node-A", "", &long, "a/b", ".."] {
        let error = candidate(&api, "a").name(name).start().unwrap_err();
        assert!(matches!(error, StartError::Path(_)), "{name}: {error}");
    }
    for namespace in ["", "a/b", "Upper", "a.b"] {
        let error = candidate(&api, "a")
            .namespace(namespace)
            .start()
            .unwrap_err();
        assert!(matches!(error, StartError::Path(_)), "{namespace}: {error}");
    }
    assert_eq!(api.requests().len(), 0);
    let longest = "a".repeat(253);
    let handle = candidate(&api, "a").name(longest).start().unwrap();
    until("leading", || handle.is_leading()).await;
}

#[cfg(feature = "kubeconfig")]
mod kubeconfig {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use std::fs;
    use std::path::PathBuf;

    use kubelease::testing::{CannedAnswer, Fault, Rule};
    use tempfile::TempDir;

    use super::*;

    /// A folder with a kubeconfig and what belongs to it.
    struct Place(TempDir);

    impl Place {
        fn new(cluster: &str, user: &str) -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            let text = format!(
                "current-context: other\n\
                 contexts:\n- name: here\n  context: {{cluster: c, user: u, namespace: default}}\n\
                 clusters:\n- name: c\n  cluster:\n{cluster}\n\
                 users:\n- name: u\n  user:\n{user}\n"
            );
            place.write("config", &text);
            place
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.path(name), text).unwrap();
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn connection(&self) -> Connection {
            Connection::kubeconfig(Some(&self.path("config")), Some("here")).unwrap()
        }
    }

    #[tokio::test]
    async fn b87_certificates_in_the_file_and_beside_it_lead_alike() {
        let api = ApiServer::start().unwrap();
        let (names, clients) = (Authority::new(), Authority::new());
        let front = Front::start(api.addr(), names.server_for(&clients)).await;
        let pair = clients.vouch_for("u");
        let (url, pack) = (front.url(), |text: &str| STANDARD.encode(text));

        let cluster = format!(
            "    server: {url}\n    certificate-authority-data: {}",
            pack(&names.pem)
        );
        let user = format!(
            "    client-certificate-data: {}\n    client-key-data: {}",
            pack(&pair.certificate),
            pack(&pair.key_pem())
        );
        leads(Place::new(&cluster, &user).connection(), "data").await;

        let cluster = format!("    server: {url}\n    certificate-authority: ca.crt");
        let user = "    client-certificate: tls.crt\n    client-key: tls.key";
        let place = Place::new(&cluster, user);
        place.write("ca.crt", &names.pem);
        place.write("tls.crt", &pair.certificate);
        place.write("tls.key", &pair.key_pem());
        leads(place.connection(), "files").await;
    }

    #[tokio::test]
    async fn a_builder_takes_a_context_and_its_namespace() {
        let api = ApiServer::builder().token("one", "u").start().unwrap();
        let place = Place::new(&format!("    server: {}", api.url()), "    token: one");
        let builder = Elector::builder().kubeconfig(Some(&place.path("config")), Some("here"));
        let handle = builder.name("a").timing(PATIENT).start().unwrap();
        until("leading", || handle.is_leading()).await;
        assert!(api.lease("default", "a").is_some());

        let builder = Elector::builder().kubeconfig(Some(&place.path("config")), None);
        let error = builder.name("a").start().unwrap_err().to_string();
        let place = place.path("config").display().to_string();
        assert_eq!(
            error,
            format!("{place}: contexts: expected one named `other`, found none")
        );
    }

    /// A program that says what is in a file and keeps a diary: a shell beside the kubeconfig. (A
    /// script by itself might be open for writing still when it is to run.)
    #[cfg(unix)]
    mod exec {
        use std::os::unix::fs::symlink;

        use super::*;

        const V1: &str = "client.authentication.k8s.io/v1";

        /// It ends where its folder is gone, with its test: it must not write elsewhere.
        const SCRIPT: &str = "cd \"$(dirname \"$0\")\" || exit 1\n\
                              echo \"$* $COLOUR $KUBERNETES_EXEC_INFO\" >> diary\n\
                              cat answer\n";

        fn place(api: &ApiServer, version: &str, rest: &str) -> Place {
            let user = format!(
                "    exec:\n      apiVersion: {version}\n      command: ./sh\n      \
                 args: [SCRIPT, get, token]\n      env: [{{name: COLOUR, value: green}}]\n{rest}"
            );
            let cluster = format!("    server: {}", api.url());
            let place = Place::new(&cluster, &user);
            let config = fs::read_to_string(place.path("config")).unwrap();
            let script = place.path("script").display().to_string();
            place.write("config", &config.replace("SCRIPT", &script));
            place.write("script", SCRIPT);
            symlink("/bin/sh", place.path("sh")).unwrap();
            place
        }

        fn answer(version: &str, status: &str) -> String {
            format!(
                "{{\"kind\": \"ExecCredential\", \"apiVersion\": \"{version}\", \
                 \"status\": {status}}}"
            )
        }

        fn diary(place: &Place) -> Vec<String> {
            let text = fs::read_to_string(place.path("diary")).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        }

        #[tokio::test]
        async fn a_program_issues_what_identifies_and_runs_again_after_a_401() {
            for version in [V1, "client.authentication.k8s.io/v1beta1"] {
                let api = ApiServer::builder()
                    .token("one", "first")
                    .token("two", "second");
                let api = api.start().unwrap();
                let place = place(
                    &api,
                    version,
                    "      interactiveMode: IfAvailable\n      provideClusterInfo: true",
                );
                place.write("answer", &answer(version, "{\"token\": \"one\"}"));
                let handle = start(place.connection(), "a");
                until("leading", || handle.is_leading()).await;
                let lines = diary(&place);
                assert_eq!(lines.len(), 1, "{lines:?}");
                assert!(lines[0].starts_with("get token green {"), "{lines:?}");
                let info = lines[0].trim_start_matches("get token green ");
                let info: serde_json::Value = serde_json::from_str(info).unwrap();
                assert_eq!(info["apiVersion"], version);
                assert_eq!(info["spec"]["interactive"], false);
                assert_eq!(info["spec"]["cluster"]["server"], api.url());

                place.write("answer", &answer(version, "{\"token\": \"two\"}"));
                let refused = CannedAnswer::failure(401, "Unauthorized", "Unauthorized");
                api.inject(Rule::new(Fault::Answer(refused)).user("first"));
                let is_second = |user: Option<&str>| user == Some("second");
                until("the new token", || {
                    api.count_if(|request| is_second(request.user.as_deref())) > 1
                })
                .await;
                assert!(handle.is_leading());
                assert_eq!((handle.term(), diary(&place).len()), (1, 2));
            }
        }

        #[tokio::test]
        async fn a_certificate_that_a_program_issues_identifies_too() {
            let api = ApiServer::start().unwrap();
            let (names, clients) = (Authority::new(), Authority::new());
            let front = Front::start(api.addr(), names.server_for(&clients)).await;
            let pair = clients.vouch_for("u");
            let place = place(&api, V1, "      interactiveMode: Never");
            let status = serde_json::json!({
                "clientCertificateData": pair.certificate,
                "clientKeyData": pair.key_pem(),
                "expirationTimestamp": "2999-01-01T00:00:00Z",
            });
            place.write("answer", &answer(V1, &status.to_string()));
            let connection = place
                .connection()
                .server(front.url())
                .ca_pem(names.pem.as_str());
            leads(connection, "a").await;
        }

        #[tokio::test]
        async fn what_has_expired_is_issued_anew_before_each_request() {
            let api = ApiServer::builder().token("one", "first").start().unwrap();
            let place = place(&api, V1, "      interactiveMode: Never");
            let status = "{\"token\": \"one\", \"expirationTimestamp\": \"2001-01-01T00:00:00Z\"}";
            place.write("answer", &answer(V1, status));
            let handle = start(place.connection(), "a");
            until("leading", || handle.is_leading()).await;
            until("four runs", || diary(&place).len() >= 4).await;
            assert!(u64::try_from(diary(&place).len()).unwrap() <= handle.requests_sent() + 1);
        }

        #[tokio::test]
        async fn an_answer_that_is_none_is_said_without_its_words() {
            let status = "{\"token\": \"s3cret\", \"expirationTimestamp\": \"s3cret\"}";
            let cases = [
                ("", "an ExecCredential in JSON, found nothing"),
                (
                    "{\"s3cret\": ",
                    "an ExecCredential in JSON, found another text, from line 1 on",
                ),
                (&answer("v9", status), "an ExecCredential of"),
                (&answer(V1, "null"), "a status, found none"),
                (
                    &answer(V1, "{}"),
                    "a token or a certificate and its key, found neither",
                ),
                (
                    &answer(V1, "{\"clientKeyData\": \"s3cret\"}"),
                    "a clientCertificateData",
                ),
                (
                    &answer(V1, status),
                    "an expirationTimestamp by RFC 3339, found another text",
                ),
            ];
            let api = ApiServer::start().unwrap();
            for (text, expected) in cases {
                let place = place(&api, V1, "      interactiveMode: Never");
                place.write("answer", text);
                let error = fails(place.connection()).await;
                let place = "config: users[u].user.exec: expected ";
                assert!(error.contains(&format!("{place}{expected}")), "{error}");
                assert!(!error.contains("s3cret"), "{error}");
            }
            assert_eq!(api.requests().len(), 0);
        }

        #[tokio::test]
        async fn a_program_that_is_missing_or_fails_is_named() {
            let api = ApiServer::start().unwrap();
            let hint = "      interactiveMode: Never\n      installHint: ask the plant's office";
            let place = place(&api, V1, hint);
            place.write("script", "exit 7\n");
            let error = fails(place.connection()).await;
            assert!(
                error.ends_with("expected exit status 0, found exit status: 7"),
                "{error}"
            );
            fs::remove_file(place.path("sh")).unwrap();
            let error = fails(place.connection()).await;
            assert!(error.contains("sh` (ask the plant's office)"), "{error}");
        }

        /// A request gives up sooner than such a program, which goes on for the next one.
        #[tokio::test]
        async fn a_slow_program_is_waited_for_over_several_requests() {
            let api = ApiServer::builder().token("one", "first").start().unwrap();
            let place = place(&api, V1, "      interactiveMode: Never");
            place.write("script", &SCRIPT.replace("echo", "sleep 2\necho"));
            place.write("answer", &answer(V1, "{\"token\": \"one\"}"));
            // Requests of 0.65 s.
            let builder = Elector::builder().connection(place.connection());
            let builder = builder.namespace("default").name("a").timing(support::FAST);
            let handle = builder.start().unwrap();
            until("an error", || handle.last_error().is_some()).await;
            assert_eq!(
                handle.last_error().unwrap(),
                "no credentials were issued in time for the request"
            );
            until("leading", || handle.is_leading()).await;
            assert_eq!(diary(&place).len(), 1);
        }
    }
}
