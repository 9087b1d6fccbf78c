//! `baton`: the server, and everything it can do, from a shell.
//!
//! ```text
//!   arguments ──▶ Settings ──▶ a command ──▶ Context ──▶ baton_client ──▶ the server
//!   (clap)        flag >           │
//!                 environment >    ├──▶ Output    stdout: tables for people, JSON for programs
//!                 file >           └──▶ Failure   stderr: what, why, what to do; the exit code
//!                 default
//! ```
//!
//! 1. Data goes to stdout and everything else to stderr, so that a pipe gets data alone.
//! 2. The exit code follows from the kind of the error, the same for every command.
//! 3. Nothing is decided here: a command asks the server and shows the answer.
//! 4. A command is one file in `commands`, and runs itself.
//!
//! Deliberately absent: colour without a terminal, questions to the user, and state between calls.

mod arguments;
mod commands;
mod completing;
mod context;
#[cfg(test)]
mod examples;
mod failure;
mod input;
mod output;
mod program;
mod progress;
mod runs;
mod settings;
mod topics;
mod trace;
mod whole;

use std::process::ExitCode;

use crate::arguments::{Arguments, Parsed};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Mode, Output};
use crate::settings::Settings;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    completing::if_asked();
    let Parsed { arguments, name } = match arguments::parse() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let settings = match Settings::of(&arguments.globals) {
        Ok(settings) => Ok(settings),
        // What is wrong with them is what is asked.
        Err(failure) if arguments.command.is_about_settings() => {
            Settings::despite(&arguments.globals, failure.detail())
        }
        Err(failure) => Err(failure),
    };
    let settings = match settings {
        Ok(settings) => settings,
        Err(failure) => return failure.report(&name, arguments.globals.mode()),
    };
    let mode = settings.mode;
    match run(arguments, settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&name, mode),
    }
}

/// One thread is enough: a command waits for one server, and the server is one thread itself.
fn run(arguments: Arguments, settings: Settings) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut output = Output::to_stdout(settings.mode, settings.quiet);
    let context = Context::new(settings, arguments.globals.clone());
    let ends_itself = arguments.command.ends_itself();
    runtime.block_on(async {
        tokio::select! {
            result = arguments.command.run(&context, &mut output) => result,
            failure = interrupted(ends_itself) => Err(failure),
        }
    })
}

/// Ends when somebody presses ctrl-c, unless the command sees to that itself.
async fn interrupted(ends_itself: bool) -> Failure {
    if ends_itself || tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    Failure::Interrupted
}

impl arguments::Globals {
    /// How errors are shown as long as the settings are not known.
    fn mode(&self) -> Mode {
        self.output.unwrap_or_else(Mode::usual)
    }
}
