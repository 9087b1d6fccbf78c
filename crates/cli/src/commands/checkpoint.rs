//! `baton checkpoint`: saved states of a task to resume from.

use baton_client::{Checkpoints, Workspace};
use baton_core::checkpoint::{Checkpoint as Record, History, List, NewWrite, Prune, Retain};
use baton_core::limits;
use baton_core::names::NameError;
use baton_core::{CheckpointId, CheckpointKey, CheckpointLabel, Pattern, Rejection, TaskId, Token};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton checkpoint save t-7 '{\"step\": 3}' --token 42       save the state of a claimed task
  ./step.sh | baton checkpoint save thread-9               save the state of any other thread
  baton checkpoint latest t-7 --state | ./continue.sh      resume from the latest state
  baton checkpoint ls t-7 --metadata '{\"node\": \"plan\"}'
  baton checkpoint restore c-0000000003 --token 42         go back to a checkpoint
  baton checkpoint fork c-0000000003 t-8                   start another task from it
  baton checkpoint label c-0000000003 'before the review'  labelled checkpoints are not pruned
  baton checkpoint save thread-9 @state.bin --type msgpack --key 0042
  baton checkpoint write thread-9 0042 search messages '\"found\"'
  baton checkpoint history thread-9 --limit 1              the greatest key, with its writes
  baton checkpoint copy thread-9 thread-10
  baton checkpoint prune t-7 --keep 10
  baton checkpoint retain --task 't-*' --keep 20 --max-age 7d

States are stored byte for byte, and content that they share is stored once. The token defaults to
BATON_TASK_TOKEN, which `task work` sets for the programs it runs. `latest` exits with 3 if there is
no checkpoint.";

/// Rows shown in a table by default.
const SHOWN: usize = 50;
const HISTORY_COLUMNS: [&str; 6] = ["key", "parent_key", "id", "content_type", "bytes", "saved_at"];
const COLUMNS: [&str; 7] = ["id", "task", "number", "label", "description", "bytes", "saved_at"];

/// Save and restore the state of tasks
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
    Write(WritePending),
    History(ReadHistory),
    Copy(CopyAll),
    Prune(PruneCheckpoints),
    Retain(SetRetention),
    /// Show the retention rules
    Retention,
}

