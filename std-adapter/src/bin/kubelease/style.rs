//! Emphasis, on terminals alone.

use std::env;
use std::io::{self, IsTerminal};

use clap::builder::styling::Style;

/// `text` in bold where standard output is a terminal, and `NO_COLOR` is not set.
pub(crate) fn strong(text: &str) -> String {
    let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    emphasised(text, io::stdout().is_terminal() && !is_refused)
}

fn emphasised(text: &str, is_wanted: bool) -> String {
    if !is_wanted {
        return text.to_owned();
    }
    let bold = Style::new().bold();
    format!("{bold}{text}{bold:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_plain_text_and_a_terminal_bold() {
        assert_eq!(emphasised("x", false), "x");
        assert_eq!(emphasised("x", true), "\u{1b}[1mx\u{1b}[0m");
    }
}
