//! The page of error codes, generated from the refusals that the crates declare.
//!
//! ```text
//!   refusals! { … } ──▶ REFUSALS of every enum ──▶ by prefix of the code ──▶ docs/errors.md
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use baton::history::run::RunError;
use baton::sorted_table::SortedTableError;
use baton_core::refusals::Refusal;
use baton_core::wire::Fault;
use baton_core::{
    Kind, Rejection, access, agent, artifact, barrier, checkpoint, context, contract, handoff,
    join, lock, message, namespace, pipeline, reaction, rule, secret, semaphore, spend, state,
    stream, task, topic, user_event, wait, workspace,
};
use baton_log::{AppendError, BlobError, OpenError, ReadError, TruncateError};

const INTRODUCTION: &str = include_str!("errors/introduction.md");

/// Maximum length of a line of the page.
const COLUMNS: usize = 100;

/// The prefixes of the codes, in the order of the page.
const PREFIXES: &[&str] = &[
    "request",
    "access",
    "quota",
    "server",
    "cluster",
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
    "spend",
    "handoff",
    "join",
    "wait",
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

/// Errors of the command line, which is a program and has no library.
#[path = "../../cli/src/fault.rs"]
mod fault;

/// The refusals of everything above the log.
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
    contract::Rejection::REFUSALS,
    lock::Rejection::REFUSALS,
    semaphore::Rejection::REFUSALS,
    barrier::Rejection::REFUSALS,
    task::Rejection::REFUSALS,
    spend::Rejection::REFUSALS,
    handoff::Rejection::REFUSALS,
    join::Rejection::REFUSALS,
    wait::Rejection::REFUSALS,
    pipeline::Rejection::REFUSALS,
    checkpoint::Rejection::REFUSALS,
    artifact::Rejection::REFUSALS,
    secret::Rejection::REFUSALS,
    workspace::Rejection::REFUSALS,
    baton::error::Error::REFUSALS,
    SortedTableError::REFUSALS,
    RunError::REFUSALS,
    baton_tls::TlsError::REFUSALS,
    baton_client::Error::REFUSALS,
    fault::Fault::REFUSALS,
];

/// The refusals of the log, which have no kinds.
const DECLARED_BY_LOG: &[&[baton_log::Refusal]] = &[
    AppendError::REFUSALS,
    ReadError::REFUSALS,
    TruncateError::REFUSALS,
    BlobError::REFUSALS,
    OpenError::REFUSALS,
];

/// Every refusal that is declared.
fn declared() -> Vec<Refusal> {
    let above = DECLARED.iter().chain(baton_server::REFUSALS).copied().flatten().copied();
    let of_log = DECLARED_BY_LOG.iter().copied().flatten().map(|refusal| {
        let baton_log::Refusal { code, summary, message, hint, cause, remedy } = *refusal;
        Refusal { code, kind: Some(Kind::Unavailable), summary, message, hint, cause, remedy }
    });
    above.chain(of_log).collect()
}

/// The whole page.
///
/// # Panics
///
/// If a code is documented twice or not at all.
pub fn page() -> String {
    let declared = declared();
    let mut by_code: BTreeMap<&str, Vec<&Refusal>> = BTreeMap::new();
    for refusal in &declared {
        by_code.entry(refusal.code).or_default().push(refusal);
    }
    for (code, refusals) in &by_code {
        let documented = refusals.iter().filter(|refusal| refusal.cause.is_some()).count();
        assert_eq!(documented, 1, "`{code}` needs one `cause`, in one place");
    }
    let mut sections: Vec<(&str, String)> = Vec::new();
    for refusal in &declared {
        let section = section(refusal, &by_code[refusal.code]);
        sections.extend(section.map(|text| (refusal.code, text)));
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

/// The section of a refusal, with the messages of all that have its code; none if another one
/// documents the code.
fn section(refusal: &Refusal, all: &[&Refusal]) -> Option<String> {
    let cause = refusal.cause?;
    let summary: Vec<&str> = refusal.summary.iter().map(|line| line.trim()).collect();
    let kind = match refusal.kind {
        Some(kind) => format!("`{}`", word(kind)),
        None => "the kind of its cause".to_owned(),
    };
    let mut text = format!("## `{}`\n\n", refusal.code);
    text.push_str(&filled("", "", &summary.join(" ")));
    text.push_str(&filled("\n- ", "  ", &format!("Kind: {kind}")));
    let mut details = Vec::new();
    for message in all.iter().map(|refusal| refusal.message).filter(|message| says_more(message)) {
        let message = quoted(message);
        if !details.contains(&message) {
            details.push(message);
        }
    }
    if !details.is_empty() {
        text.push_str(&filled("- ", "  ", &format!("Detail: {}", details.join(", or "))));
    }
    text.push_str(&filled("- ", "  ", &format!("Cause: {cause}")));
    let remedy = refusal.remedy.map_or_else(|| sentence(refusal.hint), str::to_owned);
    text.push_str(&filled("- ", "  ", &format!("Remedy: {remedy}")));
    Some(text)
}

/// Whether a message has words besides its placeholders.
fn says_more(message: &str) -> bool {
    let mut is_inside = false;
    message.chars().any(|letter| {
        match letter {
            '{' => is_inside = true,
            '}' => is_inside = false,
            _ => {}
        }
        !is_inside && letter.is_alphabetic()
    })
}

fn word(kind: Kind) -> String {
    let word = serde_json::to_value(kind).expect("a kind is a word");
    word.as_str().unwrap_or_default().to_owned()
}

/// A message as code, with its own backticks; unnamed placeholders are left open.
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
