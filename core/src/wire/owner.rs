//! `metadata.ownerReferences`: finding a Node among them in any split of the text, and writing it
//! among all others.

use super::answer::find;
use super::json_writer::ByteWriter;
use super::keep::{Keep, Members, Part};
use super::scratch::Scratch;
use crate::lease::{NodeRef, OwnerState, Owners};

/// The key of the member.
pub(super) const OWNER_REFERENCES: &str = "ownerReferences";

/// Looks for a Node in the raw text of an array of references, which is JSON without blanks.
///
/// Names and uids have no character that JSON writes with an escape, so that text is compared as
/// it stands: one with an escape is another's.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnerScan {
    is_running: bool,
    depth: u8,
    is_in_text: bool,
    is_escaped: bool,
    is_value: bool,
    key: Key,
    item: Item,
    owners: Owners,
}

/// The member of a reference that is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Key {
    #[default]
    Other,
    ApiVersion,
    Kind,
    Name,
    Uid,
}

impl Key {
    #[inline(never)]
    fn of(text: &[u8]) -> Self {
        let known = b"\x01\x0aapiVersion\x02\x04kind\x03\x04name\x04\x03uid";
        match find(known, text) {
            Some(1) => Self::ApiVersion,
            Some(2) => Self::Kind,
            Some(3) => Self::Name,
            Some(4) => Self::Uid,
            Some(_) | None => Self::Other,
        }
    }
}

/// What fits in the reference that is being read.
#[derive(Clone, Copy, Debug, Default)]
struct Item {
    is_v1: bool,
    is_node: bool,
    has_name: bool,
    has_uid: bool,
}

impl Item {
    /// Takes a member of which `is` says whether its value is a certain text.
    fn hear(&mut self, key: Key, node: &NodeRef<'_>, is: impl Fn(&[u8]) -> bool) {
        match key {
            Key::Other => {}
            Key::ApiVersion => self.is_v1 = is(b"v1"),
            Key::Kind => self.is_node = is(b"Node"),
            Key::Name => self.has_name = is(node.name.as_bytes()),
            Key::Uid => self.has_uid = !node.uid.is_empty() && is(node.uid),
        }
    }

    const fn has_node_name(self) -> bool {
        self.is_v1 && self.is_node && self.has_name
    }

    /// Whether a reference to the Node takes its place. The server drops the second of two
    /// references with one uid.
    const fn is_mine(self) -> bool {
        self.has_node_name() || self.has_uid
    }

    const fn is_current(self) -> bool {
        self.has_node_name() && self.has_uid
    }
}

impl OwnerScan {
    pub(super) const BLANK: Self = Self {
        is_running: false,
        depth: 0,
        is_in_text: false,
        is_escaped: false,
        is_value: false,
        key: Key::Other,
        item: Item {
            is_v1: false,
            is_node: false,
            has_name: false,
            has_uid: false,
        },
        owners: Owners::NONE,
    };

    /// The text begins.
    pub(super) fn start(&mut self) {
        *self = Self {
            is_running: true,
            ..Self::default()
        };
    }

    /// Whether the text has begun and not ended.
    pub(super) const fn is_running(&self) -> bool {
        self.is_running
    }

    /// The text has ended, if it had begun: says which.
    pub(super) const fn stop(&mut self) -> bool {
        core::mem::replace(&mut self.is_running, false)
    }

    /// What was found.
    pub(super) const fn owners(&self) -> Owners {
        self.owners
    }

    /// Takes the next piece of the text; `scratch` is free for it from the first to the last.
    pub(super) fn feed(&mut self, piece: &[u8], scratch: &mut Scratch, node: &NodeRef<'_>) {
        for byte in piece {
            if self.is_in_text {
                self.text(*byte, scratch, node);
            } else {
                self.token(*byte, scratch);
            }
        }
    }

    fn text(&mut self, byte: u8, scratch: &mut Scratch, node: &NodeRef<'_>) {
        if !self.is_escaped && byte == b'"' {
            self.is_in_text = false;
            if self.depth == 2 {
                self.text_end(scratch, node);
            }
            return;
        }
        self.is_escaped = !self.is_escaped && byte == b'\\';
        scratch.push(&[byte]);
    }

    fn text_end(&mut self, scratch: &Scratch, node: &NodeRef<'_>) {
        if !self.is_value {
            self.key = scratch.short().map_or(Key::Other, Key::of);
            return;
        }
        self.item.hear(self.key, node, |text| scratch.matches(text));
    }