/// Save a checkpoint
#[derive(Args)]
struct Save {
    /// Task, or the name of another thread of work
    task: String,
    /// State: JSON, @FILE, or - for stdin
    #[arg(default_value = "-", allow_negative_numbers = true)]
    state: Source,
    /// Save the state as bytes of this type, not as JSON
    #[arg(long = "type", value_name = "TYPE")]
    content_type: Option<String>,
    /// Key of your choice, unique within the task; replaces the checkpoint with this key
    #[arg(long)]
    key: Option<String>,
    /// Key of the checkpoint that it continues
    #[arg(long, value_name = "KEY")]
    parent_key: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Parent checkpoint [default: the last one saved or restored]
    #[arg(long, value_name = "CHECKPOINT")]
    parent: Option<String>,
    /// Label; labelled checkpoints are not pruned
    #[arg(long)]
    label: Option<String>,
    /// Additional metadata: a JSON object, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// Token of the lease, for a claimed task [default: `BATON_TASK_TOKEN`]
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Show the checkpoint that a task resumes from
#[derive(Args)]
struct Latest {
    /// Task ID
    task: String,
    /// Print only the state, byte for byte as saved
    #[arg(long)]
    state: bool,
}

/// Show a checkpoint
#[derive(Args)]
struct Get {
    /// Checkpoint ID
    checkpoint: String,
    /// Print only the state, byte for byte as saved
    #[arg(long)]
    state: bool,
}

/// List checkpoints, newest first
#[derive(Args)]
struct Ls {
    /// Only checkpoints of this task
    task: Option<String>,
    /// Only checkpoints with this label
    #[arg(long)]
    label: Option<String>,
    /// Only checkpoints whose metadata contains this: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// Only checkpoints older than this one
    #[arg(long, value_name = "CHECKPOINT")]
    before: Option<String>,
    /// Maximum number of checkpoints [default: 50 in a table, otherwise all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

/// Restore a checkpoint: its task resumes from there
#[derive(Args)]
struct Restore {
    /// Checkpoint ID
    checkpoint: String,
    /// Print only the state, byte for byte as saved
    #[arg(long)]
    state: bool,
    /// Token of the lease, if the task is claimed [default: `BATON_TASK_TOKEN`]
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Start another task or thread from a checkpoint
#[derive(Args)]
struct Fork {
    /// Checkpoint ID
    checkpoint: String,
    /// Task, or the name of another thread of work, to start
    task: String,
    /// Token of the lease, if that task is claimed [default: `BATON_TASK_TOKEN`]
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Set or remove the label of a checkpoint
#[derive(Args)]
struct Label {
    /// Checkpoint ID
    checkpoint: String,
    /// New label [default: remove the label]
    label: Option<String>,
}

/// Store a pending write after a checkpoint, unless it exists
#[derive(Args)]
struct WritePending {
    /// Task, or the name of another thread of work
    task: String,
    /// Key of the checkpoint
    key: String,
    /// Step that writes
    writer: String,
    /// Channel that it writes to
    channel: String,
    /// Value: JSON, @FILE, or - for stdin
    #[arg(default_value = "-", allow_negative_numbers = true)]
    value: Source,
    /// Index among the writes of the step
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    index: i32,
    /// Replace a write with the same writer and index
    #[arg(long)]
    replace: bool,
    /// Token of the lease, for a claimed task [default: `BATON_TASK_TOKEN`]
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Show the checkpoints of a task by key, highest key first, with states and pending writes
#[derive(Args)]
struct ReadHistory {
    /// Task ID
    task: String,
    /// Only the checkpoint with this key
    #[arg(long)]
    key: Option<String>,
    /// Only checkpoints whose keys begin like this
    #[arg(long)]
    prefix: Option<String>,
    /// Only checkpoints whose metadata contains this: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// Maximum number of checkpoints [default: 50 in a table, otherwise all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

/// Copy all checkpoints of a task to another task or thread, which has none
#[derive(Args)]
struct CopyAll {
    /// Task ID
    task: String,
    /// Task, or the name of another thread of work, to start
    to: String,
    /// Token of the lease, if that task is claimed [default: `BATON_TASK_TOKEN`]
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
}

/// Delete checkpoints that exceed all given limits
#[derive(Args)]
struct PruneCheckpoints {
    /// Task ID
    task: String,
    /// Keep this many of the newest
    #[arg(long, value_name = "COUNT")]
    keep: Option<u64>,
    /// Delete only checkpoints older than this
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    older_than: Option<u64>,
    /// Delete only checkpoints whose metadata contains this: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    /// Delete only checkpoints with these keys
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<String>,
    /// Also delete labelled checkpoints and the one to resume from
    #[arg(long)]
    all: bool,
}

/// Set a retention rule, or remove it if no limits are given
#[derive(Args)]
struct SetRetention {
    /// Tasks that match this pattern [default: all]
    #[arg(long, value_name = "PATTERN")]
    task: Option<String>,
    /// Keep this many of the newest for each task
    #[arg(long, value_name = "COUNT")]
    keep: Option<u64>,
    /// Maximum age
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
                output.said(&forked, &format!("{} starts {task} from {checkpoint}", forked.id))
            }
            Verb::Label(Label { checkpoint, label }) => {
                let labelled = workspace.checkpoints().label(&checkpoint, label.as_deref()).await?;
                let label = label.map_or("removed".to_owned(), |label| format!("set to `{label}`"));
                output.said(&labelled, &format!("label of {checkpoint} {label}"))
            }
            Verb::Write(write) => write.run(&workspace, output).await,
            Verb::History(history) => history.run(&workspace.checkpoints(), output).await,
            Verb::Copy(CopyAll { task, to, token }) => {
                let copied = under(&workspace, token).copy(&task, &to).await?.0;
                let summary = json!({ "copied": copied });
                output.said(&summary, &format!("checkpoints copied to {to}: {copied}"))
            }
            Verb::Prune(prune) => prune.run(&workspace.checkpoints(), output).await,
            Verb::Retain(retain) => retain.run(&workspace.checkpoints(), output).await,
            Verb::Retention => {
                let rules = workspace.checkpoints().retention().await?;
                output.many("retention rules", &rules, &["task", "keep", "max_age_ms"])
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

/// Prints a checkpoint, or only its state.
fn show(output: &mut Output, checkpoint: &Record, state_alone: bool) -> Result<(), Failure> {
    match &checkpoint.state {
        Some(state) if state_alone => output.bytes(&[state.as_bytes(), b"\n"].concat()),
        Some(_) | None => output.one(checkpoint),
    }
}

impl Save {
    async fn run(self, workspace: &Workspace, output: &mut Output) -> Result<(), Failure> {
        let checkpoints = under(workspace, self.token);
        let mut saving = match &self.content_type {
            Some(it) => checkpoints.save_bytes(&self.task, it, &self.state.read()?),
            None => checkpoints.save(&self.task, self.state.json()?),
        };
        if let Some(key) = &self.key {
            saving = saving.key(key);
        }
        if let Some(key) = &self.parent_key {
            saving = saving.parent_key(key);
        }
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
        output.said(&saved, &format!("{id} saved: checkpoint {number} of {task}, {bytes} bytes"))
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
            output.note("there are more checkpoints; use --limit to see them");
        }
        output.many("checkpoints", &found, &COLUMNS)
    }
}

impl WritePending {
    async fn run(self, workspace: &Workspace, output: &mut Output) -> Result<(), Failure> {
        let Self { task, key, writer, channel, value, index, replace, token } = self;
        let value = value.json()?;
        let write = NewWrite { index, channel, value, content_type: None, replace };
        let checkpoints = under(workspace, token);
        let written = checkpoints.write(&task, &key, &writer, vec![write]).await?.0;
        let summary = json!({ "written": written });
        let said = if written == 0 { "the write exists already" } else { "write stored" };
        output.said(&summary, said)
    }
}

impl ReadHistory {
    async fn run(self, checkpoints: &Checkpoints, output: &mut Output) -> Result<(), Failure> {
        let most = self.limit.unwrap_or_else(|| output.enough(SHOWN));
        let task = TaskId::parse(&self.task).map_err(Rejection::from)?;
        let mut history = History {
            key: named(self.key.as_ref(), CheckpointKey::parse)?,
            prefix: named(self.prefix.as_ref(), CheckpointKey::parse)?,
            metadata: self.metadata.map(|source| source.json()).transpose()?,
            ..History::of(&task)
        };
        let mut found = Vec::new();
        while found.len() < most {
            history.limit = Some(((most - found.len()) as u64).min(limits::PAGE_DEFAULT as u64));
            let (page, cursor) = checkpoints.history(history.clone()).await?;
            found.extend(page);
            history.cursor = cursor;
            if history.cursor.is_none() {
                break;
            }
        }
        output.many("checkpoints", &found, &HISTORY_COLUMNS)
    }
}

impl PruneCheckpoints {
    async fn run(self, checkpoints: &Checkpoints, output: &mut Output) -> Result<(), Failure> {
        let Self { task, keep, older_than, metadata, keys, all } = self;
        let task = TaskId::parse(&task).map_err(Rejection::from)?;
        let metadata = metadata.map(|source| source.json()).transpose()?;
        let parse = |key: &String| CheckpointKey::parse(key).map_err(Rejection::from);
        let keys: Vec<CheckpointKey> = keys.iter().map(parse).collect::<Result<_, _>>()?;
        let keys = (!keys.is_empty()).then_some(keys);
        let prune = Prune { task, keep, older_than_ms: older_than, metadata, keys, all };
        let (pruned, bytes) = checkpoints.prune(prune).await?;
        let summary = json!({ "pruned": pruned, "bytes": bytes });
        output.said(&summary, &format!("checkpoints deleted: {pruned} ({bytes} bytes freed)"))
    }
}

impl SetRetention {
    async fn run(self, checkpoints: &Checkpoints, output: &mut Output) -> Result<(), Failure> {
        let task = self.task.map(|text| Pattern::parse(&text)).transpose();
        let task = task.map_err(Rejection::from)?;
        let retain = Retain { task, keep: self.keep, max_age_ms: self.max_age };
        let rules = checkpoints.retain(retain).await?;
        output.many("retention rules", &rules, &["task", "keep", "max_age_ms"])
    }
}
