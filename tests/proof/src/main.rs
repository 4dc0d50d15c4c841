//! Calls everything that a device can call, with inputs that the optimiser cannot know.
//!
//! The panic handler calls a function that does not exist. If any path from here leads to a panic,
//! the linker says so.
#![no_std]
#![no_main]

mod drive;
#[cfg(feature = "deliberate_allocation")]
mod heap;
mod heart;

use core::hint::black_box;

/// Where the linked program would begin. It is never run.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let input = black_box([0_u8; 256]);
    black_box(drive::everything(&input));
    #[cfg(feature = "deliberate_panic")]
    black_box(input[black_box(300)]);
    #[cfg(feature = "deliberate_float")]
    black_box(black_box(1.5_f64) + black_box(2.5_f64));
    #[cfg(feature = "deliberate_allocation")]
    black_box(heap::allocate());
    loop {}
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn kubelease_can_panic() -> !;
    }
    // SAFETY: there is no such function; a program that contains this call does not link.
    unsafe { kubelease_can_panic() }
}
