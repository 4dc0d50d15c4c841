//! Another library from Rust, with the whole standard library in it.

/// The sum of some bytes, taken the long way round: by a heap, a formatter and a parser.
///
/// # Safety
/// `data` points to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn second_sum(data: *const u8, len: usize) -> u32 {
    let bytes = unsafe { std::slice::from_raw_parts(data, len) }.to_vec();
    let texts: Vec<String> = bytes.iter().map(|byte| format!("{byte}")).collect();
    texts.iter().map(|text| text.parse::<u32>().unwrap()).sum()
}
