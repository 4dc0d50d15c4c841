//! What must hold in every state of the model, and what some run has to pass.

use super::bounds::Bounds;
use super::server::{Author, Stored};

/// What must hold in every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// What some run has to pass, or the model shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Milestone {
    /// The first elector leads.
    FirstLeads,
    /// The second leads.
    SecondLeads,
    /// The third leads.
    ThirdLeads,
    /// One leads after another gave the lease up.
    ChangeByRelease,
    /// One leads after another's record expired.
    ChangeByExpiry,
    /// One leads on what its last life left.
    OwnRestart,
    /// A leader whose write was applied without an answer renews within the same term.
    LostAnswerRecovered,
    /// A leader makes its deleted lease anew.
    Recreated,
}

impl Milestone {
    /// All there are.
    pub const ALL: [Self; 8] = [
        Self::FirstLeads,
        Self::SecondLeads,
        Self::ThirdLeads,
        Self::ChangeByRelease,
        Self::ChangeByExpiry,
        Self::OwnRestart,
        Self::LostAnswerRecovered,
        Self::Recreated,
    ];

    /// The milestone in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstLeads => "the first leads",
            Self::SecondLeads => "the second leads",
            Self::ThirdLeads => "the third leads",
            Self::ChangeByRelease => "leadership changes by release",
            Self::ChangeByExpiry => "leadership changes by expiry",
            Self::OwnRestart => "a restarted process goes on from its own record",
            Self::LostAnswerRecovered => "a lost answer is recovered from",
            Self::Recreated => "a deleted lease is made anew by its leader",
        }
    }

    /// What it means that `author` begins to lead on the record `before`.
    pub(super) fn of_start(author: Author, before: Option<Stored>) -> Self {
        match before {
            Some(old) if old.record.holder.is_empty() && old.author.who != author.who => {
                Self::ChangeByRelease
            }
            Some(old) if !old.record.holder.is_empty() && old.author.who != author.who => {
                Self::ChangeByExpiry
            }
            Some(old) if !old.record.holder.is_empty() && old.author != author => Self::OwnRestart,
            Some(_) | None => match author.who {
                0 => Self::FirstLeads,
                1 => Self::SecondLeads,
                _ => Self::ThirdLeads,
            },
        }
    }

    /// Whether a world of these bounds has the means.
    #[must_use]
    pub const fn is_within(self, bounds: &Bounds) -> bool {
        match self {
            Self::FirstLeads | Self::SecondLeads => true,
            Self::ThirdLeads => bounds.nodes > 2,
            Self::ChangeByRelease => bounds.stops + bounds.step_downs > 0,
            Self::ChangeByExpiry => bounds.crashes + bounds.stalls > 0,
            Self::OwnRestart => bounds.crashes > 0 && !bounds.namesakes,
            Self::LostAnswerRecovered => bounds.slow + bounds.failures > 0,
            Self::Recreated => bounds.deletions > 0,
        }
    }
}
