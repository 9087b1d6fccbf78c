//! The description of the doors for programs.

/// The document.
pub fn document() -> serde_json::Value {
    serde_json::json!({})
}

/// The document as text.
pub(crate) fn text() -> Vec<u8> {
    serde_json::to_vec_pretty(&document()).expect("documents can be encoded")
}
