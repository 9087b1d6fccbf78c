//! `baton openapi`: the description of the doors for programs.

use clap::Args;

use crate::failure::Failure;
use crate::output::Output;

/// Prints it.
#[derive(Args)]
#[command(about = "Print the description of the HTTP door (OpenAPI)", long_about = None)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(output: &mut Output) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&baton_server::openapi());
        output.bytes(format!("{}\n", text.expect("documents can be encoded")).as_bytes())
    }
}
