//! `baton`: the server and its command-line client.
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
//! 2. The exit code depends only on the kind of the error, for every command.
//! 3. The program decides nothing: a command sends a request to the server and prints the response.
//! 4. Each command is one file in `commands` and has its own `run`.
//!
//! Deliberately absent: colour without a terminal, interactive prompts, and state between calls.

mod arguments;
mod atomic_file;
mod commands;
mod completion;
mod context;
mod data_folder;
#[cfg(test)]
mod examples;
mod failure;
mod fault;
mod handler_program;
mod input;
mod output;
mod progress;
mod settings;
mod short_ids;
mod stdin;
mod supervised;
mod topics;
mod trace;
mod unknown_workspace;

use std::process::ExitCode;

use crate::arguments::{Arguments, Parsed};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Mode, Output};
use crate::settings::Settings;
use crate::short_ids::Names;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    completion::run_if_requested();
    let Parsed { arguments, name, short_ids } = match arguments::parse(Names::new()) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let settings = match Settings::of(&arguments.globals) {
        Ok(settings) => Ok(settings),
        // These commands report what is wrong with the settings.
        Err(failure) if arguments.command.is_about_settings() => {
            Settings::without_file(&arguments.globals, failure.detail())
        }
        Err(failure) => Err(failure),
    };
    let settings = match settings {
        Ok(settings) => settings,
        Err(failure) => return failure.report(&name, arguments.globals.mode()),
    };
    let mode = settings.mode;
    match run(arguments, short_ids, settings) {
        Ok(code) => code,
        Err(failure) => failure.report(&name, mode),
    }
}

/// One thread is enough: a command waits for one server, which is single-threaded too.
fn run(
    mut arguments: Arguments,
    short_ids: Names,
    settings: Settings,
) -> Result<ExitCode, Failure> {
    // Its other threads read files and encode large answers, while this one serves.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_start(baton::lower_priority)
        .build()?;
    let mut output = Output::to_stdout(settings.mode, settings.quiet);
    output.only(arguments.globals.field.clone());
    let context = Context::new(settings, arguments.globals.clone());
    let handles_signals = arguments.command.handles_signals();
    let result = runtime.block_on(async {
        let own = short_ids::ambiguous(&context, short_ids).await?;
        if !own.is_empty() {
            match arguments::parse(own) {
                Ok(parsed) => arguments = parsed.arguments,
                Err(code) => return Ok(code),
            }
        }
        let result = tokio::select! {
            // Listens before the command starts.
            biased;
            failure = interrupted(handles_signals) => Err(failure),
            result = arguments.command.run(&context, &mut output) => result,
        };
        unknown_workspace::explained(result, &context, &output).await?;
        Ok(ExitCode::SUCCESS)
    });
    if result.is_err() {
        // A thread may be blocked reading stdin, as in `baton mcp`, and is not waited for.
        runtime.shutdown_background();
    }
    result
}

/// Resolves on ctrl-c, unless the command handles signals itself.
async fn interrupted(handles_signals: bool) -> Failure {
    if handles_signals || tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    Failure::Interrupted
}

impl arguments::Globals {
    /// The output format of errors before the settings are known.
    fn mode(&self) -> Mode {
        self.format().unwrap_or_else(Mode::of_environment)
    }

    /// The output format that was chosen on the command line.
    fn format(&self) -> Option<Mode> {
        self.output.or(self.json.then_some(Mode::Json))
    }
}
