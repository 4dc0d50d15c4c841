//! Watch mode (rule 14): a candidate holds one watch instead of reading the lease again and again.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may")]

use kubelease_core::elector::Health;
use kubelease_core::protocol::WatchEvent;
use kubelease_tests::prelude::*;

/// B's record, renewed so many milliseconds after the origin.
fn renewed(version: u64, ms: u64) -> Line {
    Changed(held_by("B", version).renewed(ms))
}

#[test]
fn a_candidate_reads_once_and_then_watches() {
    let mut e = Driver::watching(A);
    at!(e, 0 => ["GET"]);
    at!(e, 3, held_by("B", 9) => ["Leader B", "WATCH 9", "wait 7503"]);
}

#[test]
fn without_watch_mode_nobody_watches() {
    let mut e = standby(A);
    at!(e, 2_000 => ["GET"]);
}

#[test]
fn a_release_is_taken_over_at_once_on_condition_of_its_version() {
    let mut e = watching(A);
    at!(e, 2_000, renewed(10, 2_000) => ["wait 9500"]);
    at!(e, 3_000, Changed(released(11)) => ["Leader none", "Cancel", "PUT 11 acquire"]);
    assert_eq!(e.write().transitions, Some(5));
    at!(e, 3_010, Accepted(12) => ["Started 1", "wait 5000"]);
    at!(e, 5_000 => ["PUT 12 renew"]);
}

#[test]
fn a_release_just_after_the_watch_began_is_taken_over_at_once_too() {
    let mut e = watching(A);
    at!(e, 100, Changed(released(11)) => ["Leader none", "Cancel", "PUT 11 acquire"]);
}

#[test]
fn who_comes_too_late_for_a_release_reads_and_watches_again() {
    let mut e = watching(A);
    at!(e, 3_000, Changed(released(11)) => ["Leader none", "Cancel", "PUT 11 acquire"]);
    at!(e, 3_010, Reply::Conflict => ["GET"]);
    at!(e, 3_020, held_by("C", 12) => ["Leader C", "WATCH 12"]);
}

#[test]
fn expiry_counts_from_the_moment_our_clock_saw_the_last_change() {
    let mut e = watching(A);
    at!(e, 2_000, renewed(10, 2_000) => ["wait 9500"]);
    // The leader falls silent: one look after half of what its record holds, then the end.
    at!(e, 9_500 => ["Cancel", "GET"]);
    at!(e, 9_510, held_by("B", 10).renewed(2_000) => ["WATCH 10", "wait 17001"]);
    at!(e, 17_001 => ["Cancel", "PUT 10 acquire"]);
}

#[test]
fn a_change_of_labels_is_no_sign_of_life() {
    let mut e = watching(A);
    // The same record in another version.
    at!(e, 5_000, Changed(held_by("B", 10)) => ["wait 12500"]);
    at!(e, 12_500 => ["Cancel", "GET"]);
    at!(e, 12_510, held_by("B", 10) => ["WATCH 10", "wait 15001"]);
    at!(e, 15_001 => ["Cancel", "PUT 10 acquire"]);
}

#[test]
fn a_line_that_comes_when_the_lease_is_due_comes_too_late() {
    let mut e = watching(A);
    at!(e, 7_000, Bookmark => ["wait 14500"]);
    at!(e, 14_000, Bookmark => ["wait 15001"]);
    let watch = e.flight().id;
    e.be_late_until(15_001);
    let lease = held_by("B", 10).renewed(15_000);
    assert!(
        e.tell_of(watch, WatchEvent::Changed(&lease.record))
            .is_err()
    );
    e.expect(&["Cancel", "PUT 9 acquire"]);
    at!(e, 15_010, Reply::Conflict => ["GET"]);
    at!(e, 15_020, held_by("B", 10).renewed(15_000) => ["WATCH 10"]);
}

