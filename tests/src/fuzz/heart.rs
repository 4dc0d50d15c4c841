//! Any life of a heart, with all laws asserted by the driver.

use crate::choices::Bytes;
use crate::heart::life::{HeartLife, kinds};

/// Most steps of one life.
const STEPS_MAX: u32 = 400;

/// Drives a heart as the bytes say.
pub fn heart(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let kind = bytes.one_of(&kinds(7));
    let mut life = HeartLife::new(kind, bytes);
    for _ in 0..STEPS_MAX {
        if life.is_over() {
            break;
        }
        life.step();
    }
}
