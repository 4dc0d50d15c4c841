//! TLS in front of the test server.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::exit::Failure;

/// How long nobody is let in after that failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Whom the certificate names.
const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

/// Takes TLS connections for `server` at this port of the loopback interface, with a certificate
/// of an authority that is made anew and written to `ca`.
pub(super) async fn before(
    server: SocketAddr,
    port: u16,
    ca: &Path,
) -> Result<SocketAddr, Failure> {
    let acceptor = acceptor(ca)?;
    let listener = TcpListener::bind((server.ip(), port)).await?;
    let addr = listener.local_addr()?;
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((client, _)) => {
                    tokio::spawn(serve(acceptor.clone(), client, server));
                }
                // Out of descriptors, most likely: others must end first.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    });
    Ok(addr)
}

async fn serve(acceptor: TlsAcceptor, client: TcpStream, server: SocketAddr) -> io::Result<()> {
    let mut client = acceptor.accept(client).await?;
    let mut server = TcpStream::connect(server).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

fn acceptor(ca: &Path) -> Result<TlsAcceptor, Failure> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(ca, params.self_signed(&key)?.pem())
        .map_err(|error| Failure::new(format_args!("{}: {error}", ca.display())))?;
    let issuer = Issuer::new(params, key);

    let key = KeyPair::generate()?;
    let params = CertificateParams::new(NAMES.map(str::to_owned))?;
    let certificate = params.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
