//! Leases in.

use kubelease_core::lease::LeaseRecord;
use kubelease_core::prng::Prng;
use kubelease_core::protocol::{BadAnswer, Reply};
use kubelease_core::wire::{Answer, BODY_MAX, Reading};

use crate::bodies;
use crate::oracle;

/// What an answer with this status and body says, when it comes in pieces of `split` bytes.
pub(crate) fn decode(status: u16, body: &[u8], split: usize) -> Result<LeaseRecord, BadAnswer> {
    let mut answer = Answer::new();
    answer.begin(status, None);
    for piece in body.chunks(split) {
        answer.body(piece, None);
    }
    match answer.end(None).reply {
        Reply::Lease(record) => Ok(record.clone()),
        Reply::BadAnswer(bad) => Err(bad),
        other => panic!("{other:?}"),
    }
}

fn decode_whole(body: impl AsRef<[u8]>) -> Result<LeaseRecord, BadAnswer> {
    decode(200, body.as_ref(), usize::MAX)
}

/// Asserts that the reader and serde_json agree on `body`.
fn assert_agreement(body: &[u8]) {
    let ours = decode_whole(body);
    let theirs = oracle::record(body);
    let text = String::from_utf8_lossy(body);
    // Byte by byte no shorter way through the reader can be taken.
    assert_eq!(decode(200, body, 1), ours, "{text}");
    assert_eq!(ours.as_ref().ok(), theirs.as_ref(), "{ours:?} for {text}");
    let was_read_to_its_end = matches!(
        ours,
        Ok(_) | Err(BadAnswer::NotALease | BadAnswer::NoVersion)
    );
    assert!(
        !was_read_to_its_end || oracle::is_json(body),
        "accepted, and is no JSON: {text}"
    );
}

#[test]
fn recorded_leases_have_the_values_that_serde_json_reads() {
    for body in bodies::LEASES {
        assert!(
            decode_whole(body).is_ok(),
            "{:?} for {body}",
            decode_whole(body)
        );
        assert_agreement(body.as_bytes());
    }
}

#[test]
fn any_split_gives_the_same_record() {
    for body in bodies::LEASES {
        for split in [1, 2, 3, 7, 64] {
            assert_eq!(
                decode(200, body.as_bytes(), split),
                decode_whole(body),
                "{split}: {body}"
            );
        }
    }
}

#[test]
fn every_proper_prefix_is_truncated() {
    for body in bodies::LEASES {
        let body = body.trim();
        for end in 1..body.len() {
            let prefix = &body.as_bytes()[..end];
            assert_eq!(
                decode_whole(prefix),
                Err(BadAnswer::Truncated),
                "{end} of {body}"
            );
        }
    }
    assert_eq!(decode_whole(""), Err(BadAnswer::Empty));
    assert_eq!(decode_whole(" \r\n"), Err(BadAnswer::Empty));
}

