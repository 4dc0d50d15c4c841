//! [`Log`]: one line per event in fixed columns, kept only where somebody will read it.

use core::fmt;

/// The log of one world.
#[derive(Clone, Debug, Default)]
pub struct Log {
    lines: Option<Vec<String>>,
}

impl Log {
    /// A log that keeps its lines, or none.
    #[must_use]
    pub fn new(keep: bool) -> Self {
        Self {
            lines: keep.then(Vec::new),
        }
    }

    /// Whether lines are kept.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.lines.is_some()
    }

    /// Adds a line: true time in microseconds, who, that one's own clock, what.
    pub fn line(&mut self, at_us: u64, who: &str, local_ms: Option<u64>, what: fmt::Arguments<'_>) {
        if let Some(lines) = &mut self.lines {
            let local = local_ms.map_or_else(String::new, |ms| ms.to_string());
            lines.push(format!("{at_us:>11}  {who:<8}  {local:>13}  {what}"));
        }
    }

    /// The lines, under a line that names the columns.
    #[must_use]
    pub fn text(&self) -> String {
        let head = format!("{:>11}  {:<8}  {:>13}  what", "true_us", "who", "clock_ms");
        let lines = self.lines.iter().flatten().map(String::as_str);
        core::iter::once(head.as_str())
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n")
    }
}
