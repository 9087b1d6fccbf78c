//! `baton context`: the context of a task or workspace, as one text for a model.

use clap::Args;

use crate::context::Context as Invocation;
use crate::failure::Failure;
use crate::output::{Output, plain};

const AFTER_HELP: &str = "\
Examples:
  baton context t-7 --agent bob           text that is ready for a prompt
  baton context t-7 --tokens 2000         limit the size
  baton context --agent bob               context of the workspace, without a task
  baton context t-7 -o json               with its sections, and what was left out

Tokens are estimated as bytes divided by four. Text written by agents is fenced as data. Sections
that do not fit are listed on stderr.";

/// Build the context of a task as text for a model
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Context {
    /// Task ID
    task: Option<String>,
    /// Maximum number of tokens [default: 8000]
    #[arg(long, value_name = "COUNT")]
    tokens: Option<u64>,
}

impl Context {
    pub(crate) async fn run(self, place: &Invocation, output: &mut Output) -> Result<(), Failure> {
        let mut building = place.workspace().await?.context();
        if let Some(task) = &self.task {
            building = building.task(task);
        }
        if let Some(tokens) = self.tokens {
            building = building.token_budget(tokens);
        }
        let context = building.await?;
        for left_out in &context.left_out {
            let what = serde_json::to_string(&left_out.why).unwrap_or_default();
            output.note(&format!("left out: {} ({})", left_out.what, what.trim_matches('"')));
        }
        // Text from agents must not control the terminal.
        let shown = |text: &str| text.lines().map(|line| plain(line) + "\n").collect::<String>();
        output.show(&context, |_| shown(&context.text))
    }
}
