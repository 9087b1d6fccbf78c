//! The form of an answer that a request prefers (RFC 7240).
//!
//! ```text
//!   Prefer: return=minimal  ──▶  Preference-Applied: return=minimal
//! ```

use axum::http::{HeaderMap, HeaderName, HeaderValue};

const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The header with the preference that the answer follows.
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Its value.
pub(super) const RETURN_MINIMAL: HeaderValue = HeaderValue::from_static("return=minimal");

/// Whether a request prefers the minimal form of its answer. Other preferences are ignored, as
/// the standard requires.
pub(super) fn prefers_minimal(headers: &HeaderMap) -> bool {
    let texts = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let preferences = texts.flat_map(|text| text.split(','));
    let mut returns = preferences.filter_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        name.trim().eq_ignore_ascii_case("return").then(|| value.trim().trim_matches('"'))
    });
    // Of several, the first counts.
    returns.next().is_some_and(|form| form.eq_ignore_ascii_case("minimal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefers(values: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(PREFER, HeaderValue::from_static(value));
        }
        prefers_minimal(&headers)
    }

    #[test]
    fn the_first_preference_for_a_form_counts_and_others_are_ignored() {
        assert!(prefers(&["return=minimal"]));
        assert!(prefers(&["respond-async, Return = \"minimal\"; foo=bar"]));
        assert!(prefers(&["wait=10", "return=minimal"]));
        assert!(!prefers(&[]));
        assert!(!prefers(&["return=representation, return=minimal"]));
        assert!(!prefers(&["minimal", "return", "returns=minimal"]));
    }
}
