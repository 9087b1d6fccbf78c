//! `baton state`: the shared, versioned entries.

use baton_client::Workspace;
use baton_core::history::At;
use baton_core::state::merge::Patch;
use baton_core::state::{Change, Diff, History, List, Query, Reply as StateReply};
use baton_core::{AgentId, Entry, Key, NamespaceName, Pattern, Rejection, Reply, Revision};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::{Source, milliseconds};
use crate::output::{Colour, Output};

const AFTER_HELP: &str = "\
Examples:
  baton state set plan '{\"step\": 1}'               write a JSON value
  baton state set title 'release plan' --string    write text
  baton state set plan @plan.json --if-version 1   write only if the version is still 1
  baton state get plan --value                     print the value only
  baton state patch plan --merge '{\"step\": 2}'     change part of a value
  baton state patch hits --increment 1             increment a counter
  baton state ls plans/                            list keys with a prefix
  baton state history plan                         show who changed it, newest first
  baton state diff 3                               show what changed since revision 3

The default namespace is `shared`; select another with -n.";

/// Changes shown in a table by default.
const HISTORY_SHOWN: usize = 50;

/// Read and write shared, versioned entries
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct State {
    #[command(subcommand)]
    verb: Verb,
    /// Namespace
    #[arg(short, long, global = true, value_name = "NAME", default_value = "shared")]
    namespace: String,
}

#[derive(Subcommand)]
enum Verb {
    Get(Get),
    Set(Set),
    Patch(PatchEntry),
    Delete(Delete),
    Ls(Ls),
    History(ShowHistory),
    Diff(ShowDiff),
}

/// Read an entry
#[derive(Args)]
struct Get {
    /// Key
    key: String,
    /// Read the entry as of this revision, or time such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "MOMENT")]
    at: Option<At>,
    /// Print only the value, byte for byte as written
    #[arg(long)]
    value: bool,
    /// Print only the value, which must be a string, without quotes
    #[arg(long, conflicts_with = "value")]
    string: bool,
}

/// Write an entry
#[derive(Args)]
struct Set {
    /// Key
    key: String,
    /// Value: JSON, @FILE, or - for stdin
    #[arg(allow_negative_numbers = true)]
    value: Source,
    /// Treat the value as text instead of JSON
    #[arg(long)]
    string: bool,
    /// Write only if the entry has this version; 0 means that it must not exist
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,
    /// Write only if the entry was last changed by this revision; 0 means that it must not exist
    #[arg(long, value_name = "REVISION")]
    if_revision: Option<u64>,
    /// Write only if the entry does not exist
    #[arg(long, conflicts_with = "if_version")]
    if_absent: bool,
    /// Time to live, such as 30s or 12h; writing the entry again restarts it
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
    /// Delete the entry when the agent's session ends
    #[arg(long)]
    ephemeral: bool,
}

/// Change part of an entry atomically on the server
#[derive(Args)]
#[command(override_usage = "baton state patch <KEY> \
    --merge|--json-patch|--append|--union|--increment|--max <JSON> [OPTIONS]")]
struct PatchEntry {
    /// Key
    key: String,
    #[command(flatten)]
    form: Form,
    /// Write only if the entry has this version; 0 means that it must not exist
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,
    /// Write only if the entry was last changed by this revision; 0 means that it must not exist
    #[arg(long, value_name = "REVISION")]
    if_revision: Option<u64>,
}

/// The patch operations. Each takes JSON, @FILE, or - for stdin.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Form {
    /// Merge an object into the value (RFC 7396); null removes a field
    #[arg(long, value_name = "JSON")]
    merge: Option<Source>,
    /// Apply a JSON Patch (RFC 6902)
    #[arg(long, value_name = "JSON")]
    json_patch: Option<Source>,
    /// Append a value, or the elements of a list, to a list
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    append: Option<Source>,
    /// Like --append, but skip elements that are already present
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    union: Option<Source>,
    /// Add this to a number
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    increment: Option<Source>,
    /// Set to the maximum of this and the current number
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    max: Option<Source>,
}

/// Delete an entry
#[derive(Args)]
struct Delete {
    /// Key
    key: String,
    /// Delete only if the entry has this version
    #[arg(long, value_name = "VERSION", conflicts_with = "if_revision")]
    if_version: Option<u64>,
    /// Delete only if the entry was last changed by this revision
    #[arg(long, value_name = "REVISION")]
    if_revision: Option<u64>,
}

/// List entries in key order
#[derive(Args)]
struct Ls {
    /// Only keys with this prefix
    prefix: Option<String>,
    /// Only keys that match this pattern, such as 'plans/*' or 'plans/**'
    #[arg(long)]
    pattern: Option<String>,
    /// List the entries as of this revision, or time such as 2026-11-15T09:00:00Z
    #[arg(long, value_name = "MOMENT")]
    at: Option<At>,
}

