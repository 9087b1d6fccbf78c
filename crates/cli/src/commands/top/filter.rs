//! The filter of the screen, in the language of `baton search` as far as rows have what it names.
//!
//! ```text
//!   status:failed type:review -agent:bob "out of memory"
//! ```
//!
//! 1. All terms must match; a term that begins with `-` must not.
//! 2. A word matches a part of any text of a row, a field the beginning of its value: rows are
//!    filtered while a term is typed. Case is ignored.

use super::model::{AgentRow, EventRow, HandoffRow, LockRow, TaskRow};

/// The fields that rows have, as in `baton search`.
const FIELDS: [&str; 5] = ["status", "type", "agent", "by", "id"];
/// Other names of fields.
const ALSO: [(&str, &str); 2] = [("to", "agent"), ("from", "by")];

/// What a row is filtered by.
pub(super) trait Texts {
    /// Its texts with the names of their fields; the name of a text without a field is empty.
    fn texts(&self) -> Vec<(&'static str, &str)>;
}

impl Texts for TaskRow {
    fn texts(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("id", &self.id),
            ("type", &self.kind),
            ("agent", self.holder.as_deref().unwrap_or_default()),
            ("status", self.status.word()),
            ("status", self.shown_status().1),
            ("", &self.note),
        ]
    }
}

impl Texts for AgentRow {
    fn texts(&self) -> Vec<(&'static str, &str)> {
        vec![("agent", &self.id), ("id", &self.id), ("status", self.status()), ("", &self.role)]
    }
}

impl Texts for HandoffRow {
    fn texts(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("id", &self.id),
            ("by", &self.from),
            ("agent", &self.to),
            ("status", &self.status),
            ("", &self.task),
        ]
    }
}

impl Texts for LockRow {
    fn texts(&self) -> Vec<(&'static str, &str)> {
        let waiters = self.waiters.iter().map(|waiter| ("", waiter.as_str()));
        [("id", self.name.as_str()), ("agent", &self.holder)].into_iter().chain(waiters).collect()
    }
}

impl Texts for EventRow {
    fn texts(&self) -> Vec<(&'static str, &str)> {
        vec![("agent", &self.agent), ("type", &self.kind), ("id", &self.subject)]
    }
}

/// A parsed filter.
pub(super) struct Filter(Vec<Term>);

struct Term {
    is_excluded: bool,
    field: Option<&'static str>,
    text: String,
}

impl Filter {
    pub(super) fn parse(text: &str) -> Self {
        Self(split(&text.to_lowercase()).iter().filter_map(|word| Term::parse(word)).collect())
    }

    pub(super) fn matches(&self, texts: &[(&'static str, &str)]) -> bool {
        self.0.iter().all(|term| term.matches(texts) != term.is_excluded)
    }
}

impl Term {
    /// None for a term that is not complete enough to exclude rows.
    fn parse(word: &str) -> Option<Self> {
        let (is_excluded, word) =
            word.strip_prefix('-').map_or((false, word), |excluded| (true, excluded));
        let (field, text) = match word.split_once(':') {
            Some((name, value)) if let Some(field) = field(name) => (Some(field), value),
            _ => (None, word),
        };
        let text = text.replace('"', "");
        (!text.is_empty()).then_some(Self { is_excluded, field, text })
    }

    fn matches(&self, texts: &[(&'static str, &str)]) -> bool {
        texts.iter().any(|(name, text)| {
            let text = text.to_lowercase();
            match self.field {
                None => text.contains(&self.text),
                Some(field) => *name == field && text.starts_with(&self.text),
            }
        })
    }
}

fn field(name: &str) -> Option<&'static str> {
    let name = ALSO.iter().find(|(also, _)| *also == name).map_or(name, |(_, field)| field);
    FIELDS.into_iter().find(|field| *field == name)
}

/// Splits at spaces that are not in quotes.
fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for sign in text.chars() {
        is_quoted ^= sign == '"';
        if sign == ' ' && !is_quoted {
            words.push(String::new());
        } else {
            words.last_mut().expect("there is always one").push(sign);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: [(&str, &str); 5] = [
        ("id", "tides-1.facts"),
        ("type", "research"),
        ("status", "in_progress"),
        ("agent", "Mia"),
        ("", "out of memory"),
    ];

    #[test]
    fn all_terms_match_as_in_a_search() {
        for (text, is_shown) in [
            ("", true),
            ("  ", true),
            ("mia", true),
            ("MIA tides", true),
            ("mia moss", false),
            ("status:in_progress", true),
            ("status:in", true),
            ("status:progress", false),
            ("status:failed", false),
            ("type:research agent:mia", true),
            ("to:mia", true),
            ("by:mia", false),
            ("-agent:bob", true),
            ("-agent:mia", false),
            ("-tides", false),
            ("\"out of memory\"", true),
            ("\"of out\"", false),
            ("memory of", true),
            // What is being typed hides nothing yet.
            ("status:", true),
            ("-", true),
            ("\"", true),
            // Not a field.
            ("colour:red", false),
        ] {
            assert_eq!(Filter::parse(text).matches(&ROW), is_shown, "{text}");
        }
    }
}
