//! `baton config`: what the settings are, and who said so.

use std::path::PathBuf;

use baton_tls::Trust;
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::{Serving, ServingOptions, Settings};

const AFTER_HELP: &str = "\
Examples:
  baton config check                    the usual file, or the one of --config or BATON_CONFIG
  baton config check /etc/baton.toml    another one, before a server is started with it
  baton config show                     every setting, what it is and who said so
  baton --config /etc/baton.toml config show -o json

Strongest first: option, environment, file, default. The settings of `baton serve` stand in the
file under [serve]. A key that is not known, a value of the wrong type and one that is out of range
are refused, all at once, each with its line. `check` also reads the files
that are named: of TLS, and keys of an issuer.";

const COLUMNS: [&str; 3] = ["key", "value", "from"];

/// Check the file of settings, and see where each setting comes from
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Config {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Say everything that is wrong with a file; show what is in force if nothing is
    Check {
        /// Which file [default: the one that is used]
        file: Option<PathBuf>,
    },
    /// Show every setting, what it is and who said so
    Show,
}

impl Config {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Check { file: Some(file) } => check(context.settings_of(&file)?, output),
            Verb::Check { file: None } => check(context.settings_again()?, output),
            Verb::Show => show(context.settings_again()?, output),
        }
    }
}

/// What the settings name is looked at as well.
fn check(mut settings: Settings, output: &mut Output) -> Result<(), Failure> {
    let serving = Serving::of(&ServingOptions::default(), &mut settings.sources)?;
    serving.identity()?;
    serving.issuer()?;
    if let Some(file) = &settings.ca_file {
        Trust::of(Some(file))?;
    }
    show(settings, output)
}

fn show(mut settings: Settings, output: &mut Output) -> Result<(), Failure> {
    Serving::of(&ServingOptions::default(), &mut settings.sources)?;
    match settings.sources.file() {
        Some(path) => output.note(&format!("{} is in order", path.display())),
        None => output.note("there is no file of settings, and none is needed"),
    }
    output.many(settings.sources.chosen(), &COLUMNS)
}
