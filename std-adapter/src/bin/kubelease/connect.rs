//! Where the API server is, and who asks.

use std::path::PathBuf;

use clap::Args;
use kubelease::Connection;
use kubelease::testing::ApiServer;

use crate::args::LeaseName;
use crate::exit::Failure;

/// The namespace of a test server for whoever names none.
const EMBEDDED_NAMESPACE: &str = "default";

/// The way to the API server. Unless said: what kubectl would use, or what a pod finds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ConnectArgs {
    /// The API server, such as `https://10.96.0.1`.
    #[arg(long, env = "KUBELEASE_SERVER", value_name = "URL")]
    server: Option<String>,
    /// The bearer token. In the environment it is not everybody's to read.
    #[arg(
        long,
        env = "KUBELEASE_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true
    )]
    token: Option<String>,
    /// A file with the bearer token, which is read again as it changes.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The certificates, in PEM, of the only authorities that are trusted.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The kubeconfig file; those that KUBECONFIG lists, or the one at home, unless said.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig files; the current one unless said.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Use a test server inside this process, which ends with it.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    embedded: bool,
}

/// The way to a server, and the embedded one where there is one.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) connection: Connection,
    pub(crate) embedded: Option<ApiServer>,
}

impl ConnectArgs {
    /// Finds the server, or starts one.
    pub(crate) fn connect(&self) -> Result<Connected, Failure> {
        if self.embedded {
            let server = ApiServer::start()?;
            return Ok(Connected {
                connection: Connection::to(server.url()).namespace(EMBEDDED_NAMESPACE),
                embedded: Some(server),
            });
        }
        let mut connection = if self.kubeconfig.is_some() || self.context.is_some() {
            Connection::kubeconfig(self.kubeconfig.as_deref(), self.context.as_deref())?
        } else if self.server.is_some() {
            Connection::default()
        } else {
            Connection::infer()?
        };
        if let Some(server) = &self.server {
            connection = connection.server(server);
        }
        if let Some(token) = &self.token {
            connection = connection.bearer_token(token);
        }
        if let Some(path) = &self.token_file {
            connection = connection.bearer_token_file(path);
        }
        if let Some(path) = &self.ca {
            connection = connection.ca_file(path);
        }
        Ok(Connected {
            connection,
            embedded: None,
        })
    }
}

impl Connected {
    /// The namespace of `lease`: its own, or that of the way to the server. An embedded server
    /// gets it.
    pub(crate) fn namespace(&self, lease: &LeaseName) -> Result<String, Failure> {
        let given = lease.namespace.as_deref();
        let namespace = given.or_else(|| self.connection.default_namespace());
        let namespace = namespace.ok_or_else(|| {
            Failure::new("--lease: expected NAMESPACE/NAME, found no namespace here or elsewhere")
        })?;
        if let Some(server) = &self.embedded {
            server.create_namespace(namespace);
        }
        Ok(namespace.to_owned())
    }
}
