//! Why a command failed, in three lines, and the exit code that says so to scripts.
//!
//! ```text
//! error: state set: conflict (state.version_conflict)                          what
//!   why: entry `plan` in `shared` is at version 2, not 1; it is {"step":2} …   why
//!    do: read it again, then decide                                            what to do
//! ```
//!
//! 1. The exit code follows from the kind alone, except that an unknown outcome has its own.
//! 2. In the JSON modes the same is one object on one line: `{"error":{…}}`, as on the wire.
//! 3. A reader of stdout that has gone is no failure: it has what it wanted.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use baton_client::Lost;
use baton_core::json::JsonError;
use baton_core::wire::{self, OPERATIONS, Problem};
use baton_core::{Entry, Json, Kind, Reply};
use serde_json::json;
use thiserror::Error;

use crate::output::{self, Mode};

const EXIT_OTHER: u8 = 1;
const EXIT_UNKNOWN_OUTCOME: u8 = 9;
const EXIT_NOTHING_IN_TIME: u8 = 10;
const EXIT_INTERRUPTED: u8 = 130;

/// Facts longer than this are cut, so that the reason stays a line.
const FACT_CHARACTERS_MAX: usize = 160;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong, and this is what.
    Problem { problem: Box<Problem>, exit: u8 },
    /// A program that was run has ended so, and has said itself what there is to say.
    Ended { exit: u8 },
    /// Somebody pressed ctrl-c.
    Interrupted,
    /// Nobody reads what is printed any more.
    ClosedPipe,
}

/// What can be wrong on this side of the connection.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    #[error("{reason}")]
    Usage { reason: String },
    #[error("{given} is not JSON: {reason}")]
    NotJson { given: String, reason: JsonError },
    #[error("{given} does not have the required form: {reason}")]
    Misshapen { given: String, reason: JsonError },
    #[error("{given} cannot be read: {reason}")]
    Unreadable { given: String, reason: String },
    #[error("{given} has more than {bytes_max} bytes")]
    TooLong { given: String, bytes_max: u64 },
    #[error("the settings in `{}` cannot be used: {reason}", path.display())]
    Settings { path: PathBuf, reason: String },
    #[error("{what}, and that cannot be undone")]
    Unconfirmed { what: String },
    #[error("the value of `{key}` is not a string")]
    NotString { key: String },
    #[error("{what}; timed out")]
    NothingInTime { what: String },
    #[error("{count} keys that agents depend on are broken")]
    Broken { count: usize },
    #[error("{count} checks failed")]
    Unwell { count: usize },
    #[error("{what} is lost: {reason}")]
    Lost { what: String, reason: String },
    #[error("`{program}` cannot be run: {reason}")]
    NoProgram { program: String, reason: String },
    #[cfg(not(feature = "otel"))]
    #[error("this program was built without {what}: the feature `{feature}` is not in it")]
    NotBuilt { what: &'static str, feature: &'static str },
    #[error("the system refused: {reason}")]
    System { reason: String },
}

impl Fault {
    fn code(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "cli.usage",
            Self::NotJson { .. } => "cli.not_json",
            Self::Misshapen { .. } => "cli.misshapen",
            Self::Unreadable { .. } => "cli.unreadable",
            Self::TooLong { .. } => "cli.too_long",
            Self::Settings { .. } => "cli.settings",
            Self::Unconfirmed { .. } => "cli.unconfirmed",
            Self::NotString { .. } => "cli.not_string",
            Self::NothingInTime { .. } => "cli.nothing_in_time",
            Self::Broken { .. } => "cli.broken_contracts",
            Self::Unwell { .. } => "cli.unwell",
            Self::Lost { .. } => "cli.lost",
            Self::NoProgram { .. } => "cli.no_program",
            #[cfg(not(feature = "otel"))]
            Self::NotBuilt { .. } => "cli.not_built",
            Self::System { .. } => "cli.system",
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Usage { .. }
            | Self::NotJson { .. }
            | Self::Misshapen { .. }
            | Self::Unreadable { .. }
            | Self::Settings { .. }
            | Self::Unconfirmed { .. }
            | Self::NotString { .. }
            | Self::NoProgram { .. } => Kind::Invalid,
            #[cfg(not(feature = "otel"))]
            Self::NotBuilt { .. } => Kind::Invalid,
            Self::TooLong { .. } => Kind::TooLarge,
            Self::Broken { .. } => Kind::Conflict,
            Self::Lost { .. } => Kind::Stale,
            Self::Unwell { .. } | Self::NothingInTime { .. } | Self::System { .. } => {
                Kind::Unavailable
            }
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "see `baton help`, or `--help` after the command",
            Self::NotJson { .. } => "quote text as '\"text\"', or use --string to pass plain text",
            Self::Misshapen { .. } => "correct it as the reason says",
            Self::Unreadable { .. } => "name an existing text file",
            Self::TooLong { .. } => "split it into several requests",
            Self::Settings { .. } => "correct the file; `baton help` lists the settings",
            Self::Unconfirmed { .. } => "if that is what you want, repeat with --yes",
            Self::NotString { .. } => "omit --string to get it as JSON",
            Self::NothingInTime { .. } => "wait longer with --wait, or see who holds it",
            Self::Broken { .. } => "restore the keys, or inform the agents that depend on them",
            Self::Unwell { .. } => "follow the advice for each failed check",
            Self::Lost { .. } => "the work is not finished: check it, then start again",
            #[cfg(not(feature = "otel"))]
            Self::NotBuilt { .. } => {
                "build it with `cargo build --release -p baton-cli --features otel`"
            }
            Self::NoProgram { .. } => "name an existing, executable program",
            Self::System { .. } => "check what it says, then retry",
        }
    }
}

