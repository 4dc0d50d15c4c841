//! Faults put into copies of the shipped elector, each of which the tests have to find.
//!
//! A fault is a patch of one place of the source. The program `mutants` copies the workspace, puts
//! one fault in, builds, and runs the judges: the small worlds of the [`model`](crate::model), the
//! [`simulation`](crate::sim), and the tests of the contract; random [`lives`](crate::heart::life)
//! and [`worlds`](crate::heart::sim) for a fault of the heartbeat. The source has no switches for
//! this.

mod hearts;
mod judge;
mod table;
mod workshop;

pub use hearts::HEARTS;
pub use judge::{Verdict, judge, judge_hearts};
pub use table::MUTANTS;
pub use workshop::{Trial, Workshop};

/// A fault.
#[expect(clippy::exhaustive_structs, reason = "plain data of a test")]
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// In a few words.
    pub name: &'static str,
    /// What it breaks: a rule of election or a law of the machine.
    pub breaks: &'static str,
    /// Below `core/src`.
    pub file: &'static str,
    /// Text that is there exactly once.
    pub find: &'static str,
    /// What stands there instead.
    pub replace: &'static str,
}

/// The faults of electors and of hearts.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    MUTANTS.iter().chain(&HEARTS)
}

impl Mutant {
    /// Whether hearts have to find it.
    #[must_use]
    pub fn is_of_hearts(&self) -> bool {
        self.name.starts_with("heart: ")
    }

    /// `source` with the fault in it.
    ///
    /// # Errors
    /// Where the text is not there, or not only once: the table is out of date.
    pub fn put_into(&self, source: &str) -> Result<String, String> {
        match source.matches(self.find).count() {
            1 => Ok(source.replacen(self.find, self.replace, 1)),
            count => Err(format!(
                "{}: expected the text once in {}, found it {count} times",
                self.name, self.file
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_mutant_fits_the_source_and_changes_it() {
        let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
        for mutant in all() {
            let source = std::fs::read_to_string(core.join(mutant.file)).unwrap();
            let changed = mutant.put_into(&source).unwrap();
            assert_ne!(changed, source, "{}", mutant.name);
        }
    }

    #[test]
    fn a_text_that_is_not_there_or_there_twice_is_an_error() {
        let mutant = Mutant {
            name: "m",
            breaks: "",
            file: "f.rs",
            find: "a",
            replace: "b",
        };
        let error = "m: expected the text once in f.rs, found it";
        assert_eq!(mutant.put_into("c"), Err(format!("{error} 0 times")));
        assert_eq!(mutant.put_into("aa"), Err(format!("{error} 2 times")));
        assert_eq!(mutant.put_into("ca"), Ok("cb".into()));
    }

    #[test]
    fn no_two_mutants_have_one_name() {
        let names: BTreeSet<_> = all().map(|mutant| mutant.name).collect();
        assert_eq!(names.len(), MUTANTS.len() + HEARTS.len());
        assert!(HEARTS.iter().all(Mutant::is_of_hearts));
        assert!(!MUTANTS.iter().any(Mutant::is_of_hearts));
    }
}
