//! `kubelease dev-server`: the API server for tests, by itself.

mod tls;

use core::time::Duration;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use kubelease::kubelease_core::wire::path::LeasePath;
use kubelease::testing::ApiServer;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::exit::{Failure, Outcome};

/// How often the requests are forgotten.
const CLEAR_EVERY: Duration = Duration::from_secs(1);

/// How the server is to be.
#[derive(Debug, Args)]
pub(crate) struct DevServerArgs {
    /// The port of the loopback interface; any free one unless said.
    #[arg(
        long,
        default_value_t = 0,
        value_name = "PORT",
        hide_default_value = true
    )]
    port: u16,
    /// A namespace to begin with, beside those of every cluster.
    #[arg(long, value_name = "NAME")]
    namespace: Vec<String>,
    /// Let only requests with this bearer token in, as an administrator.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Speak TLS, and write the authority that vouches for it, in PEM, to this file.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
}

/// Serves until SIGINT or SIGTERM. The first line on standard output is the server's URL.
pub(crate) fn run(args: &DevServerArgs) -> Outcome {
    for namespace in &args.namespace {
        LeasePath::new(namespace, "any")
            .map_err(|error| Failure::usage(format_args!("--namespace: {error}")))?;
    }
    let port = if args.tls_ca.is_some() { 0 } else { args.port };
    let mut builder = ApiServer::builder().port(port);
    if let Some(token) = &args.token {
        builder = builder.admin_token(token);
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let server = builder
            .start()
            .map_err(|error| Failure::new(format_args!("--port {port}: {error}")))?;
        for namespace in &args.namespace {
            server.create_namespace(namespace);
        }
        let url = match &args.tls_ca {
            None => server.url(),
            Some(ca) => format!(
                "https://{}",
                tls::before(server.addr(), args.port, ca).await?
            ),
        };
        writeln!(io::stdout(), "{url}")?;
        io::stdout().flush()?;
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                // Nobody reads the log here, and it would grow with each request.
                () = sleep(CLEAR_EVERY) => server.clear_requests(),
            }
        }
        server.shutdown();
        Ok(0)
    })
}
