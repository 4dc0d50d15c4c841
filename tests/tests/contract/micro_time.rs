//! `micro_time_test.go`, as far as a record's times are concerned. The zero time and `null` are
//! the wire format's.

use kubelease_core::Timestamp;

#[test]
fn mt_02_a_time_of_whole_seconds_has_six_zeros() {
    let time = Timestamp::from_unix(894_344_705, 0).unwrap();
    assert_eq!(time.to_text().as_str(), "1998-05-05T05:05:05.000000Z");
}

#[test]
fn mt_03_other_zones_are_read_and_utc_is_written() {
    let time = Timestamp::parse("1998-05-05T01:05:05-04:00").unwrap();
    assert_eq!(time.to_text().as_str(), "1998-05-05T05:05:05.000000Z");
}

#[test]
fn mt_05_the_canonical_text_is_that_instant() {
    let time = Timestamp::parse("1998-05-05T05:05:05.000000Z").unwrap();
    assert_eq!(time.as_unix(), (894_344_705, 0));
}

#[test]
fn mt_06_nanoseconds_are_cut_off() {
    let time = Timestamp::parse("1998-05-05T05:05:05.000005050Z").unwrap();
    assert_eq!(time.to_text().as_str(), "1998-05-05T05:05:05.000005Z");
}

#[test]
fn mt_07_a_text_and_back_keeps_microseconds() {
    let time = Timestamp::from_unix(123, 123_123).unwrap();
    assert_eq!(Timestamp::parse(time.to_text().as_str()), Ok(time));
}

#[test]
fn mt_09_an_instant_is_not_before_itself() {
    let (early, late) = (Timestamp::from_unix(1, 0), Timestamp::from_unix(1, 1));
    assert!(early < late);
    assert_eq!(early.cmp(&early), core::cmp::Ordering::Equal);
}

#[test]
fn mt_11_what_is_no_time_is_an_error() {
    assert!(Timestamp::parse("hello").is_err());
    assert!(Timestamp::parse("").is_err());
}
