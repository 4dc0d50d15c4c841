//! The rules of the election hold in every run of small worlds.
//!
//! A build with debug assertions walks through the small size of each world, any other through the
//! large one. The counts are printed with `--nocapture`.

use kubelease_tests::model::{BEYOND, Rule, SCENES, Scene, THREE, Walk, walk};

const IS_LARGE: bool = !cfg!(debug_assertions);

fn walk_through(scene: &Scene) -> Walk {
    let walk = walk(if IS_LARGE { scene.large } else { scene.small });
    println!(
        "{}: {} states, {} steps, at most {} in a row",
        scene.name, walk.states, walk.steps, walk.depth
    );
    walk
}

/// Every rule holds in `scene`, and everything of interest happens in it.
fn holds(scene: &Scene) {
    let walk = walk_through(scene);
    if let Some((rule, run)) = walk.broken.first() {
        panic!("{}: broken: {rule}\n{run}", scene.name);
    }
    // The small size is there for the rules; it is too small for some of what may happen.
    let missed = walk.missed;
    assert!(!IS_LARGE || missed.is_empty(), "never happened: {missed:?}");
    assert!(walk.states > 1_000, "too small to show anything");
}

macro_rules! scenes {
    ($($test:ident: $scene:expr;)*) => {
        $(
            #[test]
            fn $test() {
                holds(&$scene);
            }
        )*
        /// How many scenes have a test.
        const TESTED: usize = [$(stringify!($test)),*].len();
    };
}

scenes! {
    model_of_messages_late_lost_and_out_of_order: SCENES[0];
    model_of_broken_connections_and_proxies: SCENES[1];
    model_of_crashes_and_restarts: SCENES[2];
    model_of_stops: SCENES[3];
    model_of_steps_down: SCENES[4];
    model_of_processes_that_stand_still: SCENES[5];
    model_of_stalled_leaders_that_stop: SCENES[6];
    model_of_deletions: SCENES[7];
    model_of_clocks_as_unlike_as_can_be_borne: SCENES[8];
    model_of_clocks_as_unlike_as_can_be_borne_with_grace: SCENES[9];
    model_of_unlike_durations: SCENES[10];
    model_of_namesakes_that_wait_for_each_other: SCENES[11];
    model_of_three_and_messages: THREE[0];
    model_of_three_and_a_crash: THREE[1];
    model_of_three_and_a_stop: THREE[2];
}

#[test]
fn every_scene_of_the_model_has_a_test() {
    assert_eq!(TESTED, SCENES.len() + THREE.len());
}

#[test]
fn the_model_finds_two_leaders_where_clocks_are_more_unlike_than_can_be_borne() {
    let walk = walk_through(&BEYOND[0]);
    let broken: Vec<_> = walk.broken.iter().map(|(rule, _)| *rule).collect();
    assert!(broken.contains(&Rule::OneLeader.name()), "{broken:?}");
}

#[test]
fn the_model_finds_work_at_once_where_clocks_are_more_unlike_than_the_grace_bears() {
    let walk = walk_through(&BEYOND[1]);
    let broken: Vec<_> = walk.broken.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(broken, [Rule::WorkHasCeased.name()]);
}
