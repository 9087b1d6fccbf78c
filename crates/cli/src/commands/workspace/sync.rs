//! `baton workspace sync`: two copies of a workspace take each other's changes.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use baton_client::{Options, SyncOptions, Workspace, connect_with};
use baton_core::sync::{Choice, Decision, How, OtherChanges, SyncOutcome, SyncReport, Won};
use baton_core::{Key, KeyName, NamespaceName};
use clap::{ArgGroup, Args};
use serde::Serialize;

use crate::atomic_file::unreadable;
use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::unknown_workspace;

/// Synchronize a workspace with a copy of it, in both directions
#[derive(Args)]
#[command(
    group(ArgGroup::new("copy").required(true).multiple(true).args(["with", "with_workspace"]))
)]
pub(super) struct Sync {
    /// Workspace name
    name: String,
    /// URL of the server of the copy [default: the same server]
    #[arg(long, value_name = "URL")]
    with: Option<String>,
    /// Name of the copy [default: the same name]
    #[arg(long, value_name = "NAME")]
    with_workspace: Option<String>,
    /// File with the token for that server [default: the same token]
    #[arg(long, value_name = "FILE", requires = "with")]
    with_token_file: Option<PathBuf>,
    /// Use the value of this workspace for a conflict, such as shared/plan; can be repeated
    #[arg(long, value_name = "KEY", value_parser = KeyName::parse)]
    ours: Vec<KeyName>,
    /// Use the value of the copy for a conflict, such as shared/plan; can be repeated
    #[arg(long, value_name = "KEY", value_parser = KeyName::parse)]
    theirs: Vec<KeyName>,
    /// Only show what would happen
    #[arg(long)]
    dry_run: bool,
}

/// The results of both directions.
#[derive(Serialize)]
struct Both {
    /// The changes that this workspace took.
    here: SyncReport,
    /// The changes that the copy took.
    there: SyncReport,
}

impl Sync {
    pub(super) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let here = context.workspace_named(&self.name).await?;
        unknown_workspace::refused(&here).await?;
        let there = self.copy(context).await?;
        unknown_workspace::refused(&there).await?;
        let decisions = self.decisions()?;
        let options = SyncOptions { decisions, dry_run: self.dry_run };
        let taken = here.sync_from(&there, &options).await?;
        // The decisions are known to the copy by what it takes in now.
        let options = SyncOptions { decisions: Vec::new(), dry_run: self.dry_run };
        let given = there.sync_from(&here, &options).await?;
        let both = Both { here: taken, there: given };
        output.show(&both, |_| self.described(&both))
    }

    /// The other workspace.
    async fn copy(&self, context: &Context) -> Result<Workspace, Failure> {
        let name = self.with_workspace.as_deref().unwrap_or(&self.name);
        let Some(url) = &self.with else { return context.workspace_named(name).await };
        let settings = context.settings();
        let token = match &self.with_token_file {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
                Some(text.trim().to_owned())
            }
            None => settings.token.clone(),
        };
        let ca_file = settings.ca_file.clone();
        let client = connect_with(url, Options { token, ca_file, ..Options::default() }).await?;
        Ok(client.workspace(name)?.as_agent(context.agent())?)
    }

    fn decisions(&self) -> Result<Vec<Decision>, Failure> {
        if let Some(name) = self.ours.iter().find(|name| self.theirs.contains(name)) {
            let place = format!("{}/{}", name.namespace(), name.key());
            let reason = format!("--ours and --theirs both name {place}");
            return Err(Fault::Usage { reason }.into());
        }
        let decision = |name: &KeyName, take| Decision {
            namespace: NamespaceName::parse(name.namespace()).expect("it was checked"),
            key: Key::parse(name.key()).expect("it was checked"),
            take,
        };
        let ours = self.ours.iter().map(|name| decision(name, Choice::Ours));
        Ok(ours.chain(self.theirs.iter().map(|name| decision(name, Choice::Theirs))).collect())
    }

    fn described(&self, both: &Both) -> String {
        let copy = self.with_workspace.as_deref().unwrap_or(&self.name);
        let copy = match &self.with {
            Some(url) => format!("{copy} at {url}"),
            None => copy.to_owned(),
        };
        let mut text = direction(&self.name, &copy, &both.here, self.dry_run);
        text.push_str(&direction(&copy, &self.name, &both.there, self.dry_run));
        let count = |kind: &OtherChanges| format!("{} {}", kind.count, kind.kind);
        for (name, report) in [(&copy, &both.here), (&self.name, &both.there)] {
            let others: Vec<String> = report.others.iter().map(count).collect();
            if !others.is_empty() {
                let others = others.join(", ");
                writeln!(text, "not synchronized, changed in {name}: {others}").unwrap_or_default();
            }
        }
        text
    }
}

/// The changes that one workspace took from the other.
fn direction(to: &str, from: &str, report: &SyncReport, is_dry: bool) -> String {
    let taken = report.outcomes.iter().filter(|it| it.won != Won::Ours).count();
    let would = if is_dry { "would take" } else { "took" };
    let mut text = match (report.changed, taken) {
        (false, _) => format!("{to} has everything of {from}\n"),
        (true, taken) => {
            let changes = if taken == 1 { "change" } else { "changes" };
            format!("{to} {would} {taken} {changes} from {from}\n")
        }
    };
    for SyncOutcome { namespace, key, won, by, lost } in &report.outcomes {
        let place = match key {
            Some(key) => format!("{namespace}/{key}"),
            None => format!("rules of {namespace}"),
        };
        let won = match won {
            Won::Ours => format!("kept, over {from}"),
            Won::Theirs => format!("taken from {from}"),
            Won::Merged => "combined".to_owned(),
        };
        let by = match by {
            How::Newer => "",
            How::LastWrite => " (conflict: last write)",
            How::Rule => " (conflict: rule of the namespace)",
            How::Decision => " (conflict: decided)",
            How::InUse => " (it has newer entries)",
        };
        let lost =
            lost.as_ref().map_or(String::new(), |value| format!(", lost: {}", value.as_str()));
        writeln!(text, "  {place}  {won}{by}{lost}").unwrap_or_default();
    }
    for conflict in &report.conflicts {
        let value = |value: &Option<baton_core::Json>| {
            value.as_ref().map_or("deleted".to_owned(), |value| value.as_str().to_owned())
        };
        let (ours, theirs) = (value(&conflict.ours), value(&conflict.theirs));
        let place = format!("{}/{}", conflict.namespace, conflict.key);
        writeln!(text, "  {place}  needs a decision: {ours} or, in {from}, {theirs}")
            .unwrap_or_default();
    }
    text
}
