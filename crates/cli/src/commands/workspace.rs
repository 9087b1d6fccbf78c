//! `baton workspace`: which there are, how one is set up, how it was, and forks of it.

mod carrying;

use baton_core::history::{At, Origin};
use baton_core::workspace::{Command, Diff, Forked, Query};
use baton_core::{Answer, Pattern, wire};
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
  baton workspace configure --history-count 10000 --history-age 7d
  baton workspace ls
  baton workspace fork what-if --at 1200              begin another as this one was
  baton workspace diff 2026-11-15T09:00:00Z           what happened to everything since then
  baton workspace export research research.baton      keep it elsewhere
  baton workspace import research.baton --as copy     and have it back";

/// See workspaces and how they were, set one up, fork it
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
    /// List those that there are
    Ls,
    /// Begin another with what this one holds; nothing that happens here later reaches it
    Fork(Fork),
    /// Show what happened to everything between two moments
    Diff(Between),
    Export(carrying::Export),
    Import(carrying::Import),
}

#[derive(Args)]
struct Fork {
    /// The name of the new one
    to: String,
    /// As it was then: a revision, or a time such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "MOMENT")]
    at: Option<At>,
}

#[derive(Args)]
struct Between {
    /// After this moment: a revision or a time
    from: At,
    /// Up to this moment; the present unless given
    to: Option<At>,
    /// Only subjects that match, such as tasks/**
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<Pattern>,
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
        let verb = match self.verb {
            Verb::Export(export) => return export.run(context, output).await,
            Verb::Import(import) => return import.run(context, output).await,
            verb => verb,
        };
        let workspace = context.workspace().await?;
        let answer = match verb {
            Verb::Export(_) | Verb::Import(_) => unreachable!("they have had their turn"),
            Verb::Get => workspace.ask(Query::Get).await?,
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
                return output.many(&all, &["id", "revision"]);
            }
            Verb::Fork(Fork { to, at }) => {
                let workspace = at.map_or(workspace.clone(), |at| workspace.at(at));
                let forked = workspace.fork(&to).await?;
                let Forked { id, origin, .. } = &forked;
                let Origin { workspace, revision, .. } = origin;
                let sentence = format!("{id} begins as {workspace} was at revision {revision}");
                return output.said(&forked, &sentence);
            }
            Verb::Diff(Between { from, to, pattern }) => {
                let mut diff = Diff { from, to, pattern, limit: None, cursor: None };
                let mut all = Vec::new();
                loop {
                    let page = workspace.differences(diff.clone()).await?;
                    all.extend(page.differences);
                    // Later pages are about the same moments as the first.
                    (diff.from, diff.to) = (page.from.into(), Some(page.to.into()));
                    diff.cursor = page.cursor;
                    if diff.cursor.is_none() {
                        return output.many(&all, &["subject", "change"]);
                    }
                }
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
