//! Authorities, certificates, and TLS in front of a server: for tests of what changes while an
//! election runs.
#![allow(
    dead_code,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "each test file uses its own part, and may fail"
)]

use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// Who vouches for names.
pub struct Authority {
    pub pem: String,
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
pub struct Pair {
    pub certificate: String,
    pub key: KeyPair,
    der: CertificateDer<'static>,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            pem: certificate.pem(),
            der: certificate.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for a host, or for a client.
    pub fn vouch_for(&self, name: &str) -> Pair {
        self.vouch_for_key(name, KeyPair::generate().unwrap())
    }

    pub fn vouch_for_key(&self, name: &str, key: KeyPair) -> Pair {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair {
            certificate: certificate.pem(),
            der: certificate.der().clone(),
            key,
        }
    }

    /// A server at 127.0.0.1 for anybody.
    pub fn server(&self) -> ServerConfig {
        server(&self.vouch_for("127.0.0.1"), None)
    }

    /// A server at 127.0.0.1 for those that `clients` vouches for.
    pub fn server_for(&self, clients: &Self) -> ServerConfig {
        server(&self.vouch_for("127.0.0.1"), Some(clients))
    }
}

impl Pair {
    /// A certificate that signs itself and is no authority.
    pub fn alone() -> Self {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate: certificate.pem(),
            der: certificate.der().clone(),
            key,
        }
    }

    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The key without the shell of PKCS#8: PKCS#1 for RSA, SEC1 for elliptic curves.
    pub fn bare_key_pem(&self, label: &str) -> String {
        let bare = inner_key(self.key.serialized_der());
        format!(
            "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
            STANDARD.encode(bare)
        )
    }
}

/// The last member of a PKCS#8 `PrivateKeyInfo` (RFC 5208): an octet string, and in it the key.
fn inner_key(der: &[u8]) -> &[u8] {
    let (info, _) = element(der);
    let (_version, rest) = element(info);
    let (_algorithm, rest) = element(rest);
    element(rest).0
}

/// The content of the first DER element, and what follows it.
fn element(der: &[u8]) -> (&[u8], &[u8]) {
    let (length, head) = match usize::from(der[1]) {
        short @ ..0x80 => (short, 2),
        long => {
            let digits = &der[2..2 + (long & 0x7f)];
            let length = digits
                .iter()
                .fold(0, |n, digit| n << 8 | usize::from(*digit));
            (length, 2 + digits.len())
        }
    };
    der[head..].split_at(length)
}

pub fn server(pair: &Pair, clients: Option<&Authority>) -> ServerConfig {
    let builder = ServerConfig::builder();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(clients.der.clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder(Arc::new(roots))
                .build()
                .unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.key.serialize_der()));
    builder
        .with_single_cert(vec![pair.der.clone()], key)
        .unwrap()
}

/// TLS in front of a server at 127.0.0.1.
pub struct Front {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    server: SocketAddr,
    config: Mutex<Arc<ServerConfig>>,
    connections: Mutex<Vec<AbortHandle>>,
    handshakes: AtomicUsize,
    refusals: AtomicUsize,
    /// Connections that are older than this go silent.
    silent_before: watch::Sender<usize>,
}

impl Front {
    pub async fn start(server: SocketAddr, config: ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            config: Mutex::new(Arc::new(config)),
            connections: Mutex::default(),
            handshakes: AtomicUsize::new(0),
            refusals: AtomicUsize::new(0),
            silent_before: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            addr,
            shared,
            accepting,
        }
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.addr)
    }

    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// From now on, new connections see this; those that there are go on.
    pub fn present(&self, config: ServerConfig) {
        *lock(&self.shared.config) = Arc::new(config);
    }

    /// Ends all connections.
    pub fn hang_up(&self) {
        for connection in lock(&self.shared.connections).drain(..) {
            connection.abort();
        }
    }

    /// Nothing comes through the connections that there are, and none of them ends.
    pub fn go_silent(&self) {
        let next = self.shared.handshakes.load(Ordering::SeqCst);
        self.shared.silent_before.send_replace(next);
    }

    /// Connections whose handshake was done.
    pub fn handshakes(&self) -> usize {
        self.shared.handshakes.load(Ordering::SeqCst)
    }

    /// Connections that had no handshake, whoever refused the other.
    pub fn refusals(&self) -> usize {
        self.shared.refusals.load(Ordering::SeqCst)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.accepting.abort();
        self.hang_up();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let serving = tokio::spawn(serve(client, Arc::clone(&shared)));
        lock(&shared.connections).push(serving.abort_handle());
    }
}

async fn serve(client: TcpStream, shared: Arc<Shared>) {
    let config = Arc::clone(&lock(&shared.config));
    let Ok(mut client) = TlsAcceptor::from(config).accept(client).await else {
        shared.refusals.fetch_add(1, Ordering::SeqCst);
        return;
    };
    let number = shared.handshakes.fetch_add(1, Ordering::SeqCst);
    let mut silent_before = shared.silent_before.subscribe();
    let silence = async {
        let is_over = silent_before.wait_for(|before| number < *before).await;
        is_over.is_ok()
    };
    let mut server = TcpStream::connect(shared.server).await.unwrap();
    let is_silent = tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => false,
        is_silent = silence => is_silent,
    };
    if is_silent {
        // Holds both ends until it is aborted.
        core::future::pending::<()>().await;
    }
}

/// A proxy that takes `CONNECT` and keeps the head of each request.
pub async fn proxy() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let head = read_head(&mut client).await;
                let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
                lock(&seen).push(head);
                let mut server = TcpStream::connect(target).await?;
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    (addr, heads)
}

async fn read_head(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
