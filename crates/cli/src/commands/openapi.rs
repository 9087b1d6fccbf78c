//! `baton openapi`: the description of the doors for programs.

use clap::Args;

use crate::failure::Failure;
use crate::output::Output;

/// Print the description of the HTTP door, in the form of `OpenAPI`
#[derive(Args)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(output: &mut Output) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&baton_server::openapi());
        output.bytes(format!("{}\n", text.expect("documents can be encoded")).as_bytes())
    }
}
