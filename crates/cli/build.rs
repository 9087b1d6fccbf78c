//! Makes the published program smaller.
//!
//! Generic code becomes many copies of the same machine code, and LLD can keep one of each. Rust
//! makes no promise about the addresses of functions, so nothing can depend on them. Only the
//! profile `dist` optimises this crate for size, and only on this target is LLD the linker of
//! rustc.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_dist = std::env::var("OPT_LEVEL").is_ok_and(|level| matches!(&*level, "s" | "z"));
    let has_lld = std::env::var("TARGET").is_ok_and(|it| it == "x86_64-unknown-linux-gnu");
    if is_dist && has_lld {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        if has_packed_relocations() {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// Whether the C library here can load a program with packed relocations, which take a megabyte
/// less. A program that is linked with a newer C library does not start with an older one anyway.
fn has_packed_relocations() -> bool {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let minor = version.as_deref().and_then(|it| it.trim().strip_prefix("glibc 2."));
    minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor >= 36)
}
