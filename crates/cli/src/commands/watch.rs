//! `baton watch`: every change as it happens.

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

const AFTER_HELP: &str = "\
Examples:
  baton watch                                    everything from now on
  baton watch 'state/shared/plans/**'            only what is about these keys
  baton watch --from 1                           everything that is kept, then go on
  baton watch --type state.set --type state.deleted
  baton watch 'state/shared/**' --snapshot       what there is, then every change
  baton watch -o jsonl | while read -r event; do …; done

A watch outlives the server: when that comes back, it goes on where it was, without gap or
duplicate. It ends with ctrl-c, or when nobody reads its output any more.";

/// How often a watch looks whether it is read.
const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// What every event has; the rest is its own.
const AROUND: [&str; 8] =
    ["revision", "index", "time", "agent", "type", "subject", "namespace", "key"];

/// See every change as it happens
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Watch {
    /// Which subjects: state/NAMESPACE/KEY, namespaces/NAME, agents/ID; * is one part, ** is many
    #[arg(default_value = "**")]
    pattern: String,
    /// From this revision on, in the past or the future, instead of from now on
    #[arg(long, value_name = "REVISION")]
    from: Option<u64>,
    /// Only events of types that match, such as state.set or 'task.*'; may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Begin with the entries that match
    #[arg(long)]
    snapshot: bool,
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
        follow(watching.await?, output).await
    }
}

/// Prints what a watch brings, until it ends or nobody reads it any more.
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

/// Waits until the reader of our output has gone. Whoever only waits for the next write to fail may
/// wait for the next event for ever.
async fn unread() {
    loop {
        tokio::time::sleep(LOOKS_EVERY).await;
        let stdout = std::io::stdout();
        let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
        // Nothing is asked for: what went wrong is told all the same.
        let looked = poll(&mut asked, Some(&Timespec::default()));
        if looked.is_ok() && asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return;
        }
    }
}

/// What a watch begins with, as it is on the wire.
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

/// An event as people see it.
pub(super) fn event_line(output: &Output, notice: &Notice) -> String {
    let own = Fields::parse(&String::from_utf8_lossy(&notice.json())).without(&AROUND);
    // The value says it all, if there is one.
    let own = match own.get("value") {
        "" => own.text(),
        value => value.to_owned(),
    };
    let kind = output.coloured(Colour::Cyan, notice.kind());
    let (revision, time, agent) = (notice.revision(), notice.time(), notice.agent());
    let subject = plain(notice.subject());
    format!("{revision:>8}  {time}  {agent}  {kind}  {subject}  {}", plain(&own))
}
