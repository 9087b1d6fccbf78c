//! `baton task add`: somebody wants something done.

use baton_client::Tasks;
use baton_core::AgentId;
use baton_core::task::OnExhausted;
use clap::Args;

use super::told;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;
use crate::trace::Trace;

/// Want something done
#[derive(Args)]
pub(super) struct Add {
    /// What kind of work it is
    #[arg(value_name = "TYPE")]
    task_type: String,
    /// What is to be done, as data: JSON, - for stdin, or @file
    #[arg(allow_negative_numbers = true)]
    definition: Option<Source>,
    /// Its id; one is made up unless given
    #[arg(long)]
    id: Option<String>,
    /// What is to be done, in words
    #[arg(long, short, value_name = "TEXT")]
    description: Option<String>,
    /// Higher is sooner: -100 to 100
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// The only agent that may work on it
    #[arg(long, value_name = "AGENT")]
    assign: Option<String>,
    /// Something an agent must be able to do; may be given several times
    #[arg(long, value_name = "NAME")]
    capability: Vec<String>,
    /// Only if there is a live agent that can do it
    #[arg(long)]
    if_capable: bool,
    /// A task that must be completed before; may be given several times
    #[arg(long, value_name = "TASK")]
    after: Vec<String>,
    /// The task it is a part of: with that it is cancelled
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    /// Which tasks it belongs with
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// It is not begun before so much time has passed
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    delay: Option<u64>,
    /// It has failed if it is not finished after so much time
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    deadline: Option<u64>,
    /// How often it may be tried again [default: 3]
    #[arg(long, value_name = "COUNT")]
    retries: Option<u64>,
    /// What becomes of it after that: fail, review, or agent:ID
    #[arg(long, value_name = "THEN", value_parser = exhausted)]
    on_exhausted: Option<OnExhausted>,
    /// Whatever else is worth knowing: an object as JSON, - for stdin, or @file
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    #[command(flatten)]
    trace: Trace,
}

fn exhausted(word: &str) -> Result<OnExhausted, String> {
    match (word, word.strip_prefix("agent:")) {
        ("fail", _) => Ok(OnExhausted::Fail),
        ("review", _) => Ok(OnExhausted::Review),
        (_, Some(agent)) => {
            let agent = AgentId::parse(agent).map_err(|error| error.to_string())?;
            Ok(OnExhausted::Agent(agent))
        }
        _ => Err("it must be fail, review, or agent:ID".to_owned()),
    }
}

impl Add {
    pub(super) async fn run(self, tasks: &Tasks, output: &mut Output) -> Result<(), Failure> {
        let mut creating = tasks.create(&self.task_type);
        if let Some(definition) = &self.definition {
            creating = creating.definition(definition.json()?);
        }
        if let Some(metadata) = &self.metadata {
            creating = creating.metadata(metadata.json()?);
        }
        if let Some(id) = &self.id {
            creating = creating.id(id);
        }
        if let Some(description) = &self.description {
            creating = creating.description(description);
        }
        if let Some(priority) = self.priority {
            creating = creating.priority(priority);
        }
        if let Some(agent) = &self.assign {
            creating = creating.assigned_to(agent);
        }
        for name in &self.capability {
            creating = creating.capability(name);
        }
        if self.if_capable {
            creating = creating.if_capable();
        }
        for task in &self.after {
            creating = creating.after(task);
        }
        if let Some(parent) = &self.parent {
            creating = creating.parent(parent);
        }
        if let Some(group) = &self.group {
            creating = creating.group(group);
        }
        if let Some(delay_ms) = self.delay {
            creating = creating.delay_ms(delay_ms);
        }
        if let Some(deadline_ms) = self.deadline {
            creating = creating.deadline_ms(deadline_ms);
        }
        if let Some(count) = self.retries {
            creating = creating.max_retries(count);
        }
        if let Some(then) = self.on_exhausted {
            creating = creating.on_exhausted(then);
        }
        if let Some(traceparent) = self.trace.given() {
            creating = creating.traceparent(&traceparent);
        }
        told(output, &creating.await?)
    }
}
