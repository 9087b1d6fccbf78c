//! `baton doctor`: what commonly is wrong, and what to do about it.
//!
//! | check | is bad when |
//! |---|---|
//! | settings | the file of settings cannot be used |
//! | folder | it is no folder, or nothing can be written into it |
//! | space | less is free than a server keeps free |
//! | log | a record is damaged or missing |
//! | files | a snapshot or an archive cannot be read to its end |
//! | clock | it shows a time before that of the newest change |
//! | open files | fewer may be open than there may be connections |
//! | certificate | it cannot be read, or its key is of another |
//! | issuer | its keys cannot be read |
//! | address | another program listens there |
//! | server | it does not answer, or cannot write |
//! | version | the server is of another version than this program: worth a look |
//! | access | commands are not let in |
//!
//! 1. Nothing is changed, but for what a crash has torn off the end of the log.
//! 2. What a running server has open is not read: the server itself is asked instead.
//! 3. The exit code is 0 if nothing is bad; worth a look is not bad.

mod checks;
mod server;

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::{Colour, Output};
use crate::settings::{Serving, ServingOptions};

const AFTER_HELP: &str = "\
Examples:
  baton doctor                          the server and the data that the settings say
  baton doctor --data /var/lib/baton    this data
  baton doctor --alive                  only whether the server answers, as containers ask
  baton doctor -o json                  for programs; the exit code says it, too

Exit codes: 0 nothing is bad; 8 something is, and the table says what to do.";

/// Look at what commonly is wrong, and say what to do
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Doctor {
    /// Where the data is [default: as for `baton serve`]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Only ask whether the server is alive, as containers do
    #[arg(long, conflicts_with = "data")]
    alive: bool,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    /// Worth a look.
    Fair,
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    found: String,
    /// What to do about it, if anything.
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
        let options = ServingOptions { data, ..ServingOptions::default() };
        let serving = Serving::of(&options, &mut context.sources());
        match serving {
            Err(failure) => {
                let remedy = "correct it; `baton config check` says where it is";
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
        server::look(context, &mut findings).await;
        report(&findings, output)
    }
}

fn report(findings: &[Finding], output: &mut Output) -> Result<(), Failure> {
    output.many_as(findings, |output| table(findings, output))?;
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
            State::Fair => ("look", Colour::Yellow),
            State::Bad => ("bad", Colour::Red),
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
