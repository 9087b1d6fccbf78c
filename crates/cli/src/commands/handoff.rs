//! `baton handoff`: work that changes hands.

use std::collections::BTreeMap;
use std::fmt::Write;

use baton_client::{Handoffs, Offering};
use baton_core::handoff::{
    Accept, Complete, Handoff as Record, List, Pair, Receiver, Selected, Status, StepStatus,
    TransferContext,
};
use baton_core::{AgentId, HandoffId, TaskId, Token};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::{Source, milliseconds};
use crate::output::{Output, plain};
use crate::trace::Trace;

const AFTER_HELP: &str = "\
Examples:
  baton handoff offer bob --task t-7 --token 12 --reason 'the sources are in' --key agent:ada/plan
  baton handoff offer --capability edit --state tone='\"dry\"' --approval
  baton handoff receive --wait 1m && baton handoff accept h-9
  baton handoff approve h-9          or: baton handoff reject h-9 --reason 'not like this'
  baton handoff execute bob --task t-7 --token 12 --key agent:ada/plan
  baton handoff story t-7            what happened to a task, hand by hand
  baton handoff stats

Whoever accepts has the task from then on; the token of whoever gave it is stale.";

/// As many as fit onto a screen.
const SHOWN: usize = 100;

/// Hand work over, and take it
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Handoff {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Offer something to an agent, or to whoever can do something
    Offer(Offer),
    /// Hand a task over without asking, keys and task in one commit
    Execute(Offer),
    /// Ask the rules about an offer without making it
    Validate(Offer),
    /// Offer here what came from elsewhere, as a `transfer_context` document
    Import {
        /// To whom
        to: String,
        /// The document: a file, or `-`
        #[arg(default_value = "-")]
        file: Source,
    },
    /// Get the next one that is for you
    Receive {
        /// How long to wait for one
        #[arg(long, value_name = "DURATION", value_parser = milliseconds, default_value = "0ms")]
        wait: u64,
    },
    /// Take one
    Accept {
        /// Which hand-off
        handoff: String,
        /// How long your lease of the task is
        #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
        lease: Option<u64>,
        /// Replace keys that you have already
        #[arg(long)]
        overwrite: bool,
    },
    /// Say no to one
    Reject(Answer),
    /// Withdraw one
    Cancel(Answer),
    /// Let one pass
    Approve {
        /// Which hand-off
        handoff: String,
        /// The digest of what you have looked at
        #[arg(long, value_name = "HEX")]
        digest: Option<String>,
    },
    /// Say that it is done, and its task with it
    Complete {
        /// Which hand-off
        handoff: String,
        /// What came of it, as JSON, `@file` or `-`
        #[arg(long, value_name = "JSON")]
        result: Option<Source>,
    },
    /// Show one
    Get {
        /// Which hand-off
        handoff: String,
    },
    Ls(Ls),
    /// Tell how a task went from hand to hand
    #[command(visible_alias = "history")]
    Story {
        /// Which task
        task: String,
    },
    /// Write one down as other systems read it
    Export {
        /// Which hand-off
        handoff: String,
    },
    /// Count them: how they ended, how long they took
    Stats,
}

#[derive(Args)]
struct Answer {
    /// Which hand-off
    handoff: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Args)]
struct Offer {
    /// To which agent
    #[arg(required_unless_present = "capability", conflicts_with = "capability")]
    to: Option<String>,
    /// To whoever can do this
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// The task that changes hands
    #[arg(long, value_name = "TASK", requires = "token")]
    task: Option<String>,
    /// The token of your lease of that task
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What has been done, as JSON, `@file` or `-`
    #[arg(long, value_name = "JSON")]
    done: Option<Source>,
    /// What is left to do, as JSON, `@file` or `-`
    #[arg(long, value_name = "JSON")]
    remaining: Option<Source>,
    /// What else the receiver should know, as JSON, `@file` or `-`
    #[arg(long, value_name = "JSON")]
    notes: Option<Source>,
    /// A value the receiver needs, as NAME=JSON; may be given several times
    #[arg(long, value_name = "NAME=JSON", value_parser = named)]
    state: Vec<(String, Source)>,
    /// A key that goes along, as NAMESPACE/KEY; may be given several times
    #[arg(long, value_name = "NAMESPACE/KEY", value_parser = Selected::parse)]
    key: Vec<Selected>,
    /// How long the receiver has to accept it
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
    /// Somebody must approve it first
    #[arg(long)]
    approval: bool,
    /// Who must approve it first; may be given several times
    #[arg(long, value_name = "AGENT")]
    approver: Vec<String>,
    #[command(flatten)]
    trace: Trace,
}

fn named(text: &str) -> Result<(String, Source), String> {
    let (name, value) = text.split_once('=').ok_or("it must be NAME=JSON")?;
    let Ok(value) = value.parse();
    Ok((name.to_owned(), value))
}