#[test]
fn every_flipped_bit_is_judged_as_serde_json_judges_it() {
    for body in bodies::LEASES {
        let mut bytes = body.as_bytes().to_vec();
        for place in 0..bytes.len() {
            for bit in 0..8 {
                bytes[place] ^= 1 << bit;
                assert_agreement(&bytes);
                bytes[place] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn thousands_of_mutations_are_judged_as_serde_json_judges_them() {
    let mut random = Prng::new(1);
    for _ in 0..10_000 {
        assert_agreement(&mutated(&mut random));
    }
}

/// All there is of grammar in five tokens, where the sink hears and where it does not.
#[test]
fn every_short_sequence_of_tokens_is_judged_as_serde_json_judges_it() {
    const TOKENS: [&str; 9] = ["{", "}", "[", "]", ",", ":", "\"a\":", "\"a\"", "1"];
    let places = [
        (r#"{"metadata":{"resourceVersion":"1"},"x":["#, "]}"),
        (r#"{"metadata":{"resourceVersion":"1""#, "}}"),
        (r#"{"metadata":{"resourceVersion":"1"},"spec":"#, "}"),
    ];
    let (mut good, mut bad) = (0, 0);
    for (before, after) in places {
        for number in 0..9_usize.pow(5) {
            let mut body = before.to_owned();
            let mut rest = number;
            for _ in 0..5 {
                body += TOKENS[rest % 9];
                rest /= 9;
            }
            body += after;
            let is_good = decode_whole(&body).is_ok();
            assert_eq!(is_good, oracle::record(body.as_bytes()).is_some(), "{body}");
            assert_eq!(is_good, decode(200, body.as_bytes(), 1).is_ok(), "{body}");
            if is_good { good += 1 } else { bad += 1 }
        }
    }
    assert!(good > 50 && bad > 100_000, "{good} {bad}");
}

/// One of the recorded Leases with one to three changes.
pub(crate) fn mutated(random: &mut Prng) -> Vec<u8> {
    const MARKS: &[u8] = br#"{}[]",:\u0d8-.eE19ntf "#;
    let mut below = |bound: usize| (random.next_u32() as usize) % bound.max(1);
    let mut bytes = bodies::LEASES[below(bodies::LEASES.len())]
        .as_bytes()
        .to_vec();
    for _ in 0..=below(3) {
        let place = below(bytes.len());
        match below(5) {
            0 => bytes[place] = below(256) as u8,
            1 => bytes[place] = MARKS[below(MARKS.len())],
            2 => drop(bytes.remove(place)),
            3 => bytes.insert(place, MARKS[below(MARKS.len())]),
            _ => {
                let length = below(bytes.len() - place).min(40);
                let piece = bytes[place..place + length].to_vec();
                let to = below(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

const NO_LEASES: &[(&str, BadAnswer)] = &[
    ("<html></html>", BadAnswer::NotJson),
    ("upstream connect error", BadAnswer::NotJson),
    ("[]", BadAnswer::NotJson),
    ("null", BadAnswer::NotJson),
    ("\u{feff}{}", BadAnswer::NotJson),
    ("{}", BadAnswer::NotALease),
    (r#"{"a":1}"#, BadAnswer::NotALease),
    (r#"{"kind":"Status","metadata":{}}"#, BadAnswer::NotALease),
    (
        r#"{"kind":"LeaseList","metadata":{"resourceVersion":"1"},"items":[]}"#,
        BadAnswer::NotALease,
    ),
    (r#"{"kind":"Lease"}"#, BadAnswer::NoVersion),
    (r#"{"metadata":{}}"#, BadAnswer::NoVersion),
    (
        r#"{"metadata":{"resourceVersion":""}}"#,
        BadAnswer::NoVersion,
    ),
    (
        r#"{"metadata":{"resourceVersion":null}}"#,
        BadAnswer::NoVersion,
    ),
    (
        r#"{"metadata":{"resourceVersion":"123456789012345678901234567890123"}}"#,
        BadAnswer::VersionTooLong,
    ),
    (
        r#"{"metadata":{"uid":"12345678901234567890123456789012345678901"}}"#,
        BadAnswer::VersionTooLong,
    ),
    (
        r#"{"metadata":{"uid":"1234567890123456789012345678901234567890\u00fc"}}"#,
        BadAnswer::VersionTooLong,
    ),
    (
        r#"{"metadata":{"resourceVersion":1}}"#,
        BadAnswer::Malformed,
    ),
    (r#"{"metadata":[]}"#, BadAnswer::Malformed),
    (r#"{"metadata":"m"}"#, BadAnswer::Malformed),
    (r#"{"kind":false}"#, BadAnswer::Malformed),
    (r#"{"metadata":{"labels":[]}}"#, BadAnswer::Malformed),
    (
        r#"{"spec":{"leaseDurationSeconds":"15"}}"#,
        BadAnswer::Malformed,
    ),
    (
        r#"{"spec":{"leaseDurationSeconds":15.0}}"#,
        BadAnswer::Malformed,
    ),
    (
        r#"{"spec":{"leaseDurationSeconds":15e0}}"#,
        BadAnswer::Malformed,
    ),
    (
        r#"{"spec":{"leaseDurationSeconds":2147483648}}"#,
        BadAnswer::Malformed,
    ),
    (
        r#"{"spec":{"leaseDurationSeconds":true}}"#,
        BadAnswer::Malformed,
    ),
    (r#"{"spec":{"renewTime":5}}"#, BadAnswer::Malformed),
    (r#"{"spec":{},"spec":{}}"#, BadAnswer::Malformed),
    (
        r#"{"kind":"Lease","\u006bind":"Lease"}"#,
        BadAnswer::Malformed,
    ),
    (
        r#"{"metadata":{"resourceVersion":"1","resourceVersion":"1"}}"#,
        BadAnswer::Malformed,
    ),
    (r#"{"a":01}"#, BadAnswer::Malformed),
    (r#"{"a":1 2}"#, BadAnswer::Malformed),
    (r#"{"a":tru}"#, BadAnswer::Malformed),
    (r#"{"a":"\ud83d"}"#, BadAnswer::Malformed),
    (r#"{"a":"\ude00"}"#, BadAnswer::Malformed),
    (r#"{"a":"\ud83d\u0041"}"#, BadAnswer::Malformed),
    ("{\"a\":\"\u{1}\"}", BadAnswer::Malformed),
    ("{\"a\":\"\n\"}", BadAnswer::Malformed),
    (r#"{"a":1}}"#, BadAnswer::Malformed),
    (r#"{"a":1}{"#, BadAnswer::Malformed),
    (r#"{"a":1,}"#, BadAnswer::Malformed),
    (r#"{"a":[1,]}"#, BadAnswer::Malformed),
    (r#"{"a":[1}"#, BadAnswer::Malformed),
];

#[test]
fn err_bodies_that_are_no_lease() {
    for (body, expected) in NO_LEASES {
        for split in [1, usize::MAX] {
            assert_eq!(
                decode(200, body.as_bytes(), split),
                Err(*expected),
                "{body}"
            );
        }
    }
}

#[test]
fn err_bytes_that_are_no_utf8() {
    let bad: [&[u8]; 9] = [
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf0\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xff",
        b"\xc3A",
    ];
    for bytes in bad {
        let body = [br#"{"a":""#, bytes, br#""}"#].concat();
        assert_eq!(decode_whole(&body), Err(BadAnswer::Malformed), "{bytes:?}");
    }
}

#[test]
fn nesting_is_read_to_32_levels() {
    let nested = |levels: usize| {
        format!(
            r#"{{"metadata":{{"resourceVersion":"1"}},"a":{}{}}}"#,
            "[".repeat(levels - 1),
            "]".repeat(levels - 1)
        )
    };
    assert!(decode_whole(nested(32)).is_ok());
    assert_eq!(decode_whole(nested(33)), Err(BadAnswer::TooDeep));
    assert_eq!(
        decode_whole("{\"a\":".repeat(100_000)),
        Err(BadAnswer::TooDeep)
    );
}

#[test]
fn unknown_keys_and_values_have_any_length() {
    let long = "k\\u0041é".repeat(100_000);
    let body = format!(r#"{{"{long}":"{long}","metadata":{{"{long}":1,"resourceVersion":"1"}}}}"#);
    assert_eq!(
        decode_whole(body)
            .unwrap()
            .version
            .resource_version
            .as_str(),
        "1"
    );
}

#[test]
fn a_body_past_the_limit_is_not_read_to_its_end() {
    let mut answer = Answer::new();
    answer.begin(200, None);
    assert_eq!(
        answer.body(br#"{"metadata":{"resourceVersion":"1"},"a":""#, None),
        Reading::More
    );
    let piece = [b'x'; 65_536];
    let mut pieces = 0;
    while answer.body(&piece, None) == Reading::More {
        pieces += 1;
    }
    assert_eq!(pieces, BODY_MAX / 65_536 - 1);
    assert_eq!(answer.body(br#""}"#, None), Reading::Enough);
    assert_eq!(answer.end(None).reply, Reply::BadAnswer(BadAnswer::TooLong));
}

#[test]
fn an_answer_can_be_read_after_another() {
    let mut answer = Answer::new();
    for body in bodies::LEASES.iter().chain(bodies::LEASES.iter().rev()) {
        answer.begin(200, None);
        answer.body(b"{\"spec\":{\"holderIdentity\":\"half", None);
        answer.begin(201, None);
        answer.body(body.as_bytes(), None);
        let expected = decode_whole(body).unwrap();
        assert_eq!(answer.end(None).reply, Reply::Lease(&expected));
    }
}

/// What serde-json-core can read: it leaves escapes as they are and knows no pairs.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bare<'b> {
    #[serde(borrow)]
    metadata: BareMetadata<'b>,
    #[serde(borrow)]
    spec: BareSpec<'b>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct BareMetadata<'b> {
    uid: &'b str,
    resource_version: &'b str,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct BareSpec<'b> {
    holder_identity: &'b str,
    lease_duration_seconds: i32,
    renew_time: &'b str,
    lease_transitions: i32,
}

#[test]
fn serde_json_core_reads_the_same_where_there_are_no_escapes() {
    for body in [bodies::BARE, bodies::RICH] {
        let ours = decode_whole(body).unwrap();
        let spec = ours.spec.unwrap();
        let (theirs, _) = serde_json_core::from_str::<Bare<'_>>(body).unwrap();
        assert_eq!(ours.version.uid.as_str(), theirs.metadata.uid);
        assert_eq!(
            ours.version.resource_version.as_str(),
            theirs.metadata.resource_version
        );
        assert_eq!(spec.holder.as_str(), theirs.spec.holder_identity);
        assert_eq!(
            spec.lease_duration_seconds,
            Some(theirs.spec.lease_duration_seconds)
        );
        assert_eq!(spec.lease_transitions, Some(theirs.spec.lease_transitions));
        let renewed = spec.renew_time.timestamp().unwrap();
        assert_eq!(renewed.to_string(), theirs.spec.renew_time);
    }
}
