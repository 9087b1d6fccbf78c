//! `baton checkpoint`: the states of a piece of work, to go on from.

use baton_client::{Checkpoints, Workspace};
use baton_core::checkpoint::{Checkpoint as Record, List, Prune, Retain};
use baton_core::names::NameError;
use baton_core::{CheckpointId, CheckpointLabel, Pattern, Rejection, TaskId, Token};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton checkpoint save t-7 '{\"step\": 3}' --token 42       of a task, under its lease
  ./step.sh | baton checkpoint save thread-9               of any other thread of work
  baton checkpoint latest t-7 --state | ./continue.sh      what to go on from
  baton checkpoint ls t-7 --metadata '{\"node\": \"plan\"}'
  baton checkpoint restore c-0000000003 --token 42         go back to it
  baton checkpoint fork c-0000000003 t-8                   try something else from there
  baton checkpoint label c-0000000003 'before the review'  what has a label stays
  baton checkpoint prune t-7 --keep 10
  baton checkpoint retain --task 't-*' --keep 20 --max-age 7d

A state is kept byte for byte. What states have in common is kept once. The token is also taken from
BATON_TASK_TOKEN, which `task work` sets for the programs it runs. `latest` ends with 3 if there is
no checkpoint.";

/// As many as fit onto a screen.
const SHOWN: usize = 50;
const COLUMNS: [&str; 7] = ["id", "task", "number", "label", "description", "bytes", "saved_at"];

/// Save the state of work, and go on from it
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Checkpoint {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Save(Save),
    Latest(Latest),
    Get(Get),
    Ls(Ls),
    Restore(Restore),
    Fork(Fork),
    Label(Label),
    Prune(Pruning),
    Retain(Retaining),
    /// Show how many are kept, and for how long
    Retention,
}

