//! Any life of an elector, with all laws asserted by the driver.

use crate::choices::{Bytes, Choices};
use crate::life::{Life, configs};

/// Most steps of one life.
const STEPS_MAX: u32 = 400;

/// Drives an elector as the bytes say.
pub fn elector(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let configs = configs(7);
    let choice = bytes.below(2 * configs.len() as u64) as usize;
    let config = configs[choice % configs.len()];
    let mut life = Life::new(config, bytes);
    if choice >= configs.len() {
        life = life.watching();
    }
    for _ in 0..STEPS_MAX {
        if life.is_over() {
            break;
        }
        life.step();
    }
}
