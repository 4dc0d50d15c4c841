//! Where the API server is, and who asks.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use kubelease::Connection;
use kubelease::testing::ApiServer;

use crate::args::LeaseName;
use crate::exit::Failure;

/// The namespace of a test server for whoever names none.
const EMBEDDED_NAMESPACE: &str = "default";

/// The variables that say what options may say, too. They are no options to clap, for an option
/// beats them: it is neither refused beside them nor joined with them.
const SERVER: &str = "KUBELEASE_SERVER";
const TOKEN: &str = "KUBELEASE_TOKEN";

/// The way to the API server. Unless said: what kubectl would use, or what a pod finds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ConnectArgs {
    /// The API server, such as `https://10.96.0.1`; no kubeconfig is read then. In the environment:
    /// KUBELEASE_SERVER. A proxy is taken from HTTPS_PROXY and NO_PROXY, as everywhere here.
    #[arg(long, value_name = "URL", conflicts_with_all = ["kubeconfig", "context"])]
    server: Option<String>,
    /// The bearer token. In the environment, as KUBELEASE_TOKEN, it is not everybody's to read.
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// A file with the bearer token, which is read again as it changes.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The certificates, in PEM, of the only authorities that are trusted.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The kubeconfig file; those that KUBECONFIG lists, or the one at home, unless said. Beside
    /// this and --context, KUBELEASE_SERVER and KUBELEASE_TOKEN are ignored.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig files; the current one unless said.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Use a test server inside this process, which ends with it.
    #[arg(long, conflicts_with_all = [
        "server", "token", "token_file", "ca", "kubeconfig", "context",
    ])]
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
            return embedded();
        }
        let mut connection = self.way()?;
        if let Some(token) = self.token()? {
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

    /// The server, and where a kubeconfig or a pod has it, what identifies there.
    fn way(&self) -> Result<Connection, Failure> {
        if self.is_kubeconfig_named() {
            let (file, context) = (self.kubeconfig.as_deref(), self.context.as_deref());
            return Ok(Connection::kubeconfig(file, context)?);
        }
        let to = |url: &str, place: &str| {
            let connection = Connection::default().server_from(url, place);
            connection.proxy_from_environment()
        };
        match (&self.server, variable(SERVER)?) {
            (Some(url), _) => Ok(to(url, "--server")),
            (None, Some(url)) => Ok(to(&url, SERVER)),
            (None, None) => Ok(Connection::infer()?),
        }
    }

    /// The token; that of the environment is for no server of a kubeconfig that an option names.
    fn token(&self) -> Result<Option<String>, Failure> {
        match &self.token {
            Some(token) => Ok(Some(token.clone())),
            None if self.is_kubeconfig_named() => Ok(None),
            None => variable(TOKEN),
        }
    }

    const fn is_kubeconfig_named(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }
}

/// A server inside this process.
fn embedded() -> Result<Connected, Failure> {
    if variable(SERVER)?.is_some() {
        // Nobody may be there to read it.
        let _ = writeln!(
            io::stderr(),
            "kubelease: --embedded: {SERVER} is set, and ignored"
        );
    }
    let server = ApiServer::start()?;
    Ok(Connected {
        connection: Connection::to(server.url()).namespace(EMBEDDED_NAMESPACE),
        embedded: Some(server),
    })
}

/// A variable of the environment that is there and not empty.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    let text = value.map(OsString::into_string).transpose();
    text.map_err(|_| {
        let reason = format!("{name}: expected a text, found bytes that are none");
        Failure::new(reason)
    })
}

impl Connected {
    /// The namespace of `lease`: its own, or that of the way to the server. An embedded server
    /// gets it.
    pub(crate) fn namespace(&self, lease: &LeaseName) -> Result<String, Failure> {
        let given = lease.namespace.as_deref();
        let namespace = given.or_else(|| self.connection.default_namespace());
        let namespace = namespace.ok_or_else(|| {
            Failure::new(format_args!(
                "the lease: expected NAMESPACE/{}, or a namespace in the kubeconfig's context or \
                 the pod, found neither",
                lease.name
            ))
        })?;
        if let Some(server) = &self.embedded {
            server.create_namespace(namespace);
        }
        Ok(namespace.to_owned())
    }
}
