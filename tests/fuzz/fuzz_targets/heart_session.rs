//! `kubelease_tests::fuzz::heart_session` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kubelease_tests::fuzz::heart_session(data));
