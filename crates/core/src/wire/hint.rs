//! Hints in the terms of an interface.

use super::operations::operation;

/// A hint in which the names of operations are replaced by what an interface calls them. `name` is
/// given an operation and whether it is in backticks; it returns none for an operation that the
/// interface does not have: then so does this.
pub fn hint_in_terms_of(
    hint: &str,
    mut name: impl FnMut(&'static str, bool) -> Option<String>,
) -> Option<String> {
    let is_part = |sign: char| sign.is_ascii_lowercase() || matches!(sign, '.' | '_');
    let mut out = String::with_capacity(hint.len());
    let mut rest = hint;
    while let Some(start) = rest.find(is_part) {
        let (before, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|sign| !is_part(sign)).unwrap_or(word.len()));
        let bare = word.trim_end_matches('.');
        out.push_str(before);
        match operation(bare) {
            Some(operation) => out.push_str(&name(operation.name, before.ends_with('`'))?),
            None => out.push_str(bare),
        }
        out.push_str(&word[bare.len()..]);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::hint_in_terms_of;

    #[test]
    fn names_of_operations_are_replaced_wherever_they_are() {
        let upper = |hint: &str| hint_in_terms_of(hint, |name, _| Some(name.to_uppercase()));
        for (hint, expected) in [
            (
                "list the tasks with task.list; then retry",
                "list the tasks with TASK.LIST; then retry",
            ),
            ("use `pipeline.retry_stage`.", "use `PIPELINE.RETRY_STAGE`."),
            ("state.get.", "STATE.GET."),
            ("see docs/search.md", "see docs/search.md"),
            ("", ""),
        ] {
            assert_eq!(upper(hint).as_deref(), Some(expected));
        }
        let is_quoted = |_, is_quoted: bool| Some(is_quoted.to_string());
        let hint = "use `state.get` or state.list";
        assert_eq!(hint_in_terms_of(hint, is_quoted).as_deref(), Some("use `true` or false"));
        assert_eq!(hint_in_terms_of("create it with namespace.create", |_, _| None), None);
        assert_eq!(hint_in_terms_of("retry", |_, _| None).as_deref(), Some("retry"));
    }
}