/// Show the history of changes, newest first
#[derive(Args)]
struct ShowHistory {
    /// Only this key
    key: Option<String>,
    /// Only keys that match this pattern, such as 'plans/**'
    #[arg(long)]
    pattern: Option<String>,
    /// Only changes by this agent
    #[arg(long, value_name = "AGENT")]
    author: Option<String>,
    /// Only changes since this revision
    #[arg(long, value_name = "REVISION")]
    from: Option<u64>,
    /// Only changes up to this revision
    #[arg(long, value_name = "REVISION")]
    to: Option<u64>,
    /// Maximum number of changes [default: 50 in a table, otherwise all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Show all retained history
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// Show the differences between two revisions
#[derive(Args)]
struct ShowDiff {
    /// First revision
    from: u64,
    /// Second revision [default: the current one]
    to: Option<u64>,
}

impl State {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let namespace = NamespaceName::parse(&self.namespace)?;
        match self.verb {
            Verb::Get(get) => get.run(&namespace, context, output).await,
            Verb::Set(set) => set.run(&namespace, context, output).await,
            Verb::Patch(patch) => patch.run(&namespace, context, output).await,
            Verb::Delete(delete) => delete.run(&namespace, context, output).await,
            Verb::Ls(ls) => ls.run(namespace, context, output).await,
            Verb::History(history) => history.run(namespace, context, output).await,
            Verb::Diff(diff) => diff.run(namespace, context, output).await,
        }
    }
}

impl Get {
    async fn run(
        self,
        namespace: &NamespaceName,
        context: &Context,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let (workspace, revision) = at(context.workspace().await?, self.at);
        let state = workspace.state(namespace.as_str());
        let entry = match revision {
            Some(revision) => state.get_at(&self.key, revision).await?,
            None => state.get(&self.key).await?,
        };
        if self.value {
            output.bytes(&[entry.value(), b"\n"].concat())
        } else if self.string {
            let text: Result<String, _> = entry.json().to();
            let text = text.map_err(|_| Fault::NotString { key: self.key })?;
            output.bytes(format!("{text}\n").as_bytes())
        } else {
            output.one(&entry)
        }
    }
}

impl Set {
    async fn run(
        self,
        namespace: &NamespaceName,
        context: &Context,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let value = self.value.json_or_string(self.string)?;
        let state = context.workspace().await?.state(namespace.as_str());
        let mut setting = state.set(&self.key, value);
        if let Some(version) = self.if_version {
            setting = setting.expected_version(version);
        }
        if let Some(revision) = self.if_revision {
            setting = setting.expected_revision(revision);
        }
        if self.if_absent {
            setting = setting.if_absent();
        }
        if let Some(ttl_ms) = self.ttl {
            setting = setting.ttl_ms(ttl_ms);
        }
        if self.ephemeral {
            setting = setting.ephemeral();
        }
        written(output, &setting.await?)
    }
}

impl Form {
    fn patch(self) -> Result<Patch, Failure> {
        let forms: [(_, fn(_) -> Patch); 6] = [
            (self.merge, Patch::Merge),
            (self.json_patch, Patch::JsonPatch),
            (self.append, Patch::Append),
            (self.union, Patch::Union),
            (self.increment, Patch::Increment),
            (self.max, Patch::Max),
        ];
        let given = forms.into_iter().find_map(|(source, form)| Some((source?, form)));
        let (source, form) = given.expect("the group of forms is required");
        Ok(form(source.json()?))
    }
}

impl PatchEntry {
    async fn run(
        self,
        namespace: &NamespaceName,
        context: &Context,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let patch = self.form.patch()?;
        let state = context.workspace().await?.state(namespace.as_str());
        let mut patching = state.patch(&self.key, patch);
        if let Some(version) = self.if_version {
            patching = patching.expected_version(version);
        }
        if let Some(revision) = self.if_revision {
            patching = patching.expected_revision(revision);
        }
        written(output, &patching.await?)
    }
}

fn written(output: &mut Output, entry: &Entry) -> Result<(), Failure> {
    for warning in entry.warnings() {
        output.note(&format!("warning: {} ({})", warning.detail, warning.code));
    }
    let (key, version, revision) = (entry.key(), entry.version(), entry.revision());
    output.said(entry, &format!("{key} is now at version {version} (revision {revision})"))
}

impl Delete {
    async fn run(
        self,
        namespace: &NamespaceName,
        context: &Context,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let state = context.workspace().await?.state(namespace.as_str());
        let entry = match (self.if_version, self.if_revision) {
            (Some(version), _) => state.delete_version(&self.key, version.into()).await?,
            (None, Some(revision)) => state.delete_revision(&self.key, revision.into()).await?,
            (None, None) => state.delete(&self.key).await?,
        };
        let (key, version) = (entry.key(), entry.version());
        output.said(&entry, &format!("{key} deleted (was version {version})"))
    }
}

