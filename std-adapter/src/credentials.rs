//! What identifies to the server, and whom to believe that it is the server, as read last.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kubelease_core::time::{Duration, Instant, Now};
use reqwest::header::HeaderValue;

#[cfg(feature = "kubeconfig")]
use crate::connection::Plugin;
use crate::connection::{Connection, ConnectionError, Identity, Item, Material, bearer};

/// What was read so long ago is looked at again before the next request. A token in a pod is
/// written anew with a fifth of its life left, and client-go looks once a minute.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The credentials of one connection. What can't be read keeps what was read before.
#[derive(Debug)]
pub(crate) struct Credentials {
    ca: Option<Item>,
    client: Option<(Item, Item)>,
    token: Vec<Item>,
    #[cfg(feature = "kubeconfig")]
    plugin: Option<Plugin>,
    authorization: Option<HeaderValue>,
    /// As read last.
    material: Material,
    /// As the client has it.
    in_use: Material,
    /// What was wrong at the last look.
    trouble: Option<ConnectionError>,
    looked_at: Option<Instant>,
    is_rejected: bool,
}

impl Credentials {
    /// Reads all that there is to read. Nothing may be missing, as it may be later.
    pub(crate) fn load(connection: &Connection) -> Result<Self, ConnectionError> {
        let mut credentials = Self {
            ca: connection.ca.clone(),
            client: connection.client.clone(),
            token: Vec::new(),
            #[cfg(feature = "kubeconfig")]
            plugin: None,
            authorization: None,
            material: Material::default(),
            in_use: Material::default(),
            trouble: None,
            looked_at: None,
            is_rejected: false,
        };
        match &connection.identity {
            Identity::Nothing => {}
            Identity::Token { file, given } => {
                credentials.token.extend(file.iter().chain(given).cloned());
            }
            Identity::Basic { username, password } => {
                credentials.authorization = Some(basic(username, &password.0));
            }
            #[cfg(feature = "kubeconfig")]
            Identity::Exec(spec) => {
                credentials.plugin = Some(Plugin::new(std::sync::Arc::clone(spec)));
            }
        }
        credentials.look();
        credentials.trouble.take().map_or(Ok(credentials), Err)
    }

    /// The `Authorization` header of the next request.
    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        #[cfg(feature = "kubeconfig")]
        if let Some(plugin) = &self.plugin {
            return plugin
                .issued()
                .and_then(|issued| issued.authorization.as_ref());
        }
        self.authorization.as_ref()
    }

    /// What the client is, or should be, made of.
    pub(crate) const fn material(&self) -> &Material {
        &self.material
    }

    /// Whether the client is made of something else than what there is now.
    pub(crate) fn are_new(&self) -> bool {
        self.material != self.in_use
    }

    /// A client was made of what there is now, or can't be.
    pub(crate) fn used(&mut self, outcome: Result<(), ConnectionError>) {
        match outcome {
            Ok(()) => self.in_use.clone_from(&self.material),
            Err(error) => {
                // Between two writes, a certificate and a key do not fit each other.
                self.trouble = Some(error);
                self.looked_at = None;
            }
        }
    }

    /// What was wrong at the last look, if that is so.
    pub(crate) const fn trouble(&self) -> Option<&ConnectionError> {
        self.trouble.as_ref()
    }

    /// The server refused them: the next request has to carry what there is then.
    pub(crate) const fn reject(&mut self) {
        self.is_rejected = true;
        self.looked_at = None;
    }

    /// No answer came, and a certificate may be why: the next request looks again.
    pub(crate) const fn doubt(&mut self) {
        self.looked_at = None;
    }

    /// What is to say where no request could be sent within `limit`; `None` where nothing was
    /// waited for.
    #[cfg(feature = "kubeconfig")]
    pub(crate) fn late(&self, limit: core::time::Duration) -> Option<ConnectionError> {
        self.plugin.as_ref().and_then(|plugin| plugin.late(limit))
    }

    #[cfg(not(feature = "kubeconfig"))]
    pub(crate) const fn late(&self, _: core::time::Duration) -> Option<ConnectionError> {
        None
    }

    /// Brings everything up to date for a request. Dropping the future loses nothing.
    pub(crate) async fn renew(&mut self, now: Now) -> Result<(), ConnectionError> {
        if self.is_old(now.instant) {
            self.looked_at = Some(now.instant);
            self.look();
        }
        self.renew_issued(now).await
    }

    #[cfg(feature = "kubeconfig")]
    async fn renew_issued(&mut self, now: Now) -> Result<(), ConnectionError> {
        let is_rejected = core::mem::take(&mut self.is_rejected);
        let Some(plugin) = &mut self.plugin else {
            return Ok(());
        };
        if is_rejected {
            plugin.reject();
        }
        plugin.renew(now).await?;
        let client = plugin.issued().and_then(|issued| issued.client.as_ref());
        if client.is_some() {
            self.material.client = client.cloned();
        }
        Ok(())
    }

    #[cfg(not(feature = "kubeconfig"))]
    #[expect(
        clippy::unused_async,
        reason = "programs that issue credentials take their time"
    )]
    async fn renew_issued(&mut self, _: Now) -> Result<(), ConnectionError> {
        self.is_rejected = false;
        Ok(())
    }

    fn is_old(&self, now: Instant) -> bool {
        self.looked_at.is_none_or(|looked| {
            // A clock that was reset says nothing about the time since.
            now < looked || now.saturating_since(looked) >= LOOK_AGAIN_AFTER
        })
    }

    /// Reads everything again, each part by itself.
    fn look(&mut self) {
        let ca = self.ca.as_ref().map(Material::read_ca);
        let client = self.client.as_ref();
        let client = client.map(|(certificate, key)| Material::read_client(certificate, key));
        let authorization = self.read_token();
        let mut trouble = None;
        let mut keep = |error| trouble = Some(error);
        match ca.transpose() {
            Ok(Some(ca)) => self.material.ca = Some(ca),
            Ok(None) => {}
            Err(error) => keep(error),
        }
        match client.transpose() {
            Ok(Some(client)) => self.material.client = Some(client),
            Ok(None) => {}
            Err(error) => keep(error),
        }
        match authorization.transpose() {
            Ok(Some(authorization)) => self.authorization = Some(authorization),
            Ok(None) => {}
            Err(error) => keep(error),
        }
        self.trouble = trouble;
    }

    /// The header of the first token that can be read. One that was given is for the time before
    /// its file could be read, and not for later.
    fn read_token(&self) -> Option<Result<HeaderValue, ConnectionError>> {
        let mut outcome = None;
        for item in &self.token {
            if outcome.is_some() && self.authorization.is_some() {
                break;
            }
            let header = item.read().and_then(|token| bearer(item, &token.0));
            let is_good = header.is_ok();
            outcome = Some(header);
            if is_good {
                break;
            }
        }
        outcome
    }
}

