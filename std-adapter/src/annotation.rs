//! [`AnnotationLock`]: an election over an annotation of any resource.
//!
//! The machine speaks of a Lease; [`transport`] makes each of its requests one about the resource,
//! and a Lease of each answer. [`object`] has the two forms.

mod object;
mod transport;

use crate::error::StartError;

pub(crate) use self::transport::AnnotationTransport;

/// The annotation in which client-go kept its record up to version 0.24.
const CLIENT_GO_KEY: &str = "control-plane.alpha.kubernetes.io/leader";

/// The annotation of TKE's controllers.
const TKE_KEY: &str = "tke/leader";

/// Where the record of an election lies that is in an annotation and not in a Lease, as in
/// client-go before Leases: beside programs that know nothing else.
///
/// ```no_run
/// # fn main() -> Result<(), kubelease::StartError> {
/// use kubelease::{AnnotationLock, Elector};
///
/// let handle = Elector::builder()
///     .in_cluster()
///     .name("old-controller")
///     .annotation_lock(AnnotationLock::config_map())
///     .start()?;
/// # drop(handle);
/// # Ok(())
/// # }
/// ```
///
/// The machine is the same, and so are its promises. The object is made where there is none, and
/// all that is in it besides the annotation and own labels is kept, by PUT or by merge patch. The
/// rights are `get`, `create` and `update` (or `patch`) on that resource. The record has the form
/// of client-go's, with times to the microsecond, which its readers take: they compare the text.
///
/// Two kinds of old reader rest on less than the promise to readers of Leases: TKE's wait their
/// own lease duration and not the one written, also after a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationLock {
    api_version: String,
    plural: String,
    kind: String,
    is_namespaced: bool,
    key: String,
}

impl AnnotationLock {
    /// A ConfigMap with client-go's annotation: its lock types `configmaps` and, for those who
    /// look there, `configmapsleases`.
    #[must_use]
    pub fn config_map() -> Self {
        Self::resource("v1", "configmaps", "ConfigMap")
    }

    /// The cluster-scoped ConfigMap that each API group of TKE has, such as
    /// `platform.tkestack.io`, with its annotation `tke/leader`. No namespace is needed.
    #[must_use]
    pub fn tke(group: &str) -> Self {
        Self::resource(&format!("{group}/v1"), "configmaps", "ConfigMap")
            .cluster_scoped()
            .key(TKE_KEY)
    }

    /// Any namespaced resource, such as (`"v1"`, `"endpoints"`, `"Endpoints"`), with client-go's
    /// annotation.
    #[must_use]
    pub fn resource(api_version: &str, plural: &str, kind: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            is_namespaced: true,
            key: CLIENT_GO_KEY.to_owned(),
        }
    }

    /// Another annotation.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.key);
        self
    }

    /// The resource has no namespaces.
    #[must_use]
    pub const fn cluster_scoped(mut self) -> Self {
        self.is_namespaced = false;
        self
    }

    pub(crate) const fn is_namespaced(&self) -> bool {
        self.is_namespaced
    }

    /// What Events of an election over it are about.
    #[cfg(feature = "events")]
    pub(crate) fn regarding(&self, namespace: &str, name: &str) -> crate::events::Regarding {
        crate::events::Regarding {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.is_namespaced.then(|| namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// Checks what goes into paths and bodies.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        let is_plain = |text: &str, others: &str| {
            let is_known = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_known)
        };
        let versions = self.api_version.split('/');
        let parts = [
            (
                versions.clone().count() <= 2 && versions.clone().all(|part| is_plain(part, "-.")),
                "apiVersion",
            ),
            (is_plain(&self.plural, "-"), "plural"),
            (is_plain(&self.kind, ""), "kind"),
            (
                self.key.split('/').count() <= 2
                    && self.key.split('/').all(|part| is_plain(part, "-._")),
                "annotation",
            ),
        ];
        match parts.iter().find(|(is_good, _)| !is_good) {
            Some((_, part)) => Err(StartError::AnnotationLock(part)),
            None => Ok(()),
        }
    }

    /// The path of the object, or of its collection.
    fn path(&self, namespace: &str, name: Option<&str>) -> String {
        let root = if self.api_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        let mut path = format!("/{root}/{}", self.api_version);
        if self.is_namespaced {
            path = format!("{path}/namespaces/{namespace}");
        }
        path = format!("{path}/{}", self.plural);
        match name {
            Some(name) => format!("{path}/{name}"),
            None => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_resource() {
        let lock = AnnotationLock::config_map();
        assert_eq!(
            lock.path("n", Some("a")),
            "/api/v1/namespaces/n/configmaps/a"
        );
        assert_eq!(lock.path("n", None), "/api/v1/namespaces/n/configmaps");
        let lock = AnnotationLock::tke("platform.tkestack.io");
        assert_eq!(
            lock.path("n", Some("a")),
            "/apis/platform.tkestack.io/v1/configmaps/a"
        );
    }

    #[test]
    fn what_can_not_stand_in_a_path_is_refused() {
        let good = AnnotationLock::resource("apps/v1", "deployments", "Deployment");
        assert_eq!(good.check(), Ok(()));
        let cases = [
            (AnnotationLock::resource("a/b/c", "x", "X"), "apiVersion"),
            (AnnotationLock::resource("", "x", "X"), "apiVersion"),
            (AnnotationLock::tke("../../v1"), "apiVersion"),
            (AnnotationLock::resource("v1", "x/y", "X"), "plural"),
            (AnnotationLock::resource("v1", "x?", "X"), "plural"),
            (AnnotationLock::resource("v1", "x", "X\""), "kind"),
            (good.clone().key(""), "annotation"),
            (good.key("a/b/c"), "annotation"),
        ];
        for (lock, part) in cases {
            assert_eq!(
                lock.check(),
                Err(StartError::AnnotationLock(part)),
                "{lock:?}"
            );
        }
    }
}
