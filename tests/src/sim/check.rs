//! [`Checker`]: who leads, in true time, and whether that may be.
//!
//! A process leads from the moment it learns that a write of its was done until its own clock
//! shows `leading_until`, or until it says sooner that it leads no more. Each stretch is compared
//! with all others at the moment it begins, and so covers every instant, polled or not.

use super::contact::Contact;
use super::overlap::{Note, Notes, Overlap, Overlaps};

/// What a process believes of itself, in true time.
#[derive(Clone, Copy, Debug)]
pub struct Belief {
    /// When it ends by itself.
    pub end_us: u64,
    /// When work of the term has ended if it does.
    pub work_end_us: u64,
    /// The number in its fence.
    pub fence: u64,
    /// The version that its last acknowledged write made.
    pub acked: u64,
}

/// How the clocks of a world let leaders overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Neither leaders nor their work ever overlap.
    Work,
    /// Leaders never overlap.
    Leaders,
    /// They may, and it is counted.
    Nothing,
}

/// Watches over all processes of one world.
#[derive(Clone, Debug)]
pub struct Checker {
    strictness: Strictness,
    sides: Vec<Side>,
    notes: Notes,
    overlaps: Overlaps,
    fence_max: u64,
    last_leader: Option<(usize, u64)>,
    /// How often another term began.
    pub terms: u64,
    /// How often that was another process's than the last.
    pub changes: u64,
    /// Overlaps that the clocks explain.
    pub by_clocks: u64,
}

#[derive(Clone, Debug, Default)]
struct Side {
    life: u64,
    held: Option<Belief>,
    acked: u64,
    /// Work of the last term has ended here.
    work_end_us: u64,
}

impl Checker {
    /// For a world of `seats` processes.
    #[must_use]
    pub fn new(seats: usize, strictness: Strictness) -> Self {
        Self {
            strictness,
            sides: vec![Side::default(); seats],
            notes: Notes::default(),
            overlaps: Overlaps::default(),
            fence_max: 0,
            last_leader: None,
            terms: 0,
            changes: 0,
            by_clocks: 0,
        }
    }

    /// Something outside the rules changed the lease, so that leaders may overlap for a while.
    pub fn note(&mut self, at_us: u64, version: u64, contacts: Vec<Contact>) {
        self.notes.push(Note {
            at_us,
            version,
            contacts,
        });
    }

    /// The overlaps so far.
    #[must_use]
    pub const fn overlaps(&self) -> &Overlaps {
        &self.overlaps
    }

    /// Whether anybody leads at `at_us`.
    #[must_use]
    pub fn leader(&self, at_us: u64) -> Option<usize> {
        self.sides.iter().position(|side| side.leads(at_us))
    }

    /// The process of `seat` leads.
    ///
    /// # Errors
    /// What is wrong with that.
    pub fn leads(
        &mut self,
        seat: usize,
        at_us: u64,
        belief: Belief,
        contacts: &[Contact],
    ) -> Result<(), String> {
        self.check_fence(self.sides[seat].held, belief)?;
        self.end_late(seat, at_us, contacts)?;
        let before = self.sides[seat].held;
        if belief.end_us <= at_us {
            return Err(format!("seat {seat} leads past its own leading_until"));
        }
        let side = &mut self.sides[seat];
        side.held = Some(belief);
        side.acked = belief.acked;
        side.work_end_us = belief.work_end_us;
        if before.is_some() {
            return Ok(());
        }
        let life = side.life;
        self.terms += 1;
        if self.last_leader != Some((seat, life)) {
            self.changes += 1;
            self.last_leader = Some((seat, life));
        }
        self.begin(seat, at_us, belief, contacts[seat].limits().hearing_us)
    }

