//! `baton doctor`: checks for common problems.
//!
//! | check | fails if |
//! |---|---|
//! | settings | the configuration file is invalid |
//! | folder | it is not a folder, or is not writable |
//! | space | less space is free than the server reserves |
//! | log | a record is damaged or missing |
//! | files | a snapshot or an archive is not readable to its end |
//! | clock | it is behind the newest change |
//! | open files | the limit is lower than the number of connections (a warning) |
//! | certificate | it is not readable, or does not match its key |
//! | issuer | the JWT keys are not readable |
//! | address | another program is listening on it |
//! | server | it does not respond, or cannot write |
//! | version | the server has another version than this program (a warning) |
//! | access | the server denies access |
//!
//! 1. Nothing is changed, except that a torn write at the end of the log is removed.
//! 2. Data that a running server has open is not read; the server is queried instead.
//! 3. The exit code is 0 if no check fails; warnings do not count.

mod checks;
mod server;

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::{Colour, Output};
use crate::settings::{ServerOptions, ServerSettings};

const AFTER_HELP: &str = "\
Examples:
  baton doctor                          check the configured server and data folder
  baton doctor --data /var/lib/baton    check another data folder
  baton doctor --alive                  check only that the server responds (health checks)
  baton doctor -o json                  print the findings as JSON

Exit codes: 0 if all checks pass (warnings allowed), 8 if a check fails.";

/// Check for common problems and suggest fixes
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Doctor {
    /// Data folder [default: as for `baton serve`]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Only check that the server responds, for container health checks
    #[arg(long, conflicts_with = "data")]
    alive: bool,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    /// A warning.
    Fair,
    Bad,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    found: String,
    /// The suggested fix, if any.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Finding {
    fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, state: State::Good, found: found.into(), remedy: None }
    }

    fn fair(check: &'static str, found: impl Into<String>, remedy: &str) -> Self {
        Self { check, state: State::Fair, found: found.into(), remedy: Some(remedy.to_owned()) }
    }

    fn bad(check: &'static str, found: impl Into<String>, remedy: &str) -> Self {
        Self { check, state: State::Bad, found: found.into(), remedy: Some(remedy.to_owned()) }
    }
}

impl Doctor {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        if self.alive {
            return report(&[server::alive(context).await], output);
        }
        let mut findings = vec![checks::settings(context)];
        let data = self.data.map(|data| data.display().to_string());
        let options = ServerOptions { data, ..ServerOptions::default() };
        let serving = ServerSettings::of(&options, &mut context.sources());
        match serving {
            Err(failure) => {
                let remedy = "fix the setting; `baton config check` shows where it is";
                findings.push(Finding::bad("settings", failure.detail(), remedy));
            }
            Ok(serving) => {
                let is_running = checks::data(&serving, &mut findings);
                findings.push(checks::open_files(serving.connections_max));
                findings.push(server::address(serving.listen, is_running).await);
                findings.extend(checks::certificate(&serving));
                findings.extend(checks::issuer(&serving));
            }
        }
        server::check(context, &mut findings).await;
        report(&findings, output)
    }
}

fn report(findings: &[Finding], output: &mut Output) -> Result<(), Failure> {
    output.many_as("findings", findings, |output| table(findings, output))?;
    match findings.iter().filter(|finding| finding.state == State::Bad).count() {
        0 => Ok(()),
        count => Err(Fault::Unwell { count }.into()),
    }
}

fn table(findings: &[Finding], output: &Output) -> String {
    let mut text = String::new();
    for Finding { check, state, found, remedy } in findings {
        let (sign, colour) = match state {
            State::Good => ("ok", Colour::Green),
            State::Fair => ("warn", Colour::Yellow),
            State::Bad => ("fail", Colour::Red),
        };
        let sign = output.coloured(colour, &format!("{sign:<4}"));
        let found = crate::output::plain(found);
        let _ = writeln!(text, "{sign}  {check:<10}  {found}");
        if let Some(remedy) = remedy {
            let _ = writeln!(text, "{:18}→ {}", "", crate::output::plain(remedy));
        }
    }
    text
}
