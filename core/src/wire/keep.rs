//! What of a Lease is not ours, as raw JSON, so that a PUT can put it back.

use super::scan::before_control;

/// Which part of a Lease a kept member belongs to. The value is the byte that stands before the
/// member in the buffer: raw JSON without blanks between its tokens has no byte below 0x20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    /// The Lease itself.
    Lease = 1,
    /// `metadata`.
    Metadata = 2,
    /// `metadata.labels`.
    Labels = 3,
    /// `spec`.
    Spec = 4,
}

/// Whether a buffer holds all that has to be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// It holds nothing, or a part of an answer that is still coming or was a bad one.
    Unknown,
    /// It holds everything.
    Whole,
    /// It was too small.
    TooSmall,
}

/// A caller's buffer for the members of a Lease that a PUT has to put back: labels, annotations,
/// owner references, finalizers, `strategy`, and whatever later servers add.
///
/// Text of a member costs its length and one byte. `managedFields` are not kept: a PUT without
/// them leaves them alone.
#[derive(Debug)]
pub struct Keep<'a> {
    buffer: &'a mut [u8],
    length: usize,
    /// Where the member that is being read begins.
    member_start: usize,
    /// Whether the member that is being read did not fit.
    is_cut: bool,
    /// Whether a member was lost.
    is_lossy: bool,
    fill: Fill,
}

impl<'a> Keep<'a> {
    /// A keep that holds nothing yet.
    #[must_use]
    pub const fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            length: 0,
            member_start: 0,
            is_cut: false,
            is_lossy: false,
            fill: Fill::Unknown,
        }
    }

    /// Whether it holds everything that the last good answer had.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.fill == Fill::Whole
    }

    /// Whether the last answer was a good one with more than fits.
    #[must_use]
    pub fn is_too_small(&self) -> bool {
        self.fill == Fill::TooSmall
    }

    /// Begins to fill it anew.
    pub(super) const fn start(&mut self) {
        self.length = 0;
        self.is_cut = false;
        self.is_lossy = false;
        self.fill = Fill::Unknown;
    }

    /// The answer was read to its end and is good.
    pub(super) const fn finish(&mut self) {
        self.fill = if self.is_lossy {
            Fill::TooSmall
        } else {
            Fill::Whole
        };
    }

    pub(super) fn member_begin(&mut self, part: Part) {
        self.member_start = self.length;
        self.is_cut = false;
        self.push(&[part as u8]);
    }

    /// Appends to the member.
    pub(super) fn push(&mut self, piece: &[u8]) {
        let room = self.buffer.get_mut(self.length..).unwrap_or_default();
        if self.is_cut || room.len() < piece.len() {
            self.is_cut = true;
            return;
        }
        for (place, byte) in room.iter_mut().zip(piece) {
            *place = *byte;
        }
        self.length = self.length.saturating_add(piece.len());
    }

    /// The member is complete.
    pub(super) const fn member_end(&mut self) {
        self.is_lossy |= self.is_cut;
    }

    /// The member is not one to keep.
    pub(super) const fn member_drop(&mut self) {
        self.length = self.member_start;
    }
}

/// Goes through the members of one part.
#[derive(Debug)]
pub(super) struct Members<'k> {
    rest: &'k [u8],
    part: u8,
}

impl<'k> Members<'k> {
    /// The members of `part`, each as `"key":value`; none where nothing was kept.
    pub(super) fn of(keep: Option<&'k Keep<'_>>, part: Part) -> Self {
        let rest = keep.and_then(|keep| keep.buffer.get(..keep.length));
        Self {
            rest: rest.unwrap_or_default(),
            part: part as u8,
        }
    }
}

impl<'k> Iterator for Members<'k> {
    type Item = &'k [u8];

    fn next(&mut self) -> Option<&'k [u8]> {
        while let Some((part, rest)) = self.rest.split_first() {
            let (member, rest) = rest.split_at_checked(before_control(rest))?;
            self.rest = rest;
            if *part == self.part {
                return Some(member);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn put(keep: &mut Keep<'_>, part: Part, text: &str) {
        keep.member_begin(part);
        keep.push(text.as_bytes());
        keep.member_end();
    }

    #[test]
    fn members_come_back_by_part() {
        let mut buffer = [0; 32];
        let mut keep = Keep::new(&mut buffer);
        keep.start();
        put(&mut keep, Part::Spec, r#""a":1"#);
        put(&mut keep, Part::Labels, r#""b":2"#);
        keep.member_begin(Part::Spec);
        keep.push(b"\"dropped\"");
        keep.member_drop();
        put(&mut keep, Part::Spec, r#""c":3"#);
        keep.finish();
        assert!(keep.is_whole());
        let spec: Vec<_> = Members::of(Some(&keep), Part::Spec).collect();
        assert_eq!(spec, [br#""a":1"#, br#""c":3"#]);
        assert_eq!(Members::of(Some(&keep), Part::Labels).count(), 1);
        assert_eq!(Members::of(Some(&keep), Part::Lease).count(), 0);
    }

    #[test]
    fn a_dropped_member_that_does_not_fit_is_no_loss_and_a_kept_one_is() {
        let mut buffer = [0; 8];
        let mut keep = Keep::new(&mut buffer);
        keep.start();
        put(&mut keep, Part::Spec, r#""a":1"#);
        keep.member_begin(Part::Spec);
        keep.push(b"\"kind\"");
        keep.member_drop();
        keep.finish();
        assert!(keep.is_whole());
        put(&mut keep, Part::Spec, r#""c":3"#);
        keep.finish();
        assert!(keep.is_too_small());
        keep.start();
        assert!(!keep.is_whole() && !keep.is_too_small());
    }
}
