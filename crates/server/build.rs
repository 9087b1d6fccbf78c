//! Embeds the `OpenAPI` document: minified and deflated, which reduces it from 1.1 MB in the
//! repository to 60 kB.

use std::path::Path;
use std::{env, fs};

use miniz_oxide::deflate::compress_to_vec;

/// The committed document, which the tests of `baton-spec` write.
const DOCUMENT: &str = "../../spec/openapi.json";
/// How hard to compress: the best that zlib has.
const LEVEL: u8 = 9;

fn main() {
    println!("cargo::rerun-if-changed={DOCUMENT}");
    let document = fs::read(DOCUMENT).expect("spec/openapi.json is in the repository");
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let embedded = Path::new(&folder).join("openapi.json.deflate");
    fs::write(embedded, compress_to_vec(&minified(&document), LEVEL)).expect("it can be written");
}

/// JSON without the white space between its tokens. By hand, so that the build script needs no JSON
/// library; a test parses the result.
fn minified(document: &[u8]) -> Vec<u8> {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |byte: &u8| {
        if is_escaped {
            is_escaped = false;
        } else if in_string && *byte == b'\\' {
            is_escaped = true;
        } else if *byte == b'"' {
            in_string = !in_string;
        }
        in_string || !byte.is_ascii_whitespace()
    };
    document.iter().copied().filter(is_kept).collect()
}
