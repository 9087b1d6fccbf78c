//! `baton config`: the effective settings and their sources.

use std::path::PathBuf;

use baton_tls::Trust;
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::{ServerOptions, ServerSettings, Settings, Shown};

const AFTER_HELP: &str = "\
Examples:
  baton config check                    check the default file, or --config or BATON_CONFIG
  baton config check /etc/baton.toml    check another file before starting a server with it
  baton config show                     show every setting and its source
  baton --config /etc/baton.toml config show -o json

Order of precedence: option, environment variable, file, default. The settings of `baton serve` are
in the [serve] table of the file. Unknown keys, values of the wrong type and values out of range are
all reported, with their line numbers. `check` also reads the files that the settings refer to, such
as TLS certificates and keys, and refuses what a server would refuse to start with.";

const COLUMNS: [&str; 3] = ["key", "value", "from"];

/// Check the configuration file and show effective settings
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Config {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Report all errors in a configuration file, or show the effective settings if there are none
    Check {
        /// Configuration file [default: the one in use]
        file: Option<PathBuf>,
    },
    /// Show every effective setting and its source
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

/// Also checks the files that the settings refer to, and everything else that would prevent a
/// server from starting, except whether the address and the data folder are free.
fn check(mut settings: Settings, output: &mut Output) -> Result<(), Failure> {
    let serving = ServerSettings::of(&ServerOptions::default(), &mut settings.sources)?;
    serving.identity()?;
    let demands_tokens = serving.tokens || serving.issuer()?.is_some();
    baton_server::check_listen(serving.listen, demands_tokens)?;
    #[cfg(any(feature = "nats", feature = "postgres"))]
    serving.secrets_key()?;
    serving.peers.read(settings.ca_file.as_deref())?;
    if let Some(file) = &settings.ca_file {
        Trust::of(Some(file))?;
    }
    serving.check_log()?;
    serving.check_otel()?;
    #[cfg(feature = "otel")]
    serving.otel()?;
    show(settings, output)
}

fn show(mut settings: Settings, output: &mut Output) -> Result<(), Failure> {
    ServerSettings::of(&ServerOptions::default(), &mut settings.sources)?;
    match settings.sources.file() {
        Some(path) => output.note(&format!("{} is valid", path.display())),
        None => output.note("no configuration file (optional)"),
    }
    let all = settings.sources.all();
    let rows: Vec<Shown<'_>> = all.iter().map(Shown::dashed).collect();
    output.many_as("settings", &all, |output| output.table(&rows, &COLUMNS))
}