    /// The process of `seat` does not lead.
    ///
    /// # Errors
    /// What is wrong with how an overlap ended.
    pub fn follows(&mut self, seat: usize, at_us: u64, contacts: &[Contact]) -> Result<(), String> {
        let side = &mut self.sides[seat];
        let Some(held) = side.held.take() else {
            return Ok(());
        };
        if at_us < held.end_us {
            side.work_end_us = at_us;
        }
        let end_us = at_us.min(held.end_us);
        for overlap in self.overlaps.take(seat) {
            // The other may have ended by itself, and not have been asked since.
            let (a, b) = overlap.seats;
            let other = self.sides[a + b - seat].held;
            let end_us = other.map_or(end_us, |other| end_us.min(other.end_us));
            self.close(overlap, end_us, contacts)?;
        }
        Ok(())
    }

    /// The process of `seat` is killed, and its work with it.
    ///
    /// # Errors
    /// What is wrong with how an overlap ended.
    pub fn killed(&mut self, seat: usize, at_us: u64, contacts: &[Contact]) -> Result<(), String> {
        self.follows(seat, at_us, contacts)?;
        let side = &mut self.sides[seat];
        side.life += 1;
        side.work_end_us = side.work_end_us.min(at_us);
        Ok(())
    }

    /// Tokens rise in the order in which terms begin.
    fn check_fence(&mut self, before: Option<Belief>, belief: Belief) -> Result<(), String> {
        if before.is_some_and(|held| held.fence == belief.fence) {
            return Ok(());
        }
        let (old, new) = (self.fence_max, belief.fence);
        self.fence_max = old.max(new);
        if new > old || self.notes.between(new, old).is_some() {
            Ok(())
        } else {
            Err(format!("fence {new} follows {old}"))
        }
    }

    /// An answer that came in time by the clock of one processor may come too late by that of
    /// another; what it begins is a new stretch.
    fn end_late(&mut self, seat: usize, at_us: u64, contacts: &[Contact]) -> Result<(), String> {
        let end_us = self.sides[seat].held.map_or(u64::MAX, |held| held.end_us);
        if at_us < end_us {
            return Ok(());
        }
        if at_us < end_us + contacts[seat].limits().noise_us {
            return self.follows(seat, at_us, contacts);
        }
        Err(format!("belief of seat {seat} outlived its end"))
    }

    /// The older of two leaders, whose last acknowledged write came first, had to notice the last
    /// change from outside since.
    fn close(&mut self, overlap: Overlap, at_us: u64, contacts: &[Contact]) -> Result<(), String> {
        let (a, b) = overlap.seats;
        let older = if self.sides[a].acked < self.sides[b].acked {
            a
        } else {
            b
        };
        let (least, most) = (self.sides[older].acked, self.sides[a + b - older].acked);
        let Some(note) = self.notes.between(least, most) else {
            return Err(format!(
                "seats {a} and {b} led at once, and took turns in it"
            ));
        };
        self.overlaps
            .close(overlap, at_us, older, note, &contacts[older])
    }

    /// A term begins. A watcher's clock can have been behind when it saw the last change, by so
    /// much that the wait for it was `hearing_us` too short.
    fn begin(
        &mut self,
        seat: usize,
        at_us: u64,
        belief: Belief,
        hearing_us: u64,
    ) -> Result<(), String> {
        for other in 0..self.sides.len() {
            if other == seat {
                continue;
            }
            let side = &self.sides[other];
            let leads = side.leads(at_us);
            let heard_us = at_us + hearing_us;
            if leads && !side.leads(heard_us) {
                self.by_clocks += 1;
                continue;
            }
            if !leads && (side.work_end_us <= heard_us || self.strictness != Strictness::Work) {
                continue;
            }
            // The older of two is the one whose last acknowledged write came first.
            let (least, most) = (side.acked.min(belief.acked), side.acked.max(belief.fence));
            if self.notes.between(least, most).is_some() {
                if leads {
                    let seats = (other, seat);
                    let begin_us = at_us;
                    self.overlaps.open(Overlap { seats, begin_us });
                }
            } else if self.strictness == Strictness::Nothing {
                self.by_clocks += 1;
            } else {
                let what = if leads { "leads" } else { "works" };
                return Err(format!(
                    "seat {seat} begins while seat {other} still {what}"
                ));
            }
        }
        Ok(())
    }
}

impl Side {
    fn leads(&self, at_us: u64) -> bool {
        self.held.is_some_and(|held| at_us < held.end_us)
    }
}
