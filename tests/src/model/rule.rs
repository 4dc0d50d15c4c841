//! [`Rule`]: what no run may break.

/// What must hold in every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// No two lead at one instant of true time.
    OneLeader,
    /// Nobody leads while the work of another's ended term may go on.
    WorkHasCeased,
    /// Nobody's write replaces the record of somebody else who leads.
    NobodyWritesOverALeader,
    /// A release takes out nobody's record but the writer's own.
    ReleaseIsOfOwn,
    /// Each term's token is above all before it.
    FencesRise,
    /// Laws of the machine contract that show in the outputs.
    Laws,
}

impl Rule {
    /// The rule in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneLeader => "never two leaders in true time",
            Self::WorkHasCeased => "nobody leads while another's work may go on",
            Self::NobodyWritesOverALeader => "no write replaces the record of a leader",
            Self::ReleaseIsOfOwn => "a release never wipes another's record",
            Self::FencesRise => "fences rise",
            Self::Laws => "the laws of the machine hold",
        }
    }
}
