//! `kubelease_tests::fuzz::decode` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kubelease_tests::fuzz::decode(data));
