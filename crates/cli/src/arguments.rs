//! What may be written after `baton`. The doc comments here are the help.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser};

use crate::commands::Command;
use crate::failure::{Failure, Fault};
use crate::output::{self, Mode, Output};
use crate::topics;

const AFTER_HELP: &str = "\
Examples:
  baton serve                                  start a server, data in ./.baton
  baton state set plan '{\"step\": 1}'           write
  baton state get plan                         read
  baton watch                                  see every change as it happens

Output is a table on a terminal and JSON otherwise; -o says it outright. In the JSON modes stdout
has nothing but data, and an error is one JSON object on stderr.

Exit codes:
  0    it worked
  1    something else went wrong, such as a full disk under stdout
  2    the command line or a value is not valid
  3    there is no such thing
  4    conflict: somebody else was faster
  5    stale: the session, lock or lease has ended, or another has it
  6    not allowed
  7    too large, or a limit is reached
  8    the server or its data is not available
  9    the outcome is unknown: it may have been done
  10   there was nothing to get in time
  130  interrupted

Settings, strongest first: option, environment, file, default.
  BATON_URL, BATON_WORKSPACE, BATON_AGENT, BATON_TOKEN, BATON_CA_FILE, BATON_CONFIG
  ~/.config/baton/config.toml with `url`, `workspace`, `agent`, `token`, `ca_file`, `output`, and
  [serve]
  `baton config show` says what each is, and who said so";

/// The place where a fleet of AI agents works together
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

/// What every command understands.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Globals {
    /// Where the server is
    #[arg(help = "Where the server is [default: http://127.0.0.1:4747]", long, global = true)]
    pub(crate) url: Option<String>,
    /// Which workspace [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// Who acts [default: cli]
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// What is shown to a server that demands tokens; better in the environment, which no list of
    /// processes shows
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) access_token: Option<String>,
    /// Whom to believe that a server is who it says, where --url or the address of a webhook begins
    /// with https [default: the system's authorities]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_file: Option<String>,
    /// A name for this change: repeated under the same name, it has no second effect
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Refuse the change if this token is stale by now (help fencing)
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) fence: Option<u64>,
    /// How to print [default: table on a terminal, else json]
    #[arg(short, long, global = true, value_name = "FORM", hide_possible_values = false)]
    pub(crate) output: Option<Mode>,
    /// A file with settings [default: ~/.config/baton/config.toml]
    #[arg(long, global = true, value_name = "FILE", env = "BATON_CONFIG", hide_env = true)]
    pub(crate) config: Option<PathBuf>,
    /// Say nothing on stderr but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// The arguments, and the names of the command they are for, such as `state set`.
pub(crate) struct Parsed {
    pub(crate) arguments: Arguments,
    pub(crate) name: String,
}

/// Reads the command line. What cannot be understood is told here, in the form of every error.
pub(crate) fn parse() -> Result<Parsed, ExitCode> {
    if let Some(topic) = topics::asked_for(std::env::args()) {
        return Err(shown(topic.text));
    }
    let parsed = Arguments::command().try_get_matches().and_then(|matches| {
        let name = name_of(&matches);
        Ok(Parsed { arguments: Arguments::from_arg_matches(&matches)?, name })
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
            Failure::from(Fault::Usage { reason: first_paragraph(&said) })
                .report("the command line", Mode::asked_for(std::env::args()))
        }
    }
}

fn shown(help: &str) -> ExitCode {
    let shown = Output::to_stdout(Mode::Table, false).bytes(help.as_bytes());
    shown.map_or_else(|failure| failure.report("help", Mode::Table), |()| ExitCode::SUCCESS)
}

/// What is wrong, in one line; the rest of what clap says is the usage.
fn first_paragraph(said: &str) -> String {
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let lines = said.lines().map(str::trim);
    let before_usage = lines.take_while(|line| !line.starts_with("Usage:"));
    let kept = before_usage.filter(|line| !line.is_empty() && !line.starts_with("For more"));
    kept.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_clap_says_becomes_one_line() {
        let said = "error: unexpected argument '--x' found\n\n  tip: try '--y'\n\nUsage: baton\n";
        assert_eq!(first_paragraph(said), "unexpected argument '--x' found tip: try '--y'");
    }
}