/// List them, the oldest first
#[derive(Args)]
struct Ls {
    /// Only those that this agent may accept, or has
    #[arg(long, value_name = "AGENT", value_parser = AgentId::parse)]
    to: Option<AgentId>,
    /// Only those of this giver
    #[arg(long, value_name = "AGENT", value_parser = AgentId::parse)]
    from: Option<AgentId>,
    /// Only those of this task
    #[arg(long, value_name = "TASK", value_parser = TaskId::parse)]
    task: Option<TaskId>,
    /// Only those: offered, approved, delivered, accepted, rejected, expired, cancelled, completed
    /// or failed
    #[arg(long, value_parser = status)]
    status: Option<Status>,
    /// How many at most [default: 100 for people, all for programs]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

fn status(word: &str) -> Result<Status, String> {
    serde_json::from_value(word.into()).map_err(|error| error.to_string())
}

impl Handoff {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let handoffs = context.workspace().await?.handoffs();
        match self.verb {
            Verb::Offer(offer) => turned(output, &offer.described(&handoffs)?.await?),
            Verb::Execute(offer) => {
                let handoff = offer.described(&handoffs)?.execute().await?;
                turned(output, &handoff)
            }
            Verb::Validate(offer) => {
                let judgement = offer.described(&handoffs)?.validate().await?;
                output.one(&judgement)
            }
            Verb::Import { to, file } => {
                let context: TransferContext = file.to()?;
                turned(output, &handoffs.import(context, &to).await?)
            }
            Verb::Receive { wait } => match handoffs.receive(wait).await? {
                Some(handoff) => output.one(&handoff),
                None => {
                    let what = "nobody has handed anything to you".to_owned();
                    Err(Fault::NothingInTime { what }.into())
                }
            },
            Verb::Accept { handoff, lease, overwrite } => {
                let handoff = HandoffId::parse(&handoff)?;
                let accept = Accept { handoff, lease_ms: lease, overwrite };
                accepted(output, &handoffs, accept).await
            }
            Verb::Reject(Answer { handoff, reason }) => {
                turned(output, &handoffs.reject(&handoff, reason.as_deref()).await?)
            }
            Verb::Cancel(Answer { handoff, reason }) => {
                turned(output, &handoffs.cancel(&handoff, reason.as_deref()).await?)
            }
            Verb::Approve { handoff, digest } => {
                turned(output, &handoffs.approve(&handoff, digest.as_deref()).await?)
            }
            Verb::Complete { handoff, result } => {
                let result = result.map(|result| result.json()).transpose()?;
                let handoff = HandoffId::parse(&handoff)?;
                let complete = Complete { handoff, result, changes: BTreeMap::new() };
                turned(output, &handoffs.complete_as(complete).await?)
            }
            Verb::Get { handoff } => output.one(&handoffs.get(&handoff).await?),
            Verb::Ls(ls) => ls.run(&handoffs, output).await,
            Verb::Story { task } => {
                let found = handoffs.history(&task).await?;
                output.show(&found, |_| story(&task, &found))
            }
            Verb::Export { handoff } => output.one(&handoffs.export(&handoff).await?),
            Verb::Stats => stats(output, &handoffs).await,
        }
    }
}

fn turned(output: &mut Output, handoff: &Record) -> Result<(), Failure> {
    let Record { id, from, to, status, .. } = handoff;
    let mut sentence = format!("hand-off {id} from `{from}` to {to} is {}", status.word());
    if let Some(step) = handoff.steps.last().filter(|step| step.status == StepStatus::Failed) {
        let detail = step.detail.as_deref().unwrap_or_default();
        write!(sentence, " at {}: {detail}", step.step).expect("texts take text");
    }
    for warning in &handoff.warnings {
        write!(sentence, "\nwarning: {}", warning.detail).expect("texts take text");
    }
    output.said(handoff, &sentence)
}

async fn accepted(output: &mut Output, handoffs: &Handoffs, accept: Accept) -> Result<(), Failure> {
    let accepted = handoffs.accept_as(accept).await?;
    let (handoff, task) = (&accepted.handoff, &accepted.task);
    let mut sentence = format!("hand-off {} from `{}` is yours", handoff.id, handoff.from);
    let lease = task.as_ref().and_then(|task| Some((&task.id, task.lease.as_ref()?)));
    if let Some((task, lease)) = lease {
        write!(sentence, "; task {task} under token {}", lease.token).expect("texts take text");
    }
    output.said(&accepted, &sentence)
}

