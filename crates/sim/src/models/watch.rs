//! Checks that a watcher gets matching events, in order, without gap or duplicate.

use baton::watch::Notice;
use baton_core::{Event, namespace};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, demand};
use crate::models::reaction::acting;

/// The events that one watcher has received so far.
#[derive(Clone, Debug)]
pub struct WatchModel {
    /// The watched subjects.
    pub pattern: String,
    /// The watched event types; all if empty.
    pub kinds: Vec<String>,
    /// Whether events that are only about waiting calls are delivered.
    pub waits: bool,
    /// The next event that it has not received: revision and index.
    pub next: (u64, usize),
}

impl WatchModel {
    /// It receives an event.
    pub fn notified(&mut self, ledger: &Ledger, notice: &Notice) -> Audit {
        let position = (notice.revision().0, notice.index());
        demand!(
            position.0 <= ledger.head(),
            "a watcher received {position:?}, which is not durable"
        );
        let due = self.due(ledger, ledger.head());
        demand!(
            due == Some(position),
            "a watcher of `{}` received {position:?} when {due:?} was due",
            self.pattern
        );
        let batch = ledger.batch(position.0).expect("it is durable");
        let same = batch.events.get(position.1) == Some(notice.event())
            && acting(batch)[notice.index()] == notice.agent()
            && batch.time == notice.time();
        demand!(same, "a watcher received {position:?} with different content");
        self.next = (position.0, position.1 + 1);
        Ok(())
    }

    /// It has received everything before this revision.
    pub fn complete(&mut self, ledger: &Ledger, before: u64) -> Audit {
        let due = self.due(ledger, before.saturating_sub(1));
        demand!(
            due.is_none(),
            "a watcher of `{}` did not receive {due:?} before {before}",
            self.pattern
        );
        self.next = self.next.max((before, 0));
        Ok(())
    }

    /// The next event up to a revision that it must receive.
    fn due(&self, ledger: &Ledger, upto: u64) -> Option<(u64, usize)> {
        let (first, skip) = self.next;
        for revision in first.max(1)..=upto {
            let batch = ledger.batch(revision)?;
            let from = if revision == first { skip } else { 0 };
            let mut events = batch.events.iter().enumerate().skip(from);
            if let Some((index, _)) = events.find(|(_, event)| self.wants(event)) {
                return Some((revision, index));
            }
        }
        None
    }

    fn wants(&self, event: &Event) -> bool {
        if matches!(event, Event::Receipt(_) | Event::Awaited(_)) {
            return false;
        }
        if self.kinds.is_empty() && !self.waits && is_about_waiting(event.kind()) {
            return false;
        }
        if !self.kinds.is_empty() && !self.kinds.iter().any(|kind| kind == event.kind()) {
            return false;
        }
        if matches(&self.pattern, &event.subject()) {
            return true;
        }
        match event {
            Event::Namespace(namespace::Event::Deleted { name }) => {
                can_begin(&self.pattern, &format!("state/{name}/"))
            }
            _ => false,
        }
    }
}

/// Whether an event of this type is only about a waiting call.
fn is_about_waiting(kind: &str) -> bool {
    let (primitive, what) = kind.split_once('.').unwrap_or_default();
    match what {
        "queued" | "gave_up" | "told" | "polled" | "rejoined" => true,
        "answered" => matches!(primitive, "join" | "wait"),
        _ => false,
    }
}

/// Whether a pattern matches a text. Simple and slow on purpose.
pub fn matches(pattern: &str, text: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix("**") {
        return (0..=text.len())
            .any(|end| text.is_char_boundary(end) && matches(rest, &text[end..]));
    }
    if let Some(rest) = pattern.strip_prefix('*') {
        let segment = text.find(['/', ':']).unwrap_or(text.len());
        return (0..=segment).any(|end| text.is_char_boundary(end) && matches(rest, &text[end..]));
    }
    match (pattern.chars().next(), text.chars().next()) {
        (None, None) => true,
        (Some(sign), Some(there)) if sign == there => {
            matches(&pattern[sign.len_utf8()..], &text[there.len_utf8()..])
        }
        _ => false,
    }
}

/// Whether a pattern matches some text with this prefix.
fn can_begin(pattern: &str, beginning: &str) -> bool {
    if beginning.is_empty() {
        return true;
    }
    if pattern.starts_with("**") {
        return true;
    }
    if let Some(rest) = pattern.strip_prefix('*') {
        let segment = beginning.find(['/', ':']).unwrap_or(beginning.len());
        return (0..=segment).any(|end| can_begin(rest, &beginning[end..]))
            || segment == beginning.len();
    }
    match (pattern.chars().next(), beginning.chars().next()) {
        (Some(sign), Some(there)) if sign == there => {
            can_begin(&pattern[sign.len_utf8()..], &beginning[there.len_utf8()..])
        }
        _ => false,
    }
}

/// The patterns here are independent of the core; this test compares the two.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_the_documentation_says() {
        for (pattern, text, means) in [
            ("task:*", "task:7", true),
            ("task:*", "task:7:log", false),
            ("a*c", "abc", true),
            ("a*c", "a/c", false),
            ("state/shared/**", "state/shared/a/b", true),
            ("state/shared/**", "state/shared", false),
            ("state/**/plan", "state/a/b/plan", true),
            ("state/**/plan", "state/plan", false),
        ] {
            assert_eq!(matches(pattern, text), means, "{pattern} {text}");
        }
        assert!(can_begin("state/*/k1", "state/notes/"));
        assert!(can_begin("**", "state/notes/"));
        assert!(!can_begin("state/shared/**", "state/notes/"));
        assert!(!can_begin("agents/**", "state/notes/"));
    }
}
