//! Events as sentences, for explanations.

use crate::event::Event;
use crate::handoff::{Handoff, Receiver};
use crate::primitive::Event as _;
use crate::space::batch::Batch;
use crate::state::{self, Operation};
use crate::task::{Created, Verdict};
use crate::{handoff, task};

/// The maximum length of quoted text.
const QUOTED: usize = 120;

/// An event as a sentence without its full stop. Text written by agents is in quotation marks, cut
/// to a readable length.
pub(super) fn sentence(batch: &Batch, event: &Event) -> String {
    let agent = &batch.agent;
    match event {
        Event::State(event) => of_state(batch, event),
        Event::Task(task::Event::Created(created)) => of_created(batch, created),
        Event::Task(task::Event::Claimed { holder, task, .. }) => {
            format!("`{holder}` claimed task `{task}`")
        }
        Event::Task(task::Event::HandedOver { holder, task, handoff, .. }) => {
            format!("`{holder}` took over task `{task}` through hand-off `{handoff}`")
        }
        Event::Task(task::Event::HandedOff { to, task, handoff, .. }) => {
            format!("task `{task}` was handed to `{to}` through hand-off `{handoff}`")
        }
        Event::Task(task::Event::Completed { task, .. }) => {
            format!("`{agent}` completed task `{task}`")
        }
        Event::Task(task::Event::Submitted { task, .. }) => {
            format!("`{agent}` submitted the result of task `{task}` for review")
        }
        Event::Task(task::Event::Reviewed { task, verdict, note, .. }) => {
            let verdict = match verdict {
                Verdict::Complete => "accepted",
                Verdict::Retry => "returned",
                Verdict::Fail => "rejected",
            };
            format!("`{agent}` {verdict} task `{task}`{}", because(note.as_ref()))
        }
        Event::Task(task::Event::Failed { task, error, .. }) => {
            format!("an attempt at task `{task}` failed: {}", quoted(error.as_str()))
        }
        Event::Task(task::Event::Retried { task, reason, because: None, .. }) => {
            format!("`{agent}` retried task `{task}`{}", because(reason.as_ref()))
        }
        Event::Task(task::Event::Cancelled { task, reason, .. }) => {
            format!("`{agent}` cancelled task `{task}`{}", because(reason.as_ref()))
        }
        Event::Task(task::Event::Released { task, reason }) => {
            format!("`{agent}` released task `{task}`{}", because(reason.as_ref()))
        }
        Event::Handoff(handoff::Event::Offered(offer)) => of_offer(offer, "offered"),
        Event::Handoff(handoff::Event::Executed(offer)) => of_offer(offer, "handed"),
        Event::Handoff(handoff::Event::Passed(offer)) => of_offer(offer, "passed"),
        Event::Handoff(handoff::Event::Accepted { handoff, receiver, .. }) => {
            format!("`{receiver}` accepted hand-off `{handoff}`")
        }
        event => format!("`{}` of `{}` by `{agent}`", event.kind(), event.subject()),
    }
}

fn of_state(batch: &Batch, event: &state::Event) -> String {
    let (namespace, key) = event.entry_key();
    let (agent, place) = (&batch.agent, format!("`{namespace}/{key}`"));
    match event {
        state::Event::Set { source: Some(source), operation, .. } => {
            let how = if *operation == Operation::Copied { "copied" } else { "moved" };
            let (from, author) = (&source.namespace, &source.agent);
            format!("`{agent}` {how} {place} from `{from}`, where `{author}` had written it")
        }
        state::Event::Set {
            operation: Operation::Set | Operation::Transferred | Operation::Copied,
            version,
            ..
        } => {
            format!("`{agent}` wrote version {version} of {place}")
        }
        state::Event::Set { operation: Operation::Synced, version, .. } => {
            format!("`{agent}` took version {version} of {place} from another copy")
        }
        state::Event::Set { operation: Operation::Patched, version, .. } => {
            format!("`{agent}` patched {place}, which made version {version}")
        }
        state::Event::Deleted { .. } => {
            format!("{place} was removed: `{}` by `{agent}`", event.kind())
        }
    }
}

fn of_created(batch: &Batch, created: &Created) -> String {
    let Created { task, task_type, description, parent, .. } = created;
    let mut sentence = format!("`{}` created task `{task}` of type `{task_type}`", batch.agent);
    if let Some(parent) = parent {
        sentence.extend([", a subtask of `", parent.as_str(), "`"]);
    }
    if let Some(description) = description {
        sentence.extend([": ", &quoted(description)]);
    }
    sentence
}

fn of_offer(offer: &Handoff, verb: &str) -> String {
    let Handoff { id, from, to, task, reason, .. } = offer;
    let to = match to {
        Receiver::Agent(agent) => format!("`{agent}`"),
        Receiver::Capability(name) => format!("any agent with the capability `{name}`"),
    };
    let what = task.as_ref().map_or("work".to_owned(), |task| format!("task `{task}`"));
    format!("`{from}` {verb} {what} to {to} through hand-off `{id}`{}", because(reason.as_ref()))
}

fn because(reason: Option<&String>) -> String {
    reason.map(|reason| format!(", because {}", quoted(reason))).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED).flat_map(printable).collect();
    if text.chars().count() > QUOTED {
        shown.push('…');
    }
    format!("“{shown}”")
}

fn printable(sign: char) -> impl Iterator<Item = char> {
    let escaped = sign.is_control().then(|| sign.escape_default());
    let plain = escaped.is_none().then_some(sign);
    escaped.into_iter().flatten().chain(plain)
}
