//! What fuzzers found interesting, replayed: no target fails on any of it.

use std::fs;
use std::path::{Path, PathBuf};

use kubelease_core::prng::Prng;
use kubelease_tests::choices::Choices;
use kubelease_tests::fuzz::TARGETS;

/// Largest corpus of all targets together, in bytes.
const SIZE_MAX: usize = 1 << 20;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = fuzz_folder().join("corpus").join(target);
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).expect("every target has a corpus") {
        let path = entry.expect("a readable folder").path();
        let bytes = fs::read(&path).expect("a readable file");
        files.push((path, bytes));
    }
    files
}

#[test]
fn every_input_of_the_corpus_passes_its_target() {
    for (name, target) in TARGETS {
        let files = corpus(name);
        assert!(files.len() >= 20, "{name} has only {}", files.len());
        for (path, bytes) in files {
            println!("{}", path.display());
            target(&bytes);
        }
    }
}

#[test]
fn the_corpus_is_small() {
    let all = TARGETS.iter().flat_map(|(name, _)| corpus(name));
    let size: usize = all.map(|(_, bytes)| bytes.len()).sum();
    assert!(size < SIZE_MAX, "{size} bytes");
}

#[test]
fn every_target_has_its_program() {
    let mut programs: Vec<String> = fs::read_dir(fuzz_folder().join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    programs.sort();
    let names: Vec<String> = TARGETS
        .iter()
        .map(|(name, _)| format!("{name}.rs"))
        .collect();
    assert_eq!(programs, names);
}

/// Inputs of the corpus with some bytes changed: a little fuzzing where there is no fuzzer.
#[test]
fn changed_inputs_pass_their_targets() {
    let mut random = Prng::new(5);
    for (name, target) in TARGETS {
        for (path, bytes) in corpus(name) {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(3) {
                let place = random.below(bytes.len() as u64 + 1) as usize;
                match changed.get_mut(place) {
                    Some(byte) => *byte = random.below(256) as u8,
                    None => changed.push(random.below(256) as u8),
                }
            }
            println!("{}: {changed:?}", path.display());
            target(&changed);
        }
    }
}
