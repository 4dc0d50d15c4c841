//! The C ABI of kubelease. It exports nothing yet.
#![no_std]
