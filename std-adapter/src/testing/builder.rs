//! How a server is to be before it starts.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex};

use super::access::{Access, Denial, Rights, Token};
use super::api::Api;
use super::listener::{Shared, Thread};
use super::log::Log;
use super::server::ApiServer;

/// After how long the real server closes idle connections.
const IDLE_LIMIT: Duration = Duration::from_secs(90);

/// How a server is to be; from [`ApiServer::builder`].
#[derive(Debug)]
pub struct Builder {
    port: u16,
    access: Access,
    is_etcd_old: bool,
    idle_limit: Duration,
}

impl Builder {
    pub(super) fn new() -> Self {
        let access = Access::default();
        Self {
            port: 0,
            access,
            is_etcd_old: false,
            idle_limit: IDLE_LIMIT,
        }
    }

    /// Listens at this port of the loopback interface; 0, the default, is any free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Accepts this bearer token as a user who may do everything that is not denied.
    ///
    /// From the first token on an unknown one is answered by 401, and a request without any by
    /// 403 for the user `system:anonymous`.
    #[must_use]
    pub fn token(self, token: &str, user: &str) -> Self {
        self.with_token(token, user, Rights::All)
    }

    /// Accepts this bearer token as an administrator, to whom nothing can be denied.
    #[must_use]
    pub fn admin_token(self, token: &str) -> Self {
        self.with_token(token, "admin", Rights::Master)
    }

    /// Accepts this bearer token as a user who may do only what Roles and RoleBindings grant that
    /// were created on the server.
    #[must_use]
    pub fn restricted_token(self, token: &str, user: &str) -> Self {
        self.with_token(token, user, Rights::Roles)
    }

    fn with_token(mut self, token: &str, user: &str, rights: Rights) -> Self {
        let (token, user) = (token.to_owned(), user.to_owned());
        self.access.tokens.push(Token {
            token,
            user,
            rights,
        });
        self
    }

    /// Answers by 403 what this user asks with this verb (`get`, `list`, `watch`, `create`,
    /// `update`, `patch`, `delete`) of this resource (`leases`). `*` stands for each of them; a
    /// user without a token is `system:anonymous`.
    #[must_use]
    pub fn deny(mut self, user: &str, verb: &str, resource: &str) -> Self {
        self.access.denials.push(denial(user, verb, resource));
        self
    }

    /// Behaves like a server on an etcd before 3.4.31 or 3.5.13, which cannot report its progress:
    /// a watch with bookmarks from version 0, or from none, gets an ERROR event with code 500.
    #[must_use]
    pub fn old_etcd(mut self) -> Self {
        self.is_etcd_old = true;
        self
    }

    /// Closes idle connections after so long; by default after 90 s, as the real server does.
    #[must_use]
    pub fn close_idle_after(mut self, limit: Duration) -> Self {
        self.idle_limit = limit;
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    ///
    /// When the port cannot be bound or no thread started.
    pub fn start(self) -> io::Result<ApiServer> {
        let mut api = Api::new(self.access);
        api.is_etcd_old = self.is_etcd_old;
        let shared = Arc::new(Shared {
            api: Mutex::new(api),
            log: Mutex::new(Log::default()),
            rules: Mutex::new(Vec::new()),
            refusals: Mutex::new(0),
            idle_limit: self.idle_limit,
        });
        let thread = Thread::start(self.port, Arc::clone(&shared))?;
        Ok(ApiServer { thread, shared })
    }
}

/// A right that is refused.
pub(super) fn denial(user: &str, verb: &str, resource: &str) -> Denial {
    Denial {
        user: user.to_owned(),
        verb: verb.to_owned(),
        resource: resource.to_owned(),
    }
}
