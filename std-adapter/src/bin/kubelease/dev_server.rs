//! `kubelease dev-server`: the API server for tests, by itself.

use std::io::{self, Write};

use clap::Args;
use kubelease::testing::ApiServer;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Outcome;

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
}

/// Serves until SIGINT or SIGTERM. The first line on standard output is the server's URL.
pub(crate) fn run(args: &DevServerArgs) -> Outcome {
    let mut builder = ApiServer::builder().port(args.port);
    if let Some(token) = &args.token {
        builder = builder.admin_token(token);
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let server = builder.start()?;
        for namespace in &args.namespace {
            server.create_namespace(namespace);
        }
        writeln!(io::stdout(), "{}", server.url())?;
        io::stdout().flush()?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        server.shutdown();
        Ok(0)
    })
}
