//! `baton handoff`: hand work over to another agent.

use std::collections::BTreeMap;
use std::fmt::Write;

use baton_client::{Handoffs, Offering};
use baton_core::handoff::{
    Accept, Complete, ExecuteAll, Handoff as Record, List, Pair, Receiver, Selected, Status,
    StepStatus, TransferContext,
};
use baton_core::{AgentId, HandoffId, TaskId, Token};
use clap::{ArgGroup, Args, Subcommand};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::{Source, milliseconds, words};
use crate::output::{Output, plain, shortened};
use crate::trace::Trace;

const AFTER_HELP: &str = "\
Examples:
  baton handoff offer bob --task t-7 --token 12 --reason 'sources are done' --key agent:ada/plan
  baton handoff offer --capability edit --state tone=dry --approval
  baton handoff receive --wait 1m && baton handoff accept h-9
  baton handoff approve h-9          or: baton handoff reject h-9 --reason 'not like this'
  baton handoff execute bob --task t-7 --token 12 --key 'agent:ada/**'
  baton handoff execute-all bob --reason 'the shift ends'
  baton handoff story t-7            show the hand-offs of a task
  baton handoff wait h-9 --status accepted --wait 1h
  baton handoff stats

When a hand-off is accepted, the task moves to the receiver under a new token, and the token of the
giver becomes stale. `wait` exits with 0 if the hand-off is completed or has the given status, with
4 if it has ended in another way, and with 10 if the wait times out.";

/// How long one long poll waits; `wait` repeats it until its own timeout.
const WAIT_MS: u64 = 60_000;

/// The columns of a table of hand-offs.
const COLUMNS: [&str; 6] = ["id", "status", "from", "to", "task", "reason"];

/// Rows shown in a table by default.
const SHOWN: usize = 100;

/// Hand work over to other agents and accept it
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Handoff {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Offer work to an agent, or to any agent with a capability
    Offer(Offer),
    /// Hand work over without asking: task and keys move in one commit
    Execute(Execute),
    ExecuteAll(All),
    /// Check an offer against the rules without making it
    Validate(Offer),
    /// Offer work from another system, as a `transfer_context` document
    Import {
        /// Receiving agent
        to: String,
        /// Document: JSON, @FILE, or - for stdin
        #[arg(default_value = "-")]
        file: Source,
    },
    /// Receive the next offer for the acting agent
    Receive {
        /// How long to wait for an offer, such as 30s [default: do not wait]
        #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
        wait: Option<u64>,
    },
    /// Accept an offer
    Accept {
        /// Hand-off ID
        handoff: String,
        /// Duration of the new lease [default: that of the giver]
        #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
        lease: Option<u64>,
        /// Overwrite keys that the receiver already has
        #[arg(long)]
        overwrite: bool,
    },
    /// Reject an offer
    Reject(Answer),
    /// Withdraw an offer
    Cancel(Answer),
    /// Approve an offer
    Approve {
        /// Hand-off ID
        handoff: String,
        /// Approve only if the offer still has this digest
        #[arg(long, value_name = "HEX")]
        digest: Option<String>,
    },
    /// Complete a hand-off and its task
    Complete {
        /// Hand-off ID
        handoff: String,
        /// Result: JSON or text, @FILE, or - for stdin
        #[arg(long, value_name = "VALUE")]
        result: Option<Source>,
    },
    Wait(Wait),
    /// Show a hand-off
    Get {
        /// Hand-off ID
        handoff: String,
    },
    Ls(Ls),
    /// Show the hand-offs of a task
    #[command(visible_alias = "history")]
    Story {
        /// Task ID
        task: String,
    },
    /// Export a hand-off as a `transfer_context` document
    Export {
        /// Hand-off ID
        handoff: String,
    },
    /// Show counts by outcome, and durations
    Stats,
}

