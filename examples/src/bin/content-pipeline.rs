//! `cargo run -p baton-examples --bin content-pipeline`

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_examples::main_of::<baton_examples::content_pipeline::ContentPipeline>()
}