    fn token(&mut self, byte: u8, scratch: &mut Scratch) {
        match byte {
            b'"' => {
                self.is_in_text = true;
                scratch.clear();
            }
            b':' => self.is_value = true,
            b',' => self.is_value = false,
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.is_value = false;
                if self.depth == 2 {
                    self.item = Item::default();
                }
            }
            b'}' | b']' => {
                if self.depth == 2 {
                    self.item_end();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
    }

    fn item_end(&mut self) {
        if self.item.is_current() {
            self.owners.node = OwnerState::Current;
        } else if !self.item.is_mine() {
            self.owners.has_others = true;
        } else if self.owners.node == OwnerState::Absent {
            self.owners.node = OwnerState::Stale;
        }
    }
}

/// Writes the member, with all other owners that were kept. It is called by a pointer, so that a
/// program whose machines name no owner has no code for it.
pub(crate) type WriteOwners = fn(&NodeRef<'_>, Option<&Keep<'_>>, &mut ByteWriter<'_>);

pub(super) fn write_owners(node: &NodeRef<'_>, keep: Option<&Keep<'_>>, out: &mut ByteWriter<'_>) {
    out.put(b",\"");
    out.put(OWNER_REFERENCES.as_bytes());
    out.put(b"\":[");
    for member in Members::of(keep, Part::Metadata) {
        if !super::body::has_key(member, OWNER_REFERENCES) {
            continue;
        }
        // Without an array, as in `null`, there are none.
        for item in List::after(b'[', member) {
            if !judge(item, node).is_mine() {
                out.put(item);
                out.put(b",");
            }
        }
    }
    out.put(b"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":");
    out.put_text(node.name);
    out.put(b",\"uid\":");
    out.put_text_bytes(node.uid);
    out.put(b"}]");
}

/// What fits in one whole reference: by its text, as [`OwnerScan`] judges one that comes in pieces.
#[inline(never)]
fn judge(item: &[u8], node: &NodeRef<'_>) -> Item {
    let mut fits = Item::default();
    for member in List::after(b'{', item) {
        let Some((key, value)) = texts_of(member) else {
            continue;
        };
        fits.hear(Key::of(key), node, |text| value == text);
    }
    fits
}

/// What is between the quotes of the key and of the value of a member; `None` where that is no
/// text.
fn texts_of(member: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = member.strip_prefix(b"\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let (key, rest) = rest.split_at_checked(end)?;
    let value = rest.strip_prefix(b"\":\"")?.strip_suffix(b"\"")?;
    Some((key, value))
}

/// Goes through the elements of an array or the members of an object that is JSON without blanks.
#[derive(Debug)]
struct List<'k> {
    rest: &'k [u8],
}

impl<'k> List<'k> {
    /// Those after the first of this bracket in `text`; none where there is none.
    fn after(bracket: u8, text: &'k [u8]) -> Self {
        let start = text.iter().position(|byte| *byte == bracket);
        let rest = start.and_then(|start| text.get(start.saturating_add(1)..));
        Self {
            rest: rest.unwrap_or_default(),
        }
    }

    /// Ends an element before the comma or bracket at `at`.
    fn cut(&mut self, at: usize) -> Option<&'k [u8]> {
        let (element, rest) = self.rest.split_at_checked(at)?;
        self.rest = rest.get(1..).unwrap_or_default();
        Some(element).filter(|element| !element.is_empty())
    }
}

impl<'k> Iterator for List<'k> {
    type Item = &'k [u8];

    #[inline(never)]
    fn next(&mut self) -> Option<&'k [u8]> {
        let (mut depth, mut is_in_text, mut is_escaped) = (0_u32, false, false);
        for (at, byte) in self.rest.iter().enumerate() {
            if is_in_text {
                is_in_text = is_escaped || *byte != b'"';
                is_escaped = !is_escaped && *byte == b'\\';
                continue;
            }
            match byte {
                b'"' => is_in_text = true,
                b'{' | b'[' => depth = depth.saturating_add(1),
                b',' | b'}' | b']' if depth == 0 => return self.cut(at),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};
    use std::vec::Vec;

    use super::*;

    const NODE: NodeRef<'_> = NodeRef {
        name: "gw1",
        uid: b"u-1",
    };

    fn reference(kind: &str, name: &str, uid: &str) -> String {
        std::format!(r#"{{"apiVersion":"v1","kind":"{kind}","name":"{name}","uid":"{uid}"}}"#)
    }

    fn scanned(text: &str, node: NodeRef<'_>, size: usize) -> Owners {
        let (mut scan, mut scratch) = (OwnerScan::default(), Scratch::new());
        scan.start();
        for piece in text.as_bytes().chunks(size) {
            scan.feed(piece, &mut scratch, &node);
        }
        scan.owners()
    }

    #[test]
    fn a_node_is_found_among_others_in_any_split() {
        use OwnerState::{Absent, Current, Stale};
        let mine = reference("Node", "gw1", "u-1");
        let stale = reference("Node", "gw1", "u-0");
        let other = reference("Node", "gw2", "u-2");
        let job = reference("Job", "gw1", "u-3");
        let misnamed = reference("Node", "gw9", "u-1");
        let odd = r#"{"uid":"u-1","name":"gw1","x":{"kind":"Job","a":["]}\"\\"]},"y":"Job","kind":"Node","apiVersion":"v1"}"#;
        let group = r#"{"apiVersion":"x/v1","kind":"Node","name":"gw1","uid":"u-5"}"#;
        let table = [
            ("[]".to_string(), Absent, false),
            ("null".to_string(), Absent, false),
            (std::format!("[{mine}]"), Current, false),
            (std::format!("[{stale}]"), Stale, false),
            (std::format!("[{other}]"), Absent, true),
            (std::format!("[{job}]"), Absent, true),
            (std::format!("[{group}]"), Absent, true),
            (std::format!("[{misnamed}]"), Stale, false),
            (std::format!("[{odd}]"), Current, false),
            (std::format!("[{stale},{mine}]"), Current, false),
            (std::format!("[{mine},{stale}]"), Current, false),
            (std::format!("[{other},{mine},{job}]"), Current, true),
            (std::format!("[{job},{stale}]"), Stale, true),
        ];
        for (text, node, has_others) in table {
            for size in [1, 2, 7, 1_000] {
                let found = scanned(&text, NODE, size);
                assert_eq!(found, Owners { node, has_others }, "{text} in {size}");
            }
        }
    }

    #[test]
    fn a_whole_reference_is_judged_as_one_in_pieces() {
        let table = [
            reference("Node", "gw1", "u-1"),
            reference("Node", "gw1", "u-0"),
            reference("Node", "gw2", "u-2"),
            reference("Node", "gw9", "u-1"),
            reference("Job", "gw1", "u-3"),
            r#"{"controller":true,"apiVersion":"v1","kind":"Node","name":"gw1","uid":"u-4"}"#
                .into(),
            r#"{"apiVersion":"x/v1","kind":"Node","name":"gw1","uid":"u-5"}"#.into(),
            r#"{"uid":"u-1","x":{"uid":"u-9","a":["]}\"\\"]},"kind":"Node","apiVersion":5}"#.into(),
            r#"{"name":"gw1","name":"gw2","kind":"Node","apiVersion":"v1","uid":["u-1"]}"#.into(),
            "{}".to_string(),
            "{5}".to_string(),
        ];
        for item in table {
            let found = scanned(&std::format!("[{item}]"), NODE, 1_000);
            let fits = judge(item.as_bytes(), &NODE);
            assert_eq!(fits.is_mine(), found.node != OwnerState::Absent, "{item}");
            assert_eq!(
                fits.is_current(),
                found.node == OwnerState::Current,
                "{item}"
            );
        }
        for cut in [&b"\"k"[..], b"\"k\":\"v"] {
            assert_eq!(texts_of(cut), None);
        }
    }

    #[test]
    fn a_node_whose_uid_is_not_known_is_stale() {
        let node = NodeRef { uid: b"", ..NODE };
        let list = std::format!("[{}]", reference("Node", "gw1", ""));
        assert_eq!(scanned(&list, node, 5).node, OwnerState::Stale);
    }

    #[test]
    fn long_names_are_told_apart_by_all_of_their_text() {
        let (long, other) = ("n".repeat(253), "n".repeat(252) + "m");
        let node = NodeRef {
            name: &long,
            uid: b"u-1",
        };
        let list = std::format!("[{}]", reference("Node", &long, "u-1"));
        assert_eq!(scanned(&list, node, 9).node, OwnerState::Current);
        let list = std::format!("[{}]", reference("Node", &other, "u-2"));
        assert_eq!(scanned(&list, node, 9).node, OwnerState::Absent);
    }

    #[test]
    fn the_objects_of_an_array_come_one_by_one() {
        let split = |text: &'static str| -> Vec<&str> {
            List::after(b'[', text.as_bytes())
                .map(|item| core::str::from_utf8(item).unwrap())
                .collect()
        };
        assert_eq!(
            split(r#""k":[{"a":"}]\"\\"},{"b":[{}]}]"#),
            [r#"{"a":"}]\"\\"}"#, r#"{"b":[{}]}"#]
        );
        assert!(split(r#""k":[]"#).is_empty());
        assert!(split(r#""k":null"#).is_empty());
        assert!(split(r#""k":[{"cut":"#).is_empty());
    }
}
