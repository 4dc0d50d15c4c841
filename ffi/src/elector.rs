//! [`kl_elector`]: the object, its storage and its beginning.

use kubelease_core::elector::Elector;
use kubelease_core::session::Session;
use kubelease_core::time::Now;

use crate::clock::{self, kl_now};
use crate::config::kl_elector_config;
use crate::object::{self, Head, Inner, Object};
use crate::ptr;
use crate::status::{answer, kl_code, kl_status};

/// Words of 64 bits in a kl_elector.
#[cfg(target_pointer_width = "64")]
pub const KL_ELECTOR_WORDS: usize = 184;

/// Words of 64 bits in a kl_elector.
#[cfg(target_pointer_width = "32")]
pub const KL_ELECTOR_WORDS: usize = 164;

/// An elector. The storage is the caller's: static, on a stack, in another structure. All of it
/// is the library's, there is nothing to free, and zeroed storage is good: every call answers
/// KL_ERR_NOT_INIT until kl_elector_init was called.
///
/// It may be copied or moved between two calls, with memcpy; of the copies only one may be used
/// on. It is never passed or returned by value.
#[repr(C)]
#[derive(Debug)]
pub struct kl_elector {
    /// Not for callers.
    pub _opaque: [u64; KL_ELECTOR_WORDS],
}

// SAFETY: the constants below do not compile, on every target, where it is too small or misaligned.
unsafe impl Object for kl_elector {
    type Machine = Elector<'static>;
    const MARK: u32 = 0x4b4c_e1ec;
}

type Content = Inner<Elector<'static>>;
const _: [(); 1] = [(); (size_of::<Content>() <= size_of::<kl_elector>()) as usize];
const _: [(); 1] = [(); (align_of::<Content>() <= align_of::<u64>()) as usize];

/// Makes an elector in storage. It asks for the Lease at its first poll.
///
/// elector: storage of elector_size bytes, aligned as a kl_elector; whatever is in it is written
/// over. config: see kl_elector_config for what is borrowed. now: the clocks.
///
/// Answers KL_OK; KL_ERR_ARG; KL_ERR_STORAGE (less than kl_elector_size(), or misaligned);
/// KL_ERR_SIZE; a code that names the member of config that is wrong; KL_ERR_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kl_elector_init(
    elector: *mut kl_elector,
    elector_size: usize,
    config: *const kl_elector_config,
    now: *const kl_now,
) -> kl_status {
    answer(|| {
        let place = object::place(elector, elector_size)?;
        // SAFETY: the contract of the header.
        let (now, config) = unsafe { (clock::now(now)?, ptr::versioned(config)?) };
        // SAFETY: neither NULL, nor misaligned, nor too small; the caller vouches for the rest.
        unsafe { make(place, config, now) }
    })
}

/// Writes an object. It is a call of its own so that the configuration stays where it is: taken
/// apart into registers it is a fifth of the code.
///
/// # Safety
/// `to` points to storage for it, and what `config` borrows outlives it.
#[inline(never)]
unsafe fn make(to: *mut Content, config: &kl_elector_config, now: Now) -> Result<(), kl_code> {
    // SAFETY: the contract of this function.
    let (path, update) = unsafe { (config.path()?, config.update()?) };
    // SAFETY: the same.
    let config = unsafe { config.elector()? }.checked()?;
    // Nothing fails from here on, so that all of it is made in place.
    let inner = Inner {
        head: Head::new(kl_elector::MARK),
        session: Session::new(Elector::of_checked(config, now), path, update),
    };
    // SAFETY: the same.
    unsafe { to.write(inner) };
    Ok(())
}

/// The least elector_size that kl_elector_init takes, at most sizeof(kl_elector): for languages
/// that cannot read the header.
#[unsafe(no_mangle)]
pub extern "C" fn kl_elector_size() -> usize {
    size_of::<Content>()
}