/// Wait until a hand-off has ended or has a status
#[derive(Args)]
struct Wait {
    /// Hand-off ID
    handoff: String,
    /// Return as soon as the hand-off has this status; repeatable [default: when it has ended]
    #[arg(long, value_name = "STATUS", value_parser = words::<Status>())]
    status: Vec<Status>,
    /// How long to wait, such as 30s [default: forever]
    #[arg(long = "wait", value_name = "DURATION", value_parser = milliseconds)]
    timeout: Option<u64>,
}

#[derive(Args)]
struct Answer {
    /// Hand-off ID
    handoff: String,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Args)]
#[command(group(ArgGroup::new("receiver").required(true).args(["to", "capability"])))]
struct Offer {
    /// Receiving agent
    to: Option<String>,
    /// Offer to any agent with this capability
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    #[command(flatten)]
    content: Content,
    /// How long the offer stays open [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
    /// Require approval by any agent
    #[arg(long)]
    approval: bool,
    /// Require approval by this agent; repeatable
    #[arg(long, value_name = "AGENT")]
    approver: Vec<String>,
}

/// There is nobody to ask, so it has no capability and no approval.
#[derive(Args)]
struct Execute {
    /// Receiving agent
    to: String,
    #[command(flatten)]
    content: Content,
    /// How long the receiver has to claim the task [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
}

/// What is handed over.
#[derive(Args)]
struct Content {
    /// Task to hand over
    #[arg(long, value_name = "TASK", requires = "token")]
    task: Option<String>,
    /// Token of the lease of that task [default: `BATON_TASK_TOKEN`]
    #[arg(long, env = "BATON_TASK_TOKEN", hide_env = true)]
    token: Option<u64>,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What has been done: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE")]
    done: Option<Source>,
    /// What remains to be done: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE")]
    remaining: Option<Source>,
    /// Notes for the receiver: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE")]
    notes: Option<Source>,
    /// State for the receiver, as NAME=VALUE, a value is JSON or text; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = named)]
    state: Vec<(String, Source)>,
    /// Key to move to the receiver, as NAMESPACE/KEY or a pattern such as 'agent:ada/**';
    /// repeatable
    #[arg(long, value_name = "NAMESPACE/KEY", value_parser = Selected::parse)]
    key: Vec<Selected>,
    /// Copy the keys instead: the giver keeps them
    #[arg(long)]
    copy: bool,
    #[command(flatten)]
    trace: Trace,
}

/// Hand over all tasks and keys of the acting agent without asking, in one commit
#[derive(Args)]
struct All {
    /// Receiving agent
    #[arg(value_parser = AgentId::parse)]
    to: AgentId,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Notes for the receiver: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE")]
    notes: Option<Source>,
    /// How long the receiver has to claim the tasks [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
    /// Copy the keys: the giver keeps them
    #[arg(long)]
    copy: bool,
    /// Overwrite keys that the receiver already has
    #[arg(long)]
    overwrite: bool,
}

impl All {
    async fn run(self, handoffs: &Handoffs, output: &mut Output) -> Result<(), Failure> {
        let Self { to, reason, notes, deadline, copy, overwrite } = self;
        let notes = notes.map(|notes| notes.json_or_text()).transpose()?;
        let all = ExecuteAll { to, reason, notes, deadline_ms: deadline, copy, overwrite };
        let found = handoffs.execute_all_as(all).await?;
        let rows: Vec<Row<'_>> = found.iter().map(Row::of).collect();
        output.many_as("hand-offs", &found, |output| output.table(&rows, &COLUMNS))
    }
}

fn named(text: &str) -> Result<(String, Source), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let Ok(value) = value.parse();
    Ok((name.to_owned(), value))
}

