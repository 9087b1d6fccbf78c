//! The conditions of a query.

use std::ops::Range;

use super::index::SearchIndex;
use super::kind::SearchKind;
use super::language::{BadFilter, Comparison, QueryPart, Sign, refused};
use super::words::words;
use crate::limits;
use crate::message;
use crate::pattern::Pattern;
use crate::task;
use crate::time::Timestamp;

/// Every field, for the error about an unknown one.
const FIELDS: [&str; 13] = [
    "kind",
    "type",
    "status",
    "agent",
    "to",
    "by",
    "from",
    "group",
    "namespace",
    "id",
    "key",
    "created",
    "updated",
];
/// Units of relative times.
const UNITS: [(&str, u64); 6] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
];
/// How many words of a key pattern are looked up: more would not make it faster.
const LEADING_WORDS: usize = 8;

/// A period, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: Timestamp,
    to: Timestamp,
}

impl Default for Span {
    fn default() -> Self {
        Self { from: Timestamp(0), to: Timestamp(u64::MAX) }
    }
}

impl Span {
    fn has(&self, moment: Timestamp) -> bool {
        (self.from..=self.to).contains(&moment)
    }

    fn narrow(&mut self, comparison: Comparison, moment: Timestamp) {
        let later = Timestamp(moment.0.saturating_add(1));
        match comparison {
            Comparison::After => self.from = self.from.max(later),
            Comparison::NotBefore => self.from = self.from.max(moment),
            // Nothing is before the epoch.
            Comparison::Before if moment.0 == 0 => *self = Self { from: later, to: moment },
            Comparison::Before => self.to = self.to.min(Timestamp(moment.0 - 1)),
            Comparison::NotAfter => self.to = self.to.min(moment),
        }
    }
}

/// The conditions of a query, all of which must hold.
#[derive(Debug, Default, PartialEq)]
pub struct Filter {
    /// Terms it must have.
    pub(super) terms: Vec<String>,
    /// Terms it must not have.
    pub(super) without: Vec<String>,
    /// Words that must follow each other in it.
    pub(super) phrases: Vec<Vec<String>>,
    /// Words that must not follow each other in it.
    pub(super) without_phrases: Vec<Vec<String>>,
    /// The id of the record.
    pub(super) id: Option<String>,
    /// Patterns its key must match, or must not.
    keys: Vec<(Pattern, bool)>,
    /// When it must have been created.
    created: Option<Span>,
    /// When it must have been updated.
    updated: Span,
}

impl Filter {
    /// Parses a query; relative times are relative to `now`.
    pub fn parse(query: &str, now: Timestamp) -> Result<Self, BadFilter> {
        let (bytes, bytes_max) = (query.len(), limits::SEARCH_QUERY_BYTES_MAX);
        if bytes > bytes_max {
            let end = (0..=bytes_max).rev().find(|end| query.is_char_boundary(*end));
            let reason = format!("it has {bytes} bytes, at most {bytes_max} are allowed");
            return Err(refused(query, end.unwrap_or_default(), reason));
        }
        let mut wanted = Self::default();
        let (mut parts, mut offset) = (0, 0);
        while let Some((part, after)) = QueryPart::next(query, offset)? {
            parts += 1;
            if parts > limits::SEARCH_PARTS_MAX {
                let max = limits::SEARCH_PARTS_MAX;
                return Err(part.bad(format!("at most {max} parts are allowed")));
            }
            wanted.add(&part, now)?;
            offset = after;
        }
        if parts == 0 {
            return Err(refused(query, query.len(), "it is empty"));
        }
        Ok(wanted)
    }

    fn add(&mut self, part: &QueryPart<'_>, now: Timestamp) -> Result<(), BadFilter> {
        match part.field {
            None => self.add_words(part),
            Some((name, Sign::Compares(comparison))) => {
                self.add_moment(part, name, comparison, now)
            }
            Some((name, Sign::Is)) => self.add_field(part, name),
        }
    }

    fn add_field(&mut self, part: &QueryPart<'_>, name: &str) -> Result<(), BadFilter> {
        let name = match name {
            "kind" => {
                one_of(part, name, &SearchKind::WORDS)?;
                name
            }
            "status" => {
                one_of(part, name, &statuses())?;
                name
            }
            "from" => "by",
            "to" => "agent",
            "type" | "agent" | "by" | "group" | "namespace" => name,
            "id" => return self.add_id(part),
            "key" => return self.add_key(part),
            "created" | "updated" => {
                let reason = format!("`{name}` needs a comparison, as in `{name}>-1h`");
                return Err(BadFilter { allowed: vec![">", ">=", "<", "<="], ..part.bad(reason) });
            }
            other => return Err(no_field(part, other)),
        };
        let term = format!("{name}:{}", part.text);
        let terms = if part.is_refused { &mut self.without } else { &mut self.terms };
        terms.push(term);
        Ok(())
    }

    fn add_id(&mut self, part: &QueryPart<'_>) -> Result<(), BadFilter> {
        if part.is_refused {
            return Err(part.bad("`id` cannot be negated"));
        }
        if self.id.is_some() {
            return Err(part.bad("`id` occurs more than once"));
        }
        self.id = Some(part.text.to_owned());
        Ok(())
    }

