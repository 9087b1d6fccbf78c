//! Folds identical functions in the published program.
//!
//! Generic code becomes many copies of the same machine code, and LLD can keep one of each. Rust
//! makes no promise about the addresses of functions, so nothing can depend on them. Only the
//! profile `dist` optimises this crate for size, and only on this target is LLD the linker of
//! rustc.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_dist = std::env::var("OPT_LEVEL").is_ok_and(|level| level == "s");
    let has_lld = std::env::var("TARGET").is_ok_and(|it| it == "x86_64-unknown-linux-gnu");
    if is_dist && has_lld {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}
