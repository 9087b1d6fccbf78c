//! `cargo run -p baton-examples --bin hierarchical`

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_examples::main_of::<baton_examples::hierarchical::Hierarchical>()
}
