//! Any bytes, as lines of the wire in both directions.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| jackfield_fuzz::harness::check_decoding(bytes));
