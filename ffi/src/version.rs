//! Versions: of the package, and of the ABI.

use core::ffi::{CStr, c_char};

/// The version of the ABI. It rises with every change that a compiled caller can notice.
const ABI: u32 = 1;

const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The library's version, 8 bits each for major, minor and patch: KL_VERSION_NUMBER of the header
/// it was built with. Compare the two.
#[unsafe(no_mangle)]
pub extern "C" fn kl_version_number() -> u32 {
    const NUMBER: u32 = number(env!("CARGO_PKG_VERSION_MAJOR")) << 16
        | number(env!("CARGO_PKG_VERSION_MINOR")) << 8
        | number(env!("CARGO_PKG_VERSION_PATCH"));
    NUMBER
}

/// The version of the ABI: KL_ABI_VERSION of the header it was built with. While it is the same,
/// a program that was compiled with an older header runs with this library.
#[unsafe(no_mangle)]
pub extern "C" fn kl_abi_version() -> u32 {
    ABI
}

/// The library's version as text, NUL-terminated and static: KL_VERSION_STRING of the header it
/// was built with.
#[unsafe(no_mangle)]
pub extern "C" fn kl_version_string() -> *const c_char {
    const WITH_NUL: &CStr = match CStr::from_bytes_with_nul(TEXT.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };
    WITH_NUL.as_ptr()
}

/// A decimal number of 8 bits, at compile time; a C test compares it with the header.
const fn number(text: &str) -> u32 {
    let mut rest = text.as_bytes();
    let mut number = 0_u32;
    while let Some((digit, after)) = rest.split_first() {
        number = number
            .wrapping_mul(10)
            .wrapping_add(digit.wrapping_sub(b'0') as u32);
        rest = after;
    }
    number & 0xff
}