#[test]
fn a_quiet_standby_sends_nothing_for_as_long_as_the_stream_lives() {
    let mut e = watching(A);
    for beat in 1..=1_000 {
        at!(e, 2_000 * beat, renewed(9 + beat, 2_000 * beat) => []);
    }
    assert_eq!(e.machine().health(e.now().instant), Health::Ok);
}

#[test]
fn the_end_of_the_stream_is_followed_by_a_look_and_another_watch() {
    let mut e = watching(A);
    at!(e, 2_000, renewed(10, 2_000) => []);
    at!(e, 3_000, Reply::WatchEnded => ["GET"]);
    at!(e, 3_005, held_by("B", 10).renewed(2_000) => ["WATCH 10"]);
    at!(e, 4_000, renewed(11, 4_000) => []);
    at!(e, 7_000, Failure::Unknown => ["GET"]);
    at!(e, 7_005, held_by("B", 12).renewed(6_000) => ["WATCH 12"]);
}

#[test]
fn b91_an_error_event_is_followed_by_a_read_and_a_watch_from_its_version() {
    let mut e = watching(A);
    at!(e, 2_000, renewed(10, 2_000) => []);
    at!(e, 3_000, Line::Error => ["Cancel", "GET"]);
    at!(e, 3_005, held_by("B", 10).renewed(2_000) => ["WATCH 10"]);
}

#[test]
fn a_line_that_cannot_be_read_is_told_and_ends_the_stream() {
    let mut e = watching(A);
    at!(e, 2_000, renewed(10, 2_000) => []);
    at!(e, 3_000, Line::Broken(BadAnswer::Malformed) => [
        "Trouble BadAnswer(Malformed) watch", "Cancel", "GET",
    ]);
}

#[test]
fn a_stream_that_ends_at_once_makes_no_more_requests_than_polling_and_is_tried_ever_more_rarely() {
    let mut e = Driver::watching(A);
    let mut store = Store::with(&held_by("B", 9));
    let mut watches = Vec::new();
    let seen = run(&mut e, 3_600_000, 0, |now, sent| {
        if now % 2_000 == 0 {
            store.write(held_by("B", 0).renewed(now));
        }
        if sent.watch.is_some() {
            watches.push(now);
            return Reply::WatchEnded.into();
        }
        store.serve(sent)
    });
    let gets = seen.iter().filter(|(_, text)| text == "GET").count();
    assert_eq!(gets, 1_801, "one each two seconds, as without watch mode");
    let pauses: Vec<_> = watches.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(
        pauses[..8],
        [2, 4, 8, 16, 32, 64, 128, 256].map(|s| s * 1_000)
    );
    assert_eq!(*pauses.last().unwrap(), 600_000);
    assert!(watches.len() < 20, "{watches:?}");
}

