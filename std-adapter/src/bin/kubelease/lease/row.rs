//! What is shown of one Lease.

use core::time::Duration;

use kubelease::kubelease_core::Timestamp;
use kubelease::{Clock, SystemClock};
use serde_json::{Value, json};

use super::seen::Seen;

/// One Lease and what was seen of it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) namespace: String,
    pub(super) name: String,
    /// Empty where nobody holds it.
    pub(super) holder: String,
    lease: Value,
    seen: Option<Seen>,
}

impl Row {
    pub(super) fn new(lease: Value, seen: Option<Seen>) -> Self {
        let text = |pointer| {
            let value = lease.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        Self {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            holder: text("/spec/holderIdentity"),
            lease,
            seen,
        }
    }

    pub(super) fn number(&self, pointer: &str) -> Option<i64> {
        self.lease.pointer(pointer)?.as_i64()
    }

    pub(super) fn text(&self, pointer: &str) -> &str {
        let value = self.lease.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    /// `leaseDurationSeconds`, for people.
    pub(super) fn duration(&self) -> String {
        or_dash(self.number("/spec/leaseDurationSeconds"), |seconds| {
            format!("{seconds}s")
        })
    }

    /// `leaseTransitions`, for people.
    pub(super) fn transitions(&self) -> String {
        or_dash(self.number("/spec/leaseTransitions"), |number| {
            number.to_string()
        })
    }

    /// How long ago a time in the lease is, by this machine's clock; `-` where there is none.
    pub(super) fn ago(&self, pointer: &str) -> String {
        let time = Timestamp::parse(self.text(pointer)).ok();
        let now = SystemClock::new().now().wall;
        let millis = time.zip(now).map(|(time, now)| now.millis_since(time));
        match millis {
            Some(Some(millis)) => short(Duration::from_millis(millis)),
            // The writer's clock is ahead of this one.
            Some(None) => "0s".to_owned(),
            None => "-".to_owned(),
        }
    }

    /// How long ago the record changed as this process saw it.
    pub(super) fn changed(&self) -> String {
        match &self.seen {
            None => "-".to_owned(),
            Some(Seen {
                changed: Some(ago), ..
            }) => format!("{} ago", short(*ago)),
            Some(Seen { looked, .. }) => format!("not in {}", short(*looked)),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let member = |pointer| self.lease.pointer(pointer).cloned().unwrap_or_default();
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        json!({
            "namespace": self.namespace,
            "name": self.name,
            "holderIdentity": member("/spec/holderIdentity"),
            "leaseDurationSeconds": member("/spec/leaseDurationSeconds"),
            "leaseTransitions": member("/spec/leaseTransitions"),
            "acquireTime": member("/spec/acquireTime"),
            "renewTime": member("/spec/renewTime"),
            "creationTimestamp": member("/metadata/creationTimestamp"),
            "resourceVersion": member("/metadata/resourceVersion"),
            "uid": member("/metadata/uid"),
            "observedMs": self.seen.as_ref().map(|seen| millis(seen.looked)),
            "changedMsAgo": self.seen.as_ref().and_then(|seen| seen.changed).map(millis),
        })
    }
}

/// Rows under a header, in columns as wide as they need to be; a dash stands for nothing.
pub(super) fn columns(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|&name| name.to_owned()).collect();
    let all: Vec<&Vec<String>> = core::iter::once(&header).chain(rows).collect();
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    for row in all {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let cell = if cell.is_empty() { "-" } else { cell };
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A length of time with the unit that people would say it in.
pub(super) fn short(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..=9 => format!("{:.1}s", length.as_secs_f64()),
        10..=119 => format!("{seconds}s"),
        120..=7_199 => format!("{}m", seconds / 60),
        7_200..=172_799 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn or_dash(number: Option<i64>, show: impl Fn(i64) -> String) -> String {
    number.map_or_else(|| "-".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["a".to_owned(), "long holder".to_owned()],
            vec!["name".to_owned(), String::new()],
        ];
        let text = columns(&["NAME", "HOLDER"], &rows);
        assert_eq!(text, "NAME  HOLDER\na     long holder\nname  -\n");
    }

    #[test]
    fn lengths_have_the_unit_that_people_say() {
        let cases = [
            (0, "0.0s"),
            (1_250, "1.2s"),
            (119_999, "119s"),
            (120_000, "2m"),
            (7_200_000, "2h"),
            (172_800_000, "2d"),
        ];
        for (millis, text) in cases {
            assert_eq!(short(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn a_lease_without_a_spec_shows_dashes() {
        let row = Row::new(json!({"metadata": {"name": "x", "namespace": "y"}}), None);
        assert_eq!(
            (row.duration(), row.transitions()),
            ("-".into(), "-".into())
        );
        assert_eq!(
            (row.ago("/spec/renewTime"), row.changed()),
            ("-".into(), "-".into())
        );
    }
}
