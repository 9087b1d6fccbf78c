//! The `OpenAPI` document: `spec/openapi.json` as it was committed, embedded by the build script.
//!
//! `baton-spec` generates the file from the types, and its tests compare the two. The program
//! therefore needs neither the generator nor the JSON Schemas of its types.

use std::sync::OnceLock;

use miniz_oxide::inflate::decompress_to_vec;

/// The document, minified and deflated.
static DEFLATED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.deflate"));

/// The `OpenAPI` document as minified JSON, and a newline. It is inflated at the first request.
pub fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let bytes = decompress_to_vec(DEFLATED).expect("the build script deflated it");
        String::from_utf8(bytes).expect("JSON is UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::text;

    const COMMITTED: &str = include_str!("../../../spec/openapi.json");

    #[test]
    fn the_embedded_document_is_the_committed_one_minified() {
        let committed: Value = serde_json::from_str(COMMITTED).unwrap();
        let minified = format!("{committed}\n");
        assert!(text() == minified, "what is embedded is not spec/openapi.json");
        assert!(COMMITTED == format!("{committed:#}\n"), "spec/openapi.json is not formatted");
    }

    #[test]
    fn the_document_names_the_version_of_the_program() {
        let document: Value = serde_json::from_str(text()).unwrap();
        assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    }
}
