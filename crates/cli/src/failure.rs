//! Errors of the command line: three lines for people, and an exit code for scripts.
//!
//! ```text
//! error: state set: conflict (state.version_conflict)                          what
//!   why: entry `plan` in `shared` is at version 2, not 1; it is {"step":2} …   why
//!    do: read it again, then retry                                             what to do
//! ```
//!
//! 1. The exit code depends only on the kind of the error, except for an unknown outcome, a wait
//!    that timed out, and an answer that could not be printed.
//! 2. In the JSON formats an error is one object on one line: `{"error":{…}}`, as on the wire.
//! 3. A closed stdout pipe is not an error: the reader has read enough.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use baton_client::Lost;
use baton_core::wire::{self, Problem, hint_in_terms_of};
use baton_core::{Entry, Json, Kind, Reply};
use serde_json::json;
use serde_json::value::RawValue;

use crate::arguments;
pub(crate) use crate::fault::Fault;
use crate::output::{self, Mode};

const EXIT_OTHER: u8 = 1;
const EXIT_UNKNOWN_OUTCOME: u8 = 9;
const EXIT_NOTHING_IN_TIME: u8 = 10;
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Longer values are truncated, so that the reason fits on a line.
const FACT_CHARACTERS_MAX: usize = 160;

/// The advice after a usage error, unless the command is known.
const SEE_HELP: &str = "see `baton help`, or use `--help` after the command";

/// The advice if the token of a task is missing.
const CLAIM_FIRST: &str = "claim it first: eval \"$(baton task claim --env)\", or give --token";

/// The same without the token of a lock.
const ACQUIRE_FIRST: &str =
    "give the token of the hold, which `baton lock acquire NAME --field token` prints";

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error to report.
    Problem { problem: Box<Problem>, exit: u8 },
    /// Exit with this code; everything has been reported already.
    Ended { exit: u8 },
    /// Interrupted by ctrl-c.
    Interrupted,
    /// The reader of stdout has closed the pipe.
    ClosedPipe,
}

impl Failure {
    pub(crate) fn of(problem: Problem) -> Self {
        let exit = exit_code(problem.kind);
        Self::Problem { problem: Box::new(problem), exit }
    }

    fn uncertain(problem: Problem, is_unknown: bool) -> Self {
        let exit = if is_unknown { EXIT_UNKNOWN_OUTCOME } else { exit_code(problem.kind) };
        Self::Problem { problem: Box::new(problem), exit }
    }

    /// The lock, permit or lease was lost, and the program was terminated.
    pub(crate) fn lost(what: &str, lost: Lost) -> Self {
        match lost {
            Lost::Refused(error) => error.into(),
            silent @ Lost::Silent { .. } => {
                let (what, reason) = (what.to_owned(), silent.to_string());
                Fault::Lost { what, reason }.into()
            }
        }
    }

    /// The same with another hint: more is known about what was meant.
    pub(crate) fn hinting(self, hint: &str) -> Self {
        match self {
            Self::Problem { mut problem, exit } => {
                hint.clone_into(&mut problem.hint);
                Self::Problem { problem, exit }
            }
            other => other,
        }
    }

    /// The same with the name of the file that it is about.
    pub(crate) fn about(self, file: &Path) -> Self {
        match self {
            Self::Problem { mut problem, exit } => {
                problem.detail = format!("`{}`: {}", file.display(), problem.detail);
                Self::Problem { problem, exit }
            }
            other => other,
        }
    }

    /// The server sent an unexpected reply.
    pub(crate) fn odd(reply: &Reply) -> Self {
        baton_client::Error::unexpected(reply).into()
    }

