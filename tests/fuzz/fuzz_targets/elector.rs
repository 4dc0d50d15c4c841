//! `kubelease_tests::fuzz::elector` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kubelease_tests::fuzz::elector(data));