    fn add_key(&mut self, part: &QueryPart<'_>) -> Result<(), BadFilter> {
        let pattern = Pattern::parse(part.text).map_err(|wrong| part.bad(wrong.to_string()))?;
        if !part.is_refused {
            // Segments before the first wildcard are words of the key, which find it quickly.
            let segments = part.text.split(['/', ':']);
            let plain = segments.take_while(|segment| !segment.contains('*'));
            self.terms.extend(plain.flat_map(words).take(LEADING_WORDS));
            self.terms.push("kind:key".to_owned());
        }
        self.keys.push((pattern, !part.is_refused));
        Ok(())
    }

    fn add_moment(
        &mut self,
        part: &QueryPart<'_>,
        name: &str,
        comparison: Comparison,
        now: Timestamp,
    ) -> Result<(), BadFilter> {
        let span = match name {
            "created" => self.created.get_or_insert_default(),
            "updated" => &mut self.updated,
            other if FIELDS.contains(&other) => {
                let reason = format!("`{other}` cannot be compared; write `{other}:` and a value");
                return Err(BadFilter { allowed: vec![":"], ..part.bad(reason) });
            }
            other => return Err(no_field(part, other)),
        };
        if part.is_refused {
            return Err(part.bad(format!("`{name}` cannot be negated; reverse the comparison")));
        }
        let moment = match part.text.strip_prefix('-') {
            Some(ago) => ago_ms(ago).map(|ago_ms| Timestamp(now.0.saturating_sub(ago_ms))),
            None => Timestamp::read(part.text).ok(),
        };
        let unread = || {
            let given: String = part.text.chars().take(40).collect();
            let reason = format!("`{given}` is not a time; use a date, a timestamp or -1h");
            let allowed = vec!["-90s", "-15m", "-1h", "-7d", "2026-01-31", "2026-01-31T12:00:00Z"];
            BadFilter { allowed, ..part.bad(reason) }
        };
        span.narrow(comparison, moment.ok_or_else(unread)?);
        Ok(())
    }

    fn add_words(&mut self, part: &QueryPart<'_>) -> Result<(), BadFilter> {
        let found: Vec<String> = words(part.text).collect();
        let (terms, phrases) = if part.is_refused {
            (&mut self.without, &mut self.without_phrases)
        } else {
            (&mut self.terms, &mut self.phrases)
        };
        match found.len() {
            0 => return Err(part.bad("it has no letters or digits")),
            1 => terms.extend(found),
            _ => {
                // All words must be present before their order is checked.
                if !part.is_refused {
                    terms.extend(found.iter().cloned());
                }
                phrases.push(found);
            }
        }
        Ok(())
    }

    /// The documents below a number that can match by their update times, which grow with the
    /// numbers.
    pub(super) fn range(&self, index: &SearchIndex, below: usize) -> Range<usize> {
        let documents = &index.documents[..below];
        let created = self.created.unwrap_or_default();
        // Nothing is updated before it is created.
        let from = self.updated.from.max(created.from);
        let from = documents.partition_point(|document| document.updated_at < from);
        let to = documents.partition_point(|document| document.updated_at <= self.updated.to);
        from..to.max(from)
    }

    /// Whether the creation and update times match.
    pub(super) fn fits_times(&self, created: Option<Timestamp>, updated: Timestamp) -> bool {
        let began = |span: Span| created.is_some_and(|created| span.has(created));
        self.updated.has(updated) && self.created.is_none_or(began)
    }

    /// Whether the key of an entry matches.
    pub(super) fn fits_key(&self, subject: &str) -> bool {
        if self.keys.is_empty() {
            return true;
        }
        let key = subject.strip_prefix("state/").and_then(|rest| rest.split_once('/'));
        let key = key.map(|(_, key)| key);
        let matches = |pattern: &Pattern| key.is_some_and(|key| pattern.matches(key));
        self.keys.iter().all(|(pattern, is_wanted)| matches(pattern) == *is_wanted)
    }
}

/// Every status that a task or a message can have.
fn statuses() -> Vec<&'static str> {
    let tasks = task::Status::ALL.map(task::Status::word);
    let messages = message::Status::ALL.map(message::Status::word);
    tasks.into_iter().chain(messages).collect()
}

fn one_of(part: &QueryPart<'_>, name: &str, known: &[&'static str]) -> Result<(), BadFilter> {
    if known.contains(&part.text) {
        return Ok(());
    }
    let given: String = part.text.chars().take(40).collect();
    let allowed = known.to_vec();
    let choice = known.split_last().map(|(last, others)| {
        let others = others.join(", ");
        format!("; use {others} or {last}")
    });
    let reason = format!("`{given}` is not a {name}{}", choice.unwrap_or_default());
    Err(BadFilter { allowed, ..part.bad(reason) })
}

fn no_field(part: &QueryPart<'_>, name: &str) -> BadFilter {
    let name: String = name.chars().take(40).collect();
    let reason = format!("there is no field `{name}`; quote a text that contains `:`, `<` or `>`");
    BadFilter { allowed: FIELDS.to_vec(), ..part.bad(reason) }
}

/// A time such as `15m` in milliseconds.
fn ago_ms(text: &str) -> Option<u64> {
    let end = text.find(|sign: char| !sign.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let (_, unit_ms) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(unit_ms)
}
