//! Walks through the worlds of the model and prints a line for each.
//!
//! `model [--small] [WORD]`: only those whose name has WORD in it. Exits with 1 if a rule is
//! broken, after printing the shortest run that breaks it.
#![allow(clippy::std_instead_of_core, reason = "a program runs on a host")]

use std::process::ExitCode;

use kubelease_tests::model::{SCENES, THREE, walk};

fn main() -> ExitCode {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with("--"));
    let is_small = options.iter().any(|option| option == "--small");
    println!("{:>9} {:>9} {:>5}  scene", "states", "steps", "depth");
    for scene in SCENES.iter().chain(&THREE) {
        if !words.iter().all(|word| scene.name.contains(word.as_str())) {
            continue;
        }
        let walk = walk(if is_small { scene.small } else { scene.large });
        println!(
            "{:9} {:9} {:5}  {}",
            walk.states, walk.steps, walk.depth, scene.name
        );
        if let Some((rule, run)) = walk.broken.first() {
            println!("broken: {rule}\n{run}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
