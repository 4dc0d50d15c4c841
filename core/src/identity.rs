//! What can be the name of a process in a record.

/// Longest identity: as long as the name of any object.
pub(crate) const IDENTITY_MAX: usize = 253;

/// What is wrong with an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdentityFault {
    Empty,
    TooLong,
    /// A control character, `"` or `\`.
    Character,
}

/// Checks an identity.
pub(crate) fn check(identity: &str) -> Result<(), IdentityFault> {
    if identity.is_empty() {
        return Err(IdentityFault::Empty);
    }
    if identity.len() > IDENTITY_MAX {
        return Err(IdentityFault::TooLong);
    }
    let refused = |c: char| c.is_control() || c == '"' || c == '\\';
    if identity.contains(refused) {
        Err(IdentityFault::Character)
    } else {
        Ok(())
    }
}