impl Failure {
    fn of(problem: Problem) -> Self {
        let exit = exit_code(problem.kind);
        Self::Problem { problem: Box::new(problem), exit }
    }

    fn uncertain(problem: Problem, is_unknown: bool) -> Self {
        let exit = if is_unknown { EXIT_UNKNOWN_OUTCOME } else { exit_code(problem.kind) };
        Self::Problem { problem: Box::new(problem), exit }
    }

    /// What a program worked under is lost, and the program was ended.
    pub(crate) fn lost(what: &str, lost: Lost<baton_client::Error>) -> Self {
        match lost {
            Lost::Refused(error) => error.into(),
            silent @ Lost::Silent { .. } => {
                let (what, reason) = (what.to_owned(), silent.to_string());
                Fault::Lost { what, reason }.into()
            }
        }
    }

    /// The server answered something else than was asked.
    pub(crate) fn odd(reply: &Reply) -> Self {
        <baton_client::Error as baton_handle::Failure>::odd(reply).into()
    }

    /// Tells the user, and gives the exit code. `name` is the command that failed.
    pub(crate) fn report(self, name: &str, mode: Mode) -> ExitCode {
        match self {
            Self::ClosedPipe => ExitCode::SUCCESS,
            Self::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
            Self::Ended { exit } => ExitCode::from(exit),
            Self::Problem { problem, exit } => {
                let text = match mode {
                    Mode::Table => lines(name, &problem),
                    Mode::Json | Mode::Jsonl | Mode::Yaml => {
                        let error = serde_json::to_string(&problem);
                        format!("{{\"error\":{}}}", error.expect("problems can be encoded"))
                    }
                };
                output::say(&text);
                ExitCode::from(exit)
            }
        }
    }
}

fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Invalid => 2,
        Kind::NotFound => 3,
        Kind::Conflict => 4,
        Kind::Stale => 5,
        Kind::Denied => 6,
        Kind::TooLarge | Kind::Exhausted => 7,
        Kind::Unavailable => 8,
    }
}

fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Invalid => "not valid",
        Kind::NotFound => "not found",
        Kind::Conflict => "conflict",
        Kind::Stale => "stale",
        Kind::Denied => "not allowed",
        Kind::TooLarge => "too large",
        Kind::Exhausted => "a limit is reached",
        Kind::Unavailable => "not available",
    }
}

fn lines(name: &str, problem: &Problem) -> String {
    let Problem { code, kind, detail, hint, facts } = problem;
    let what = what(*kind);
    let name = if name.is_empty() { "baton" } else { name };
    let (detail, facts, hint) = (output::plain(detail), winner(facts), in_our_words(hint));
    format!("error: {name}: {what} ({code})\n  why: {detail}{facts}\n   do: {hint}")
}

/// The entry that won, which the detail does not show. It says the rest itself.
fn winner(facts: &[(String, Json)]) -> String {
    let Some(entry) = facts.iter().find_map(|(_, fact)| fact.to::<Entry>().ok()) else {
        return String::new();
    };
    let (value, version) = (short(&String::from_utf8_lossy(entry.value())), entry.version());
    let (agent, time) = (entry.updated_by(), entry.updated_at());
    format!("; it is {value}, version {version}, by `{agent}` at {time}")
}

/// The hint in the words of the command line: `state.list` is `baton state ls` here.
fn in_our_words(hint: &str) -> String {
    let mut hint = output::plain(hint);
    for operation in OPERATIONS {
        let (noun, verb) = operation.name.split_once('.').unwrap_or_default();
        let verb = if verb == "list" { "ls" } else { verb };
        hint = hint.replace(operation.name, &format!("`baton {noun} {verb}`"));
    }
    hint
}

