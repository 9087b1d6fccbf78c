//! `cargo run -p baton-examples --bin collaborative-research`

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_examples::main_of::<baton_examples::collaborative_research::CollaborativeResearch>()
}
