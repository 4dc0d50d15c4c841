//! The server that is asked: the one for tests, or a real one.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use kubelease::testing::ApiServer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::Client;

/// An API server.
pub(crate) struct Target<'a> {
    pub(crate) addr: SocketAddr,
    admin_token: String,
    elector_token: String,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Testing(&'a ApiServer),
    Real(Arc<ClientConfig>),
}

impl<'a> Target<'a> {
    /// The server for tests, with the tokens `A` and `E`.
    pub(crate) fn testing(server: &'a ApiServer) -> Self {
        Self {
            addr: server.addr(),
            admin_token: "A".to_owned(),
            elector_token: "E".to_owned(),
            kind: Kind::Testing(server),
        }
    }

    /// The server that `tests/cluster/up` started, by the folder it made.
    pub(crate) fn real(folder: &Path) -> Self {
        let text = |file: &str| fs::read_to_string(folder.join(file)).expect("a cluster that runs");
        let url = text("url");
        let addr = url.trim().strip_prefix("https://").expect("an https URL");
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(folder.join("ca.crt")).unwrap();
        roots.add(authority).unwrap();
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            addr: addr.parse().unwrap(),
            admin_token: text("admin.token").trim().to_owned(),
            elector_token: text("elector.token").trim().to_owned(),
            kind: Kind::Real(Arc::new(config)),
        }
    }

    pub(crate) fn connect(&self, patience: Duration) -> io::Result<Client> {
        let Kind::Real(config) = &self.kind else {
            return Client::connect(self.addr, patience);
        };
        let socket = TcpStream::connect(self.addr)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_nodelay(true)?;
        let name = ServerName::from(self.addr.ip());
        let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        let stream = StreamOwned::new(session, socket.try_clone()?);
        Ok(Client::over(Box::new(stream), socket))
    }

    /// The token of `admin` or `elector`.
    pub(crate) fn token(&self, user: &str) -> &str {
        match user {
            "admin" => &self.admin_token,
            _ => &self.elector_token,
        }
    }

    /// Entries of managedFields are ordered by their second, which must not end in between. Only
    /// the server for tests can be told so.
    pub(crate) fn hold_clock(&self) {
        if let Kind::Testing(server) = self.kind {
            server.hold_clock(true);
        }
    }

    /// Two seconds go by. No other case runs.
    pub(crate) fn let_time_pass(&self) {
        match self.kind {
            Kind::Testing(server) => server.set_clock_skew_s(2),
            Kind::Real(_) => thread::sleep(Duration::from_secs(2)),
        }
    }
}
