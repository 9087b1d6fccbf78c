//! `baton why`: what led to something being as it is.

use baton_core::history::{At, Explanation};
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, plain};

const AFTER_HELP: &str = "\
Examples:
  baton why plan                    a key of `shared`
  baton why state/notes/draft       a key of another namespace
  baton why tasks/t-0000000007      a task
  baton why plan --at 1200          as it was then";

/// Tell what led to a key, a task or a hand-off: who, under which task, from whose hands
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Why {
    /// A key, or a subject such as tasks/ID, handoffs/ID or state/NAMESPACE/KEY
    subject: String,
    /// As it was then: a revision, or a time such as 2026-11-15T09:00:00Z
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

/// What is no subject is a key of `shared`.
fn subject(given: &str) -> String {
    let is_subject = ["state/", "tasks/", "handoffs/"].iter().any(|kind| given.starts_with(kind));
    if is_subject { given.to_owned() } else { format!("state/shared/{given}") }
}

fn text(explanation: &Explanation) -> String {
    let causes = explanation.causes.iter().map(|cause| {
        format!("{} (revision {}): {}\n", cause.time, cause.revision, plain(&cause.sentence))
    });
    let end = if explanation.complete { "" } else { "what was before that is not kept any more\n" };
    causes.chain([end.to_owned()]).collect()
}
