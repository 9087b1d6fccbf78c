//! Ids of artifacts in JSON text.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::json::Json;
use crate::names::{ArtifactId, NameError};

/// The prefix of every string that may be an id.
const BEGINNING: &[u8] = b"\"sha256:";
/// Built once: every written value is scanned, and building the finder takes longer than a scan.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(BEGINNING));
/// The field name that marks an explicit reference.
const NAME: &[u8] = b"\"artifact\"";

/// An id in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The artifact.
    pub artifact: ArtifactId,
    /// Whether it is the value of a field `artifact`, which makes it an explicit reference.
    pub is_named: bool,
}

/// Every string in valid JSON that is exactly an id, in order.
pub fn mentions(json: &str) -> impl Iterator<Item = Mention> {
    let bytes = json.as_bytes();
    FINDER.find_iter(bytes).filter_map(move |start| {
        // If the string continues after an escaped quotation mark, its backslash makes the id
        // invalid.
        let rest = &bytes[start + 1..];
        let end = memchr::memchr(b'"', rest)?;
        let artifact = ArtifactId::parse(json.get(start + 1..start + 1 + end)?).ok()?;
        Some(Mention { artifact, is_named: is_named(&bytes[..start]) })
    })
}

/// Whether any of the values has a string that looks like an id.
pub fn is_any_in<'a>(values: impl IntoIterator<Item = &'a Json>) -> bool {
    values.into_iter().any(|json| mentions(json.as_str()).next().is_some())
}

/// Whether the text ends with the field name and a colon, apart from white space.
fn is_named(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let Some(before) = before.strip_suffix(b":") else { return false };
    before.trim_ascii_end().ends_with(NAME)
}

/// The artifacts that the values mention, sorted and without duplicates.
pub fn mentioned<'a>(values: impl IntoIterator<Item = &'a Json>) -> Vec<ArtifactId> {
    let found = values.into_iter().flat_map(|json| mentions(json.as_str()));
    let distinct: BTreeSet<ArtifactId> = found.map(|mention| mention.artifact).collect();
    distinct.into_iter().collect()
}

/// The ids in a list `artifacts`. Refuses a string that starts like an id and is not one; other
/// strings are the caller's own references.
pub fn in_list(list: &Json) -> Result<Vec<ArtifactId>, NameError> {
    let bytes = list.as_str().as_bytes();
    let strings = FINDER.find_iter(bytes).filter_map(|start| {
        let rest = list.as_str().get(start + 1..)?;
        rest.find('"').map(|end| &rest[..end])
    });
    strings.filter(|text| !text.contains('\\')).map(ArtifactId::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(letter: char) -> String {
        format!("sha256:{}", letter.to_string().repeat(64))
    }

    fn found(text: &str) -> Vec<(String, bool)> {
        let found = mentions(text);
        found.map(|it| (it.artifact.as_str()[7..9].to_owned(), it.is_named)).collect()
    }

    #[test]
    fn complete_strings_are_found_wherever_they_are() {
        let (a, b, c) = (id('a'), id('b'), id('c'));
        let text = format!(r#"{{"artifact" : "{a}","x":["{b}",{{"artifact":"{c}"}}],"{b}":1}}"#);
        let expected = [("aa", true), ("bb", false), ("cc", true), ("bb", false)];
        assert_eq!(found(&text), expected.map(|(id, named)| (id.to_owned(), named)));
        assert_eq!(found(&format!("\"{a}\"")), [("aa".to_owned(), false)]);
    }

    #[test]
    fn text_that_only_looks_like_an_id_is_ignored() {
        let a = id('a');
        for text in [
            format!(r#""see \"{a}\"""#),
            format!(r#""{a} and more""#),
            format!(r#""{}""#, &a[..70]),
            format!(r#""{}""#, a.to_uppercase()),
            format!(r#""{}g""#, &a[..70]),
            r#""sha256:""#.to_owned(),
            "{}".to_owned(),
        ] {
            assert_eq!(found(&text), [], "{text}");
        }
        // A field name that only ends with `artifact` does not count.
        assert_eq!(found(&format!(r#"{{"no_artifact":"{a}"}}"#)), [("aa".to_owned(), false)]);
    }

    #[test]
    fn a_list_may_hold_anything_but_a_broken_id() {
        let list = |text: String| Json::parse(text.as_bytes()).unwrap();
        let (a, b) = (id('a'), id('b'));
        let good = list(format!(r#"["{a}","log.txt",{{"artifact":"{b}"}},7]"#));
        let found: Vec<String> = in_list(&good).unwrap().into_iter().map(String::from).collect();
        assert_eq!(found, [a, b]);
        let refused = in_list(&list(r#"["sha256:ab"]"#.to_owned())).unwrap_err();
        assert_eq!(refused.what, "artifact");
    }
}
