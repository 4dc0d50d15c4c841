//! Tokens, certificates and authorities that change under a running leader.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod support;
#[path = "support/tls.rs"]
mod tls;

use core::time::Duration;
use std::fs;

use kubelease::testing::{ApiServer, CannedAnswer, Fault, Rule};
use kubelease::{Builder, Connection, Handle};
use support::{STEADY, candidate, instant, until};
use tempfile::TempDir;
use tls::{Authority, Front, Pair};

/// Files of credentials.
struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let files_in = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            files_in.write(name, text);
        }
        files_in
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }
}

fn steady(server: &ApiServer, connection: Connection) -> Builder {
    candidate(server, "a").connection(connection).timing(STEADY)
}

/// `candidate` names the server, which goes before the connection's; this names it again.
async fn leader(server: &ApiServer, url: &str, connection: Connection) -> Handle {
    let handle = steady(server, connection).server(url).start().unwrap();
    until("leading", || handle.is_leading()).await;
    handle
}

/// Two renewals from now on, all in the first term.
async fn goes_on(server: &ApiServer, handle: &Handle) {
    let renewals =
        || server.count_if(|request| request.method == "PUT" && request.status == Some(200));
    let before = renewals();
    until("two renewals", || {
        assert!(handle.is_leading(), "{:?}", handle.last_error());
        renewals() >= before + 2
    })
    .await;
    assert_eq!(handle.term(), 1);
}

fn two_tokens() -> ApiServer {
    let server = ApiServer::builder()
        .token("one", "first")
        .token("two", "second");
    server.start().unwrap()
}

/// Refuses whoever comes with the first token.
fn revoke(server: &ApiServer) {
    let refused = Fault::Answer(CannedAnswer::failure(401, "Unauthorized", "Unauthorized"));
    server.inject(Rule::new(refused).user("first"));
}

#[tokio::test]
async fn b77_a_token_that_was_written_anew_is_used_at_the_first_refusal() {
    let server = two_tokens();
    let files = Files::new(&[("token", "one\n")]);
    let connection = Connection::to("").bearer_token_file(files.path("token"));
    let handle = leader(&server, &server.url(), connection).await;

    files.write("token", "two\n");
    goes_on(&server, &handle).await;
    // A look a moment ago is good enough while the old token is.
    let second = || server.count_if(|request| request.user.as_deref() == Some("second"));
    assert_eq!(second(), 0);

    revoke(&server);
    until("the new token", || second() > 0).await;
    goes_on(&server, &handle).await;
    let refused = server.count_if(|request| request.status == Some(401));
    assert_eq!(refused, 1, "the new token is used from the next request on");
}

#[tokio::test]
async fn b77_a_token_file_that_is_missing_or_empty_keeps_the_last_token() {
    let server = two_tokens();
    let files = Files::new(&[("token", "one")]);
    let connection = Connection::to("").bearer_token_file(files.path("token"));
    let handle = leader(&server, &server.url(), connection).await;

    // Each 401 is a reason to look.
    let once = || {
        let refused = Fault::Answer(CannedAnswer::failure(401, "Unauthorized", "Unauthorized"));
        server.inject(Rule::new(refused).times(1));
    };
    for text in ["", " \n", "two words"] {
        files.write("token", text);
        once();
        goes_on(&server, &handle).await;
    }
    fs::remove_file(files.path("token")).unwrap();
    once();
    goes_on(&server, &handle).await;
    assert_eq!(server.count_if(|request| request.user.is_none()), 0);
    assert_eq!(server.count_if(|request| request.status == Some(401)), 4);
}

#[tokio::test]
async fn b80_an_authority_that_was_written_anew_is_believed_at_the_next_handshake() {
    let server = ApiServer::start().unwrap();
    let (old, new) = (Authority::new(), Authority::new());
    let front = Front::start(server.addr(), old.server()).await;
    let files = Files::new(&[("ca.crt", &old.pem)]);
    let connection = Connection::to("").ca_file(files.path("ca.crt"));
    let handle = leader(&server, &front.url(), connection).await;

    // A file that is empty for a moment does no harm.
    files.write("ca.crt", "");
    front.hang_up();
    goes_on(&server, &handle).await;

    files.write("ca.crt", &new.pem);
    front.present(new.server());
    front.hang_up();
    goes_on(&server, &handle).await;
    assert!(front.refusals() <= 1, "{} refused", front.refusals());
}

