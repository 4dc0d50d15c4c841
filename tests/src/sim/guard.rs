//! The rules of a single write, checked where the server carries it out.

use kubelease_core::lease::RecordSpec;
use kubelease_core::protocol::Changes;

use super::op::Op;
use super::server::Stored;

/// Who wrote a record: the seat and the life.
pub type Writer = (usize, u32);

/// Checks a write that is about to change `stored`, which `owner` wrote, by `writer` with
/// `identity`.
///
/// # Errors
/// The rule that it breaks.
pub fn check_write(
    op: &Op,
    stored: Option<&Stored>,
    owner: Option<Writer>,
    writer: Writer,
    identity: &str,
) -> Result<(), String> {
    let (Some(old), Some(new)) = (stored.map(|stored| &stored.spec), op.spec()) else {
        return check_first(op);
    };
    let Op::Update { changes, .. } = op else {
        return Ok(());
    };
    let mine = owner == Some(writer) && old.holder.matches(identity);
    match changes {
        Changes::Release if !mine => Err(format!("{identity} releases {:?}", old.holder)),
        Changes::Renew if !mine => Err(format!("{identity} renews {:?}", old.holder)),
        Changes::Release | Changes::Renew if transitions(new) != transitions(old) => {
            Err(format!("{identity} counts a transition without one"))
        }
        Changes::Acquire if !old.holder.matches(identity) => {
            if transitions(new) == transitions(old) + 1 {
                Ok(())
            } else {
                Err(format!("{identity} counts no transition"))
            }
        }
        Changes::Release | Changes::Renew | Changes::Acquire => check_times(old, new, identity),
    }
}

/// A record that is made anew has no transitions yet.
fn check_first(op: &Op) -> Result<(), String> {
    match op.spec().map(transitions) {
        Some(0) | None => Ok(()),
        Some(count) => Err(format!("a new lease has {count} transitions")),
    }
}

/// Over a record that names the writer the time rises.
fn check_times(old: &RecordSpec, new: &RecordSpec, identity: &str) -> Result<(), String> {
    let (before, after) = (old.renew_time.timestamp(), new.renew_time.timestamp());
    if after > before {
        Ok(())
    } else {
        Err(format!("{identity} writes {after:?} over {before:?}"))
    }
}

fn transitions(spec: &RecordSpec) -> i32 {
    spec.lease_transitions.unwrap_or(0)
}