fn short(text: &str) -> String {
    let mut shown: String = output::plain(text).chars().take(FACT_CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn problem(fault: &Fault) -> Problem {
    Problem::new(fault.code(), fault.kind(), fault, fault.hint(), &json!({}))
}

impl Failure {
    /// What is wrong, in one line.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Problem { problem, .. } => problem.detail.clone(),
            Self::Ended { .. } | Self::Interrupted | Self::ClosedPipe => "it was ended".to_owned(),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let problem = Box::new(problem(&fault));
        let exit = match fault {
            Fault::NothingInTime { .. } => EXIT_NOTHING_IN_TIME,
            _ => exit_code(problem.kind),
        };
        Self::Problem { problem, exit }
    }
}

/// The system did not let us.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        let problem = problem(&Fault::System { reason: error.to_string() });
        Self::Problem { problem: Box::new(problem), exit: EXIT_OTHER }
    }
}

impl From<baton_client::Error> for Failure {
    fn from(error: baton_client::Error) -> Self {
        let is_unknown = error.is_unknown();
        let problem = match error {
            baton_client::Error::Refused(problem) => *problem,
            baton_client::Error::Rejected(rejection) => Problem::from(&rejection),
            other => Problem::new(other.code(), other.kind(), &other, other.hint(), &json!({})),
        };
        Self::uncertain(problem, is_unknown)
    }
}

impl From<baton::Error> for Failure {
    fn from(error: baton::Error) -> Self {
        Self::uncertain(Problem::from(&error), error.is_unknown())
    }
}

impl From<baton_log::OpenError> for Failure {
    fn from(error: baton_log::OpenError) -> Self {
        baton::Error::from(error).into()
    }
}

impl From<baton_server::ListenError> for Failure {
    fn from(error: baton_server::ListenError) -> Self {
        Self::of(Problem::new(error.code(), error.kind(), &error, error.hint(), &json!({})))
    }
}

impl From<baton_tls::TlsError> for Failure {
    fn from(error: baton_tls::TlsError) -> Self {
        Self::of(Problem::new(error.code(), error.kind(), &error, error.hint(), &json!({})))
    }
}

impl From<baton_server::access::KeyFileError> for Failure {
    fn from(error: baton_server::access::KeyFileError) -> Self {
        Self::of(Problem::new(error.code(), error.kind(), &error, error.hint(), &json!({})))
    }
}

impl From<baton_server::access::TokenError> for Failure {
    fn from(error: baton_server::access::TokenError) -> Self {
        Self::of(Problem::new(error.code(), error.kind(), &error, error.hint(), &json!({})))
    }
}

impl From<wire::Fault> for Failure {
    fn from(fault: wire::Fault) -> Self {
        Self::of(Problem::from(&fault))
    }
}

impl From<baton_core::Rejection> for Failure {
    fn from(rejection: baton_core::Rejection) -> Self {
        Self::of(Problem::from(&rejection))
    }
}

impl From<baton_core::names::NameError> for Failure {
    fn from(error: baton_core::names::NameError) -> Self {
        baton_core::Rejection::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_three_lines_with_the_winner() {
        let facts = json!({"entry": {
            "namespace": "shared", "key": "plan", "value": {"step": 2}, "version": 2,
            "revision": 2, "updated_at": "2026-01-01T00:00:00.000Z", "updated_by": "bob",
            "checksum": "crc32:3a34fe52",
        }, "expected": 1});
        let said = |facts| {
            let detail = "entry `plan` is at version 2, not 1";
            let code = "state.version_conflict";
            lines("state set", &Problem::new(code, Kind::Conflict, &detail, "read it", &facts))
        };
        let text = said(facts);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.starts_with("error: state set: conflict (state.version_conflict)\n"));
        assert!(text.contains("\n  why: entry `plan` is at version 2, not 1; "), "{text}");
        assert!(text.ends_with("\n   do: read it"), "{text}");
        assert_eq!(said(json!({"a": 1})).matches(';').count(), 0);
    }

    #[test]
    fn what_came_from_elsewhere_cannot_break_the_lines() {
        let problem = Problem::new("x.y", Kind::Invalid, &"a\nb\u{1b}[2J", "c\nd", &json!({}));
        let text = lines("state get", &problem);
        assert_eq!(text.lines().count(), 3);
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn an_unknown_outcome_has_its_own_exit_code() {
        let unknown = baton_client::Error::Unknown { reason: "gone".to_owned() };
        assert!(matches!(Failure::from(unknown), Failure::Problem { exit: 9, .. }));
        let closed = baton_client::Error::Closed;
        assert!(matches!(Failure::from(closed), Failure::Problem { exit: 8, .. }));
    }

    #[test]
    fn a_reader_that_left_is_no_failure() {
        let error = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(matches!(Failure::from(error), Failure::ClosedPipe));
        let error = io::Error::from(io::ErrorKind::StorageFull);
        assert!(matches!(Failure::from(error), Failure::Problem { exit: 1, .. }));
    }
}