/// List hand-offs, oldest first
#[derive(Args)]
struct Ls {
    /// Only hand-offs that this agent may accept or has accepted
    #[arg(long, value_name = "AGENT", value_parser = AgentId::parse)]
    to: Option<AgentId>,
    /// Only hand-offs from this agent
    #[arg(long, value_name = "AGENT", value_parser = AgentId::parse)]
    from: Option<AgentId>,
    /// Only hand-offs of this task
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only hand-offs with this status
    #[arg(long, value_parser = words::<Status>())]
    status: Option<Status>,
    /// Maximum number of hand-offs [default: 100 in a table, otherwise all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

impl Wait {
    async fn run(self, handoffs: &Handoffs, output: &mut Output) -> Result<(), Failure> {
        let mut left_ms = self.timeout.unwrap_or(u64::MAX);
        let handoff = loop {
            let part_ms = left_ms.min(WAIT_MS);
            left_ms -= part_ms;
            match handoffs.wait(&self.handoff, &self.status, part_ms).await? {
                Some(handoff) => break handoff,
                None if left_ms == 0 => {
                    let reached =
                        if self.status.is_empty() { "ended" } else { "reached the status" };
                    let what = format!("hand-off `{}` has not {reached}", self.handoff);
                    return Err(Fault::NothingInTime { what }.into());
                }
                None => {}
            }
        };
        report(output, &handoff)?;
        if handoff.status == Status::Completed || self.status.contains(&handoff.status) {
            return Ok(());
        }
        Err(Failure::Ended { exit: 4 })
    }
}

impl Handoff {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let workspace = context.workspace().await?;
        let handoffs = workspace.handoffs();
        match self.verb {
            Verb::Offer(offer) => report(output, &offer.described(&handoffs)?.await?),
            Verb::Execute(execute) => {
                let handoff = execute.described(&handoffs)?.execute().await?;
                report(output, &handoff)
            }
            Verb::ExecuteAll(all) => all.run(&handoffs, output).await,
            Verb::Validate(offer) => {
                let judgement = offer.described(&handoffs)?.validate().await?;
                output.one(&judgement)
            }
            Verb::Import { to, file } => {
                let context: TransferContext = file.to()?;
                report(output, &handoffs.import(context, &to).await?)
            }
            Verb::Receive { wait } => match handoffs.receive(wait.unwrap_or_default()).await? {
                Some(handoff) => output.one(&handoff),
                None => {
                    let what = "no hand-off was offered to you".to_owned();
                    Err(Fault::NothingInTime { what }.into())
                }
            },
            Verb::Accept { handoff, lease, overwrite } => {
                let handoff = HandoffId::parse(&handoff)?;
                let accept = Accept { handoff, lease_ms: lease, overwrite };
                accepted(output, &handoffs, accept).await
            }
            Verb::Reject(Answer { handoff, reason }) => {
                report(output, &handoffs.reject(&handoff, reason.as_deref()).await?)
            }
            Verb::Cancel(Answer { handoff, reason }) => {
                report(output, &handoffs.cancel(&handoff, reason.as_deref()).await?)
            }
            Verb::Approve { handoff, digest } => {
                report(output, &handoffs.approve(&handoff, digest.as_deref()).await?)
            }
            Verb::Complete { handoff, result } => {
                let result = result.map(|result| result.json_or_text()).transpose()?;
                let handoff = HandoffId::parse(&handoff)?;
                let complete = Complete { handoff, result, changes: BTreeMap::new() };
                report(output, &handoffs.complete_as(complete).await?)
            }
            Verb::Wait(wait) => wait.run(&handoffs, output).await,
            Verb::Get { handoff } => output.one(&handoffs.get(&handoff).await?),
            Verb::Ls(ls) => ls.run(&handoffs, output).await,
            Verb::Story { task } => {
                let found = handoffs.history(&task).await?;
                if found.is_empty() {
                    // A task that does not exist has no hand-offs either.
                    workspace.tasks().get(&task).await?;
                }
                output.show(&found, |_| shortened(&story(&task, &found)))
            }
            Verb::Export { handoff } => output.one(&handoffs.export(&handoff).await?),
            Verb::Stats => stats(output, &handoffs).await,
        }
    }
}

fn report(output: &mut Output, handoff: &Record) -> Result<(), Failure> {
    let Record { id, from, to, status, .. } = handoff;
    let mut sentence = format!("hand-off {id} from `{from}` to {to} is {}", status.word());
    if let Some(step) = handoff.steps.last().filter(|step| step.status == StepStatus::Failed) {
        let detail = step.detail.as_deref().unwrap_or_default();
        write!(sentence, " at {}: {detail}", step.step).expect("texts take text");
    }
    output.said(handoff, &sentence)?;
    for warning in &handoff.warnings {
        output.note(&format!("warning: {}", plain(&warning.detail)));
    }
    Ok(())
}

