//! Any text as a time, any times and lengths in sums: against jiff and 128-bit numbers.

use kubelease_core::Timestamp;

use crate::choices::Bytes;

/// Names of days in headers.
const DAYS: &[&str] = &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Reads, writes, adds and subtracts.
pub fn timestamp(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    match bytes.byte() % 3 {
        0 => texts(bytes.rest()),
        1 => http_dates(bytes.rest()),
        _ => sums(bytes),
    }
}

fn texts(text: &[u8]) {
    let ours = Timestamp::parse_bytes(text);
    let Ok(text) = core::str::from_utf8(text) else {
        assert!(ours.is_err(), "no time is other than ASCII");
        return;
    };
    assert_eq!(Timestamp::parse(text), ours);
    assert_eq!(text.parse(), ours);
    match ours {
        Ok(time) => {
            round_trip(time);
            // Only jiff reads more than that, and it cuts the second 60 in another way.
            if let Ok(theirs) = text.parse::<jiff::Timestamp>()
                && text.get(17..19) != Some("60")
            {
                assert_eq!(time.as_unix_micros(), micros_of(theirs), "{text}");
            }
        }
        Err(error) => {
            assert!(error.to_string().starts_with("expected"), "{error}");
            assert!(!is_canonical(text), "{text}: {error}");
        }
    }
}

/// A time of jiff in whole microseconds, rounded down.
fn micros_of(time: jiff::Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond().div_euclid(1_000)).expect("jiff's years have few digits")
}

/// Whether the text is one that Kubernetes writes.
fn is_canonical(text: &str) -> bool {
    let shape = text
        .bytes()
        .map(|b| if b.is_ascii_digit() { b'0' } else { b });
    let is_shaped = shape.eq(*b"0000-00-00T00:00:00.000000Z");
    let date = text
        .get(..10)
        .and_then(|date| date.parse::<jiff::civil::Date>().ok());
    let below = |from: usize, limit: u8| {
        let part = text.get(from..from + 2).unwrap_or_default();
        part.parse().is_ok_and(|part: u8| part < limit)
    };
    is_shaped
        && date.is_some_and(|date| date.year() >= 1)
        && below(11, 24)
        && below(14, 60)
        && below(17, 60)
}

fn round_trip(time: Timestamp) {
    let text = time.to_text();
    assert_eq!(Timestamp::parse_bytes(text.as_bytes()), Ok(time), "{text}");
    assert!(is_canonical(text.as_str()), "{text}");
    let (seconds, micros) = time.as_unix();
    assert_eq!(Timestamp::from_unix(seconds, micros), Some(time));
    assert_eq!(
        Timestamp::from_unix_micros(time.as_unix_micros()),
        Some(time)
    );
    let theirs = jiff::Timestamp::from_microsecond(time.as_unix_micros());
    // Jiff leaves room for offsets in its last year.
    if let Ok(theirs) = theirs {
        assert_eq!(
            theirs.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
            text.as_str()
        );
    }
}

fn http_dates(text: &[u8]) {
    let Some(time) = Timestamp::parse_http_date(text) else {
        return;
    };
    round_trip(time);
    let text = core::str::from_utf8(text).expect("a date is ASCII");
    let Ok(theirs) = jiff::Timestamp::from_microsecond(time.as_unix_micros()) else {
        return;
    };
    // The name of the day need not fit, and the second 60 is the end of the second 59.
    assert!(DAYS.iter().any(|day| text.starts_with(day)), "{text}");
    let written = theirs.strftime(", %d %b %Y %H:%M:%S GMT").to_string();
    let leap = text.replace(":60 GMT", ":59 GMT");
    assert_eq!(leap.get(3..), Some(written.as_str()), "{text}");
}

fn sums(mut bytes: Bytes<'_>) {
    let (seconds, micros) = (bytes.number().cast_signed(), bytes.number() as u32);
    // Numbers of 64 bits are mostly no times: shifted, they are of every size.
    let shift = u32::from(bytes.byte()) % 64;
    let (seconds, length) = (seconds >> shift, bytes.number() >> (bytes.byte() % 64));
    let one = Timestamp::from_unix(seconds, micros % 1_100_000);
    let total = i128::from(seconds) * 1_000_000 + i128::from(micros % 1_100_000);
    assert_eq!(
        one,
        instant(total).filter(|_| micros % 1_100_000 < 1_000_000)
    );
    assert_eq!(
        Timestamp::from_unix_micros(seconds),
        instant(i128::from(seconds))
    );
    let Some(time) = one else { return };
    round_trip(time);
    let length_us = i128::from(length);
    assert_eq!(time.checked_add_micros(length), instant(total + length_us));
    assert_eq!(
        time.checked_add_millis(length),
        instant(total + length_us * 1_000)
    );
    let earlier = instant(total - length_us * 1_000);
    assert_eq!(time.checked_sub_millis(length), earlier);
    if let Some(earlier) = earlier {
        assert_eq!(time.millis_since(earlier), Some(length));
        assert_eq!(time > earlier, length > 0);
    }
    for other in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
        let between = total - i128::from(other.as_unix_micros());
        let millis = u64::try_from(between.div_euclid(1_000)).ok();
        assert_eq!(time.millis_since(other), millis);
        assert_eq!(time.cmp(&other), between.cmp(&0));
    }
}

/// The instant so many microseconds after the epoch, by the bounds alone.
fn instant(micros: i128) -> Option<Timestamp> {
    let (min, max) = (
        Timestamp::MIN.as_unix_micros(),
        Timestamp::MAX.as_unix_micros(),
    );
    let micros = i64::try_from(micros)
        .ok()
        .filter(|it| (min..=max).contains(it))?;
    let time = Timestamp::from_unix_micros(micros).expect("an instant within the bounds");
    assert_eq!(time.as_unix_micros(), micros);
    Some(time)
}
