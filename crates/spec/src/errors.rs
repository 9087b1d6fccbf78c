//! The page of error codes, made of the refusals that the core declares and, for the crates around
//! it, of sections that are written by hand.
//!
//! ```text
//!   refusals! { … } ──▶ REFUSALS ──┐
//!   errors/sections.md ────────────┴──▶ by prefix of the code ──▶ docs/errors.md
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use baton_core::refusals::Refusal;
use baton_core::wire::Fault;
use baton_core::{
    Kind, Rejection, access, agent, artifact, barrier, checkpoint, context, contracts, handoff,
    join, lock, message, namespace, pipeline, reaction, rule, secret, semaphore, state, stream,
    task, topic, user_event, workspace,
};

const INTRODUCTION: &str = include_str!("errors/introduction.md");
const SECTIONS: &str = include_str!("errors/sections.md");

/// Lines of the page are not longer.
const COLUMNS: usize = 100;

/// What the codes begin with, in the order of the page.
const PREFIXES: &[&str] = &[
    "request",
    "access",
    "quota",
    "server",
    "state",
    "namespace",
    "agent",
    "message",
    "topic",
    "stream",
    "rule",
    "event",
    "reaction",
    "context",
    "contract",
    "lock",
    "semaphore",
    "barrier",
    "task",
    "handoff",
    "join",
    "pipeline",
    "checkpoint",
    "artifact",
    "secret",
    "workspace",
    "import",
    "transaction",
    "policy",
    "idempotency",
    "history",
    "watch",
    "engine",
    "backup",
    "restore",
    "log",
    "frames",
    "run",
    "tls",
    "client",
    "cli",
];

/// Every enum of refusals that is declared with what the page says.
const DECLARED: &[&[Refusal]] = &[
    Fault::REFUSALS,
    Rejection::REFUSALS,
    access::Denied::REFUSALS,
    state::Rejection::REFUSALS,
    namespace::Rejection::REFUSALS,
    agent::Rejection::REFUSALS,
    message::Rejection::REFUSALS,
    topic::Rejection::REFUSALS,
    stream::Rejection::REFUSALS,
    rule::Rejection::REFUSALS,
    user_event::Rejection::REFUSALS,
    reaction::Rejection::REFUSALS,
    context::Rejection::REFUSALS,
    contracts::Rejection::REFUSALS,
    lock::Rejection::REFUSALS,
    semaphore::Rejection::REFUSALS,
    barrier::Rejection::REFUSALS,
    task::Rejection::REFUSALS,
    handoff::Rejection::REFUSALS,
    join::Rejection::REFUSALS,
    pipeline::Rejection::REFUSALS,
    checkpoint::Rejection::REFUSALS,
    artifact::Rejection::REFUSALS,
    secret::Rejection::REFUSALS,
    workspace::Rejection::REFUSALS,
];

/// The whole page.
///
/// # Panics
///
/// If a code is documented twice, or a declared one not at all.
pub fn page() -> String {
    let mut sections: Vec<(&str, String)> = Vec::new();
    let declared = || DECLARED.iter().flat_map(|refusals| refusals.iter());
    sections.extend(declared().filter_map(|refusal| Some((refusal.code, section(refusal)?))));
    sections.extend(written());
    let mut by_code: BTreeMap<&str, usize> = BTreeMap::new();
    for (code, _) in &sections {
        *by_code.entry(code).or_default() += 1;
    }
    for refusal in declared() {
        let code = refusal.code;
        assert_eq!(by_code.get(code), Some(&1), "`{code}` needs one `cause`, in one place");
    }
    let rank = |code: &str| {
        let prefix = code.split('.').next();
        let place = PREFIXES.iter().position(|known| Some(*known) == prefix);
        place.unwrap_or_else(|| panic!("`{code}` begins with no known prefix"))
    };
    sections.sort_by_key(|(code, _)| rank(code));
    let sections: Vec<String> = sections.into_iter().map(|(_, text)| text).collect();
    format!("{INTRODUCTION}\n{}", sections.join("\n"))
}

/// The sections that are written by hand.
fn written() -> impl Iterator<Item = (&'static str, String)> {
    SECTIONS.split("## `").skip(1).map(|section| {
        let code = section.split('`').next().unwrap_or_default();
        (code, format!("## `{}\n", section.trim_end()))
    })
}

/// What is said about a refusal; nothing if another one documents the code.
fn section(refusal: &Refusal) -> Option<String> {
    let cause = refusal.cause?;
    let summary: Vec<&str> = refusal.summary.iter().map(|line| line.trim()).collect();
    let kind = match refusal.kind {
        Some(kind) => format!("`{}`", word(kind)),
        None => "the kind of its cause".to_owned(),
    };
    let mut text = format!("## `{}`\n\n", refusal.code);
    text.push_str(&filled("", "", &summary.join(" ")));
    text.push_str(&filled("\n- ", "  ", &format!("Kind: {kind}")));
    if !refusal.message.is_empty() {
        text.push_str(&filled("- ", "  ", &format!("Detail: {}", quoted(refusal.message))));
    }
    text.push_str(&filled("- ", "  ", &format!("Cause: {cause}")));
    let remedy = refusal.remedy.map_or_else(|| sentence(refusal.hint), str::to_owned);
    text.push_str(&filled("- ", "  ", &format!("Remedy: {remedy}")));
    Some(text)
}

fn word(kind: Kind) -> String {
    let word = serde_json::to_value(kind).expect("a kind is a word");
    word.as_str().unwrap_or_default().to_owned()
}

/// A message as code, which has backticks of its own; what is put in without a name is left open.
fn quoted(message: &str) -> String {
    let message = message.replace("{}", "…").replace("{0}", "…");
    if message.contains('`') { format!("`` {message} ``") } else { format!("`{message}`") }
}

/// A hint as a sentence.
fn sentence(hint: &str) -> String {
    let mut letters = hint.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// A paragraph in lines of bounded length.
fn filled(first: &str, indent: &str, text: &str) -> String {
    let mut paragraph = first.to_owned();
    let mut columns = first.trim_start().chars().count();
    for (index, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && columns + 1 + length > COLUMNS {
            write!(paragraph, "\n{indent}").expect("a string takes any text");
            columns = indent.len();
        } else if index > 0 {
            paragraph.push(' ');
            columns += 1;
        }
        paragraph.push_str(word);
        columns += length;
    }
    paragraph.push('\n');
    paragraph
}