/// Save a state
#[derive(Args)]
struct Save {
    /// Of which task, or other thread of work
    task: String,
    /// The state: JSON, - for stdin, or @file
    #[arg(default_value = "-", allow_negative_numbers = true)]
    state: Source,
    /// What it is, in words
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The one it goes on from; the last that was saved or restored unless given
    #[arg(long, value_name = "CHECKPOINT")]
    parent: Option<String>,
    /// A name by which it is found, and kept
    #[arg(long)]
    label: Option<String>,
    /// What to note about it: an object; JSON, - for stdin, or @file
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// Of the lease, if it is about a task
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Show the one that a task goes on from
#[derive(Args)]
struct Latest {
    /// Of which task
    task: String,
    /// Print only the state, exactly as it was saved
    #[arg(long)]
    state: bool,
}

/// Show one
#[derive(Args)]
struct Get {
    /// Which checkpoint
    checkpoint: String,
    /// Print only the state, exactly as it was saved
    #[arg(long)]
    state: bool,
}

/// List them, the newest first
#[derive(Args)]
struct Ls {
    /// Of which task; of all unless given
    task: Option<String>,
    /// With this label
    #[arg(long)]
    label: Option<String>,
    /// Whose metadata contains this
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// Older than this one
    #[arg(long, value_name = "CHECKPOINT")]
    before: Option<String>,
    /// How many at most
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

/// Go back to one: its task goes on from there
#[derive(Args)]
struct Restore {
    /// Which checkpoint
    checkpoint: String,
    /// Print only the state, exactly as it was saved
    #[arg(long)]
    state: bool,
    /// Of the lease, if its task is worked on
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Begin another task with the content of one
#[derive(Args)]
struct Fork {
    /// Which checkpoint
    checkpoint: String,
    /// The task, or other thread of work, that goes on from it
    task: String,
    /// Of the lease, if that task is worked on
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Call one by a name, which keeps it
#[derive(Args)]
struct Label {
    /// Which checkpoint
    checkpoint: String,
    /// What it is called from now on; nothing unless given
    label: Option<String>,
}

/// Remove those that are beyond every bound that is given
#[derive(Args)]
struct Pruning {
    /// Of which task
    task: String,
    /// How many stay, the newest
    #[arg(long, value_name = "COUNT")]
    keep: Option<u64>,
    /// How old one must be to go
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    older_than: Option<u64>,
    /// Those with a label, and the one to go on from, go too
    #[arg(long)]
    all: bool,
}

/// Say how many are kept, and for how long; without bounds the rule is removed
#[derive(Args)]
struct Retaining {
    /// Of which tasks
    #[arg(long, value_name = "PATTERN")]
    task: Option<String>,
    /// How many of each, the newest
    #[arg(long, value_name = "COUNT")]
    keep: Option<u64>,
    /// For how long
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    max_age: Option<u64>,
}

impl Checkpoint {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let workspace = context.workspace().await?;
        match self.verb {
            Verb::Save(save) => save.run(&workspace, output).await,
            Verb::Latest(latest) => latest.run(&workspace.checkpoints(), output).await,
            Verb::Get(get) => {
                show(output, &workspace.checkpoints().get(&get.checkpoint).await?, get.state)
            }
            Verb::Ls(ls) => ls.run(&workspace.checkpoints(), output).await,
            Verb::Restore(restore) => {
                let checkpoints = under(&workspace, restore.token);
                show(output, &checkpoints.restore(&restore.checkpoint).await?, restore.state)
            }
            Verb::Fork(Fork { checkpoint, task, token }) => {
                let forked = under(&workspace, token).fork(&checkpoint, &task).await?;
                output.said(&forked, &format!("{} begins {task} like {checkpoint}", forked.id))
            }
            Verb::Label(Label { checkpoint, label }) => {
                let labelled = workspace.checkpoints().label(&checkpoint, label.as_deref()).await?;
                let label = label.map_or("nothing".to_owned(), |label| format!("`{label}`"));
                output.said(&labelled, &format!("{checkpoint} is called {label}"))
            }
            Verb::Prune(pruning) => pruning.run(&workspace.checkpoints(), output).await,
            Verb::Retain(retaining) => retaining.run(&workspace.checkpoints(), output).await,
            Verb::Retention => {
                let rules = workspace.checkpoints().retention().await?;
                output.many(&rules, &["task", "keep", "max_age_ms"])
            }
        }
    }
}

fn under(workspace: &Workspace, token: Option<u64>) -> Checkpoints {
    match token {
        Some(token) => workspace.under(Token(token)).checkpoints(),
        None => workspace.checkpoints(),
    }
}

/// A checkpoint, or its state alone.
fn show(output: &mut Output, checkpoint: &Record, state_alone: bool) -> Result<(), Failure> {
    match &checkpoint.state {
        Some(state) if state_alone => output.bytes(&[state.as_bytes(), b"\n"].concat()),
        Some(_) | None => output.one(checkpoint),
    }
}

impl Save {
    async fn run(self, workspace: &Workspace, output: &mut Output) -> Result<(), Failure> {
        let mut saving = under(workspace, self.token).save(&self.task, self.state.json()?);
        if let Some(text) = &self.description {
            saving = saving.description(text);
        }
        if let Some(parent) = &self.parent {
            saving = saving.parent(parent);
        }
        if let Some(label) = &self.label {
            saving = saving.label(label);
        }
        if let Some(metadata) = &self.metadata {
            saving = saving.metadata(metadata.json()?);
        }
        let saved = saving.await?;
        let Record { id, task, number, bytes, .. } = &saved;
        output.said(&saved, &format!("{id} is checkpoint {number} of {task}, {bytes} bytes"))
    }
}

impl Latest {
    async fn run(self, checkpoints: &Checkpoints, output: &mut Output) -> Result<(), Failure> {
        match checkpoints.latest(&self.task).await? {
            Some(checkpoint) => show(output, &checkpoint, self.state),
            None => {
                output.said(&None::<Record>, &format!("task {} has no checkpoint", self.task))?;
                Err(Failure::Ended { exit: 3 })
            }
        }
    }
}

fn named<T>(name: Option<&String>, parse: fn(&str) -> Result<T, NameError>) -> Prepared<T> {
    Ok(name.map(|name| parse(name).map_err(Rejection::from)).transpose()?)
}

type Prepared<T> = Result<Option<T>, Failure>;

impl Ls {
    async fn run(self, checkpoints: &Checkpoints, output: &mut Output) -> Result<(), Failure> {
        let most = self.limit.unwrap_or_else(|| output.enough(SHOWN));
        let mut list = List {
            task: named(self.task.as_ref(), TaskId::parse)?,
            label: named(self.label.as_ref(), CheckpointLabel::parse)?,
            metadata: self.metadata.map(|source| source.json()).transpose()?,
            before: named(self.before.as_ref(), CheckpointId::parse)?,
            limit: None,
            cursor: None,
        };
        let mut found = Vec::new();
        loop {
            let (page, cursor) = checkpoints.list(list.clone()).await?;
            found.extend(page);
            if found.len() > most || cursor.is_none() {
                break;
            }
            list.cursor = cursor;
        }
        if found.len() > most {
            found.truncate(most);
            output.note("there are more, see --limit");
        }
        output.many(&found, &COLUMNS)
    }
}

impl Pruning {
    async fn run(self, checkpoints: &Checkpoints, output: &mut Output) -> Result<(), Failure> {
        let Self { task, keep, older_than, all } = self;
        let task = TaskId::parse(&task).map_err(Rejection::from)?;
        let prune = Prune { task, keep, older_than_ms: older_than, all };
        let (pruned, bytes) = checkpoints.prune(prune).await?;
        let told = json!({ "pruned": pruned, "bytes": bytes });
        output.said(&told, &format!("{pruned} are gone, and {bytes} bytes that were in no other"))
    }
}

impl Retaining {
    async fn run(self, checkpoints: &Checkpoints, output: &mut Output) -> Result<(), Failure> {
        let task = self.task.map(|text| Pattern::parse(&text)).transpose();
        let task = task.map_err(Rejection::from)?;
        let retain = Retain { task, keep: self.keep, max_age_ms: self.max_age };
        let rules = checkpoints.retain(retain).await?;
        output.many(&rules, &["task", "keep", "max_age_ms"])
    }
}