async fn accepted(output: &mut Output, handoffs: &Handoffs, accept: Accept) -> Result<(), Failure> {
    let accepted = handoffs.accept_as(accept).await?;
    let (handoff, task) = (&accepted.handoff, &accepted.task);
    let mut sentence = format!("accepted hand-off {} from `{}`", handoff.id, handoff.from);
    let lease = task.as_ref().and_then(|task| Some((&task.id, task.lease.as_ref()?)));
    if let Some((task, lease)) = lease {
        write!(sentence, "; you hold task {task} (token {})", lease.token)
            .expect("texts take text");
    }
    output.said(&accepted, &sentence)
}

/// The hand-offs of a task and their steps, as text.
pub(super) fn story(task: &str, handoffs: &[Record]) -> String {
    let mut text = String::new();
    if handoffs.is_empty() {
        return format!("task {} has no hand-offs\n", plain(task));
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
        if stats.count == 0 {
            return format!("no hand-offs; rejected by rules: {}\n", stats.validation_errors);
        }
        let durations = &stats.durations;
        let rate = stats.success_rate * 100.0;
        let what = if stats.count == 1 { "hand-off" } else { "hand-offs" };
        let mut text = format!(
            "{} {what}: {} open, {} accepted, {} completed, {} failed, {} rejected, {} expired, \
             {} cancelled\nsuccess rate {rate:.0} %; rejected by rules: {}\n\
             time from offer to end: average {:.0} ms, min {} ms, p50 {} ms, p95 {} ms, p99 {} ms, \
             max {} ms\n",
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
        if let Some(deadline) = self.deadline {
            offering = offering.deadline_ms(deadline);
        }
        if self.approval || !self.approver.is_empty() {
            let approvers: Vec<&str> = self.approver.iter().map(String::as_str).collect();
            offering = offering.approved_by(&approvers);
        }
        self.content.added_to(offering)
    }
}

impl Execute {
    fn described(self, handoffs: &Handoffs) -> Result<Offering, Failure> {
        let offering = handoffs.offer(&self.to);
        self.content.added_to(match self.deadline {
            Some(deadline) => offering.deadline_ms(deadline),
            None => offering,
        })
    }
}

impl Content {
    fn added_to(self, mut offering: Offering) -> Result<Offering, Failure> {
        if let (Some(task), Some(token)) = (&self.task, self.token) {
            offering = offering.task(task, Token(token));
        }
        if let Some(reason) = &self.reason {
            offering = offering.reason(reason);
        }
        for (name, value) in &self.state {
            offering = offering.state(name, value.json_or_text()?);
        }
        if let Some(traceparent) = self.trace.given() {
            offering = offering.traceparent(&traceparent);
        }
        let json = |source: Option<Source>| source.map(|source| source.json_or_text()).transpose();
        let (done, remaining, notes) = (json(self.done)?, json(self.remaining)?, json(self.notes)?);
        let (keys, copy) = (self.key, self.copy);
        Ok(offering.also(|offer| {
            (offer.work_completed, offer.remaining_work, offer.notes) = (done, remaining, notes);
            (offer.keys, offer.copy) = (keys, copy);
        }))
    }
}

/// A hand-off as a table row.
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
        let task = task.as_deref().map(TaskId::parse).transpose()?;
        let list = List { to, from, task, status, limit, cursor: None };
        let found = handoffs.list(list).await?;
        let rows: Vec<Row<'_>> = found.iter().map(Row::of).collect();
        output.many_as("hand-offs", &found, |output| output.table(&rows, &COLUMNS))?;
        if self.limit.is_none() && found.len() == enough {
            output.note(&format!("showing the first {enough} hand-offs; use --limit for more"));
        }
        Ok(())
    }
}
