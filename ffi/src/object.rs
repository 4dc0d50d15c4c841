//! What lies in the storage of every object.

use core::mem::offset_of;

use kubelease_core::machine::{DynMachine, Machine};
use kubelease_core::session::Session;

use crate::health::Tally;
use crate::log::Hook;
use crate::status::kl_code;

/// A C type that is the storage of an object.
///
/// # Safety
/// It is at least as large as an [`Inner`] of its machine and aligned like it, which a constant
/// beside each checks, and no other type has its mark.
pub(crate) unsafe trait Object: Sized {
    /// The machine that lies in it.
    type Machine: Machine + 'static;
    /// Stands in an object that was initialised: neither zeros nor ones, nor text.
    const MARK: u32;
    /// The same for functions that serve all types.
    const KIND: &'static Kind = &Kind {
        mark: Self::MARK,
        view: view::<Self>,
    };
}

/// What one type of objects has of its own.
#[derive(Debug)]
pub(crate) struct Kind {
    /// [`Object::MARK`].
    pub(crate) mark: u32,
    /// A pointer to the session in storage, with the functions of its machine.
    pub(crate) view: fn(*mut u64) -> *mut AnySession,
}

fn view<O: Object>(storage: *mut u64) -> *mut AnySession {
    storage
        .wrapping_byte_add(offset_of!(Inner<O::Machine>, session))
        .cast::<Session<'static, O::Machine>>()
}

/// The session of an object of any type.
pub(crate) type AnySession = Session<'static, dyn DynMachine>;

/// What lies in the storage of an object of any type. It is no [`Inner`] of something unsized:
/// each use of that would work out anew, from the alignment of the machine, where the session is.
pub(crate) struct AnyInner<'a> {
    pub(crate) head: &'a mut Head,
    pub(crate) session: &'a mut AnySession,
}

/// A caller's pointer to an object of any type. What takes it is there once for all types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    pub(crate) storage: *mut u64,
    pub(crate) kind: &'static Kind,
}

impl Handle {
    pub(crate) const fn new<O: Object>(storage: *const O) -> Self {
        Self {
            storage: storage.cast_mut().cast(),
            kind: O::KIND,
        }
    }

    /// What the storage begins with.
    pub(crate) const fn head(self) -> *mut Head {
        self.storage.cast()
    }
}

/// What all objects begin with.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Head {
    /// [`Object::MARK`] in an object that was initialised.
    pub(crate) mark: u32,
    /// Not zero while the log hook runs.
    pub(crate) busy: u32,
    pub(crate) hook: Hook,
    pub(crate) tally: Tally,
}

impl Head {
    pub(crate) const fn new(mark: u32) -> Self {
        Self {
            mark,
            busy: 0,
            hook: Hook::NONE,
            tally: Tally::NEW,
        }
    }
}

/// What lies in the storage.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Inner<M> {
    pub(crate) head: Head,
    pub(crate) session: Session<'static, M>,
}

/// The place of an object in storage of `size` bytes.
pub(crate) fn place<O: Object>(
    storage: *mut O,
    size: usize,
) -> Result<*mut Inner<O::Machine>, kl_code> {
    if storage.is_null() {
        return Err(kl_code::KL_ERR_ARG);
    }
    if size < size_of::<Inner<O::Machine>>() || !storage.is_aligned() {
        return Err(kl_code::KL_ERR_STORAGE);
    }
    Ok(storage.cast())
}
