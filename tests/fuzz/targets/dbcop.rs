#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rashomon_fuzz::look("dbcop", bytes));
