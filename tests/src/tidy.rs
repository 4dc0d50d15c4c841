//! What the compiler does not check about the source: its house style.
//!
//! Each rule takes a [`Source`] and answers complaints, so that each can be shown to complain.

pub mod imports;
pub mod links;
pub mod shape;
pub mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// One file of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path from the project's root, with `/` between the parts.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// Folders that hold nothing written by hand.
const SKIPPED: &[&str] = &["target", ".git", "corpus", "artifacts", "seeds"];

/// Endings of files that are written by hand.
const ENDINGS: &[&str] = &[
    "rs", "toml", "md", "txt", "c", "h", "cc", "cpp", "hpp", "sh", "py", "yml", "yaml", "ld", "S",
];

impl Source {
    /// A sample for a rule's own tests.
    #[must_use]
    pub fn sample(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Whether the file is Rust.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the file is under one of these folders.
    #[must_use]
    pub fn is_under(&self, folders: &[&str]) -> bool {
        folders.iter().any(|folder| self.path.starts_with(folder))
    }

    /// The lines with their numbers, without the tests at the bottom.
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self
            .text
            .lines()
            .zip(1..)
            .map(|(line, number)| (number, line));
        let end = self.tests_begin();
        lines.take_while(move |(number, _)| *number < end)
    }

    /// The number of the line where the file's own tests begin, or one past the last.
    #[must_use]
    pub fn tests_begin(&self) -> usize {
        let next = self.text.lines().skip(1);
        let mut pairs = self.text.lines().zip(next);
        let begin = pairs
            .position(|(line, next)| is_test_only(line) && next.starts_with("mod tests"))
            .unwrap_or_else(|| self.text.lines().count());
        begin + 1
    }

    /// Whether nothing in the file is part of the product.
    #[must_use]
    pub fn is_test_only(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path == "core/src/drive/testing.rs"
    }

    /// A complaint about a line.
    #[must_use]
    pub fn complain(&self, line: usize, what: impl core::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

/// Whether an attribute keeps what follows out of the product.
fn is_test_only(line: &str) -> bool {
    line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,")
}

/// All files of the project that are written by hand.
///
/// # Panics
/// Where a folder can't be read.
#[must_use]
pub fn all_sources() -> Vec<Source> {
    let root = root();
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The project's root.
#[must_use]
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_symlink() {
            // What it leads to is met in its own place.
            continue;
        }
        if path.is_dir() {
            if !SKIPPED.contains(&&*name) {
                collect(root, &path, sources);
            }
            continue;
        }
        let ending = name.rsplit('.').next().unwrap_or_default();
        if !ENDINGS.contains(&ending) {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a text file");
        let path = path.strip_prefix(root).expect("a path below the root");
        let path = path.to_string_lossy().replace('\\', "/");
        sources.push(Source { path, text });
    }
}
