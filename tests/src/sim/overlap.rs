//! [`Overlaps`]: two leaders at once because somebody outside the election changed the lease.
//!
//! Nothing can prevent these; each has to end as soon as the older leader asks the server again.

use super::contact::Contact;

/// A change from outside, and how every process stood with the server then.
#[derive(Clone, Debug)]
pub struct Note {
    /// When it happened.
    pub at_us: u64,
    /// The version it made.
    pub version: u64,
    /// How every process stood with the server.
    pub contacts: Vec<Contact>,
}

/// All changes from outside, in order.
#[derive(Clone, Debug, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// Adds the latest.
    pub fn push(&mut self, note: Note) {
        self.0.push(note);
    }

    /// The last one after version `after` and up to `upto`.
    #[must_use]
    pub fn between(&self, after: u64, upto: u64) -> Option<&Note> {
        let mut notes = self.0.iter().rev();
        notes.find(|note| note.version > after && note.version <= upto)
    }
}

/// Two leaders.
#[derive(Clone, Copy, Debug)]
pub struct Overlap {
    /// Who.
    pub seats: (usize, usize),
    /// Since when.
    pub begin_us: u64,
}

/// Overlaps by changes from outside.
#[derive(Clone, Debug, Default)]
pub struct Overlaps {
    open: Vec<Overlap>,
    /// How many there were.
    pub count: u64,
    /// How many of them had to end within a retry period and the requests on their way.
    pub prompt: u64,
    /// The longest.
    pub longest_us: u64,
}

impl Overlaps {
    pub(super) fn open(&mut self, overlap: Overlap) {
        self.open.push(overlap);
        self.count += 1;
    }

    /// Takes out the overlaps of `seat`.
    pub(super) fn take(&mut self, seat: usize) -> Vec<Overlap> {
        let ends = |overlap: &mut Overlap| overlap.seats.0 == seat || overlap.seats.1 == seat;
        self.open.extract_if(.., ends).collect()
    }

    /// An overlap has ended, in which the process of `older` had to notice `note`.
    pub(super) fn close(
        &mut self,
        overlap: Overlap,
        at_us: u64,
        older: usize,
        note: &Note,
        contact: &Contact,
    ) -> Result<(), String> {
        self.longest_us = self.longest_us.max(at_us - overlap.begin_us);
        let (bound_us, prompt) = bound_us(older, at_us, note, contact);
        self.prompt += u64::from(prompt);
        if at_us <= bound_us {
            return Ok(());
        }
        let Overlap { seats, begin_us } = overlap;
        Err(format!(
            "the overlap of seats {seats:?} since {begin_us} lasted until {at_us}, past {bound_us}"
        ))
    }
}

/// When the process of `seat` has to have noticed, and whether it had no excuse.
fn bound_us(seat: usize, at_us: u64, note: &Note, contact: &Contact) -> (u64, bool) {
    let limits = contact.limits();
    let by_deadline = note.at_us + limits.deadline_us;
    let before = &note.contacts[seat];
    if !contact.was_lucky(before, note.at_us) {
        return (by_deadline, false);
    }
    let busy_us = contact.busy_us(at_us) - before.busy_us(note.at_us);
    // Each of the few polls in between may be late, and instants are whole milliseconds.
    let late_us = 4 * limits.late_us + 4_000;
    let prompt = note.at_us + limits.period_us + busy_us + late_us;
    (prompt.min(by_deadline), true)
}
