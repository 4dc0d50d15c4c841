//! The time in an HTTP `Date` header.

use super::Timestamp;

/// Where each byte of the same time by RFC 3339 comes from; 0 where it is the same in all. The
/// month is the only name among them.
const SOURCES: [u8; 20] = [
    12, 13, 14, 15, 0, 0, 0, 0, 5, 6, 0, 17, 18, 19, 20, 21, 22, 23, 24, 0,
];

/// Reads an IMF-fixdate; [`Timestamp::parse_http_date`] has the rules.
pub(super) fn parse(text: &[u8]) -> Option<Timestamp> {
    let (name, rest) = text.split_first_chunk::<3>()?;
    index_of(name, b"MonTueWedThuFriSatSun")?;
    let form = b", ?? ??? ???? ???????? GMT";
    let fits = |(byte, form): (&u8, &u8)| *form == b'?' || byte == form;
    if rest.len() != form.len() || !rest.iter().zip(form).all(fits) {
        return None;
    }
    let (_, name) = text.split_first_chunk::<8>()?;
    let month = index_of(name.first_chunk()?, b"JanFebMarAprMayJunJulAugSepOctNovDec")?;
    let mut rfc3339 = *b"0000-00-00T00:00:00Z";
    for (place, source) in rfc3339.iter_mut().zip(SOURCES) {
        if source != 0 {
            *place = *text.get(usize::from(source))?;
        }
    }
    let [_, _, _, _, _, tens, ones, ..] = &mut rfc3339;
    *tens |= month / 10;
    *ones |= month % 10;
    Timestamp::read(&rfc3339)
}

/// The place of `name` among `names` of three letters, from 1.
fn index_of(name: &[u8; 3], names: &[u8]) -> Option<u8> {
    let (names, _) = names.as_chunks::<3>();
    let before = names.iter().position(|other| other == name)?;
    u8::try_from(before.wrapping_add(1)).ok()
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use jiff::fmt::rfc2822::DateTimePrinter;

    use super::*;

    fn read(text: &[u8]) -> Option<std::string::String> {
        Timestamp::parse_http_date(text).map(|timestamp| timestamp.to_string())
    }

    #[test]
    fn ok_dates_are_read() {
        let table: [(&[u8], &str); 6] = [
            (
                b"Sun, 06 Nov 1994 08:49:37 GMT",
                "1994-11-06T08:49:37.000000Z",
            ),
            (
                b"Thu, 01 Jan 1970 00:00:00 GMT",
                "1970-01-01T00:00:00.000000Z",
            ),
            (
                b"Tue, 29 Feb 2000 23:59:59 GMT",
                "2000-02-29T23:59:59.000000Z",
            ),
            (
                b"Fri, 31 Dec 9999 23:59:59 GMT",
                "9999-12-31T23:59:59.000000Z",
            ),
            // A leap second, and a name that is another day's: it tells nothing we need.
            (
                b"Sat, 31 Dec 2016 23:59:60 GMT",
                "2016-12-31T23:59:59.999999Z",
            ),
            (
                b"Mon, 06 Nov 1994 08:49:37 GMT",
                "1994-11-06T08:49:37.000000Z",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(read(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn err_dates_are_none() {
        let table: [&[u8]; 19] = [
            b"",
            b"x",
            b"Sunday, 06-Nov-94 08:49:37 GMT",
            b"Sun Nov  6 08:49:37 1994",
            b"Sun, 06 Nov 1994 08:49:37 UTC",
            b"Sun, 06 Nov 1994 08:49:37 gmt",
            b"Sun, 06 Nov 1994 08:49:37 +00",
            b" Sun, 06 Nov 1994 08:49:37 GMT",
            b"Sun, 06 Nov 1994 08:49:37 GMT ",
            b"Son, 06 Nov 1994 08:49:37 GMT",
            b"Sun, 06 nov 1994 08:49:37 GMT",
            b"Sun, 06 Nov 0000 08:49:37 GMT",
            b"Sun, 00 Nov 1994 08:49:37 GMT",
            b"Sun, 31 Nov 1994 08:49:37 GMT",
            b"Sun, 29 Feb 1900 08:49:37 GMT",
            b"Sun, 06 Nov 1994 24:49:37 GMT",
            b"Sun, 06 Nov 1994 08:60:37 GMT",
            b"Sun, 06 Nov 1994 08:49:61 GMT",
            b"Sun,  6 Nov 1994 08:49:37 GMT",
        ];
        for text in table {
            assert_eq!(read(text), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn every_change_to_a_separator_and_every_prefix_is_none() {
        let text = *b"Sun, 06 Nov 1994 08:49:37 GMT";
        for at in 0..text.len() {
            assert_eq!(read(&text[..at]), None);
            let mut bent = text;
            bent[at] = b'#';
            assert_eq!(read(&bent), None, "{}", bent.escape_ascii());
        }
    }

    #[test]
    fn dates_that_jiff_prints_are_read_back() {
        let printer = DateTimePrinter::new();
        // Every 9 days and some hours, over the whole range of jiff's own timestamps from year 1.
        for seconds in (-62_135_596_800..253_402_207_200).step_by(9 * 86_400 + 12_345) {
            let oracle = jiff::Timestamp::from_second(seconds).unwrap();
            let text = printer.timestamp_to_rfc9110_string(&oracle).unwrap();
            let timestamp = Timestamp::parse_http_date(text.as_bytes());
            assert_eq!(timestamp, Timestamp::from_unix(seconds, 0), "{text}");
        }
    }
}
