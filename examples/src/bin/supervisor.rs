//! `cargo run -p baton-examples --bin supervisor`

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_examples::main_of::<baton_examples::supervisor::Supervisor>()
}
