//! The command-line arguments. The doc comments are the help text.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser};

use crate::commands::{Command, GROUPS};
use crate::failure::{Failure, Fault};
use crate::output::{self, Mode, Output};
use crate::short_ids::{self, Names};
use crate::topics;

const AFTER_HELP: &str = "\
Examples:
  baton serve                                  start a server with its data in ./.baton
  baton state set plan '{\"step\": 1}'           write an entry
  baton state get plan                         read it
  baton watch                                  stream changes as they happen

Output is a table on a terminal and JSON otherwise; select a format with -o. In the JSON formats,
stdout contains only data, and an error is a single JSON object on stderr.

Exit codes:
  0    success
  1    any other failure, such as a full disk under stdout
  2    the command line or a value is invalid
  3    not found
  4    conflict: another write came first
  5    stale: the session, lock or lease has ended, or another agent has it
  6    not permitted
  7    too large, or a limit was reached
  8    the server or its data is unavailable
  9    the outcome is unknown: the change may have been applied
  10   the wait timed out
  130  interrupted

Settings, in order of precedence: option, environment variable, configuration file, default.
  Environment: BATON_URL, BATON_WORKSPACE, BATON_AGENT, BATON_TOKEN, BATON_CA_FILE, BATON_OUTPUT,
               BATON_CONFIG
  File:        ~/.config/baton/config.toml, with the keys url, workspace, agent, token, ca_file
               and output, and a [serve] table
  `baton config show` prints each effective setting and its source.";

/// Coordination server for AI agents: shared state, tasks, hand-offs, locks and messages
#[derive(Parser)]
#[command(
    name = "baton",
    version,
    after_help = format!("{}\n{AFTER_HELP}", topics::contents()),
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = false,
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command accepts.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Server URL; several, separated by commas, if servers share their data
    #[arg(
        help = "Server URL, or several separated by commas [default: http://127.0.0.1:4747]",
        long,
        global = true
    )]
    pub(crate) url: Option<String>,
    /// Workspace [default: default; for `demo`: demo; for `top`: the busiest]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// Agent to act as [default: cli]
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Access token. Prefer `BATON_TOKEN`: arguments are visible in the process list
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) access_token: Option<String>,
    /// CA certificates (PEM) used to verify HTTPS servers and webhook endpoints [default: the
    /// system trust store]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_file: Option<String>,
    /// Idempotency key: repeating a write with the same key has no further effect
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Fencing token: reject the write if the token is stale (see `baton help fencing`)
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) fence: Option<u64>,
    /// Output format [default: table on a terminal, else json]
    #[arg(short, long, global = true, value_name = "FORMAT", hide_possible_values = false)]
    pub(crate) output: Option<Mode>,
    /// The same as `-o json`
    #[arg(long, global = true, conflicts_with = "output")]
    pub(crate) json: bool,
    /// Print only this field, such as `id` or `lease.token`; text without quotes
    #[arg(long, global = true, value_name = "PATH", conflicts_with_all = ["output", "json"])]
    pub(crate) field: Option<String>,
    /// Configuration file [default: ~/.config/baton/config.toml]
    #[arg(long, global = true, value_name = "FILE", env = "BATON_CONFIG", hide_env = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print nothing but errors to stderr
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// The parsed arguments.
pub(crate) struct Parsed {
    pub(crate) arguments: Arguments,
    /// The full name of the command, such as `state set`.
    pub(crate) name: String,
    /// The short ids among the arguments.
    pub(crate) short_ids: Names,
}

/// The command line, with its commands grouped in the help.
fn command() -> clap::Command {
    let mut command = Arguments::command();
    command.build();
    let mut commands = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(commands, "{heading}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(commands, "  {name:<13}{about}");
        }
        commands.push('\n');
    }
    with_aliases(Arguments::command()).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}\
         Options:\n{{options}}{{after-help}}"
    ))
}

/// The help of a command: examples come before the options, of which there are many everywhere.
const HELP_TEMPLATE: &str =
    "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";

/// The other names that people try first, for every command that has none of that name.
const ALIASES: [(&str, &[&str]); 9] = [
    ("ls", &["list"]),
    ("get", &["show"]),
    ("show", &["get"]),
    ("set", &["put"]),
    ("add", &["create", "new"]),
    ("create", &["add", "new"]),
    ("done", &["complete"]),
    ("rm", &["delete", "remove"]),
    ("delete", &["rm", "remove"]),
];

