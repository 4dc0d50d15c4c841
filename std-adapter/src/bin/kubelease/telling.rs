//! What happened, in words for people.

use kubelease::kubelease_core::lease::Readiness;
use kubelease::{Finish, TroubleKind, Verb};

/// What may be wrong where the server refuses the credentials, behind what it says.
pub(crate) const REFUSED_CREDENTIALS: &str =
    "; perhaps --token-file or --token is missing or wrong";

/// What became of the lease at the end.
pub(crate) const fn finish(finish: Finish) -> &'static str {
    match finish {
        Finish::Released => "released",
        Finish::NotHolder => "not held any more, and left alone",
        Finish::Unknown => "given up, but the server did not say whether that was done",
        Finish::Failed => "not given up: the server did not answer in time; it runs out",
        Finish::Kept => "left as it is, and runs out",
        Finish::Deleted => "deleted",
        _ => "left",
    }
}

/// What goes wrong with requests about `lease`, a namespace and a name.
pub(crate) fn trouble(kind: TroubleKind, verb: Verb, lease: &str) -> String {
    let verb = verb.as_str();
    let namespace = lease
        .split_once('/')
        .map_or(lease, |(namespace, _)| namespace);
    let what = match kind {
        TroubleKind::Forbidden => "this is forbidden",
        TroubleKind::BadRequest => "the server cannot read the request",
        TroubleKind::Invalid => "the server refuses what is written",
        TroubleKind::NamespaceMissing => {
            return format!("trouble with `{verb}`: there is no namespace {namespace}");
        }
        TroubleKind::NamespaceTerminating => {
            return format!("trouble with `{verb}`: the namespace {namespace} is being deleted");
        }
        TroubleKind::ApiUnavailable => "the server has no Leases",
        TroubleKind::Refused(status) => {
            return format!("trouble with `{verb}`: the server answered {status}");
        }
        TroubleKind::BadAnswer(bad) => return format!("trouble with `{verb}`: {bad}"),
        TroubleKind::TooLarge => "the lease is too large to be written back whole",
        TroubleKind::LeaseMissing => "there is no lease",
        TroubleKind::NodeMissing => "there is no such Node",
        TroubleKind::HeldByAnother => {
            return format!(
                "trouble with `{verb}`: somebody else holds the lease; `kubelease status {lease}` \
                 says who"
            );
        }
        TroubleKind::NotAlive => "nobody says that the host is alive",
        TroubleKind::TimeUsedUp => "the lease was renewed at the end of all times",
        _ => "something is wrong",
    };
    format!("trouble with `{verb}`: {what}")
}

/// Why a Node is not ready.
pub(crate) const fn not_ready(readiness: Readiness) -> &'static str {
    match readiness {
        Readiness::Unsaid => "nobody has said yet that it is",
        Readiness::Ready => "it is",
        Readiness::NotReady => "its agent says that it is not",
        Readiness::Unknown => "the node controller missed its beats",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_names_the_verb_and_what_is_missing() {
        let said = trouble(TroubleKind::NamespaceMissing, Verb::Create, "plant/pump");
        assert_eq!(said, "trouble with `create`: there is no namespace plant");
        let said = trouble(TroubleKind::HeldByAnother, Verb::Update, "plant/pump");
        let expected = "trouble with `update`: somebody else holds the lease; \
                        `kubelease status plant/pump` says who";
        assert_eq!(said, expected);
    }
}