#[test]
fn a_stream_that_brings_something_is_trusted_again() {
    let mut e = watching(A);
    at!(e, 0, Reply::WatchEnded => ["wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, renewed_read(10, 2_000) => ["WATCH 10"]);
    at!(e, 3_000, Bookmark => []);
    at!(e, 3_500, Reply::WatchEnded => ["wait 4000"]);
    at!(e, 4_000 => ["GET"]);
    at!(e, 4_000, renewed_read(11, 4_000) => ["WATCH 11"]);
}

fn renewed_read(version: u64, ms: u64) -> Lease {
    held_by("B", version).renewed(ms)
}

#[test]
fn a_stream_that_died_in_silence_costs_half_the_duration() {
    let mut e = watching(A);
    at!(e, 2_000, renewed(10, 2_000) => ["wait 9500"]);
    // B goes on, and then releases; the stream says nothing of it.
    at!(e, 9_500 => ["Cancel", "GET"]);
    at!(e, 9_510, released(14) => ["Leader none", "PUT 14 acquire"]);
}

#[test]
fn a_bookmark_is_a_sign_of_life_of_the_stream_and_not_of_the_leader() {
    let mut e = watching(A);
    at!(e, 5_000, Bookmark => ["wait 12500"]);
    at!(e, 12_000, Bookmark => ["wait 15001"]);
    at!(e, 15_001 => ["Cancel", "PUT 9 acquire"]);
}

#[test]
fn the_silence_of_a_stream_is_bounded_however_long_the_record_holds() {
    let mut e = Driver::watching(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by("B", 9).duration(i32::MAX) => ["Leader B", "WATCH 9", "wait 90000"]);
    at!(e, 60_000, Bookmark => ["wait 150000"]);
    at!(e, 150_000 => ["Cancel", "GET"]);
}

#[test]
fn the_silence_of_a_stream_is_never_shorter_than_a_retry_period() {
    let mut e = Driver::watching(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by("B", 9).duration(3) => ["Leader B", "WATCH 9", "wait 2000"]);
}

#[test]
fn a_lower_version_in_the_stream_teaches_nothing() {
    let mut e = watching(A);
    at!(e, 1_000, renewed(12, 1_000) => ["wait 8500"]);
    // What a server that lags sends: an older state, and a release of long ago.
    at!(e, 1_100, renewed(11, 500) => ["wait 8600"]);
    at!(e, 1_200, Changed(released(10)) => ["wait 8700"]);
    at!(e, 1_300, Deleted(held_by("C", 8)) => ["wait 8800"]);
    assert_eq!(e.machine().leader(), Some("B"));
    // The wait for B's record still counts from 1000.
    at!(e, 8_000, Bookmark => ["wait 15500"]);
    at!(e, 15_400, Bookmark => ["wait 16001"]);
}

#[test]
fn a_line_that_comes_twice_teaches_nothing() {
    let mut e = watching(A);
    at!(e, 1_000, renewed(12, 1_000) => ["wait 8500"]);
    at!(e, 8_000, renewed(12, 1_000) => ["wait 15500"]);
    at!(e, 15_000, renewed(12, 1_000) => ["wait 16001"]);
}

#[test]
fn versions_that_cannot_be_compared_are_not_lower() {
    let mut e = watching(A);
    at!(e, 1_000, Changed(held_by("B", 0).version("x12").renewed(1_000)) => ["wait 8500"]);
    at!(e, 2_000, Changed(released(0).version("x11")) => [
        "Leader none", "Cancel", "PUT x11 acquire",
    ]);
}

#[test]
fn from_a_version_that_is_no_number_nobody_watches() {
    let mut e = Driver::watching(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, held_by("B", 0).version("x12") => ["Leader B", "wait 2000"]);
    at!(e, 2_000 => ["GET"]);
}

#[test]
fn a_lower_version_in_a_later_read_is_a_new_history_and_a_change_seen_now() {
    let mut e = watching(A);
    at!(e, 1_000, renewed(12, 1_000) => ["wait 8500"]);
    at!(e, 8_500 => ["Cancel", "GET"]);
    at!(e, 8_500, renewed_read(12, 1_000).version("7") => [
        "VersionWentBack", "WATCH 7", "wait 16000",
    ]);
    at!(e, 16_000 => ["Cancel", "GET"]);
    at!(e, 16_000, renewed_read(7, 1_000) => ["wait 18000"]);
    at!(e, 18_000 => ["GET"]);
    at!(e, 18_000, renewed_read(7, 1_000) => ["WATCH 7", "wait 23501"]);
    at!(e, 23_501 => ["Cancel", "PUT 7 acquire"]);
}

#[test]
fn a_deletion_is_no_release() {
    let mut e = watching(A);
    at!(e, 5_000, Deleted(held_by("B", 12)) => ["Leader none", "wait 12500"]);
    at!(e, 12_500 => ["Cancel", "GET"]);
    // Where there is no record there is no version to watch from.
    at!(e, 12_510, Reply::LeaseMissing => ["wait 14500"]);
    at!(e, 14_500 => ["GET"]);
    at!(e, 14_510, Reply::LeaseMissing => ["wait 16500"]);
    at!(e, 16_500 => ["GET"]);
    at!(e, 16_510, Reply::LeaseMissing => ["wait 18500"]);
    at!(e, 18_500 => ["GET"]);
    at!(e, 18_510, Reply::LeaseMissing => ["wait 20001"]);
    at!(e, 20_001 => ["POST"]);
}

#[test]
fn the_deletion_of_a_lease_that_was_free_is_followed_by_a_new_one_at_once() {
    let mut e = watching(A);
    at!(e, 1_000, StepDown(60_000) => ["Cancel", "wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, released(12) => ["Leader none", "WATCH 12"]);
    at!(e, 3_000, Deleted(released(13)) => []);
    assert_eq!(e.machine().leader(), None);
}

#[test]
fn a_stream_goes_on_past_a_deletion() {
    let mut e = watching(A);
    at!(e, 5_000, Deleted(held_by("B", 12)) => ["Leader none", "wait 12500"]);
    at!(e, 6_000, Changed(held_by("C", 13).uid("u2")) => ["Leader C", "wait 13500"]);
    at!(e, 7_000, Changed(held_by("B", 11)) => ["wait 14500"]);
    assert_eq!(e.machine().leader(), Some("C"));
}

#[test]
fn what_comes_behind_a_deletion_and_was_before_it_teaches_nothing() {
    let mut e = watching(A);
    at!(e, 5_000, Deleted(held_by("B", 12)) => ["Leader none", "wait 12500"]);
    at!(e, 6_000, Changed(released(11)) => ["wait 13500"]);
    assert_eq!(e.machine().leader(), None);
}

#[test]
fn without_the_right_to_watch_it_says_so_and_polls() {
    let mut e = watching(A);
    at!(e, 10, Reply::Forbidden => ["wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_010, renewed_read(10, 2_000) => ["WATCH 10"]);
    at!(e, 2_020, Reply::Forbidden => ["Trouble Forbidden watch", "wait 4010"]);
    at!(e, 4_010 => ["GET"]);
    at!(e, 4_020, released(11) => ["Leader none", "PUT 11 acquire"]);
}

#[test]
fn whatever_a_server_answers_to_a_watch_the_lease_is_read_within_a_retry_period() {
    let replies = [
        Reply::LeaseMissing,
        Reply::NamespaceMissing,
        Reply::ApiUnavailable,
        Reply::Conflict,
        Reply::BadRequest,
        Reply::Unauthorized,
        Reply::Forbidden,
        Reply::NamespaceTerminating,
        Reply::Invalid,
        Reply::Throttled,
        Reply::ServerError(500),
        Reply::Refused(410),
        Reply::BadAnswer(BadAnswer::NotJson),
        Reply::TooLarge,
        Reply::WatchEnded,
    ];
    for reply in replies {
        let mut e = watching(A);
        e.go_to(10);
        e.take(reply);
        e.settle();
        if e.flight_if_any().is_none() {
            e.go_to(2_000);
            e.settle();
        }
        assert!(
            e.flight().watch.is_none() && e.flight().write.is_none(),
            "{reply:?}"
        );
        e.take(released(11));
        e.settle();
        assert!(e.write().changes().is_some(), "{reply:?}");
    }
}

#[test]
fn a_lease_is_no_answer_to_a_watch() {
    let mut e = watching(A);
    at!(e, 10, released(10) => ["Trouble BadAnswer(NotALease) watch", "wait 2000"]);
    assert_eq!(e.machine().leader(), Some("B"));
}

#[test]
fn refused_credentials_are_read_again_before_the_next_look() {
    let mut e = watching(A);
    at!(e, 10, Reply::Unauthorized => ["CredentialsRejected", "GET"]);
}

#[test]
fn a_retry_after_is_obeyed() {
    let mut e = watching(A);
    at!(e, 10, retry_after(Reply::Throttled, 7) => ["wait 7010"]);
}

#[test]
fn a_watch_that_fails_just_before_the_expiry_does_not_put_the_takeover_off() {
    let mut e = watching(A);
    at!(e, 7_000, Bookmark => []);
    at!(e, 14_000, Bookmark => []);
    at!(e, 14_500, Reply::WatchEnded => ["GET"]);
    at!(e, 14_600, held_by("B", 9) => ["WATCH 9"]);
    at!(e, 14_700, Reply::WatchEnded => ["wait 15001"]);
    at!(e, 15_001 => ["PUT 9 acquire"]);
}

#[test]
fn a_leader_never_watches_and_a_former_one_does() {
    let mut e = Driver::watching(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    at!(e, 0, Accepted(7) => ["Started 1"]);
    at!(e, 2_000 => ["PUT 7 renew"]);
    at!(e, 2_000, Reply::Conflict => ["GET"]);
    at!(e, 2_000, held_by("B", 9) => ["Stopped Lost", "Leader B", "WATCH 9"]);
}

#[test]
fn who_rests_watches_and_takes_nothing() {
    let mut e = watching(A);
    at!(e, 1_000, StepDown(10_000) => ["Cancel", "wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 9) => ["WATCH 9", "wait 9500"]);
    at!(e, 5_000, Changed(released(10)) => ["Leader none", "wait 7000"]);
    at!(e, 7_000 => ["Cancel", "GET"]);
    at!(e, 7_000, released(10) => ["WATCH 10", "wait 9000"]);
    at!(e, 9_000 => ["Cancel", "GET"]);
    at!(e, 9_000, released(10) => ["wait 11000"]);
    at!(e, 11_000 => ["PUT 10 acquire"]);
}

#[test]
fn stop_ends_the_watch() {
    let mut e = watching(A);
    at!(e, 1_000, Stop => ["Finished NotHolder", "Cancel", "Done"]);
}

#[test]
fn a_clock_that_was_reset_ends_the_watch() {
    let mut e = watching(A);
    e.set_instant(Instant::from_millis(500));
    e.expect(&["Cancel", "GET"]);
}

#[test]
fn a_late_write_of_ones_own_is_known_again_in_the_stream() {
    let mut e = Driver::watching(A);
    at!(e, 0 => ["GET"]);
    at!(e, 0, released(6) => ["PUT 6 acquire"]);
    let claim = e.write().clone();
    at!(e, 10, Failure::Unknown => ["wait 2000"]);
    at!(e, 2_000 => ["GET"]);
    at!(e, 2_000, held_by("B", 7) => ["Leader B", "WATCH 7"]);
    // B was in between: the write proves nothing any more, and is waited out.
    at!(e, 3_000, Changed(Lease::written(&claim, 8)) => ["Leader A"]);
}

#[test]
fn two_watches_without_an_answer_advise_to_reconnect() {
    let mut e = watching(A);
    at!(e, 7_500 => ["Cancel", "GET"]);
    at!(e, 7_510, Failure::Unknown => ["ReconnectAdvised", "wait 9500"]);
}

#[test]
fn the_stream_may_last_five_to_ten_minutes() {
    use kubelease_core::elector::Elector;
    use kubelease_core::protocol::{Operation, Output};
    let mut found = Vec::new();
    for seed in 0..200 {
        let now = Driver::new(A).now();
        let mut e = Elector::new(Config { seed, ..A }, now).unwrap();
        e.watch();
        let Output::Request(get) = e.poll(now) else {
            panic!("a GET")
        };
        let id = get.id;
        e.handle_response(now, id, held_by("B", 9).response())
            .unwrap();
        assert!(matches!(e.poll(now), Output::Event(_)));
        let Output::Request(request) = e.poll(now) else {
            panic!("a watch")
        };
        let Operation::Watch { version, timeout } = request.operation else {
            panic!("a watch")
        };
        assert_eq!(version.as_str(), "9");
        found.push(timeout.as_millis());
    }
    let (least, most) = (found.iter().min().unwrap(), found.iter().max().unwrap());
    assert!((300_000..310_000).contains(least), "{least}");
    assert!((590_000..600_000).contains(most), "{most}");
}
