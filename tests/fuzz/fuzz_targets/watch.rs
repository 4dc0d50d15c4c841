//! `kubelease_tests::fuzz::watch` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kubelease_tests::fuzz::watch(data));
