//! Whole elections and whole lives of hearts, output by output.
//!
//! `UPDATE=1` rewrites the files under `transcripts`. Read the difference, and keep it only if
//! every line of it is understood.

use std::path::{Path, PathBuf};
use std::{env, fs};

use kubelease_tests::heart::{Heart, transcript};
use kubelease_tests::transcript::replay;

/// Where the transcripts of electors or of hearts are.
fn folder(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("transcripts")
        .join(of)
}

#[track_caller]
fn plays_out(of: &str, name: &str, replay: fn(&str) -> String) {
    let path = folder(of).join(name).with_extension("txt");
    let golden = fs::read_to_string(&path).expect("a transcript");
    let played = replay(&golden);
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &played).expect("a writable transcript");
    } else {
        assert_eq!(golden, played, "{name} plays out differently");
    }
}

/// One test for each file, and a test that there are no others.
macro_rules! transcripts {
    ($of:ident, $replay:expr, [$($name:ident),* $(,)?]) => {
        mod $of {
            #[test]
            fn every_transcript_is_played() {
                let mut found: Vec<String> = super::fs::read_dir(super::folder(stringify!($of)))
                    .expect("the transcripts")
                    .map(|entry| entry.expect("a file").path())
                    .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
                    .collect();
                found.sort_unstable();
                assert_eq!(found, [$(stringify!($name)),*]);
            }

            $(
                #[test]
                fn $name() {
                    super::plays_out(stringify!($of), stringify!($name), $replay);
                }
            )*
        }
    };
}

transcripts!(
    electors,
    super::replay,
    [
        a_crashed_leader_is_replaced_when_its_duration_is_over,
        a_first_election_on_an_empty_store,
        a_graceful_handover,
        a_lease_deleted_under_the_leader,
        a_renewal_whose_answer_got_lost,
        a_restart_finds_its_own_lease,
        a_rolling_restart_of_the_api_server,
        a_second_process_with_the_same_identity,
    ]
);

transcripts!(
    hearts,
    super::transcript::replay::<super::Heart>,
    [
        a_deletion_that_meets_a_conflict,
        a_first_beat_on_an_empty_store,
        a_host_that_says_nothing,
        a_lease_deleted_with_its_node,
        a_lease_that_somebody_else_holds,
        a_node_that_an_outage_made_unknown,
    ]
);

#[track_caller]
fn notices_a_change(of: &str, replay: fn(&str) -> String) {
    let right = replay(of);
    let wrong = right.replace("GET", "POST");
    assert_ne!(wrong, right);
    assert_eq!(replay(&wrong), right);
}

#[test]
fn a_changed_output_is_noticed() {
    notices_a_change("# One look.\n0\n", replay);
    notices_a_change("# One look.\nheart gw1\n0\n", transcript::replay::<Heart>);
}
