//! Bytes out: text that is made anew from state, from any offset on, into any buffer.

use super::http::Tap;
use super::scan::before_escape;
use crate::timestamp::Timestamp;

/// Writes what lies between `offset` and the buffer's end, and counts all of it.
///
/// A caller with a small buffer asks again with a later offset. Nothing is remembered between the
/// two calls: what is written is a function of state.
pub(crate) struct ByteWriter<'b> {
    room: &'b mut [u8],
    written: usize,
    skip: usize,
    total: usize,
    /// Takes all bytes instead of the room.
    tap: Option<&'b mut dyn Tap>,
}

impl<'b> ByteWriter<'b> {
    /// A writer that leaves out `offset` bytes and fills `buffer` with the next ones.
    pub(crate) fn new(buffer: &'b mut [u8], offset: usize) -> Self {
        Self {
            room: buffer,
            written: 0,
            skip: offset,
            total: 0,
            tap: None,
        }
    }

    /// A writer that hands everything to `tap`, run by run.
    pub(crate) fn tapped(tap: &'b mut dyn Tap) -> Self {
        Self {
            tap: Some(tap),
            ..ByteWriter::counting()
        }
    }

    /// A writer that only counts.
    pub(crate) fn counting() -> ByteWriter<'static> {
        ByteWriter::new(&mut [], 0)
    }

    /// How many bytes are in the buffer.
    pub(crate) const fn written(&self) -> usize {
        self.written
    }

    /// How many bytes there were, in the buffer or not.
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Appends `bytes` as they are. They last: they are the state's or the program's own.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.put_run(bytes, true);
    }

    /// Appends bytes that were made just now, and do not last.
    fn put_made(&mut self, bytes: &[u8]) {
        self.put_run(bytes, false);
    }

    #[inline(never)]
    fn put_run(&mut self, bytes: &[u8], does_last: bool) {
        if let Some(tap) = &mut self.tap {
            tap.take(bytes, does_last);
            return;
        }
        self.total = self.total.saturating_add(bytes.len());
        let Some(bytes) = bytes.get(self.skip..) else {
            self.skip = self.skip.saturating_sub(bytes.len());
            return;
        };
        self.skip = 0;
        let room = self.room.get_mut(self.written..).unwrap_or_default();
        for (place, byte) in room.iter_mut().zip(bytes) {
            *place = *byte;
        }
        self.written = self.written.saturating_add(bytes.len().min(room.len()));
    }

    /// Appends a decimal number.
    pub(crate) fn put_number(&mut self, number: u32) {
        let mut digits = [b'0'; 10];
        let mut rest = number;
        let mut used = 0_usize;
        for place in digits.iter_mut().rev() {
            *place = b'0'.wrapping_add(rest.wrapping_rem(10) as u8);
            rest = rest.wrapping_div(10);
            used = used.wrapping_add(1);
            if rest == 0 {
                break;
            }
        }
        let (_, digits) = digits
            .split_at_checked(digits.len().wrapping_sub(used))
            .unwrap_or_default();
        self.put_made(digits);
    }

    /// Appends a JSON string.
    pub(crate) fn put_text(&mut self, text: &str) {
        self.put_text_bytes(text.as_bytes());
    }

    /// Appends a JSON string that is UTF-8.
    pub(crate) fn put_text_bytes(&mut self, text: &[u8]) {
        self.put(b"\"");
        let mut rest = text;
        while !rest.is_empty() {
            let (run, after) = rest
                .split_at_checked(before_escape(rest))
                .unwrap_or((rest, &[]));
            self.put(run);
            rest = after;
            if let Some((byte, after)) = rest.split_first() {
                self.put_escape(*byte);
                rest = after;
            }
        }
        self.put(b"\"");
    }

    /// Appends an instant in the canonical form, as a JSON string.
    pub(crate) fn put_time(&mut self, time: Timestamp) {
        self.put(b"\"");
        self.put_made(time.to_text().as_bytes());
        self.put(b"\"");
    }

    fn put_escape(&mut self, byte: u8) {
        if byte == b'"' || byte == b'\\' {
            self.put_made(&[b'\\', byte]);
        } else {
            self.put_made(&[
                b'\\',
                b'u',
                b'0',
                b'0',
                b'0'.wrapping_add(byte >> 4),
                hex_digit(byte & 15),
            ]);
        }
    }
}

const fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 {
        b'0'.wrapping_add(nibble)
    } else {
        b'a'.wrapping_sub(10).wrapping_add(nibble)
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    fn written(write: impl Fn(&mut ByteWriter<'_>)) -> String {
        let mut buffer = [0; 4096];
        let mut out = ByteWriter::new(&mut buffer, 0);
        write(&mut out);
        let length = out.written();
        assert_eq!(out.total(), length);
        String::from_utf8(buffer.iter().copied().take(length).collect()).unwrap()
    }

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 99, 1_000, 2_147_483_647, u32::MAX] {
            assert_eq!(
                written(|out| out.put_number(number)),
                std::format!("{number}")
            );
        }
    }

    #[test]
    fn ok_texts_come_back_from_a_json_parser() {
        let all: String = (0..=0x2ff_u32).filter_map(char::from_u32).collect();
        for text in ["", "a", "\"", "\\", "a\"b\\c", "\0", "é😀\u{2028}<>&", &all] {
            let json = written(|out| out.put_text(text));
            assert_eq!(
                serde_json::from_str::<String>(&json).unwrap(),
                text,
                "{json}"
            );
        }
    }

    #[test]
    fn any_offset_and_any_room_give_the_same_bytes() {
        let write = |out: &mut ByteWriter<'_>| {
            out.put(b"{\"a\":");
            out.put_text("x\"\u{1}\\y");
            out.put_number(120);
            out.put_time(Timestamp::UNIX_EPOCH);
        };
        let whole = written(write);
        for room in [1, 2, 3, 7, 64] {
            let mut pieces = Vec::new();
            loop {
                let mut buffer = std::vec![0xff; room];
                let mut out = ByteWriter::new(&mut buffer, pieces.len());
                write(&mut out);
                assert_eq!(out.total(), whole.len());
                let length = out.written();
                if length == 0 {
                    break;
                }
                pieces.extend(buffer.into_iter().take(length));
            }
            assert_eq!(pieces, whole.as_bytes(), "{room}");
        }
        let mut out = ByteWriter::counting();
        write(&mut out);
        assert_eq!((out.total(), out.written()), (whole.len(), 0));
    }

    #[derive(Default)]
    struct Tapped {
        all: Vec<u8>,
        lasting: Vec<u8>,
    }

    impl Tap for Tapped {
        fn take(&mut self, run: &[u8], does_last: bool) {
            self.all.extend_from_slice(run);
            if does_last {
                self.lasting.extend_from_slice(run);
            }
        }
    }

    #[test]
    fn a_tap_takes_the_same_bytes_and_knows_which_last() {
        let write = |out: &mut ByteWriter<'_>| {
            out.put(b"a");
            out.put_number(7);
            out.put_text("b\u{1}");
            out.put_time(Timestamp::UNIX_EPOCH);
        };
        let mut tapped = Tapped::default();
        write(&mut ByteWriter::tapped(&mut tapped));
        let Tapped { all, lasting } = tapped;
        assert_eq!(all, written(write).as_bytes());
        assert_eq!(lasting, b"a\"b\"\"\"");
    }
}