/// What happened, hand by hand.
pub(super) fn story(task: &str, handoffs: &[Record]) -> String {
    let mut text = String::new();
    if handoffs.is_empty() {
        return format!("nobody has handed over task {}\n", plain(task));
    }
    for handoff in handoffs {
        let Record { id, from, to, status, .. } = handoff;
        let why = handoff.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let head = format!("{id}  `{from}` to {to}, {}{why}", status.word());
        writeln!(text, "{}", plain(&head)).expect("texts take text");
        for step in &handoff.steps {
            let by = step.by.as_ref().map(|by| format!(" by `{by}`")).unwrap_or_default();
            let detail = step.detail.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            let failed = if step.status == StepStatus::Failed { " FAILED" } else { "" };
            let line = format!("  {}  {}{failed}{by}{detail}", step.at, step.step);
            writeln!(text, "{}", plain(&line)).expect("texts take text");
        }
    }
    text
}

async fn stats(output: &mut Output, handoffs: &Handoffs) -> Result<(), Failure> {
    let stats = handoffs.stats().await?;
    output.show(&stats, |output| {
        let durations = &stats.durations;
        let rate = stats.success_rate * 100.0;
        let mut text = format!(
            "{} hand-offs: {} open, {} accepted, {} completed, {} failed, {} rejected, {} expired, \
             {} cancelled\n{rate:.0} % of those that ended were completed; rules stopped {}\n\
             from offer to end: average {:.0} ms, shortest {} ms, p50 {} ms, p95 {} ms, p99 {} ms, \
             longest {} ms\n",
            stats.count,
            stats.open,
            stats.accepted,
            stats.completed,
            stats.failed,
            stats.rejected,
            stats.expired,
            stats.cancelled,
            stats.validation_errors,
            durations.average_ms,
            durations.min_ms,
            durations.p50_ms,
            durations.p95_ms,
            durations.p99_ms,
            durations.max_ms,
        );
        if !stats.pairs.is_empty() {
            let rows: Vec<&Pair> = stats.pairs.iter().collect();
            text += &output.table(&rows, &["from", "to", "count", "completed", "ended_otherwise"]);
        }
        text
    })
}

impl Offer {
    fn described(self, handoffs: &Handoffs) -> Result<Offering, Failure> {
        let mut offering = match (&self.to, &self.capability) {
            (Some(to), _) => handoffs.offer(to),
            (None, capability) => {
                handoffs.offer_to_capability(capability.as_deref().unwrap_or_default())
            }
        };
        if let (Some(task), Some(token)) = (&self.task, self.token) {
            offering = offering.task(task, Token(token));
        }
        if let Some(reason) = &self.reason {
            offering = offering.reason(reason);
        }
        for (name, value) in &self.state {
            offering = offering.state(name, value.json()?);
        }
        if let Some(deadline) = self.deadline {
            offering = offering.deadline_ms(deadline);
        }
        if self.approval || !self.approver.is_empty() {
            let approvers: Vec<&str> = self.approver.iter().map(String::as_str).collect();
            offering = offering.approved_by(&approvers);
        }
        if let Some(traceparent) = self.trace.given() {
            offering = offering.traceparent(&traceparent);
        }
        let json = |source: Option<Source>| source.map(|source| source.json()).transpose();
        let (done, remaining, notes) = (json(self.done)?, json(self.remaining)?, json(self.notes)?);
        let keys = self.key;
        Ok(offering.also(|offer| {
            (offer.work_completed, offer.remaining_work, offer.notes) = (done, remaining, notes);
            offer.keys = keys;
        }))
    }
}

/// What people see of a hand-off in a list.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a HandoffId,
    status: &'static str,
    from: &'a AgentId,
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(handoff: &'a Record) -> Self {
        let to = match &handoff.to {
            Receiver::Agent(agent) => agent.to_string(),
            Receiver::Capability(name) => format!("({name})"),
        };
        Self {
            id: &handoff.id,
            status: handoff.status.word(),
            from: &handoff.from,
            to,
            task: handoff.task.as_ref(),
            reason: handoff.reason.as_deref(),
        }
    }
}

impl Ls {
    async fn run(self, handoffs: &Handoffs, output: &mut Output) -> Result<(), Failure> {
        let enough = output.enough(SHOWN);
        let people = u64::try_from(enough).ok().filter(|_| enough < usize::MAX);
        let limit = self.limit.or(people);
        let Self { to, from, task, status, .. } = self;
        let list = List { to, from, task, status, limit, cursor: None };
        let found = handoffs.list(list).await?;
        let rows: Vec<Row<'_>> = found.iter().map(Row::of).collect();
        let columns = ["id", "status", "from", "to", "task", "reason"];
        output.many_as(&found, |output| output.table(&rows, &columns))?;
        if self.limit.is_none() && found.len() == enough {
            output.note(&format!("these are the first {enough}; --limit shows more"));
        }
        Ok(())
    }
}
