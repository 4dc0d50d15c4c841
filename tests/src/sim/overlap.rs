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

    fn last_before(&self, at_us: u64) -> Option<&Note> {
        self.0.iter().rev().find(|note| note.at_us <= at_us)
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
    pub(super) fn open(&mut self, overlap: Overlap, _note: &Note, _contacts: &[Contact]) {
        self.open.push(overlap);
        self.count += 1;
    }

    /// The process of `seat` leads no more.
    pub(super) fn close(
        &mut self,
        seat: usize,
        at_us: u64,
        notes: &Notes,
        contacts: &[Contact],
    ) -> Result<(), String> {
        let ends = |overlap: &Overlap| overlap.seats.0 == seat || overlap.seats.1 == seat;
        let ended: Vec<Overlap> = self.open.iter().copied().filter(ends).collect();
        self.open.retain(|overlap| !ends(overlap));
        for overlap in ended {
            self.longest_us = self.longest_us.max(at_us - overlap.begin_us);
            let Some(note) = notes.last_before(at_us) else {
                continue;
            };
            let (bound_us, prompt) = bound_us(seat, at_us, note, &contacts[seat]);
            self.prompt += u64::from(prompt);
            if at_us > bound_us {
                return Err(format!(
                    "the overlap of seats {:?} since {} µs lasted until {at_us} µs, past {bound_us} µs",
                    overlap.seats, overlap.begin_us
                ));
            }
        }
        Ok(())
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
