//! `baton tx`: transactions.

use baton_core::wire::{self, Call, Frame};
use baton_core::{Answer, Mutation};
use clap::Args;
use serde_json::value::RawValue;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = r#"Examples:
  echo '{"commands": [
    {"command": "state.set", "namespace": "shared", "key": "a", "value": 1},
    {"command": "state.delete", "namespace": "shared", "key": "b"}
  ]}' | baton tx

  echo '{
    "require": [{"entry": {"namespace": "shared", "key": "plan", "version": 3}}],
    "commands": [{"command": "state.set", "namespace": "shared", "key": "plan", "value": 4}]
  }' | baton tx

Commands have the same form as over HTTP; see `baton openapi`. All of them are applied at one
revision, or none is."#;

/// Run several commands as one transaction
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Tx {
    /// Preconditions and commands: JSON, @FILE, or - for stdin
    #[arg(default_value = "-", value_name = "JSON")]
    transaction: Source,
}

impl Tx {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let transaction = parse(self.transaction.json()?.as_str())?;
        let answer = context.workspace().await?.mutate(transaction).await?;
        let sentence = format!("transaction committed at revision {}", answer.revision);
        output.said(&encoded(&answer), &sentence)
    }
}

fn parse(text: &str) -> Result<Mutation, Failure> {
    let frame = Frame::parse(text)?;
    // Frame fields that are options here; silently ignoring them would be wrong.
    let beside = [
        ("id", frame.id.is_some()),
        ("workspace", frame.workspace.is_some()),
        ("agent", frame.agent.is_some()),
        ("idempotency_key", frame.idempotency_key.is_some()),
    ];
    if let Some((field, _)) = beside.into_iter().find(|(_, is_given)| *is_given) {
        let expected = &["require", "commands"];
        return Err(wire::Fault::UnknownField { field: field.to_owned(), expected }.into());
    }
    match frame.transaction()? {
        Call::Transaction(transaction) => Ok(transaction),
        other => Err(Fault::Usage { reason: format!("{other:?} is not a transaction") }.into()),
    }
}

/// The answer as it is written on the wire.
fn encoded(answer: &Answer) -> Box<RawValue> {
    let mut text = b"{".to_vec();
    wire::write_answer(&mut text, answer);
    text.push(b'}');
    let text = String::from_utf8(text).expect("answers are text");
    RawValue::from_string(text).expect("answers are JSON")
}
