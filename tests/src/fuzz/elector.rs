//! Any life of an elector, with all laws asserted by the driver.

use crate::choices::Bytes;
use crate::life::{Life, configs};

/// Most steps of one life.
const STEPS_MAX: u32 = 400;

/// Drives an elector as the bytes say.
pub fn elector(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let config = bytes.one_of(&configs(7));
    let mut life = Life::new(config, bytes);
    for _ in 0..STEPS_MAX {
        if life.is_over() {
            break;
        }
        life.step();
    }
}
