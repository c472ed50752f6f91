//! Any script, through a session.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| jackfield_fuzz::harness::check_session(bytes));