    /// Reports the error and returns the exit code. `name` is the command that failed.
    pub(crate) fn report(self, name: &str, mode: Mode) -> ExitCode {
        match self {
            Self::ClosedPipe => ExitCode::SUCCESS,
            Self::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
            Self::Ended { exit } => ExitCode::from(exit),
            Self::Problem { mut problem, exit } => {
                problem.hint = as_options(&as_commands(&hint_for(name, &problem)), name);
                let words: Vec<String> = name.split(' ').map(str::to_owned).collect();
                if problem.hint == SEE_HELP
                    && let Some(command) = arguments::known(&words)
                {
                    problem.hint = format!("see `baton help {command}`");
                }
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
        Kind::Invalid => "invalid",
        Kind::NotFound => "not found",
        Kind::Conflict => "conflict",
        Kind::Stale => "stale",
        Kind::Denied => "not permitted",
        Kind::TooLarge => "too large",
        Kind::Exhausted => "limit reached",
        Kind::Unavailable => "unavailable",
    }
}

fn lines(name: &str, problem: &Problem) -> String {
    let Problem { code, kind, detail, hint, facts } = problem;
    let what = what(*kind);
    let name = if name.is_empty() { "baton" } else { name };
    // The errors of a configuration file are one per line.
    let separator = if code == "cli.settings" { '\n' } else { '\0' };
    let detail: Vec<String> = detail.split(separator).map(output::plain).collect();
    let (detail, hint) = (detail.join("\n       "), output::plain(hint));
    let facts = if code == "cli.no_field" { answer(facts) } else { current_entry(facts) };
    format!("error: {name}: {what} ({code})\n  why: {detail}{facts}\n   do: {hint}")
}

/// The whole answer of a command whose output failed: it is nowhere else.
fn answer(facts: &[(String, Json)]) -> String {
    let answer = facts.iter().find(|(name, _)| name == "answer");
    answer.map_or_else(String::new, |(_, it)| format!("; it is {}", output::plain(it.as_str())))
}

/// The current entry in a version conflict, which the detail does not include.
fn current_entry(facts: &[(String, Json)]) -> String {
    let Some(entry) = facts.iter().find_map(|(_, fact)| fact.to::<Entry>().ok()) else {
        return String::new();
    };
    let (value, version) = (short(&String::from_utf8_lossy(entry.value())), entry.version());
    let (agent, time) = (entry.updated_by(), entry.updated_at());
    format!("; it is {value}, version {version}, by `{agent}` at {time}")
}

/// The hint for a command. What is to be deleted and does not exist is not to be created first.
fn hint_for(name: &str, problem: &Problem) -> String {
    let Problem { kind, hint, .. } = problem;
    if let Some((noun, "delete" | "rm")) = name.rsplit_once(' ')
        && *kind == Kind::NotFound
        && hint.starts_with("create it")
        && let Some(list) = arguments::known(&[noun.to_owned(), "ls".to_owned()])
    {
        return format!("list what there is with `baton {list}`");
    }
    hint.clone()
}

/// Translates fields in a hint to options of the command that failed: `wait_ms` becomes `--wait`.
fn as_options(hint: &str, name: &str) -> String {
    let mut before = "";
    let translated = hint.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', '.', ':', ';']);
        let quoted = bare.strip_prefix('`').and_then(|bare| bare.strip_suffix('`'));
        let field = quoted.unwrap_or(bare);
        // A word that may be an ordinary one is a field only where a condition is named.
        let is_condition = matches!(before, "with" | "without");
        before = word;
        let option = arguments::option(name, field).filter(|option| {
            quoted.is_some() || field.contains('_') || (is_condition && option.is_flag)
        });
        match option {
            Some(option) => format!("`--{}`{}", option.name, &word[bare.len()..]),
            None => word.to_owned(),
        }
    });
    translated.collect::<Vec<_>>().join(" ")
}

/// Translates operation names in a hint to commands: `state.list` becomes `baton state ls`.
fn as_commands(hint: &str) -> String {
    let command = |operation: &str, is_quoted| match command_for(operation) {
        Some(command) if is_quoted => command,
        Some(command) => format!("`{command}`"),
        None => operation.to_owned(),
    };
    let translated = hint_in_terms_of(hint, |name, is_quoted| Some(command(name, is_quoted)));
    translated.expect("every operation has words")
}