fn with_aliases(command: clap::Command) -> clap::Command {
    let siblings: Vec<String> = command
        .get_subcommands()
        .flat_map(|command| command.get_all_aliases().chain([command.get_name()]))
        .map(str::to_owned)
        .collect();
    command.mut_subcommands(|command| {
        let command = command.help_template(HELP_TEMPLATE);
        let of_this = ALIASES.iter().filter(|(name, _)| *name == command.get_name());
        let aliases = of_this.flat_map(|(_, aliases)| aliases.iter().copied());
        let free: Vec<&str> =
            aliases.filter(|it| !siblings.iter().any(|name| name == it)).collect();
        with_aliases(command.aliases(free))
    })
}

/// Parses the command line; the short ids in `own` are ids. Errors are reported here, in the usual
/// error format.
pub(crate) fn parse(own: Names) -> Result<Parsed, ExitCode> {
    if let Some(topic) = topics::asked_for(without_options(std::env::args())) {
        return Err(shown(topic.text));
    }
    let given = Arc::new(Mutex::new(Names::new()));
    let command = short_ids::accepted(command(), "", &Arc::new(own), &given);
    let parsed = command.try_get_matches().and_then(|matches| {
        let name = name_of(&matches);
        let arguments = Arguments::from_arg_matches(&matches)?;
        let short_ids = given.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Parsed { arguments, name, short_ids })
    });
    parsed.map_err(|error| refuse(&error))
}

fn name_of(matches: &ArgMatches) -> String {
    let mut names = Vec::new();
    let mut inner = matches;
    while let Some((name, next)) = inner.subcommand() {
        names.push(name);
        inner = next;
    }
    names.join(" ")
}

fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => shown(&error.render().to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::say(&error.render().to_string());
            ExitCode::from(2)
        }
        _ => {
            let said = error.render().to_string();
            let (reason, tip) = (first_paragraph(&said), tip_in(&said));
            let reason = reason.replace("invalid digit found in string", "expected a whole number");
            let command = Some(command_in(&said)).filter(|found| !found.is_empty());
            let command = command.unwrap_or_else(|| command_of(std::env::args().skip(1)));
            Failure::from(Fault::Arguments { reason, tip, command })
                .report("the command line", Mode::asked_for(std::env::args()))
        }
    }
}

fn shown(help: &str) -> ExitCode {
    let shown = Output::to_stdout(Mode::Table, false).bytes(help.as_bytes());
    shown.map_or_else(|failure| failure.report("help", Mode::Table), |()| ExitCode::SUCCESS)
}

/// The error of clap on one line, without the usage.
fn first_paragraph(said: &str) -> String {
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let lines = said.lines().map(str::trim);
    let before_usage = lines.take_while(|line| !line.starts_with("Usage:"));
    let is_kept = |line: &&str| {
        !line.is_empty() && !["For more", "tip:"].iter().any(|it| line.starts_with(it))
    };
    before_usage.filter(is_kept).collect::<Vec<_>>().join(" ")
}

/// The suggestion by clap: `did you mean …?`, or how to pass a value that looks like an option.
fn tip_in(said: &str) -> String {
    let tips: Vec<&str> =
        said.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    let is_similar = |tip: &&&str| tip.contains("similar");
    let Some(tip) = tips.iter().find(is_similar).or(tips.first()) else { return String::new() };
    let quoted: Vec<String> =
        tip.split('\'').skip(1).step_by(2).map(|word| format!("`{word}`")).collect();
    if is_similar(&tip) {
        format!("did you mean {}?", quoted.join(" or "))
    } else {
        tip.replace('\'', "`")
    }
}

/// The command on a line, as far as it exists. Clap does not name it for a bad value.
fn command_of(words: impl IntoIterator<Item = String>) -> String {
    let mut command = with_aliases(Arguments::command());
    command.build();
    let (mut found, mut inner) = (Vec::new(), &command);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(next) = inner.find_subcommand(&word) {
            (found, inner) = ([found, vec![next.get_name()]].concat(), next);
        } else if takes_value(inner, &word) {
            words.next();
        }
    }
    found.join(" ")
}

/// The words of a line without the options that every command accepts.
fn without_options(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let command = Arguments::command();
    let mut words = words.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if takes_value(&command, &word) {
            words.next();
        } else if !word.starts_with('-') {
            kept.push(word);
        }
    }
    kept
}

/// Whether this word is an option whose value is the next word.
fn takes_value(command: &clap::Command, word: &str) -> bool {
    command.get_arguments().any(|argument| {
        let long = argument.get_long().map(|name| format!("--{name}"));
        let short = argument.get_short().map(|name| format!("-{name}"));
        let is_named = [long, short].into_iter().flatten().any(|name| name == word);
        is_named && argument.get_action().takes_values()
    })
}

