//! `cargo run -p baton-examples --bin long-job`

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_examples::main_of::<baton_examples::long_job::LongJob>()
}
