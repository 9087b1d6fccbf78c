//! Errors of the command line itself, one row each.
//!
//! `baton-spec` compiles this file too, to document the codes: a program has no library to import.

use std::path::PathBuf;

use baton_core::json::JsonError;
use thiserror::Error;

baton_core::refusals! {
    /// An error of the command line itself.
    #[derive(Debug, Error)]
    pub(crate) enum Fault {
        /// The command line is invalid. Nothing was done.
        #[error("{reason}")]
        Usage { reason: String } => {
            code: "cli.usage",
            kind: Invalid,
            hint: "see `baton help`, or use `--help` after the command",
            cause: "An option, an argument or a value is unknown to the command, or a required one \
                is missing.",
            remedy: "See `baton help`, or `--help` after any command.",
        }
        /// The argument parser rejected the command line; `tip` is what it suggests, and `command`
        /// is the part that it recognised.
        #[error("{reason}")]
        Arguments { reason: String, tip: String, command: String } => {
            code: "cli.usage",
            kind: Invalid,
            hint: "see `baton help`, or use `--help` after the command",
        }
        /// A value is not valid JSON. Nothing was sent.
        #[error("{given} is not valid JSON: {reason}")]
        NotJson { given: String, reason: JsonError, has_string_option: bool } => {
            code: "cli.not_json",
            kind: Invalid,
            hint: "correct the JSON, or write text as a JSON string: '\"text\"'",
            hint_if: { has_string_option: true } => "write text as a JSON string, '\"text\"', or \
                use --string",
            cause: "Usually text without quotes: the shell removes one pair.",
            remedy: "Write `'\"text\"'`, or use `--string` to pass plain text.",
        }
        /// A value is JSON, but not in the required form, such as the rules of a namespace. Nothing
        /// was sent.
        #[error("{given} does not have the expected structure: {reason}")]
        Misshapen { given: String, reason: JsonError } => {
            code: "cli.misshapen",
            kind: Invalid,
            hint: "correct the value; `baton openapi` describes the structures",
            cause: "A field is misspelled, missing or of another type.",
            remedy: "Correct the field that the detail names.",
        }
        /// The file or stream given as `@file` or `-` cannot be read. Nothing was sent.
        #[error("cannot read {given}: {reason}")]
        Unreadable { given: String, reason: String } => {
            code: "cli.unreadable",
            kind: Invalid,
            hint: "check that the file exists and is readable",
            cause: "It does not exist, cannot be read, or is not text.",
            remedy: "Name another file.",
        }
        /// A file cannot be written.
        #[error("cannot write {given}: {reason}")]
        Unwritable { given: String, reason: String } => {
            code: "cli.unreadable",
            kind: Invalid,
            hint: "check that the folder exists and is writable",
        }
        /// The content given as `@file` or `-` is too large for a request. Nothing was sent.
        #[error("{given} is larger than {bytes_max} bytes")]
        TooLong { given: String, bytes_max: u64 } => {
            code: "cli.too_long",
            kind: TooLarge,
            hint: "split it into several requests",
            cause: "It exceeds 64 MiB.",
        }
        /// Another agent has reserved files.
        #[error("{by}")]
        Reserved { by: String } => {
            code: "cli.reserved",
            kind: Conflict,
            hint: "work on other files, wait, or ask the holder with `baton message send`",
            cause: "The path, or a pattern that overlaps, is reserved by the agent that the detail \
                names.",
            remedy: "Work on other files, wait until the reservation ends, or ask its holder.",
        }
        /// The settings file cannot be used.
        #[error("invalid configuration in `{}`: {reason}", path.display())]
        Settings { path: PathBuf, reason: String, is_missing: bool } => {
            code: "cli.settings",
            kind: Invalid,
            hint: "correct the file, then run `baton config check`",
            hint_if: { is_missing: true } => "name an existing file",
            cause: "It was named and does not exist, is not TOML, or contains an unknown key.",
            remedy: "Correct the line that the detail names. `baton help` lists the keys, and \
                `baton config check` lists every error.",
        }
        /// A command that loses data was not confirmed. Nothing was done.
        #[error("{what}, and this cannot be undone")]
        Unconfirmed { what: String } => {
            code: "cli.unconfirmed",
            kind: Invalid,
            hint: "to proceed, repeat the command with --yes",
            cause: "`baton log repair` or `baton workspace delete` was called without `--yes`.",
            remedy: "Keep a copy of the data, then repeat with `--yes`.",
        }
        /// The workspace that a command names was never written to. Nothing was done.
        #[error("{reason}")]
        NoWorkspace { reason: String } => {
            code: "cli.no_workspace",
            kind: NotFound,
            hint: "list the workspaces with `baton workspace ls`",
            cause: "`baton workspace export`, `sync` or `delete` names a workspace that does not \
                exist; it may be misspelled, or deleted already.",
            remedy: "Name one of the workspaces that `baton workspace ls` lists.",
        }
        /// A short id is also the id of another object.
        #[error("`{name}` could mean `{name}` or `{id}`")]
        Ambiguous { name: String, id: String } => {
            code: "cli.ambiguous",
            kind: Invalid,
            hint: "write all ten digits of the id that the server made, or a colon before the \
                other: `:t-7`",
            cause: "A task or a join was created with an id that looks like the short form of an \
                id that the server made, and both exist.",
            remedy: "Write the whole id, or, for the object whose own id has the short form, a \
                colon before it: `:t-7`.",
        }
        /// `--field` names a field that the output does not have.
        #[error(
            "the command was carried out, but its answer has no field `{path}`; the fields are \
             {names}"
        )]
        NoField { path: String, names: String, answer: String } => {
            code: "cli.no_field",
            kind: Invalid,
            hint: "name one of the fields; those of an object within are written as `lease.token`",
            cause: "The name is misspelt, or the field is absent from this output. The command was \
                carried out all the same; the error contains its whole `answer`. The exit code is \
                1.",
            remedy: "Take the field from the answer. Next time, print the whole output with \
                `-o json`, and name one of its fields.",
        }
        /// `baton state get --string` found a value that is not a string.
        #[error("the value of `{key}` is not a string")]
        NotString { key: String } => {
            code: "cli.not_string",
            kind: Invalid,
            hint: "omit --string to print the value as JSON",
            cause: "The entry contains another type of JSON value.",
            remedy: "Use `--value` to print it as JSON.",
        }
        /// A lock, a permit or a task was not available within the waiting time. The exit code is
        /// 10.
        #[error("{what}")]
        NothingInTime { what: String } => {
            code: "cli.nothing_in_time",
            kind: Unavailable,
            hint: "try again later, or wait longer with --wait",
            cause: "Another agent holds it.",
            remedy: "Wait longer, with `--wait`; `baton lock ls` shows the holder.",
        }
        /// Keys that other agents depend on were removed, renamed or changed in type, or would be
        /// rejected.
        #[error("{count} of the keys that others depend on are broken")]
        Broken { count: usize } => {
            code: "cli.broken_contracts",
            kind: Conflict,
            hint: "restore the keys, or update the agents that depend on them",
            cause: "`baton contract check` found the problems that it listed.",
            remedy: "Restore the keys, or inform the agents that depend on them.",
        }
        /// `baton doctor` found a problem.
        #[error("{count} check{} failed", if *count == 1 { "" } else { "s" })]
        Unwell { count: usize } => {
            code: "cli.unwell",
            kind: Unavailable,
            hint: "follow the suggestion after each failed check",
            cause: "At least one check failed; the output lists each of them.",
            remedy: "Follow the advice for each failed check, then run it again.",
        }
        /// The lock, permit or lease that a program ran under could not be renewed in time, so
        /// another agent may hold it. The program was stopped.
        #[error("lost {what}: {reason}")]
        Lost { what: String, reason: String } => {
            code: "cli.lost",
            kind: Stale,
            hint: "the work is unfinished: check its state, then start again",
            cause: "The server was unreachable for longer than the time to live.",
            remedy: "The work is not finished: check it, then start again. A longer `--ttl` \
                survives longer interruptions.",
        }
        /// The program to run does not exist or is not executable.
        #[error("cannot run `{program}`: {reason}")]
        NoProgram { program: String, reason: String } => {
            code: "cli.no_program",
            kind: Invalid,
            hint: "check that the program exists and is executable",
            cause: "It is misspelled, not on the `PATH`, or not executable.",
            remedy: "Name an existing, executable program.",
        }
        /// The program was built without the requested feature. Nothing was done.
        #[error("this build does not include {what} (feature `{feature}`)")]
        NotBuilt { what: &'static str, feature: &'static str } => {
            code: "cli.not_built",
            kind: Invalid,
            hint: "build it with `cargo build --release -p baton-cli --features otel`",
            cause: "A setting, such as `--otel-endpoint`, needs a feature that is not part of this \
                build.",
            remedy: "Build with that feature: `cargo build --release -p baton-cli --features \
                otel`; or remove the setting.",
        }
        /// An agent of another system cannot be used.
        #[error("the agent at {url} cannot be used: {reason}")]
        Peer { url: String, reason: String } => {
            code: "cli.peer",
            kind: Unavailable,
            hint: "check the address with `baton a2a card`",
            cause: "It cannot be reached, has no card of version 1.0 of the Agent2Agent protocol, \
                or requires a token; the detail says which.",
            remedy: "Check the address with `baton a2a card`, and pass the token of the agent with \
                `--token-file`.",
        }
        /// An agent of another system has refused a message.
        #[error("the agent at {url} refused the message: {reason}")]
        PeerRefused { url: String, reason: String } => {
            code: "cli.peer_refused",
            kind: Conflict,
            hint: "correct the message, as the reason says; a new message needs another \
                --message-id",
            cause: "The agent can be reached and has read the message, but refused it; the detail \
                has its reason. For example, it has no such task, the task has ended, or another \
                message had the same id.",
            remedy: "Correct the message as the reason says. To send another message, leave out \
                `--message-id` or use a new id.",
        }
        /// The operating system refused an operation unrelated to Baton. The exit code is 1.
        #[error("system error: {reason}")]
        System { reason: String } => {
            code: "cli.system",
            kind: Unavailable,
            hint: "resolve the reported problem, then retry",
            cause: "The disk under stdout is full, or there is no memory for a thread.",
            remedy: "See the detail.",
        }
    }
}