/// The command that does what an operation does; none if there is no such command.
fn command_for(operation: &str) -> Option<String> {
    let (noun, verb) = operation.split_once('.')?;
    let words = match operation {
        "agent.next" => vec!["next"],
        "context.build" => vec!["context"],
        "handler.list" => vec!["message", "handlers"],
        "stream.receive" => vec!["stream", "read"],
        "workspace.search" => vec!["search"],
        "workspace.why" => vec!["why"],
        _ => vec![noun, verb.trim_end_matches("_stage").trim_end_matches("_context")],
    };
    let words: Vec<String> = words.iter().map(|word| word.replace('_', "-")).collect();
    arguments::known(&words).map(|name| format!("baton {name}"))
}

fn short(text: &str) -> String {
    let mut shown: String = output::plain(text).chars().take(FACT_CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn problem(fault: &Fault) -> Problem {
    let (code, kind) = (fault.code(), fault.kind());
    match fault {
        Fault::Arguments { reason, tip, command } => {
            Problem::new(code, kind, fault, &usage_hint(reason, tip, command), &json!({}))
        }
        Fault::NoField { answer, .. } => {
            let answer = serde_json::from_str::<&RawValue>(answer).ok();
            Problem::new(code, kind, fault, fault.hint(), &json!({ "answer": answer }))
        }
        _ => Problem::new(code, kind, fault, fault.hint(), &json!({})),
    }
}

/// Where to find the usage. Arguments that look like parts of JSON were not quoted.
fn usage_hint(reason: &str, tip: &str, command: &str) -> String {
    let quoted = reason.split('\'').nth(1).unwrap_or_default();
    let looks_like_json = quoted.contains(['{', '}', '[', ']', '"', ':']);
    let is_unexpected = reason.starts_with("unexpected argument");
    let has_no_token = reason.contains("required") && reason.contains("--token <TOKEN>");
    let advice = match quoted {
        "--port" if is_unexpected => "use --listen ADDRESS:PORT",
        _ if is_unexpected && looks_like_json => "put JSON in single quotes",
        word if is_unexpected && !word.starts_with('-') && arguments::takes_text(command) => {
            "put text of several words in quotes"
        }
        _ if has_no_token && command.starts_with("task ") => CLAIM_FIRST,
        _ if has_no_token && command.starts_with("lock ") => ACQUIRE_FIRST,
        _ => tip,
    };
    let see = match (advice.chars().last(), command) {
        (None, "") => SEE_HELP.to_owned(),
        (None, command) => return format!("see `baton help {command}`"),
        (Some('?'), command) => format!(" See `{}`", format!("baton help {command}").trim()),
        (Some(_), command) => format!("; see `{}`", format!("baton help {command}").trim()),
    };
    format!("{advice}{see}")
}

impl Failure {
    /// The error on one line.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Problem { problem, .. } => problem.detail.replace('\n', "; "),
            Self::Ended { .. } | Self::Interrupted | Self::ClosedPipe => "interrupted".to_owned(),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let problem = Box::new(problem(&fault));
        let exit = match fault {
            Fault::NothingInTime { .. } => EXIT_NOTHING_IN_TIME,
            // The request was valid, and carried out.
            Fault::NoField { .. } => EXIT_OTHER,
            _ => exit_code(problem.kind),
        };
        Self::Problem { problem, exit }
    }
}

/// An error of the operating system.
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
        Self::uncertain(Problem::from(&error), is_unknown)
    }
}

impl From<baton::error::Error> for Failure {
    fn from(error: baton::error::Error) -> Self {
        Self::uncertain(Problem::from(&error), error.is_unknown())
    }
}

