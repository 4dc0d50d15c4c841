//! An election over TLS, with an authority that no platform knows.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod support;

use core::net::SocketAddr;
use std::sync::Arc;

use kubelease::testing::ApiServer;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use support::{candidate, until};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority: its certificate in PEM, and what signs others.
fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), Issuer::new(params, key))
}

/// TLS in front of `server`, for 127.0.0.1, as `issuer` vouches.
async fn tls_before(server: SocketAddr, issuer: &Issuer<'_, KeyPair>) -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut client = acceptor.accept(client).await?;
                let mut server = TcpStream::connect(server).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    addr
}

#[tokio::test]
async fn the_given_authority_and_no_other_is_trusted() {
    let server = ApiServer::start().unwrap();
    let (ca, issuer) = authority();
    let (other_ca, _) = authority();
    let url = format!("https://{}", tls_before(server.addr(), &issuer).await);

    let stranger = candidate(&server, "stranger")
        .server(&url)
        .ca_pem(other_ca)
        .start()
        .unwrap();
    let unasked = candidate(&server, "unasked").server(&url).start().unwrap();
    for handle in [stranger, unasked] {
        until("an error", || handle.last_error().is_some()).await;
        let error = handle.last_error().unwrap();
        assert!(error.contains("certificate"), "{error}");
        assert!(!handle.is_leading());
    }
    assert_eq!(server.requests().len(), 0);

    let handle = candidate(&server, "a")
        .server(&url)
        .ca_pem(ca)
        .start()
        .unwrap();
    until("leading", || handle.is_leading()).await;
    assert_eq!(handle.last_error(), None);
}
