//! Who asks, and what they may do.

use serde_json::Value;

use super::answer::Answer;
use super::request::Request;
use super::route::{Route, Target};
use super::status::{details, failure, unauthorized};
use super::store::Store;

pub(super) const ANONYMOUS: &str = "system:anonymous";

/// The users of a server and the rights they lack.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub(super) tokens: Vec<Token>,
    pub(super) denials: Vec<Denial>,
}

/// A bearer token and whose it is.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) token: String,
    pub(super) user: String,
    pub(super) rights: Rights,
}

/// Where a user's rights come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rights {
    /// Everything, even what is denied to everybody.
    Master,
    /// Everything that is not denied.
    All,
    /// Only what Roles grant.
    Roles,
}

/// A right that is refused. `*` stands for every user, verb or resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Denial {
    pub(super) user: String,
    pub(super) verb: String,
    pub(super) resource: String,
}

/// The user behind a request.
#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) name: String,
    rights: Rights,
}

impl Access {
    /// Finds the user; only a bearer token that nobody has is refused.
    pub(super) fn authenticate(&self, request: &Request) -> Result<User, Box<Answer>> {
        let header = request.header("authorization").unwrap_or_default();
        let token = header
            .strip_prefix("Bearer ")
            .map(str::trim)
            .filter(|token| !token.is_empty());
        if self.tokens.is_empty() {
            return Ok(User {
                name: ANONYMOUS.to_owned(),
                rights: Rights::All,
            });
        }
        let Some(token) = token else {
            return Ok(User {
                name: ANONYMOUS.to_owned(),
                rights: Rights::Roles,
            });
        };
        let found = self.tokens.iter().find(|known| known.token == token);
        let found = found.ok_or_else(unauthorized)?;
        Ok(User {
            name: found.user.clone(),
            rights: found.rights,
        })
    }

    /// Whether the user may ask for this path.
    pub(super) fn authorize(
        &self,
        user: &User,
        route: &Route,
        method: &str,
        store: &Store,
    ) -> Result<(), Box<Answer>> {
        match route {
            Route::Api(target) if !self.is_allowed(user, target, target.verb, store) => {
                Err(forbidden(user, target, target.verb, true))
            }
            Route::Plain(path) if user.rights == Rights::Roles && !is_public(path) => {
                let verb = method.to_ascii_lowercase();
                let message = format!(
                    "forbidden: User {:?} cannot {verb} path {path:?}",
                    user.name
                );
                let details = details("", "", "", &[]);
                let answer = failure(403, "Forbidden", &message, Some(details));
                Err(Box::new(nosniff(answer)))
            }
            Route::Api(_) | Route::Plain(_) => Ok(()),
        }
    }

    pub(super) fn is_allowed(
        &self,
        user: &User,
        target: &Target,
        verb: &str,
        store: &Store,
    ) -> bool {
        let is_denied = || {
            self.denials.iter().any(|denial| {
                covers(&denial.user, &user.name)
                    && covers(&denial.verb, verb)
                    && covers(&denial.resource, &target.resource_path())
            })
        };
        match user.rights {
            Rights::Master => true,
            Rights::All => !is_denied(),
            Rights::Roles => {
                let is_own = target.resource == "selfsubjectaccessreviews";
                (is_own || is_granted(user, target, verb, store)) && !is_denied()
            }
        }
    }
}

fn covers(pattern: &str, text: &str) -> bool {
    pattern == "*" || pattern == text
}

fn is_public(path: &str) -> bool {
    matches!(path, "/version" | "/readyz" | "/livez" | "/healthz")
}

/// The refusal of a right; without the header when it comes from the create check of an update.
pub(super) fn forbidden(user: &User, target: &Target, verb: &str, by_filter: bool) -> Box<Answer> {
    let is_named = !target.name().is_empty() && !matches!(verb, "deletecollection");
    let quoted = if is_named {
        format!(" {:?}", target.name())
    } else {
        String::new()
    };
    let place = if target.namespace.is_empty() {
        " at the cluster scope".to_owned()
    } else {
        format!(" in the namespace {:?}", target.namespace)
    };
    let message = format!(
        "{}{quoted} is forbidden: User {:?} cannot {verb} resource {:?} in API group {:?}{place}",
        target.qualified(),
        user.name,
        target.resource_path(),
        target.group,
    );
    let name = if is_named { target.name() } else { "" };
    let details = details(name, &target.group, &target.resource, &[]);
    let answer = failure(403, "Forbidden", &message, Some(details));
    Box::new(if by_filter { nosniff(answer) } else { answer })
}

fn nosniff(answer: Answer) -> Answer {
    answer.with_header("X-Content-Type-Options", "nosniff".to_owned())
}

/// Whether a Role bound to the user in the namespace grants the verb.
fn is_granted(user: &User, target: &Target, verb: &str, store: &Store) -> bool {
    if target.namespace.is_empty() {
        return false;
    }
    let bindings = store.list("rolebindings", &target.namespace);
    let names = bindings
        .iter()
        .filter(|(_, binding)| is_bound(binding, &user.name));
    let names: Vec<_> = names
        .filter_map(|(_, b)| b.pointer("/roleRef/name"))
        .collect();
    let roles = store.list("roles", &target.namespace);
    let roles = roles.iter().filter(|(_, role)| {
        role.pointer("/metadata/name")
            .is_some_and(|name| names.contains(&name))
    });
    let mut rules = roles
        .filter_map(|(_, role)| role.get("rules")?.as_array())
        .flatten();
    rules.any(|rule| is_rule_for(rule, target, verb))
}

fn is_bound(binding: &Value, user: &str) -> bool {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    let is_user = |subject: &Value| {
        subject.get("kind").and_then(Value::as_str) == Some("User")
            && subject.get("name").and_then(Value::as_str) == Some(user)
    };
    subjects.is_some_and(|subjects| subjects.iter().any(is_user))
}

fn is_rule_for(rule: &Value, target: &Target, verb: &str) -> bool {
    let list = |key: &str| rule.get(key).and_then(Value::as_array);
    let has = |key: &str, text: &str| {
        let mut items = list(key).into_iter().flatten().filter_map(Value::as_str);
        items.any(|item| covers(item, text))
    };
    // The name of an object to create is not known to the authorizer, nor that of a collection to
    // delete.
    let name = if matches!(verb, "deletecollection") {
        ""
    } else {
        target.name()
    };
    let is_name_right =
        list("resourceNames").is_none_or(Vec::is_empty) || has("resourceNames", name);
    has("apiGroups", &target.group)
        && has("resources", &target.resource_path())
        && has("verbs", verb)
        && is_name_right
}
