//! Where the API server is, and who asks.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use kubelease::testing::ApiServer;
use kubelease::{Builder, Elector};

use crate::exit::Failure;

/// The way to the API server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ConnectArgs {
    /// The API server, such as `https://10.96.0.1`.
    #[arg(
        long,
        env = "KUBELEASE_SERVER",
        value_name = "URL",
        conflicts_with = "embedded"
    )]
    server: Option<String>,
    /// The bearer token, in the environment alone: a command line is everybody's to read.
    #[arg(
        long,
        env = "KUBELEASE_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true
    )]
    token: Option<String>,
    /// The certificates, in PEM, of the only authorities that are trusted.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Use a test server inside this process, which ends with it.
    #[arg(long)]
    embedded: bool,
}

/// The way to a server, and the embedded one where there is one.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) builder: Builder,
    _embedded: Option<ApiServer>,
}

impl ConnectArgs {
    /// Finds the server, or starts one that has `namespace`.
    pub(crate) fn connect(&self, namespace: &str) -> Result<Connection, Failure> {
        let embedded = self.embedded.then(ApiServer::start).transpose()?;
        if let Some(server) = &embedded {
            server.create_namespace(namespace);
        }
        let mut builder = Elector::builder();
        if let Some(url) = embedded
            .as_ref()
            .map(ApiServer::url)
            .or_else(|| self.server.clone())
        {
            builder = builder.server(url);
        }
        if let Some(token) = &self.token {
            builder = builder.bearer_token(token);
        }
        if let Some(path) = &self.ca {
            let pem = fs::read(path)
                .map_err(|error| Failure::new(format_args!("{}: {error}", path.display())))?;
            builder = builder.ca_pem(pem);
        }
        Ok(Connection {
            builder,
            _embedded: embedded,
        })
    }
}
