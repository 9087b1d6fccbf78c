//! The data of all loads: scattered keys, and values of 200 bytes as agents write them.

/// Bytes of a value.
pub(crate) const VALUE_BYTES: usize = 200;
const FILLING: &str = "abcdefghij";

/// The key of a number: fifteen bytes, scattered, so that no index sees them in order.
pub(crate) fn key(number: usize) -> String {
    // The multiplier has no factor in common with the modulus, so keys below it are distinct.
    format!("bench/k{:08}", number * 0x9E37_79B1 % 100_000_000)
}

/// A value of 200 bytes, as agents write them.
pub(crate) fn value(number: usize) -> String {
    let progress = number % 100;
    let head =
        format!(r#"{{"task":"t-{number:08}","state":"running","progress":{progress},"note":""#);
    let note = FILLING.repeat(VALUE_BYTES / FILLING.len());
    let value = format!(r#"{head}{}"}}"#, &note[..VALUE_BYTES - 2 - head.len()]);
    assert_eq!(value.len(), VALUE_BYTES);
    value
}

/// A text that is in the value of this number and in no other.
pub(crate) fn mark(number: usize) -> String {
    format!(r#""task":"t-{number:08}""#)
}
