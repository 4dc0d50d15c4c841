//! [`kl_str`] and [`kl_label`]: text that is the caller's.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use kubelease_core::lease::Label;

use crate::ptr::{self, Out};
use crate::status::{answer, kl_code, kl_status};

/// Text: a pointer and a length in bytes. It is not NUL-terminated, neither into the library nor
/// out of it. NULL is good where len is 0. It never grows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kl_str {
    /// The first byte.
    pub ptr: *const c_char,
    /// How many bytes.
    pub len: usize,
}

/// One label that the elector asserts when it acquires. kl_label_init fills it; its members are
/// the library's.
#[repr(C)]
#[derive(Debug)]
pub struct kl_label {
    /// Not for callers.
    pub _opaque: [usize; 4],
}

// On every target: it does not compile where one of the two is false.
const _: [(); 1] = [(); (size_of::<Label<'static>>() == size_of::<kl_label>()) as usize];
const _: [(); 1] = [(); (align_of::<Label<'static>>() == align_of::<kl_label>()) as usize];

/// Fills label with a key, such as example.com/zone, and a value. Both texts are borrowed for as
/// long as the label is used; nothing is copied.
///
/// Answers KL_OK, KL_ERR_ARG (label is NULL), KL_ERR_LABEL (no UTF-8). Whether Kubernetes takes
/// the label, kl_elector_init checks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_label_init(
    label: *mut kl_label,
    key: kl_str,
    value: kl_str,
) -> kl_status {
    answer(|| {
        // SAFETY: the contract of the header. Key and value live as long as the label.
        let (out, key, value) = unsafe {
            (
                Out::new(label.cast::<MaybeUninit<Label<'static>>>())?,
                ptr::text(key, kl_code::KL_ERR_LABEL)?,
                ptr::text(value, kl_code::KL_ERR_LABEL)?,
            )
        };
        out.write(MaybeUninit::new(Label { key, value }));
        Ok(())
    })
}

/// The labels of a configuration.
///
/// # Safety
/// `from` points to `count` labels, zeroed or filled by `kl_label_init`, that stay as they are,
/// with their texts, for the life of the process.
pub(crate) unsafe fn labels(
    from: *const kl_label,
    count: usize,
) -> Result<&'static [Label<'static>], kl_code> {
    // SAFETY: the contract of this function.
    let raw = unsafe { ptr::values(from, count)? };
    // A filled label has no such words: a text, even an empty one, has an address.
    if raw.iter().any(|label| label._opaque == [0; 4]) {
        return Err(kl_code::KL_ERR_LABEL);
    }
    // SAFETY: the same, and each was filled with a `Label`, whose size and alignment are those of
    // a `kl_label`.
    unsafe { ptr::values(from.cast::<Label<'static>>(), count) }
}
