//! `baton event`: the event log.

use std::sync::Arc;

use baton_core::Notice;
use baton_core::history::At;
use clap::{Args, Subcommand};
use serde_json::value::RawValue;

use super::watch::{self, Watch};
use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton event emit deploy.finished '{\"version\": 7}'
  baton event history --type 'task.*' --limit 20
  baton event history --source ada --from 2026-01-31T12:00:00.000Z
  baton event history --subject 'state/shared/plan' --oldest-first
  baton event watch --type 'deploy.*'

An event type is a dotted name. Prefixes that Baton uses itself, such as `task.` or `state.`, cannot
be emitted. The history contains the events that the workspace retains: those of the last 30 days,
unless `baton workspace configure` was used.";

const WATCH_AFTER_HELP: &str = "\
Examples:
  baton event watch --type 'deploy.*'            events of one's own types, starting now
  baton event watch 'tasks/**' --from 1          all retained events about tasks, then follow

This is the same as `baton watch`, whose help has more.";

/// Emit, list and watch events
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Event {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Emit an event
    Emit {
        /// Event type, such as deploy.finished
        #[arg(value_name = "TYPE")]
        kind: String,
        /// Payload: JSON or text, @FILE, or - for stdin
        payload: Option<Source>,
    },
    /// List past events, newest first
    History(History),
    /// Stream events as they happen
    #[command(after_help = WATCH_AFTER_HELP)]
    Watch(Watch),
}

#[derive(Args)]
struct History {
    /// Only event types that match this pattern, such as 'task.*'
    #[arg(long = "type", value_name = "PATTERN")]
    kind: Option<String>,
    /// Only events caused by this agent
    #[arg(long, value_name = "AGENT")]
    source: Option<String>,
    /// Only subjects that match this pattern, such as 'tasks/**'
    #[arg(long, value_name = "PATTERN")]
    subject: Option<String>,
    /// Only events since this revision or time
    #[arg(long, value_name = "REVISION|TIME")]
    from: Option<At>,
    /// Only events up to this revision or time
    #[arg(long, value_name = "REVISION|TIME")]
    to: Option<At>,
    /// List the oldest first
    #[arg(long)]
    oldest_first: bool,
    /// Maximum number of events [default: 100 in a table, otherwise all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

impl Event {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Watch(watch) => watch.run(context, output).await,
            Verb::Emit { kind, payload } => {
                let payload = payload.as_ref().map(Source::json_or_text).transpose()?;
                let events = context.workspace().await?.events();
                let revision = events.emit(&kind, &payload).await?;
                let said = serde_json::json!({"type": kind, "revision": revision});
                output.said(&said, &format!("{kind} emitted (revision {revision})"))
            }
            Verb::History(history) => history.run(context, output).await,
        }
    }
}

impl History {
    /// Requests page after page: the server may end a page early after scanning many events.
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let events = context.workspace().await?.events();
        let (mut cursor, mut is_empty): (Option<String>, bool) = (None, true);
        let usual = output.enough(SHOWN);
        let mut left = self.limit.unwrap_or_else(|| u64::try_from(usual).unwrap_or(u64::MAX));
        while left > 0 {
            let mut asking = events.history().limit(left.min(PAGE));
            if let Some(kind) = &self.kind {
                asking = asking.kind(kind);
            }
            if let Some(subject) = &self.subject {
                asking = asking.subject(subject);
            }
            if let Some(source) = &self.source {
                asking = asking.source(source);
            }
            if let Some(from) = self.from {
                asking = asking.from(from);
            }
            if let Some(to) = self.to {
                asking = asking.to(to);
            }
            if self.oldest_first {
                asking = asking.oldest_first();
            }
            if let Some(cursor) = &cursor {
                asking = asking.after(cursor);
            }
            let page = asking.await?;
            left = left.saturating_sub(page.events.len() as u64);
            is_empty &= page.events.is_empty();
            for notice in page.events {
                shown(&Arc::new(notice), output)?;
            }
            match page.cursor {
                Some(next) => cursor = Some(next),
                None if is_empty => {
                    output.nothing("events");
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
        if self.limit.is_none() {
            output.note(&format!("showing {usual} events; use --limit for more"));
        }
        Ok(())
    }
}

/// Events shown in a table by default.
const SHOWN: usize = 100;

/// Events per request.
const PAGE: u64 = 1_000;

fn shown(notice: &Arc<Notice>, output: &mut Output) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(&notice.json()).into_owned();
    let refuse = |reason: serde_json::Error| Fault::Unreadable {
        given: "an event".to_owned(),
        reason: reason.to_string(),
    };
    let event = RawValue::from_string(text).map_err(refuse)?;
    output.next(&event, |output| watch::event_line(output, notice))
}
