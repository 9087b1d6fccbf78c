//! `cargo run -p baton-examples --bin review-and-approval`

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_examples::main_of::<baton_examples::review_and_approval::ReviewAndApproval>()
}
