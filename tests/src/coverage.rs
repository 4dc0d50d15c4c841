//! Which regions of the core's source no test reaches, from an export of `llvm-cov`.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;

use crate::tidy::Source;

/// Where a region is: its file, and line and column of its beginning and end.
type Place = (String, [u64; 4]);

/// The kind of region that holds code; the others are gaps, expansions and branches.
const CODE: u64 = 0;

/// All regions of some files, and how often each was run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    regions: BTreeMap<Place, u64>,
}

impl Coverage {
    /// Reads the regions of the core's own code, without the tests at the bottom of its files.
    ///
    /// A function with type parameters is in the export once for each set of them; a region of it
    /// is reached if one of them reaches it.
    ///
    /// # Errors
    /// Where the export is not of the form that `llvm-cov export` writes.
    pub fn read(export: &str, sources: &[Source]) -> io::Result<Self> {
        let export: Value = serde_json::from_str(export)?;
        let functions = export.pointer("/data/0/functions");
        let functions = functions.and_then(Value::as_array).ok_or_else(malformed)?;
        let mut coverage = Self::default();
        for function in functions {
            let files = function.get("filenames").and_then(Value::as_array);
            let regions = function.get("regions").and_then(Value::as_array);
            let (files, regions) = files.zip(regions).ok_or_else(malformed)?;
            for region in regions {
                coverage
                    .note(region, files, sources)
                    .ok_or_else(malformed)?;
            }
        }
        Ok(coverage)
    }

    /// Notes one region, if it is one of those.
    fn note(&mut self, region: &Value, files: &[Value], sources: &[Source]) -> Option<()> {
        let numbers = region.as_array()?.iter().map(Value::as_u64);
        let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        let [line, column, end_line, end_column, count, file, _, kind] = *numbers.as_slice() else {
            return None;
        };
        let file = files.get(usize::try_from(file).ok()?)?.as_str()?;
        let source = sources.iter().find(|source| {
            source.is_under(&["core/src/"])
                && !source.is_test_only()
                && file.ends_with(&format!("/{}", source.path))
        });
        let Some(source) = source.filter(|source| line < source.tests_begin() as u64) else {
            return Some(());
        };
        if kind == CODE {
            let place = [line, column, end_line, end_column];
            let total = self
                .regions
                .entry((source.path.clone(), place))
                .or_default();
            *total = total.saturating_add(count);
        }
        Some(())
    }

    /// How many regions there are, and how many of them were run.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let reached = self.regions.values().filter(|count| **count > 0).count();
        (self.regions.len(), reached)
    }

    /// The lines on which a region begins that was never run.
    #[must_use]
    pub fn unreached(&self, sources: &[Source]) -> Vec<Unreached> {
        let mut lines: Vec<Unreached> = Vec::new();
        for ((file, [line, ..]), _) in self.regions.iter().filter(|(_, count)| **count == 0) {
            let source = sources.iter().find(|source| source.path == *file);
            let number = usize::try_from(*line).unwrap_or(usize::MAX);
            let text = source.map_or_else(String::new, |source| telling(&source.text, number));
            let place = format!("{file}: {text}");
            let line = Unreached { place, number };
            if lines.last() != Some(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// A line that was not reached in all its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// `file: text of the line`.
    pub place: String,
    /// The line's number, which changes too often to be listed.
    pub number: usize,
}

/// Complaints about lines that are not listed with a reason, and about entries of no use.
///
/// An entry of the list is `file: text of the line — reason`.
#[must_use]
pub fn compare(unreached: &[Unreached], list: &str) -> Vec<String> {
    let entries = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut complaints, mut listed) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.rsplit_once(" — ") {
            Some((place, reason)) if !reason.is_empty() => listed.push(place),
            Some(_) | None => complaints.push(format!("no reason: {entry}")),
        }
    }
    let is_listed = |line: &&Unreached| listed.contains(&line.place.as_str());
    for Unreached { place, number } in unreached.iter().filter(|line| !is_listed(line)) {
        complaints.push(format!("not reached, not listed: {place} ({number})"));
    }
    for entry in listed {
        if unreached.iter().all(|line| line.place != entry) {
            complaints.push(format!("listed, but reached or gone: {entry}"));
        }
    }
    complaints
}

/// The line of that number, behind those above it where it is a brace that says nothing.
fn telling(text: &str, number: usize) -> String {
    let mut told = String::new();
    let above: Vec<&str> = text.lines().take(number).collect();
    for line in above.iter().rev() {
        told = format!("{} {told}", line.trim());
        if told.contains(char::is_alphanumeric) {
            break;
        }
    }
    told.trim().to_owned()
}

fn malformed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "expected an export of llvm-cov, found another",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPORT: &str = r#"{"data": [{"functions": [
        {"filenames": ["/x/core/src/a.rs"], "regions": [[1,1,1,9,3,0,0,0], [2,1,2,9,0,0,0,0]]},
        {"filenames": ["/x/core/src/a.rs"], "regions": [[1,1,1,9,0,0,0,0], [3,1,3,9,0,0,0,3]]},
        {"filenames": ["/x/core/src/a.rs"], "regions": [[5,1,5,9,0,0,0,0]]},
        {"filenames": ["/x/tests/src/a.rs"], "regions": [[1,1,1,9,0,0,0,0]]}
    ]}]}"#;

    fn sources() -> [Source; 1] {
        let text = "fn a() {}\n  fn b() {}\n#[cfg(test)]\nmod tests {\nfn c() {}\n}\n";
        [Source::sample("core/src/a.rs", text)]
    }

    #[test]
    fn only_code_of_the_core_outside_of_tests_counts() {
        let coverage = Coverage::read(EXPORT, &sources()).unwrap();
        assert_eq!(coverage.counts(), (2, 1));
        let line = Unreached {
            place: "core/src/a.rs: fn b() {}".to_owned(),
            number: 2,
        };
        assert_eq!(coverage.unreached(&sources()), [line]);
    }

    #[test]
    fn a_brace_stands_behind_what_is_above_it() {
        assert_eq!(telling("a {\n  b;\n  }\n}\n", 2), "b;");
        assert_eq!(telling("a {\n  b;\n  }\n}\n", 4), "b; } }");
    }

    #[test]
    fn err_what_llvm_cov_does_not_write() {
        for text in [
            "",
            "{}",
            r#"{"data":[{"functions":[{"filenames":[],"regions":[[1]]}]}]}"#,
        ] {
            assert!(Coverage::read(text, &sources()).is_err(), "{text}");
        }
    }

    #[test]
    fn lines_without_a_reason_and_idle_entries_are_complaints() {
        let unreached = ["a.rs: x", "a.rs: y"].map(|place| Unreached {
            place: place.to_owned(),
            number: 7,
        });
        assert!(compare(&unreached, "# list\n\na.rs: x — b\na.rs: y — c — d\n").len() == 2);
        assert!(compare(&unreached, "a.rs: x — b\na.rs: y — c\n").is_empty());
        assert_eq!(
            compare(&unreached, "a.rs: x — b\na.rs: z — c\na.rs: y\n"),
            [
                "no reason: a.rs: y",
                "not reached, not listed: a.rs: y (7)",
                "listed, but reached or gone: a.rs: z",
            ]
        );
    }
}
