//! `baton workspace`: how a workspace is set up.

use baton_core::workspace::{Command, Query};
use baton_core::{Answer, wire};
use clap::{Args, Subcommand};
use serde_json::value::RawValue;

use crate::context::Context;
use crate::failure::Failure;
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton workspace get
  baton --workspace research workspace get
  baton workspace configure --history-count 10000 --history-age 7d";

/// See and change how a workspace is set up
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Workspace {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show how much it holds and how much of the past it keeps
    Get,
    /// Change how much of the past it keeps; what is not given stays as it is
    Configure(Configure),
}

#[derive(Args)]
#[group(required = true, multiple = true)]
struct Configure {
    /// How many revisions of history to keep
    #[arg(long, value_name = "COUNT")]
    history_count: Option<u64>,
    /// For how long to keep history, such as 12h or 30d
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    history_age: Option<u64>,
}

impl Workspace {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let workspace = context.workspace().await?;
        let answer = match self.verb {
            Verb::Get => workspace.ask(Query::Get).await?,
            Verb::Configure(Configure { history_count, history_age: history_age_ms }) => {
                workspace.execute(Command::Configure { history_count, history_age_ms }).await?
            }
        };
        output.one(&told(&answer))
    }
}

/// What the workspace tells of itself, and its newest revision.
fn told(answer: &Answer) -> Box<RawValue> {
    let mut text = Vec::new();
    wire::write_reply(&mut text, &answer.reply);
    let own = String::from_utf8(text).expect("answers are text");
    let text = format!("{{\"revision\":{},{}", answer.revision, &own[1..]);
    RawValue::from_string(text).expect("an object with one more field is an object")
}
