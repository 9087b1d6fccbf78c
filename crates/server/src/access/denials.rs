//! Denied requests, for operators.
//!
//! ```text
//!   permits? ── no ──▶ known:     who, from where, what, where, why, when ──┐
//!   who? ── unknown ─▶ strangers: from where, what, why, when ─────────────┴─▶ the last of each
//! ```
//!
//! 1. Two lists of fixed length: denials without a token, which can be many, do not displace those
//!    with one.
//! 2. Consecutive repetitions are counted, not stored.
//! 3. It never contains a token, anything that looks like one, or control characters.
//!
//! Deliberately absent: durability. The lists end with the process, since nothing in them had an
//! effect; collect them regularly to keep more, or count them in `/metrics`.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use baton_core::Timestamp;
use baton_core::wire::Problem;
use serde::{Deserialize, Serialize};

use super::{JWT_PREFIX, PREFIX, now};

/// How many are kept in each list.
const KEPT_MAX: usize = 1_024;
/// The maximum number of characters of a name.
const SHOWN_CHARACTERS_MAX: usize = 160;

/// A denied request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AccessRefusal"))]
pub struct Denial {
    /// The number of the denial; later ones have larger numbers.
    pub number: u64,
    /// When it happened last.
    pub at: Timestamp,
    /// How often it happened in a row.
    pub times: u64,
    /// The id of the token, or the subject of a JWT. Absent without a valid token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The agent that the request named. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The remote address. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The operation, or method and path if there was no valid token.
    pub operation: String,
    /// The workspace. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The error code.
    pub code: String,
    /// The reason as a sentence.
    pub detail: String,
}

/// A page of denied requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RefusalPage"))]
pub struct DenialPage {
    /// The denials, newest first.
    pub refusals: Vec<Denial>,
    /// The `before` of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
}

/// The denied action, if known.
pub(crate) struct Attempt<'a> {
    pub(crate) who: Option<&'a str>,
    pub(crate) agent: Option<&'a str>,
    pub(crate) from: Option<IpAddr>,
    pub(crate) operation: String,
    pub(crate) workspace: Option<&'a str>,
}

#[derive(Default)]
struct Ring {
    total: u64,
    kept: VecDeque<Denial>,
}

/// Recent refusals.
#[derive(Default)]
pub(crate) struct Denials(Mutex<DenialLists>);

#[derive(Default)]
struct DenialLists {
    last: u64,
    known: Ring,
    strangers: Ring,
}

/// A text that is safe to display, without control characters and tokens.
fn harmless(text: &str) -> String {
    if text.contains(PREFIX) || text.contains(JWT_PREFIX) {
        return "(not shown, since there may be a token in it)".to_owned();
    }
    text.chars().take(SHOWN_CHARACTERS_MAX).flat_map(escaped).collect()
}

fn escaped(sign: char) -> impl Iterator<Item = char> {
    let is_harmless = sign == ' ' || sign.is_ascii_graphic() || sign.is_alphanumeric();
    let plain = is_harmless.then_some(sign);
    plain.into_iter().chain((!is_harmless).then(|| sign.escape_default()).into_iter().flatten())
}

impl Denials {
    /// Records a denial.
    pub(crate) fn record(&self, attempt: &Attempt<'_>, problem: &Problem) {
        let fresh = Denial {
            number: 0,
            at: now(),
            times: 1,
            who: attempt.who.map(harmless),
            agent: attempt.agent.map(harmless),
            from: attempt.from.map(|from| from.to_string()),
            operation: harmless(&attempt.operation),
            workspace: attempt.workspace.map(harmless),
            code: problem.code.clone(),
            detail: harmless(&problem.detail),
        };
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let DenialLists { last, known, strangers } = &mut *lists;
        let ring = if fresh.who.is_some() { known } else { strangers };
        ring.total += 1;
        if let Some(newest) = ring.kept.back_mut() {
            let again = Denial { number: newest.number, times: newest.times, ..fresh.clone() };
            if (Denial { at: newest.at, ..again.clone() }) == *newest {
                *newest = Denial { times: newest.times + 1, ..again };
                return;
            }
        }
        if ring.kept.len() >= KEPT_MAX {
            ring.kept.pop_front();
        }
        *last += 1;
        ring.kept.push_back(Denial { number: *last, ..fresh });
    }

    /// The denials before this number, newest first.
    pub(crate) fn page(&self, before: Option<u64>, limit: usize) -> DenialPage {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let both = lists.known.kept.iter().chain(&lists.strangers.kept);
        let is_before = |denial: &&Denial| before.is_none_or(|before| denial.number < before);
        let mut refusals: Vec<Denial> = both.filter(is_before).cloned().collect();
        drop(lists);
        refusals.sort_unstable_by_key(|denial| std::cmp::Reverse(denial.number));
        let has_more = refusals.len() > limit;
        refusals.truncate(limit);
        let cursor = refusals.last().filter(|_| has_more).map(|last| last.number);
        DenialPage { refusals, cursor }
    }

    /// The number of denials with a token, and without one.
    pub(crate) fn totals(&self) -> [(&'static str, u64); 2] {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        [("known", lists.known.total), ("stranger", lists.strangers.total)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;

    fn keep(denials: &Denials, who: Option<&str>, operation: &str) {
        let attempt = Attempt {
            who,
            agent: None,
            from: Some(IpAddr::from([127, 0, 0, 1])),
            operation: operation.to_owned(),
            workspace: Some("w"),
        };
        denials.record(&attempt, &Refusal::BadToken {}.into());
    }

    #[test]
    fn unauthenticated_refusals_evict_no_authenticated_ones_and_repeats_are_counted() {
        let denials = Denials::default();
        keep(&denials, Some("ada"), "state.set");
        for number in 0..2 * KEPT_MAX {
            keep(&denials, None, &format!("GET /{number}"));
        }
        keep(&denials, None, "GET /last");
        keep(&denials, None, "GET /last");
        let all = denials.page(None, usize::MAX).refusals;
        assert_eq!(all.len(), KEPT_MAX + 1);
        assert_eq!((all[0].operation.as_str(), all[0].times), ("GET /last", 2));
        assert_eq!(all.last().unwrap().who.as_deref(), Some("ada"));
        assert_eq!(denials.totals(), [("known", 1), ("stranger", 2 * KEPT_MAX as u64 + 2)]);
    }

    #[test]
    fn pages_continue_where_the_last_one_ended() {
        let denials = Denials::default();
        for number in 0..25 {
            keep(&denials, Some(if number % 2 == 0 { "ada" } else { "bob" }), "state.set");
        }
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let page = denials.page(before, 10);
            seen.extend(page.refusals.iter().map(|denial| denial.number));
            before = page.cursor;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(seen, (1..=25).rev().collect::<Vec<u64>>());
    }

    #[test]
    fn displayed_text_is_escaped() {
        for (text, shown) in [
            ("GET /v1/w", "GET /v1/w"),
            ("a\r\nb\x1b[31m\0", "a\\r\\nb\\u{1b}[31m\\u{0}"),
            ("\u{202e}x", "\\u{202e}x"),
            ("/v1/baton_0123", "(not shown, since there may be a token in it)"),
            ("/v1/eyJhbGciOi", "(not shown, since there may be a token in it)"),
        ] {
            assert_eq!(harmless(text), shown);
        }
        assert!(harmless(&"x".repeat(10_000)).len() <= SHOWN_CHARACTERS_MAX);
    }
}
