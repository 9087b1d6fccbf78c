//! A misspelled workspace. Workspaces are created by their first write, so a name that was never
//! written to is not an error for the server: a list is empty, and an entry is not found. Here the
//! reason is added, with the closest name.

use baton_client::{Error, Workspace};
use baton_core::nearest::nearest;
use baton_core::wire::Problem;
use baton_core::{Kind, Revision, limits};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::Output;

/// Error codes of other kinds that mean that there is no result.
const NOTHING: [&str; 2] = ["cli.nothing_in_time", "history.not_yet"];

/// The result of a command, with the reason if the workspace was never written to.
pub(crate) async fn explained(
    result: Result<(), Failure>,
    context: &Context,
    output: &Output,
) -> Result<(), Failure> {
    match result {
        Ok(()) if output.is_empty() => {
            noted(context, output).await;
            Ok(())
        }
        Err(Failure::Problem { mut problem, exit }) if is_nothing(&problem) => {
            if let Some(reason) = unused(context).await {
                problem.detail = format!("{}; {reason}", problem.detail);
            }
            Err(Failure::Problem { problem, exit })
        }
        result => result,
    }
}

/// Whether the error means that there is nothing, as in a workspace without any write.
fn is_nothing(problem: &Problem) -> bool {
    problem.kind == Kind::NotFound || NOTHING.contains(&&*problem.code)
}

/// Notes that the workspace was never written to, before a command waits in it for others. Nothing
/// is refused: another agent may be about to create it.
pub(crate) async fn noted(context: &Context, output: &Output) {
    if output.has_notes()
        && let Some(reason) = unused(context).await
    {
        output.note(&reason);
    }
}

/// Refuses a workspace that was never written to, for a command that names one.
pub(crate) async fn refused(workspace: &Workspace) -> Result<(), Failure> {
    match described(workspace).await {
        Some(reason) => Err(Fault::NoWorkspace { reason }.into()),
        None => Ok(()),
    }
}

/// A sentence, if the selected workspace was never written to. None if that cannot be found out.
async fn unused(context: &Context) -> Option<String> {
    context.workspace_said()?;
    described(&context.workplace().await.ok()?).await
}

async fn described(workspace: &Workspace) -> Option<String> {
    let name = workspace.name().as_str();
    let revision: Result<Revision, Error> = workspace.revision().await;
    if revision.ok()? > Revision(0) {
        return None;
    }
    let page = workspace.workspaces(Some(limits::PAGE_MAX as u64), None).await;
    let known = page.map(|(listed, _)| listed).unwrap_or_default();
    let names = known.iter().map(|listed| listed.id.as_str());
    let meant = nearest(name, names.filter(|other| *other != name));
    let meant = meant.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
    Some(format!("workspace `{name}` has never been used{meant}"))
}
