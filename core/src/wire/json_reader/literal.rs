//! The words `true`, `false` and `null`.

/// What of a literal is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Rue,
    Ue,
    Alse,
    Lse,
    Se,
    E,
    Ull,
    Ll,
    L,
}

impl Literal {
    /// The byte that has to come, and what comes after it.
    pub(super) const fn next(self) -> (u8, Option<Self>) {
        match self {
            Self::Rue => (b'r', Some(Self::Ue)),
            Self::Ue => (b'u', Some(Self::E)),
            Self::Alse => (b'a', Some(Self::Lse)),
            Self::Lse => (b'l', Some(Self::Se)),
            Self::Se => (b's', Some(Self::E)),
            Self::E => (b'e', None),
            Self::Ull => (b'u', Some(Self::Ll)),
            Self::Ll => (b'l', Some(Self::L)),
            Self::L => (b'l', None),
        }
    }
}