impl From<baton_log::OpenError> for Failure {
    fn from(error: baton_log::OpenError) -> Self {
        baton::error::Error::from(error).into()
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
    use baton_core::wire::OPERATIONS;

    use super::*;

    #[test]
    fn an_error_is_three_lines_with_the_current_entry() {
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
    fn foreign_text_cannot_break_the_lines() {
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
    fn a_closed_pipe_is_not_an_error() {
        let error = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(matches!(Failure::from(error), Failure::ClosedPipe));
        let error = io::Error::from(io::ErrorKind::StorageFull);
        assert!(matches!(Failure::from(error), Failure::Problem { exit: 1, .. }));
    }

    #[test]
    fn the_usage_hint_suggests_the_closest_name() {
        let unexpected =
            |word: &str| usage_hint(&format!("unexpected argument '{word}' found"), "", "x");
        assert_eq!(unexpected("--port"), "use --listen ADDRESS:PORT; see `baton help x`");
        assert_eq!(unexpected("1}"), "put JSON in single quotes; see `baton help x`");
        assert_eq!(unexpected("word"), "see `baton help x`");
        let missing = "the following required arguments were not provided: --token <TOKEN>";
        let hint = usage_hint(missing, "", "task done");
        assert!(hint.starts_with("claim it first: eval \"$(baton task claim --env)\""), "{hint}");
        let hint = usage_hint("unrecognized subcommand 'tsk'", "did you mean `task`?", "");
        assert!(hint.starts_with("did you mean `task`? See `baton help`"), "{hint}");
    }

    #[test]
    fn hints_name_commands_instead_of_operations() {
        for (hint, expected) in [
            ("list the rules with rule.list", "list the rules with `baton rule ls`"),
            ("create it with namespace.create", "create it with `baton namespace create`"),
            ("retry with `pipeline.retry_stage`", "retry with `baton pipeline retry`"),
            ("read state.get, which waits", "read `baton state get`, which waits"),
            ("use task.complete.", "use `baton task done`."),
            ("see docs/search.md", "see docs/search.md"),
            ("send `client.hello`", "send `client.hello`"),
        ] {
            assert_eq!(as_commands(hint), expected);
        }
    }

    #[test]
    fn hints_name_options_instead_of_fields() {
        for (name, hint, expected) in [
            ("task claim", "set `wait_ms` to wait for it, or", "set `--wait` to wait for it, or"),
            ("task wait", "set `wait_ms`", "set `--wait`"),
            ("task get", "set `wait_ms`", "set `wait_ms`"),
            ("checkpoint prune", "`keep`, `keys` or", "`--keep`, `--key` or"),
            ("semaphore run", "with `permits`: the first", "with `--permits`: the first"),
            ("contract rm", "name, or delete it with force", "name, or delete it with `--force`"),
            ("contract ls", "delete it with force", "delete it with force"),
            ("state set", "write without if_absent", "write without `--if-absent`"),
            ("state set", "treat it with string theory", "treat it with `--string` theory"),
            ("state set", "the string of it", "the string of it"),
            ("task done", "see `baton task claim --token`", "see `baton task claim --token`"),
        ] {
            assert_eq!(as_options(hint, name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_to_be_deleted_is_not_to_be_created() {
        let problem =
            |kind| Problem::new("x.y", kind, &"no", "create it first, or list them", &json!({}));
        let hint = |name| hint_for(name, &problem(Kind::NotFound));
        assert_eq!(hint("stream delete"), "list what there is with `baton stream ls`");
        assert_eq!(hint("stream send"), "create it first, or list them");
        assert_eq!(hint_for("stream delete", &problem(Kind::Denied)), hint("stream send"));
    }

    /// The rest is done by other commands, or only by programs.
    #[test]
    fn operations_without_a_command_are_known() {
        let names = OPERATIONS.iter().map(|operation| operation.name);
        let without: Vec<&str> = names.filter(|name| command_for(name).is_none()).collect();
        let expected = [
            "state.transfer",
            "state.snapshot",
            "handler.register",
            "handler.remove",
            "topic.get",
            "task.update",
            "workspace.changes",
        ];
        assert_eq!(without, expected);
    }
}
