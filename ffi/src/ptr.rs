//! All that reads or writes through a caller's pointer. Nothing else in the crate does.
//!
//! C gives no proof that a pointer is good. What can be checked is: NULL, alignment, lengths, the
//! mark of an object. The rest is the contract at the top of the header.

use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::slice;

use kubelease_core::text::utf8_length;

use crate::object::{AnyInner, Handle, Head, Inner, Object};
use crate::status::kl_code;
use crate::text::kl_str;

/// A structure that may grow: its first member is `size`, a `u32`.
///
/// # Safety
/// The type is `repr(C)`, begins with a `u32`, has no padding, and is valid as all zeros.
pub(crate) unsafe trait Versioned: Copy {
    /// How large the structure was in the first release.
    const FIRST_SIZE: usize;
}

/// An output that was found to be good.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Checks an output.
    ///
    /// # Safety
    /// `to` is NULL or points to memory for a `T` that stays good until `write`.
    pub(crate) unsafe fn new(to: *mut T) -> Result<Self, kl_code> {
        check(to)?;
        Ok(Self(to))
    }

    pub(crate) fn write(self, value: T) {
        // SAFETY: `new` has checked NULL and alignment, and its caller vouched for the rest.
        unsafe { self.0.write(value) }
    }
}

/// An output that may be larger or smaller than ours.
pub(crate) struct SizedOut<T> {
    to: *mut T,
    size: usize,
}

impl<T: Versioned> SizedOut<T> {
    /// Checks an output whose member `size` is set.
    ///
    /// # Safety
    /// `to` is NULL or points to a structure of as many bytes as its member `size` says, which
    /// stays good until `write`.
    pub(crate) unsafe fn new(to: *mut T) -> Result<Self, kl_code> {
        // SAFETY: passed on to the caller.
        let size = unsafe { size_of_versioned(to)? };
        Ok(Self { to, size })
    }

    /// Checks an output whose size the caller says beside it.
    ///
    /// # Safety
    /// `to` is NULL or points to `size` bytes that stay good until `write`.
    pub(crate) unsafe fn with_size(to: *mut T, size: usize) -> Result<Self, kl_code> {
        check(to)?;
        if size < T::FIRST_SIZE {
            return Err(kl_code::KL_ERR_SIZE);
        }
        Ok(Self { to, size })
    }

    /// How many of our bytes the caller has room for.
    pub(crate) fn size(&self) -> u32 {
        u32::try_from(self.size.min(size_of::<T>())).unwrap_or(u32::MAX)
    }

    /// Writes as much of `value` as the caller knows of.
    pub(crate) fn write(&self, value: &T) {
        let count = self.size.min(size_of::<T>());
        // SAFETY: `to` has `size` bytes, by the contract of the constructors, and `value` as many
        // as its type. It is a local of ours, so the two do not overlap.
        unsafe {
            core::ptr::from_ref(value)
                .cast::<u8>()
                .copy_to_nonoverlapping(self.to.cast(), count);
        }
    }
}

/// A structure that has not grown since the first release, and may be larger than ours: no copy of
/// it is needed then.
///
/// # Safety
/// `from` is NULL or points to a structure of as many bytes as its member `size` says, which stays
/// as it is for `'a`.
pub(crate) unsafe fn versioned<'a, T: Versioned>(from: *const T) -> Result<&'a T, kl_code> {
    // SAFETY: passed on to the caller.
    if unsafe { size_of_versioned(from)? } < size_of::<T>() {
        return Err(kl_code::KL_ERR_SIZE);
    }
    // SAFETY: neither NULL nor misaligned, and as large as a `T`, whose bytes are plain data.
    Ok(unsafe { &*from })
}

/// Reads a structure that never grows.
///
/// # Safety
/// `from` is NULL or points to a `T`.
pub(crate) unsafe fn read<T: Copy>(from: *const T) -> Result<T, kl_code> {
    check(from)?;
    // SAFETY: neither NULL nor misaligned; the caller vouches for the rest.
    Ok(unsafe { from.read() })
}

/// Bytes to read. NULL is good for none.
///
/// # Safety
/// `from` points to `length` bytes that stay as they are for `'a`.
pub(crate) unsafe fn bytes<'a>(from: *const u8, length: usize) -> Result<&'a [u8], kl_code> {
    if length == 0 {
        return Ok(&[]);
    }
    check_length(from, length)?;
    // SAFETY: not NULL, not too long; the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(from, length) })
}

/// Bytes to write. NULL is good for none.
///
/// # Safety
/// `to` points to `length` bytes that nobody else uses for `'a`.
pub(crate) unsafe fn bytes_mut<'a>(to: *mut u8, length: usize) -> Result<&'a mut [u8], kl_code> {
    if length == 0 {
        return Ok(&mut []);
    }
    check_length(to, length)?;
    // SAFETY: not NULL, not too long; the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts_mut(to, length) })
}

/// Values to read. NULL is good for none.
///
/// # Safety
/// `from` points to `count` values that stay as they are for `'a`.
pub(crate) unsafe fn values<'a, T>(from: *const T, count: usize) -> Result<&'a [T], kl_code> {
    if count == 0 {
        return Ok(&[]);
    }
    check_length(from, count)?;
    // SAFETY: neither NULL nor misaligned, not too long; the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(from, count) })
}

