//! Runs every scenario through a program: `baton-scenario PROGRAM [ARGUMENT…]`.
//!
//! The program is a client library in another language; `backends/external.rs` describes how it is
//! driven.

use std::cell::RefCell;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use baton_scenario::backends::{ExternalBackend, ExternalProgram};
use baton_scenario::{run, scripts};

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "it is a program")]
fn main() -> ExitCode {
    let command: Vec<String> = std::env::args().skip(1).collect();
    if command.is_empty() {
        eprintln!("usage: baton-scenario PROGRAM [ARGUMENT...]");
        return ExitCode::from(2);
    }
    let program = match ExternalProgram::start(&command) {
        Ok(program) => Rc::new(RefCell::new(program)),
        Err(error) => {
            eprintln!("cannot run {}: {error}", command.join(" "));
            return ExitCode::from(2);
        }
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/scenarios");
    let scripts = scripts(&folder);
    let steps: usize = scripts.iter().map(|script| script.steps.len()).sum();
    let failed: Vec<String> = scripts
        .iter()
        .flat_map(|script| run(script, &mut ExternalBackend::new(&program)))
        .map(|failure| failure.to_string())
        .collect();
    if failed.is_empty() {
        println!("{} scenarios, {steps} steps, none failed", scripts.len());
        return ExitCode::SUCCESS;
    }
    eprintln!("{}\n\n{} of {steps} steps failed", failed.join("\n\n"), failed.len());
    ExitCode::FAILURE
}
