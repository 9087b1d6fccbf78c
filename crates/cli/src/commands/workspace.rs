//! `baton workspace`: list, inspect, configure, fork, synchronize, delete, export and import
//! workspaces.

mod sync;
mod transfer;

use baton_core::history::{At, Origin};
use baton_core::workspace::{Command, Diff, Forked, Query};
use baton_core::{Answer, Pattern, wire};
use clap::{Args, Subcommand};
use serde_json::value::RawValue;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;
use crate::unknown_workspace;

const AFTER_HELP: &str = "\
Examples:
  baton workspace get
  baton --workspace research workspace get
  baton workspace configure --history-count 10000 --history-age 7d
  baton workspace ls
  baton workspace fork what-if --at 1200              fork the state as of a revision
  baton workspace diff 2026-11-15T09:00:00Z           show everything that changed since then
  baton workspace export research research.baton      write a workspace to a file
  baton workspace import research.baton --as copy     create a workspace from it
  baton workspace sync research --with http://other:4747
                                                      exchange changes with a copy elsewhere
  baton workspace delete copy --yes                   delete a workspace with its history";

/// List, inspect, fork, synchronize, delete, export and import workspaces
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Workspace {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show the size and history retention of the workspace
    Get,
    /// Change the history retention; options that are not given keep their value
    Configure(Configure),
    /// List workspaces
    Ls,
    /// Create a workspace from the state of this one; later changes are not shared
    Fork(Fork),
    /// Delete a workspace with its history; this cannot be undone
    Delete(Delete),
    /// Show everything that changed between two points in time
    Diff(ShowDiff),
    Export(transfer::Export),
    Import(transfer::Import),
    Sync(sync::Sync),
}

#[derive(Args)]
struct Fork {
    /// Name of the new workspace
    to: String,
    /// Use the state as of this revision, or time such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "MOMENT")]
    at: Option<At>,
}

#[derive(Args)]
struct Delete {
    /// Name of the workspace
    name: String,
    /// Confirm the deletion
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
struct ShowDiff {
    /// Start: a revision or a time
    from: At,
    /// End: a revision or a time [default: now]
    to: Option<At>,
    /// Only subjects that match this pattern, such as tasks/**
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<Pattern>,
}

#[derive(Args)]
#[group(required = true, multiple = true)]
struct Configure {
    /// Number of revisions of history to keep
    #[arg(long, value_name = "COUNT")]
    history_count: Option<u64>,
    /// How long to keep history, such as 12h or 30d
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    history_age: Option<u64>,
}

impl Delete {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        if !self.yes {
            let what = format!("deleting workspace `{}` discards all its data", self.name);
            return Err(Fault::Unconfirmed { what }.into());
        }
        let workspace = context.workspace_named(&self.name).await?;
        unknown_workspace::refused(&workspace).await?;
        let revision = workspace.ask(Query::Get).await?.revision;
        let deleted = workspace.delete(revision).await?;
        let sentence = format!("workspace {} deleted at revision {}", deleted.id, deleted.revision);
        output.said(&deleted, &sentence)
    }
}

impl Workspace {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let verb = match self.verb {
            Verb::Export(export) => return export.run(context, output).await,
            Verb::Import(import) => return import.run(context, output).await,
            Verb::Sync(sync) => return sync.run(context, output).await,
            Verb::Delete(delete) => return delete.run(context, output).await,
            verb => verb,
        };
        let workspace = context.workspace().await?;
        let answer = match verb {
            Verb::Export(_) | Verb::Import(_) | Verb::Sync(_) | Verb::Delete(_) => {
                unreachable!("handled above")
            }
            Verb::Get => {
                unknown_workspace::noted(context, output).await;
                workspace.ask(Query::Get).await?
            }
            Verb::Configure(Configure { history_count, history_age: history_age_ms }) => {
                workspace.execute(Command::Configure { history_count, history_age_ms }).await?
            }
            Verb::Ls => {
                let (mut all, mut cursor) = workspace.workspaces(None, None).await?;
                while cursor.is_some() {
                    let (more, next) = workspace.workspaces(None, cursor).await?;
                    all.extend(more);
                    cursor = next;
                }
                return output.many("workspaces", &all, &["id", "revision"]);
            }
            Verb::Fork(Fork { to, at }) => {
                let workspace = at.map_or(workspace.clone(), |at| workspace.at(at));
                let forked = workspace.fork(&to).await?;
                let Forked { id, origin, .. } = &forked;
                let Origin { workspace, revision, .. } = origin;
                let sentence =
                    format!("workspace {id} created from {workspace} at revision {revision}");
                return output.said(&forked, &sentence);
            }
            Verb::Diff(ShowDiff { from, to, pattern }) => {
                let mut diff = Diff { from, to, pattern, limit: None, cursor: None };
                let mut all = Vec::new();
                loop {
                    let page = workspace.differences(diff.clone()).await?;
                    all.extend(page.differences);
                    // Later pages cover the same range as the first.
                    (diff.from, diff.to) = (page.from.into(), Some(page.to.into()));
                    diff.cursor = page.cursor;
                    if diff.cursor.is_none() {
                        return output.many("changes", &all, &["subject", "change"]);
                    }
                }
            }
        };
        output.one(&described(&answer))
    }
}

/// The properties of the workspace, with its current revision.
fn described(answer: &Answer) -> Box<RawValue> {
    let mut text = Vec::new();
    wire::write_reply(&mut text, &answer.reply);
    let own = String::from_utf8(text).expect("answers are text");
    let text = format!("{{\"revision\":{},{}", answer.revision, &own[1..]);
    RawValue::from_string(text).expect("an object with one more field is an object")
}
