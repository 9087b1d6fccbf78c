//! `baton watch`: stream events as they happen.

use std::time::Duration;

use baton_client::Item;
use baton_core::state::Page;
use baton_core::{Entry, Notice};
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Colour, Fields, Output, plain};
use crate::unknown_workspace;

const AFTER_HELP: &str = "\
Examples:
  baton watch                                    all events, starting now
  baton watch 'state/shared/plans/**'            only events about these keys
  baton watch --from 1                           all retained events, then follow
  baton watch --type state.set --type state.deleted
  baton watch 'state/shared/**' --snapshot       current entries first, then changes
  baton watch -o jsonl | while read -r event; do …; done

A watch survives a restart of the server: it resumes where it was, without gaps or duplicates. It
ends on ctrl-c, or when the reader of its output closes the pipe.";

/// How often to check whether the output is still being read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Fields common to all events.
const COMMON: [&str; 8] =
    ["revision", "index", "time", "agent", "type", "subject", "namespace", "key"];

/// Stream events as they happen
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Watch {
    /// Subject pattern, such as 'state/shared/**', 'tasks/*' or 'agents/ada'; * matches one
    /// segment, ** any number
    #[arg(default_value = "**")]
    pattern: String,
    /// Start at this revision, a past one or the next, instead of now
    #[arg(long, value_name = "REVISION")]
    from: Option<u64>,
    /// Only event types that match, such as state.set or 'task.*'; repeatable
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Start with a snapshot of the matching entries
    #[arg(long, conflicts_with = "from")]
    snapshot: bool,
    /// Also show events that are only about waiting calls, such as lock.queued
    #[arg(long)]
    waits: bool,
}

impl Watch {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut watching = context.workspace().await?.watch(&self.pattern);
        for kind in &self.types {
            watching = watching.kind(kind);
        }
        if let Some(from) = self.from {
            watching = watching.from(from);
        }
        if self.snapshot {
            watching = watching.with_snapshot();
        }
        if self.waits {
            watching = watching.with_waits();
        }
        unknown_workspace::noted(context, output).await;
        follow(watching.await?, output).await
    }
}

/// Prints the items of a watch until it ends or the output is no longer read.
pub(super) async fn follow(
    mut watch: baton_client::Watch,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut unread = std::pin::pin!(unread());
    loop {
        let item = tokio::select! {
            biased;
            () = &mut unread => return Ok(()),
            item = watch.next() => item,
        };
        let Some(item) = item else { return Ok(()) };
        match item? {
            Item::Snapshot { revision, entries } => {
                let snapshot = Snapshot { snapshot: Page { revision, entries, cursor: None } };
                output.next(&snapshot, |_| snapshot.lines())?;
            }
            Item::Event(notice) => {
                let text = String::from_utf8_lossy(&notice.json()).into_owned();
                let event = RawValue::from_string(text).expect("notices are JSON");
                output.next(&event, |output| event_line(output, &notice))?;
            }
        }
    }
}

/// Resolves when the reader of stdout has closed the pipe. Waiting for a write to fail is not
/// enough: the next event may never come.
async fn unread() {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let stdout = std::io::stdout();
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        // No events are requested: errors and hang-ups are always reported.
        let result = poll(&mut polled, Some(&Timespec::default()));
        if result.is_ok() && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return;
        }
    }
}

/// The snapshot at the start of a watch, as on the wire.
#[derive(Serialize)]
struct Snapshot {
    snapshot: Page,
}

impl Snapshot {
    fn lines(&self) -> String {
        let Page { revision, entries, .. } = &self.snapshot;
        let head = format!("entries at revision {revision}: {}", entries.len());
        std::iter::once(head).chain(entries.iter().map(entry_line)).collect::<Vec<_>>().join("\n")
    }
}

fn entry_line(entry: &Entry) -> String {
    let (namespace, key) = (entry.namespace(), entry.key());
    let value = plain(&String::from_utf8_lossy(entry.value()));
    format!("{:>8}  state/{namespace}/{key}  {value}", entry.revision())
}

/// An event as a line of text.
pub(super) fn event_line(output: &Output, notice: &Notice) -> String {
    let own = Fields::parse(&String::from_utf8_lossy(&notice.json())).without(&COMMON);
    // If there is a value, it is enough.
    let own = match own.get("value") {
        "" => own.text(),
        value => value.to_owned(),
    };
    let kind = output.coloured(Colour::Cyan, notice.kind());
    let (revision, time, agent) = (notice.revision(), notice.time(), notice.agent());
    let subject = plain(notice.subject());
    format!("{revision:>8}  {time}  {agent}  {kind}  {subject}  {}", plain(&own))
}
