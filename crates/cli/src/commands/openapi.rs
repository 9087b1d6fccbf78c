//! `baton openapi`: print the description of the HTTP API.

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::Output;

/// Prints the document.
#[derive(Args)]
#[command(about = "Print the OpenAPI document of the HTTP API", long_about = None)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(output: &mut Output) -> Result<(), Failure> {
        let document: Value = serde_json::from_str(baton_server::openapi()).expect("it is JSON");
        output.bytes(format!("{document:#}\n").as_bytes())
    }
}