fn pattern(text: Option<String>) -> Result<Option<Pattern>, Failure> {
    let parsed = text.map(|text| Pattern::parse(&text).map_err(Rejection::from)).transpose();
    Ok(parsed?)
}

impl Ls {
    async fn run(
        self,
        namespace: NamespaceName,
        context: &Context,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let mut list = List::all(namespace);
        list.prefix = self.prefix;
        list.pattern = pattern(self.pattern)?;
        let (workspace, revision) = at(context.workspace().await?, self.at);
        list.at = revision;
        let state = workspace.state(list.namespace.as_str());
        let mut entries = Vec::new();
        loop {
            let page = state.list(list.clone()).await?;
            entries.extend(page.entries);
            match page.cursor {
                Some(cursor) => list.cursor = Some(cursor),
                None => break,
            }
        }
        output.many("entries", &entries, &["key", "version", "updated_by", "updated_at", "value"])
    }
}

/// The workspace at a time, or the revision to ask for.
fn at(workspace: Workspace, moment: Option<At>) -> (Workspace, Option<Revision>) {
    match moment {
        None => (workspace, None),
        Some(At::Revision(revision)) => (workspace, Some(revision)),
        Some(time @ At::Time(_)) => (workspace.at(time), None),
    }
}

/// A page of changes, the revision up to which they are no longer kept, and the next page.
async fn page(
    workspace: &Workspace,
    history: &History,
) -> Result<(Vec<Change>, Revision, Option<String>), Failure> {
    let answer = workspace.ask(Query::History(history.clone())).await?;
    match answer.reply {
        Reply::State(StateReply::Changes { changes, oldest, cursor }) => {
            Ok((changes, oldest, cursor))
        }
        reply => Err(Failure::odd(&reply)),
    }
}

impl ShowHistory {
    async fn run(
        self,
        namespace: NamespaceName,
        context: &Context,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let mut history = History {
            key: self.key.map(|key| Key::parse(&key)).transpose()?,
            pattern: pattern(self.pattern)?,
            author: self.author.map(|author| AgentId::parse(&author)).transpose()?,
            from: self.from.map(Revision),
            to: self.to.map(Revision),
            ..History::default()
        };
        let workspace = context.workspace().await?;
        history.namespace = Some(namespace);
        let usual = if self.all { usize::MAX } else { output.enough(HISTORY_SHOWN) };
        let limit = self.limit.unwrap_or(usual);
        let mut changes = Vec::new();
        let (is_all, oldest) = loop {
            let (page, oldest, cursor) = page(&workspace, &history).await?;
            changes.extend(page);
            match cursor {
                None => break (changes.len() <= limit, oldest),
                Some(_) if changes.len() >= limit => break (false, oldest),
                cursor => history.cursor = cursor,
            }
        };
        changes.truncate(limit);
        output.many(
            "changes",
            &changes,
            &["revision", "time", "agent", "operation", "key", "new_value"],
        )?;
        if !is_all {
            output.note(&format!(
                "showing the newest {limit} changes; use --limit or --all for more"
            ));
        } else if oldest > history.from.unwrap_or_default() {
            output.note(&format!("changes up to revision {oldest} are no longer kept"));
        }
        Ok(())
    }
}

impl ShowDiff {
    async fn run(
        self,
        namespace: NamespaceName,
        context: &Context,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let (from, to) = (Revision(self.from), self.to.map(Revision));
        let diff = Query::Diff(Diff { namespace: Some(namespace), from, to });
        let answer = context.workspace().await?.ask(diff).await?;
        let Reply::State(StateReply::Changes { changes, .. }) = &answer.reply else {
            return Err(Failure::odd(&answer.reply));
        };
        let text = |output: &Output| changes.iter().map(|change| differs(output, change)).collect();
        output.many_as("changes", changes, text)
    }
}

/// Old and new value, formatted like `diff`.
fn differs(output: &Output, change: &Change) -> String {
    let value = |sign: &str, colour, value: &Option<baton_core::Json>| match value {
        Some(value) => {
            let line = format!("  {sign} {}", crate::output::plain(value.as_str()));
            format!("{}\n", output.coloured(colour, &line))
        }
        None => String::new(),
    };
    let Change { namespace, key, revision, agent, .. } = change;
    let head = output.coloured(Colour::Cyan, &format!("{namespace}/{key}"));
    let old = value("-", Colour::Red, &change.old_value);
    let new = value("+", Colour::Green, &change.new_value);
    format!("{head}  (revision {revision}, by {agent})\n{old}{new}")
}
