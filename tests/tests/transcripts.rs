//! Whole elections, output by output.
//!
//! `UPDATE=1` rewrites the files under `transcripts`. Read the difference, and keep it only if
//! every line of it is understood.

use std::path::Path;
use std::{env, fs};

use kubelease_tests::transcript::replay;

#[track_caller]
fn plays_out(name: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let path = directory.join(name).with_extension("txt");
    let golden = fs::read_to_string(&path).expect("a transcript");
    let played = replay(&golden);
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &played).expect("a writable transcript");
    } else {
        assert_eq!(golden, played, "{name} plays out differently");
    }
}

/// One test for each file, and a list of all of them.
macro_rules! transcripts {
    ($($name:ident),* $(,)?) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                plays_out(stringify!($name));
            }
        )*
    };
}

transcripts![
    a_crashed_leader_is_replaced_when_its_duration_is_over,
    a_first_election_on_an_empty_store,
    a_graceful_handover,
    a_lease_deleted_under_the_leader,
    a_renewal_whose_answer_got_lost,
    a_restart_finds_its_own_lease,
    a_rolling_restart_of_the_api_server,
    a_second_process_with_the_same_identity,
];

#[test]
fn every_transcript_is_played() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut found: Vec<String> = fs::read_dir(directory)
        .expect("the transcripts")
        .map(|entry| entry.expect("a file").path())
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    found.sort_unstable();
    assert_eq!(found, NAMES);
}

#[test]
fn a_changed_output_is_noticed() {
    let right = replay("# One look.\n0\n");
    let wrong = right.replace("GET", "POST");
    assert_ne!(replay(&wrong), wrong);
    assert_eq!(replay(&wrong), right);
}
