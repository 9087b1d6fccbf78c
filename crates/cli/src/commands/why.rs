//! `baton why`: the causes of the current state of something.

use baton_core::history::{At, Explanation};
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, plain};

const AFTER_HELP: &str = "\
Examples:
  baton why plan                    explain a key in the namespace `shared`
  baton why state/notes/draft       explain a key in another namespace
  baton why tasks/t-7               explain a task
  baton why plan --at 1200          explain it as of a revision";

/// Explain what led to the state of a key, task or hand-off
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Why {
    /// Key, or a subject such as tasks/ID, handoffs/ID or state/NAMESPACE/KEY
    subject: String,
    /// Explain the state as of this revision, or time such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "MOMENT")]
    at: Option<At>,
}

impl Why {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut workspace = context.workspace().await?;
        if let Some(at) = self.at {
            workspace = workspace.at(at);
        }
        let explanation = workspace.why(&subject(&self.subject)).await?;
        output.show(&explanation, |_| text(&explanation))
    }
}

/// Anything that is not a subject is a key in `shared`.
fn subject(given: &str) -> String {
    let is_subject = ["state/", "tasks/", "handoffs/"].iter().any(|kind| given.starts_with(kind));
    if is_subject { given.to_owned() } else { format!("state/shared/{given}") }
}

fn text(explanation: &Explanation) -> String {
    let causes = explanation.causes.iter().map(|cause| {
        format!("{} (revision {}): {}\n", cause.time, cause.revision, plain(&cause.sentence))
    });
    let end = if explanation.complete { "" } else { "earlier history is no longer retained\n" };
    causes.chain([end.to_owned()]).collect()
}
