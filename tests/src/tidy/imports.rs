//! Which module of the core may import which: the layers, downward only.

use super::Source;

/// The ground floor, which imports nothing above.
const GROUND: &[&str] = &[
    "division",
    "dns",
    "identity",
    "prng",
    "text",
    "time",
    "timestamp",
];

/// A row may import the ground floor and what it names, and nothing else.
const TABLE: &[(&str, &[&str])] = &[
    ("division", &[]),
    ("dns", &[]),
    ("identity", &[]),
    ("prng", &[]),
    ("text", &[]),
    ("time", &[]),
    ("timestamp", &[]),
    ("lease", &[]),
    ("protocol", &["lease"]),
    ("machine", &["lease", "protocol"]),
    ("backoff", &["protocol"]),
    ("contact", &["protocol"]),
    ("inflight", &["protocol"]),
    ("monotonic", &[]),
    ("fix", &[]),
    ("renewal_clock", &["fix"]),
    ("elector", &MACHINE),
    ("heartbeat", &MACHINE),
    ("candidate", &MACHINE),
    ("wire", &["lease", "protocol"]),
    ("http1", &["lease", "protocol", "wire"]),
    ("session", &SESSION),
    ("drive", &DRIVE),
    ("embassy", &["drive", "protocol", "session"]),
];

/// What a machine rests on: never another machine, never the wire format.
const MACHINE: [&str; 9] = [
    "backoff",
    "contact",
    "fix",
    "inflight",
    "lease",
    "machine",
    "monotonic",
    "protocol",
    "renewal_clock",
];

/// A session joins machines and wire format.
const SESSION: [&str; 7] = [
    "candidate",
    "elector",
    "heartbeat",
    "lease",
    "machine",
    "protocol",
    "wire",
];

/// The loop drives a session.
const DRIVE: [&str; 6] = ["http1", "lease", "machine", "protocol", "session", "wire"];

/// Imports of the core that go upward or sideways, and modules without a row.
#[must_use]
pub fn check(source: &Source) -> Vec<String> {
    let Some(path) = source.path.strip_prefix("core/src/") else {
        return Vec::new();
    };
    let module = path.split(['/', '.']).next().unwrap_or_default();
    if module == "lib" || !source.is_rust() {
        return Vec::new();
    }
    let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == module) else {
        return vec![source.complain(1, format!("`{module}` has no row in the import table"))];
    };
    let mut complaints = Vec::new();
    for (line, imported) in imports(source) {
        let known = TABLE.iter().any(|(name, _)| *name == imported);
        let fine = imported == module || allowed.contains(&imported.as_str());
        let ground = GROUND.contains(&imported.as_str());
        if known && !fine && !ground {
            let what = format!("`{module}` may not import `{imported}`");
            complaints.push(source.complain(line, what));
        }
    }
    complaints
}

/// The modules of the crate that the code names, with the lines.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_group = false;
    for (number, line) in source.code_lines() {
        let code = line.split("//").next().unwrap_or_default();
        if in_group {
            found.extend(first_words(code).map(|word| (number, word)));
            in_group = !code.contains("};");
        }
        for (at, marker) in code.match_indices("crate::") {
            let rest = code.get(at + marker.len()..).unwrap_or_default();
            if let Some(group) = rest.strip_prefix('{') {
                found.extend(first_words(group).map(|word| (number, word)));
                in_group = !group.contains('}');
            } else {
                found.extend(first_words(rest).take(1).map(|word| (number, word)));
            }
        }
    }
    found
}

/// The first words of a list of paths.
fn first_words(paths: &str) -> impl Iterator<Item = String> {
    paths.split([',', '}']).map(|path| {
        let path = path.trim_start();
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
        path.get(..end.unwrap_or(path.len()))
            .unwrap_or_default()
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        check(&Source::sample(path, text))
    }

    #[test]
    fn imports_downward_are_fine() {
        let text = "use crate::lease::Fence;\nuse crate::time::Now;\n";
        assert!(complaints("core/src/elector/decide.rs", text).is_empty());
        assert!(complaints("core/src/prng.rs", "use crate::time::Duration;\n").is_empty());
    }

    #[test]
    fn a_machine_that_imports_the_wire_format_is_found() {
        let found = complaints("core/src/elector/answers.rs", "\nuse crate::wire::Path;\n");
        let what = "core/src/elector/answers.rs:2: `elector` may not import `wire`";
        assert_eq!(found, [what]);
    }

    #[test]
    fn a_machine_that_imports_a_machine_is_found() {
        let found = complaints("core/src/heartbeat.rs", "use crate::elector::Timing;\n");
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_wire_format_that_imports_a_machine_is_found_in_any_form() {
        let forms = [
            "use crate::elector::Elector;\n",
            "use crate::{elector::Elector, lease};\n",
            "use crate::{\n    lease,\n    elector::Elector,\n};\n",
            "fn f(x: crate::elector::Elector) {}\n",
        ];
        for form in forms {
            assert_eq!(
                complaints("core/src/wire/lease.rs", form).len(),
                1,
                "{form}"
            );
        }
    }

    #[test]
    fn the_ground_floor_imports_nothing_above() {
        assert_eq!(
            complaints("core/src/time.rs", "use crate::protocol::Event;\n").len(),
            1
        );
        assert_eq!(
            complaints("core/src/lease.rs", "use crate::protocol::Event;\n").len(),
            1
        );
    }

    #[test]
    fn a_module_without_a_row_is_found() {
        let found = complaints("core/src/extra.rs", "");
        assert_eq!(
            found,
            ["core/src/extra.rs:1: `extra` has no row in the import table"]
        );
    }

    #[test]
    fn comments_and_tests_may_name_anything() {
        let text =
            "//! [`crate::session`]\n#[cfg(test)]\nmod tests {\n    use crate::session::S;\n}\n";
        assert!(complaints("core/src/lease.rs", text).is_empty());
    }
}