#[tokio::test]
async fn b80_a_server_that_changes_before_the_file_is_waited_for() {
    let server = ApiServer::start().unwrap();
    let (old, new) = (Authority::new(), Authority::new());
    let front = Front::start(server.addr(), old.server()).await;
    let files = Files::new(&[("ca.crt", &old.pem)]);
    let connection = Connection::to("").ca_file(files.path("ca.crt"));
    let handle = leader(&server, &front.url(), connection).await;

    front.present(new.server());
    front.hang_up();
    until("a refusal", || front.refusals() >= 2).await;
    let error = handle.last_error().unwrap();
    assert!(error.contains("certificate"), "{error}");
    files.write("ca.crt", &new.pem);
    goes_on(&server, &handle).await;
}

/// Also between two writes, while certificate and key do not fit each other.
#[tokio::test]
async fn b80_a_client_certificate_is_taken_over_when_both_of_its_files_are_new() {
    let server = ApiServer::start().unwrap();
    let (names, old, new) = (Authority::new(), Authority::new(), Authority::new());
    let front = Front::start(server.addr(), names.server_for(&old)).await;
    let first = old.vouch_for("gateway-7");
    let files = Files::new(&[
        ("tls.crt", &first.certificate),
        ("tls.key", &first.key_pem()),
    ]);
    let connection = Connection::to("")
        .ca_pem(names.pem.as_str())
        .client_certificate_files(files.path("tls.crt"), files.path("tls.key"));
    let handle = leader(&server, &front.url(), connection).await;

    let second = new.vouch_for("gateway-7");
    files.write("tls.crt", &second.certificate);
    front.hang_up();
    goes_on(&server, &handle).await;

    front.present(names.server_for(&new));
    files.write("tls.key", &second.key_pem());
    front.hang_up();
    goes_on(&server, &handle).await;
}

#[tokio::test]
async fn keys_in_every_usual_form_identify() {
    let server = ApiServer::start().unwrap();
    let (names, clients) = (Authority::new(), Authority::new());
    let front = Front::start(server.addr(), names.server_for(&clients)).await;
    let rsa = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
    let pairs: [Pair; 2] = [clients.vouch_for("ec"), clients.vouch_for_key("rsa", rsa)];
    let keys = [
        (&pairs[0], pairs[0].key_pem()),
        (&pairs[0], pairs[0].bare_key_pem("EC PRIVATE KEY")),
        (&pairs[1], pairs[1].key_pem()),
        (&pairs[1], pairs[1].bare_key_pem("RSA PRIVATE KEY")),
    ];
    for (n, (pair, key)) in keys.into_iter().enumerate() {
        // As the kubelet writes them, one file may have both.
        let both = format!("{}{key}", pair.certificate);
        let connection = Connection::to("")
            .ca_pem(names.pem.as_str())
            .client_certificate_pem(both.as_str(), both.as_str());
        let builder = steady(&server, connection).server(front.url());
        let handle = builder.name(format!("lock-{n}")).start().unwrap();
        until("leading", || handle.is_leading()).await;
    }
    let stranger = Connection::to("").ca_pem(names.pem.as_str());
    let handle = steady(&server, stranger)
        .server(front.url())
        .start()
        .unwrap();
    until("an error", || handle.last_error().is_some()).await;
    assert!(!handle.is_leading());
}

/// With TCP open and nothing coming back, as after a change in the network.
#[tokio::test]
async fn b82_a_silent_connection_is_left_within_two_timeouts_and_a_period() {
    let server = ApiServer::start().unwrap();
    let authority = Authority::new();
    let front = Front::start(server.addr(), authority.server()).await;
    let connection = Connection::to("").ca_pem(authority.pem.as_str());
    let handle = leader(&server, &front.url(), connection).await;
    assert_eq!(front.handshakes(), 1);

    let bound = 2 * Duration::from(STEADY.request_timeout) + Duration::from(STEADY.retry_period);
    let before = server.requests().len();
    let start = instant();
    front.go_silent();
    until("a request", || server.requests().len() > before).await;
    let took = start.elapsed();
    println!("recovered in {took:?} of {bound:?}");
    assert!(took <= bound, "{took:?}");
    goes_on(&server, &handle).await;
    assert_eq!(front.handshakes(), 2);
}