/// The usual name of a command, given by the words of any of its names; none if it does not exist.
pub(crate) fn known(words: &[String]) -> Option<String> {
    let command = with_aliases(Arguments::command());
    let (mut found, mut inner) = (Vec::new(), &command);
    for word in words {
        inner = inner.find_subcommand(word)?;
        found.push(inner.get_name());
    }
    Some(found.join(" "))
}

/// An option of a command.
pub(crate) struct CommandOption {
    pub(crate) name: String,
    /// Whether it has no value.
    pub(crate) is_flag: bool,
}

/// The option of a command, given by its full name, that sets a field of the request; none if it
/// has no such option.
pub(crate) fn option(name: &str, field: &str) -> Option<CommandOption> {
    let command = with_aliases(Arguments::command());
    let found = name.split(' ').try_fold(&command, |inner, word| inner.find_subcommand(word))?;
    let wanted = field.strip_suffix("_ms").unwrap_or(field).replace('_', "-");
    // An option that is repeated has the name of one.
    let names = [Some(&*wanted), wanted.strip_suffix('s')];
    let named = |name| found.get_arguments().find(|argument| argument.get_long() == Some(name));
    let (name, option) = names.into_iter().flatten().find_map(|name| Some((name, named(name)?)))?;
    let is_flag = !option.get_action().takes_values();
    Some(CommandOption { name: name.to_owned(), is_flag })
}

/// Whether the last argument of a command, given by its full name, is a value or a text.
pub(crate) fn takes_text(name: &str) -> bool {
    let command = with_aliases(Arguments::command());
    let found = name.split(' ').try_fold(&command, |inner, word| inner.find_subcommand(word));
    let last = found.and_then(|command| command.get_positionals().last());
    let help = last.and_then(clap::Arg::get_help).map(ToString::to_string).unwrap_or_default();
    help.contains("JSON")
}

/// The command in the usage line of clap: `state set` in `Usage: baton state set <KEY>`.
fn command_in(said: &str) -> String {
    let usage = said.lines().find_map(|line| line.trim().strip_prefix("Usage: baton "));
    let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    usage.unwrap_or_default().split(' ').take_while(is_name).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Arguments::command();
        command.build();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        names.sort_unstable();
        assert_eq!(grouped, names);
    }

    #[test]
    fn the_error_of_clap_becomes_one_line() {
        let said = "error: unexpected argument '--x' found\n\n  tip: try '--y'\n\nUsage: baton\n";
        assert_eq!(first_paragraph(said), "unexpected argument '--x' found");
        assert_eq!(tip_in(said), "try `--y`");
        let said = "error: x\n\n  tip: some similar subcommands exist: 'top', 'topic'\n";
        assert_eq!(tip_in(said), "did you mean `top` or `topic`?");
        assert_eq!(tip_in("error: x\n"), "");
    }

    #[test]
    fn options_that_every_command_accepts_do_not_hide_a_help_page() {
        let asked = |line: &str| {
            let words = without_options(line.split(' ').map(str::to_owned));
            topics::asked_for(words).map(|topic| topic.name)
        };
        for line in [
            "baton help leases",
            "baton -q help leases",
            "baton --workspace x help leases",
            "baton --workspace=x help leases --json",
            "baton help -o table leases",
        ] {
            assert_eq!(asked(line), Some("leases"), "{line}");
        }
        assert_eq!(asked("baton --workspace help leases"), None);
    }

    #[test]
    fn the_names_that_people_try_first_are_accepted() {
        for (given, usual) in [
            ("state put", "state set"),
            ("state rm", "state delete"),
            ("task list", "task ls"),
            ("task show", "task get"),
            ("task create", "task add"),
            ("task complete", "task done"),
            ("secret put", "secret put"),
        ] {
            let words: Vec<String> = given.split(' ').map(str::to_owned).collect();
            assert_eq!(known(&words).as_deref(), Some(usual), "{given}");
        }
    }

    #[test]
    fn the_command_is_found_on_a_line_that_cannot_be_parsed() {
        let found = |line: &str| command_of(line.split(' ').map(str::to_owned));
        assert_eq!(found("task claim --wait 5"), "task claim");
        assert_eq!(found("--workspace demo token create x --role foo"), "token create");
        assert_eq!(found("serve --listen 48211"), "serve");
        assert_eq!(found("task list --status done"), "task ls");
        assert_eq!(found("--colour"), "");
    }
}