/// The header of a user with a password, marked so that nobody prints it.
fn basic(username: &str, password: &str) -> HeaderValue {
    let packed = STANDARD.encode(format!("{username}:{password}"));
    // Base64 has no character that can't stand in a header.
    let header = HeaderValue::try_from(format!("Basic {packed}"));
    let mut header = header.unwrap_or(HeaderValue::from_static("Basic"));
    header.set_sensitive(true);
    header
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn at(millis: u64) -> Now {
        Now::monotonic(Instant::from_millis(millis))
    }

    fn header(credentials: &Credentials) -> String {
        let header = credentials.authorization().unwrap();
        header.to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn b77_a_token_file_is_looked_at_again_before_a_request_after_30_s() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "one").unwrap();
        let connection = Connection::default().bearer_token_file(&path);
        let mut credentials = Credentials::load(&connection).unwrap();
        credentials.renew(at(1_000)).await.unwrap();
        fs::write(&path, "two").unwrap();
        credentials.renew(at(30_999)).await.unwrap();
        assert_eq!(header(&credentials), "Bearer one");
        credentials.renew(at(31_000)).await.unwrap();
        assert_eq!(header(&credentials), "Bearer two");

        // A clock that starts anew does not stop the looking.
        fs::write(&path, "three").unwrap();
        credentials.renew(at(10)).await.unwrap();
        assert_eq!(header(&credentials), "Bearer three");
    }

    #[tokio::test]
    async fn b77_a_file_that_can_not_be_read_keeps_the_last_token_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "one").unwrap();
        let connection = Connection::default().bearer_token_file(&path);
        let mut credentials = Credentials::load(&connection).unwrap();
        for text in [None, Some(" \n"), Some("a b")] {
            match text {
                None => fs::remove_file(&path).unwrap(),
                Some(text) => fs::write(&path, text).unwrap(),
            }
            credentials.reject();
            credentials.renew(at(0)).await.unwrap();
            assert_eq!(header(&credentials), "Bearer one");
            let trouble = credentials.trouble().unwrap().place().to_owned();
            assert!(trouble.ends_with("token"), "{trouble}");
        }
        fs::write(&path, "two").unwrap();
        credentials.doubt();
        credentials.renew(at(0)).await.unwrap();
        assert_eq!(header(&credentials), "Bearer two");
        assert_eq!(credentials.trouble(), None);
    }

    /// As client-go has it: the file's last good content goes before the token that was given.
    #[tokio::test]
    async fn a_token_beside_a_file_is_for_the_time_until_the_file_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let connection = Connection {
            identity: Identity::Token {
                file: Some(Item::file("tokenFile", &path)),
                given: Some(Item::given("token", "given")),
            },
            ..Connection::default()
        };
        let mut credentials = Credentials::load(&connection).unwrap();
        assert_eq!(header(&credentials), "Bearer given");
        fs::write(&path, "filed").unwrap();
        credentials.renew(at(0)).await.unwrap();
        assert_eq!(header(&credentials), "Bearer filed");
        fs::remove_file(&path).unwrap();
        credentials.reject();
        credentials.renew(at(0)).await.unwrap();
        assert_eq!(header(&credentials), "Bearer filed");
    }

    /// B80: a client is made anew for new certificates, and not for each handshake that fails.
    #[tokio::test]
    async fn b80_files_that_say_the_same_make_no_new_client() {
        let authority = || {
            let key = rcgen::KeyPair::generate().unwrap();
            let params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.self_signed(&key).unwrap().pem()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        fs::write(&path, authority()).unwrap();
        let connection = Connection::default().ca_file(&path);
        let mut credentials = Credentials::load(&connection).unwrap();
        assert!(credentials.are_new());
        credentials.used(Ok(()));
        for _ in 0..3 {
            credentials.doubt();
            credentials.renew(at(0)).await.unwrap();
            assert!(!credentials.are_new());
        }
        fs::write(&path, authority()).unwrap();
        credentials.renew(at(0)).await.unwrap();
        assert!(!credentials.are_new(), "it had just been looked at");
        credentials.doubt();
        credentials.renew(at(0)).await.unwrap();
        assert!(credentials.are_new());
    }

    #[test]
    fn a_password_is_sent_as_the_standard_has_it_and_shown_to_nobody() {
        let connection = Connection::default().basic_auth("Aladdin", "open sesame");
        let credentials = Credentials::load(&connection).unwrap();
        // The example of RFC 7617.
        assert_eq!(header(&credentials), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let text = format!("{connection:?} {credentials:?}");
        assert!(!text.contains("sesame") && !text.contains("QWxh"), "{text}");
    }
}
