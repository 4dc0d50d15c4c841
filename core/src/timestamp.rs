//! stub
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    days: u32,
    seconds: u32,
    micros: u32,
}
#[allow(missing_docs)]
impl Timestamp {
    pub const UNIX_EPOCH: Self = Self {
        days: 0,
        seconds: 0,
        micros: 0,
    };
}
