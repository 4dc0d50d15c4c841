//! An allocation that the negative test alone asks for. Without the `alloc` crate there is none.

extern crate alloc;

pub fn allocate() -> usize {
    alloc::vec![1_u8].len()
}
