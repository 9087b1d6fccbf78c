//! Trace context of tasks, messages and hand-offs, in the form of W3C Trace Context.
//!
//! ```text
//!   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//!   version      trace                       parent      flags
//! ```
//!
//! A creator may set the trace context, and a worker continues the trace. No rule depends on it:
//! two requests that differ only in their trace are the same request.

use serde::{Deserialize, Deserializer};

use crate::command::{Command, Mutation};
pub use crate::names::Traceparent;

/// The positions of the trace id and the parent id.
const TRACE: std::ops::Range<usize> = 3..35;
const PARENT: std::ops::Range<usize> = 36..52;
/// The length; a later version may append more.
const LENGTH: usize = 55;

impl Traceparent {
    /// The trace id: 32 hexadecimal digits.
    pub fn trace(&self) -> &str {
        &self.as_str()[TRACE]
    }

    /// The id of the parent span: 16 hexadecimal digits.
    pub fn parent(&self) -> &str {
        &self.as_str()[PARENT]
    }

    /// Its approximate size in bytes, with its field name.
    pub(crate) fn bytes(&self) -> usize {
        self.as_str().len() + 16
    }

    /// Whether the trace is sampled.
    pub fn is_sampled(&self) -> bool {
        let flags = u8::from_str_radix(&self.as_str()[53..LENGTH], 16);
        flags.is_ok_and(|flags| flags & 1 == 1)
    }
}

/// Why a text is not a valid trace context.
pub(crate) fn objection(text: &str) -> Option<&'static str> {
    const FORM: &str = "it must be `version-trace-parent-flags` with 2, 32, 16 and 2 hexadecimal \
                        digits in lower case";
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let bytes = text.as_bytes();
    let has_form = bytes.len() >= LENGTH
        && bytes[..LENGTH].iter().enumerate().all(|(index, byte)| match index {
            2 | 35 | 52 => *byte == b'-',
            _ => is_digit(byte),
        });
    if !has_form {
        return Some(FORM);
    }
    let is_more = bytes.len() > LENGTH;
    let is_plain = |byte: &u8| (0x21..0x7f).contains(byte);
    match &text[..2] {
        "ff" => Some("there is no version `ff`"),
        "00" if is_more => Some(FORM),
        _ if is_more && bytes[LENGTH] != b'-' => Some(FORM),
        _ if !bytes[LENGTH..].iter().all(is_plain) => Some(FORM),
        _ if text[TRACE].bytes().all(|byte| byte == b'0') => Some("the trace is all zeros"),
        _ if text[PARENT].bytes().all(|byte| byte == b'0') => Some("the parent is all zeros"),
        _ => None,
    }
}

/// Reads a stored trace context. Earlier versions accepted any text; an invalid one is ignored.
pub(crate) fn kept<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Traceparent>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.and_then(|text| Traceparent::parse(&text).ok()))
}

impl Command {
    /// The same command with this trace context, unless it has one.
    #[must_use]
    pub fn traced(mut self, traceparent: &Traceparent) -> Self {
        if let Some(slot) = self.traceparent() {
            slot.get_or_insert_with(|| traceparent.clone());
        }
        self
    }
}

impl Mutation {
    fn commands_mut(&mut self) -> &mut [Command] {
        match self {
            Self::Command(command) => std::slice::from_mut(command),
            Self::Fenced { command, .. } => std::slice::from_mut(command),
            Self::Transaction { commands, .. } => commands,
            Self::Minimal(mutation) => mutation.commands_mut(),
        }
    }

    /// The same mutation with this trace context in every command that has none.
    #[must_use]
    pub fn traced(mut self, traceparent: &Traceparent) -> Self {
        for slot in self.commands_mut().iter_mut().filter_map(Command::traceparent) {
            slot.get_or_insert_with(|| traceparent.clone());
        }
        self
    }

    /// Runs a function on the mutation without its trace context: a repeated request has the same
    /// meaning, but another span.
    pub(crate) fn untraced<T>(&mut self, look: impl FnOnce(&Self) -> T) -> T {
        let taken: Vec<_> = self
            .commands_mut()
            .iter_mut()
            .filter_map(Command::traceparent)
            .map(Option::take)
            .collect();
        let seen = look(self);
        for (slot, taken) in
            self.commands_mut().iter_mut().filter_map(Command::traceparent).zip(taken)
        {
            *slot = taken;
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::TaskType;
    use crate::space::receipt::digest;
    use crate::task;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_trace_parent_is_as_w3c_trace_context_writes_it() {
        let good = Traceparent::parse(GOOD).unwrap();
        assert_eq!(good.trace(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(good.parent(), "00f067aa0ba902b7");
        assert!(good.is_sampled());
        let later = format!("cc{}-what-the-future-will-be-like", &GOOD[2..]);
        assert_eq!(Traceparent::parse(&later).unwrap().trace(), good.trace());
        let unsampled = GOOD.replace("-01", "-00");
        assert!(!Traceparent::parse(&unsampled).unwrap().is_sampled());
        for bad in [
            "",
            "00",
            &GOOD[..54],
            &GOOD.to_uppercase(),
            &format!("{GOOD}-more"),
            &format!("cc{}.more", &GOOD[2..]),
            &format!("cc{}-m re", &GOOD[2..]),
            &format!("ff{}", &GOOD[2..]),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &GOOD.replace('-', "_"),
            &format!("cc{}-{}", &GOOD[2..], "m".repeat(300)),
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert!(Traceparent::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_traceparent_that_earlier_versions_accepted_is_omitted() {
        let read = |text: &str| kept(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!(read(&format!("{GOOD:?}")).unwrap().as_str(), GOOD);
        assert_eq!(read("\"whatever\""), None);
        assert_eq!(read("null"), None);
    }

    #[test]
    fn a_repetition_in_another_span_is_the_same_request() {
        let create = task::Create::new(TaskType::parse("review").unwrap());
        let mutation = |traceparent: Option<&str>| {
            let traceparent = traceparent.map(|text| Traceparent::parse(text).unwrap());
            let create = task::Create { traceparent, ..create.clone() };
            Mutation::Command(task::Command::Create(Box::new(create)).into())
        };
        let other = GOOD.replace("00f067aa0ba902b7", "00f067aa0ba902b8");
        let mut traced = mutation(Some(GOOD));
        assert_eq!(digest(&mut traced), digest(&mut mutation(Some(&other))));
        assert_eq!(digest(&mut traced), digest(&mut mutation(None)));
        assert_eq!(traced, mutation(Some(GOOD)), "looking changes nothing");
    }

    #[test]
    fn the_traceparent_stays_in_the_record() {
        let create = task::Create::new(TaskType::parse("review").unwrap());
        let create = |traceparent| -> Command {
            task::Command::Create(Box::new(task::Create { traceparent, ..create.clone() })).into()
        };
        let good = Traceparent::parse(GOOD).unwrap();
        let other = GOOD.replace("00f067aa0ba902b7", "00f067aa0ba902b8");
        let other = Traceparent::parse(&other).unwrap();
        let commands = vec![create(None), create(Some(good.clone()))];
        let mutation =
            Mutation::Transaction { require: Vec::new(), commands, optional: Vec::new() };
        let commands = vec![create(Some(other.clone())), create(Some(good))];
        assert_eq!(
            mutation.traced(&other),
            Mutation::Transaction { require: Vec::new(), commands, optional: Vec::new() }
        );
    }
}
