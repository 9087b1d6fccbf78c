//! `baton prime`: the brief for an agent at the start of a session.

use baton_mcp::prime;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton prime --agent ada     print a brief of at most 600 tokens

Run it from the session-start hook of a coding agent, so that each session starts with it. The text
has ids and names, but no other text that agents wrote.";

/// Print a brief for an agent: what it holds and what waits for it
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Prime {}

impl Prime {
    pub(crate) async fn run(context: &Context, output: &mut Output) -> Result<(), Failure> {
        let text = prime(&context.workplace().await?).await.map_err(Failure::of)?;
        output.bytes(text.as_bytes())
    }
}
