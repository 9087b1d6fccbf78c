//! `baton version`: print the version of the program.

use clap::Args;
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;

/// Prints the version.
#[derive(Args)]
#[command(about = "Print the version of this program", long_about = None)]
pub(crate) struct Version {}

impl Version {
    pub(crate) fn run(output: &mut Output) -> Result<(), Failure> {
        let version = env!("CARGO_PKG_VERSION");
        output.said(&json!({ "version": version }), &format!("baton {version}"))
    }
}
