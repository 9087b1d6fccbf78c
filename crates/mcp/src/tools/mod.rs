//! The tools: each reads its arguments, names operations, and shows their replies.

mod brief;
mod checkpoint;
mod claim;
mod create_task;
mod get;
mod handoff;
mod report;
mod reserve;
mod search;
mod send;
mod write_state;

use baton_client::Workspace;
use baton_core::wire::{Fields, Problem};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use brief::brief;
pub(crate) use handoff::{Approval, approve};

use crate::operation::{Object, fault, given, perform};
use crate::toolset::derived_operation;
use crate::view::{Detail, unknown};

/// A call of a tool.
pub(crate) struct Call<'a> {
    pub(crate) workspace: &'a Workspace,
    /// The arguments, without those that every tool has.
    pub(crate) arguments: Object,
    pub(crate) detail: Detail,
}

impl Call<'_> {
    fn agent(&self) -> &str {
        self.workspace.agent().as_str()
    }

    /// The arguments as a type. An unknown field is refused by its name. Clients with strict
    /// schemas send null for every argument that is not given.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let text = Value::Object(given(Value::Object(self.arguments.clone()))).to_string();
        let fields = Fields::parse(&text).map_err(|error| fault(&error))?;
        fields.to().map_err(|error| fault(&error))
    }

    async fn perform(&self, operation: &str, fields: Object) -> Result<Value, Problem> {
        perform(self.workspace, operation, fields).await
    }
}

/// Runs a tool; none if it does not exist.
pub(crate) async fn run(name: &str, call: Call<'_>) -> Option<Result<Value, Problem>> {
    let answer = match name {
        "baton_brief" => brief::run(&call).await,
        "baton_search" => search::run(&call).await,
        "baton_get" => get::run(&call).await,
        "baton_claim" => claim::run(&call).await,
        "baton_report" => report::run(&call).await,
        "baton_create_task" => create_task::run(&call).await,
        "baton_write_state" => write_state::run(&call).await,
        "baton_reserve" => reserve::run(&call).await,
        "baton_handoff" => handoff::run(&call).await,
        "baton_send" => send::run(&call).await,
        "baton_checkpoint" => checkpoint::run(&call).await,
        other => {
            let operation = derived_operation(other)?;
            call.perform(operation, call.arguments.clone()).await.map(|record| unknown(&record))
        }
    };
    Some(answer)
}

#[cfg(test)]
mod tests;
