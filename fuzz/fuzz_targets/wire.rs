//! See `targets.rs` for the property.
#![no_main]

#[path = "../targets.rs"]
#[expect(dead_code, reason = "each target uses one of them")]
mod targets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::wire(input));
