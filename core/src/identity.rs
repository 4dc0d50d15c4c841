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
    // The second half of the control characters has two bytes, of which the first is 0xc2.
    let mut before = 0;
    for byte in identity.bytes() {
        let is_control = byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte < 0xa0);
        if is_control || byte == b'"' || byte == b'\\' {
            return Err(IdentityFault::Character);
        }
        before = byte;
    }
    Ok(())
}