/// Places for values. NULL is good for none.
///
/// # Safety
/// `to` points to memory for `count` values that nobody else uses for `'a`.
pub(crate) unsafe fn values_mut<'a, T>(
    to: *mut T,
    count: usize,
) -> Result<&'a mut [MaybeUninit<T>], kl_code> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_length(to, count)?;
    // SAFETY: neither NULL nor misaligned, not too long; the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts_mut(to.cast(), count) })
}

/// Text; `otherwise` where it is no UTF-8.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn text<'a>(from: kl_str, otherwise: kl_code) -> Result<&'a str, kl_code> {
    // SAFETY: passed on to the caller.
    let bytes = unsafe { bytes(from.ptr.cast::<u8>(), from.len)? };
    if utf8_length(bytes) < bytes.len() {
        return Err(otherwise);
    }
    // SAFETY: it is UTF-8.
    Ok(unsafe { core::str::from_utf8_unchecked(bytes) })
}

/// A view of text of ours.
pub(crate) const fn view(text: &str) -> kl_str {
    view_bytes(text.as_bytes())
}

/// A view of bytes of ours.
pub(crate) const fn view_bytes(text: &[u8]) -> kl_str {
    kl_str {
        ptr: text.as_ptr().cast::<c_char>(),
        len: text.len(),
    }
}

/// The object in `storage`, to be asked.
///
/// # Safety
/// `storage` is NULL or points to an `O`, and no call that changes it runs for `'a`.
pub(crate) unsafe fn live<'a, O: Object>(
    storage: *const O,
) -> Result<&'a Inner<O::Machine>, kl_code> {
    // SAFETY: passed on to the caller.
    unsafe { check_any(Handle::new(storage))? };
    // SAFETY: the mark says that the type's own init has written an `Inner` there; it fits by the
    // contract of `Object`. The caller vouches that nothing changes it.
    Ok(unsafe { &*storage.cast() })
}

/// The object in `storage`, to be changed.
///
/// # Safety
/// `storage` is NULL or points to an `O`, and no other call on it runs for `'a`.
pub(crate) unsafe fn live_mut<'a, O: Object>(
    storage: *mut O,
) -> Result<&'a mut Inner<O::Machine>, kl_code> {
    // SAFETY: passed on to the caller.
    unsafe { check_any(Handle::new(storage))? };
    // SAFETY: as in `live`, and the caller vouches that nothing else uses it.
    Ok(unsafe { &mut *storage.cast() })
}

/// The object of a handle, to be asked or changed.
///
/// # Safety
/// As for [`live_mut`]; or as for [`live`], where what comes is not changed.
pub(crate) unsafe fn any<'a>(object: Handle) -> Result<AnyInner<'a>, kl_code> {
    // SAFETY: passed on to the caller.
    unsafe { check_any(object)? };
    // SAFETY: as in `live_mut`; the head and the session are apart.
    Ok(unsafe {
        AnyInner {
            head: &mut *object.head(),
            session: &mut *(object.kind.view)(object.storage),
        }
    })
}

/// # Safety
/// `object` is NULL or points to the storage of an object.
#[inline(never)]
unsafe fn check_any(object: Handle) -> Result<(), kl_code> {
    let Handle { storage, kind } = object;
    // SAFETY: passed on to the caller.
    unsafe { check_live(storage.cast(), storage.is_aligned(), kind.mark) }
}

/// One function for all objects.
///
/// # Safety
/// `head` is NULL or points to the storage of an object, aligned as `is_aligned` says.
unsafe fn check_live(
    head: *const Head,
    is_aligned: bool,
    expected_mark: u32,
) -> Result<(), kl_code> {
    if head.is_null() {
        return Err(kl_code::KL_ERR_ARG);
    }
    if !is_aligned {
        return Err(kl_code::KL_ERR_STORAGE);
    }
    // SAFETY: both members are plain numbers and lie inside the storage, whatever is in it.
    let (mark, busy) = unsafe { ((*head).mark, (*head).busy) };
    if mark != expected_mark {
        Err(kl_code::KL_ERR_NOT_INIT)
    } else if busy != 0 {
        Err(kl_code::KL_ERR_REENTRANT)
    } else {
        Ok(())
    }
}

/// # Safety
/// `from` is NULL or points to a `Versioned`, of which at least `size` is there.
unsafe fn size_of_versioned<T: Versioned>(from: *const T) -> Result<usize, kl_code> {
    check(from)?;
    // SAFETY: a `Versioned` begins with a `u32`; neither NULL nor misaligned.
    let size = unsafe { from.cast::<u32>().read() };
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size < T::FIRST_SIZE {
        return Err(kl_code::KL_ERR_SIZE);
    }
    Ok(size)
}

fn check<T>(pointer: *const T) -> Result<(), kl_code> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(kl_code::KL_ERR_ARG);
    }
    Ok(())
}

/// No object of C is larger than half of the address space.
fn check_length<T>(pointer: *const T, count: usize) -> Result<(), kl_code> {
    check(pointer)?;
    let length = count.saturating_mul(size_of::<T>());
    if isize::try_from(length).is_err() {
        return Err(kl_code::KL_ERR_ARG);
    }
    Ok(())
}
