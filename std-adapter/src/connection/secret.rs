//! Texts that show themselves to nobody, and where they come from.

use core::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::error::ConnectionError;

/// What no `Debug` shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret<T>(pub(crate) T);

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(feature = "kubeconfig")]
impl<'de, T: serde::Deserialize<'de>> serde::Deserialize<'de> for Secret<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// One credential: given, or in a file that may be written anew.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The setting that it comes from, for errors.
    field: String,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Given(Secret<Vec<u8>>),
    File(PathBuf),
}

impl Item {
    pub(crate) fn given(field: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            field: field.into(),
            source: Source::Given(Secret(bytes.into())),
        }
    }

    pub(crate) fn file(field: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            field: field.into(),
            source: Source::File(path.into()),
        }
    }

    /// The setting, and the file where there is one.
    pub(crate) fn place(&self) -> String {
        match &self.source {
            Source::Given(_) => self.field.clone(),
            Source::File(path) => format!("{}: {}", self.field, path.display()),
        }
    }

    /// What is there now, which is never blank.
    pub(crate) fn read(&self) -> Result<Secret<Vec<u8>>, ConnectionError> {
        let bytes = match &self.source {
            Source::Given(secret) => secret.clone(),
            Source::File(path) => Secret(fs::read(path).map_err(|error| {
                let found = if error.kind() == ErrorKind::NotFound {
                    "none".to_owned()
                } else {
                    error.to_string()
                };
                self.unlike("a readable file", found)
            })?),
        };
        if bytes.0.iter().all(u8::is_ascii_whitespace) {
            return Err(self.unlike("a value", "nothing"));
        }
        Ok(bytes)
    }

    /// The error that something else than `expected` is there.
    pub(crate) fn unlike(
        &self,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> ConnectionError {
        ConnectionError::new(self.place(), expected, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_shows_itself_to_nobody() {
        let item = Item::given("bearer_token", "s3cret");
        assert!(!format!("{item:?}").contains("s3cret"), "{item:?}");
        assert_eq!(item.read().unwrap().0, b"s3cret");
    }

    #[test]
    fn a_missing_and_a_blank_file_are_named() {
        let item = Item::file("ca_file", "no/such/file");
        assert_eq!(
            item.read().unwrap_err().to_string(),
            "ca_file: no/such/file: expected a readable file, found none"
        );
        let blank = Item::given("ca_pem", " \n");
        assert_eq!(
            blank.read().unwrap_err().to_string(),
            "ca_pem: expected a value, found nothing"
        );
    }
}
