//! What the archive does where it panics: it does not link.
//!
//! The handler calls a function that exists nowhere. As long as no path leads to a panic, the
//! optimiser drops the handler and with it the call; `ffi/Makefile` refuses an archive that still
//! wants the symbol. So no archive that was built can panic.
#![cfg(kubelease_archive)]

unsafe extern "C" {
    fn kl_panic_path_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: there is no such function: nothing that links can get here.
    unsafe { kl_panic_path_reachable() }
}
