//! `baton rule`: the checks that a hand-off must pass.

use baton_client::AddingRule;
use baton_core::rule;
use clap::{ArgGroup, Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton rule add tests-first --on-type 'code:*' --require-keys tests,diff
  baton rule add green --expression 'state.tests.failed == 0' --message 'run the tests first'
  baton rule add reviewers --to 'reviewer-*' --capability review
  baton rule add shape --schema @state.schema.json
  baton rule add far --hops-max 5 --warning
  baton rule ls
  baton rule rm far

A rule has exactly one check. Expressions use CEL syntax with the variables task, task_type, from,
to, capability, state, hops, reason and receiver {active, capabilities}. A rule that cannot be
evaluated blocks the hand-off, even if it is a warning.";

/// Manage the checks that a hand-off must pass
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Rule {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Add a rule, or replace the rule with that name
    Add(Box<Add>),
    /// List rules
    Ls,
    /// Remove a rule
    Rm {
        /// Name
        name: String,
    },
}

#[derive(Args)]
#[command(group = ArgGroup::new("check").required(true))]
struct Add {
    /// Name
    name: String,
    /// Apply only to task types that match this pattern, with * and **
    #[arg(long, value_name = "PATTERN")]
    on_type: Option<String>,
    /// Apply only if the ID of the giving agent matches
    #[arg(long, value_name = "PATTERN")]
    from: Option<String>,
    /// Apply only if the ID of the receiving agent matches
    #[arg(long, value_name = "PATTERN")]
    to: Option<String>,
    /// The state must contain these keys (comma-separated)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', group = "check")]
    require_keys: Vec<String>,
    /// The state must satisfy this JSON Schema: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", group = "check")]
    schema: Option<Source>,
    /// This CEL expression must be true
    #[arg(long, value_name = "CEL", group = "check", allow_hyphen_values = true)]
    expression: Option<String>,
    /// The receiver must have this capability
    #[arg(long, value_name = "NAME", group = "check")]
    capability: Option<String>,
    /// The receiver must have an active session
    #[arg(long, group = "check")]
    receiver_alive: bool,
    /// Maximum size of the state, keys and values, in bytes
    #[arg(long, value_name = "BYTES", group = "check")]
    state_bytes_max: Option<u64>,
    /// Maximum number of hand-offs of the same work
    #[arg(long, value_name = "COUNT", group = "check")]
    hops_max: Option<u64>,
    /// Warn instead of blocking
    #[arg(long)]
    warning: bool,
    /// Message shown when the check fails, before the details
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
}

impl Rule {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read first, so that a bad file is reported even without a server.
        let schema = match &self.verb {
            Verb::Add(add) => add.schema.as_ref().map(Source::json).transpose()?,
            Verb::Ls | Verb::Rm { .. } => None,
        };
        let rules = context.workspace().await?.rules();
        match self.verb {
            Verb::Add(add) => {
                let mut adding = add.described(rules.add(&add.name));
                if let Some(schema) = schema {
                    adding = adding.schema(schema);
                }
                let added = adding.await?;
                output.said(&added, &summary(&added))
            }
            Verb::Rm { name } => {
                let removed = rules.remove(&name).await?;
                output.said(&removed, &format!("rule {} removed", removed.name))
            }
            Verb::Ls => {
                let columns = ["name", "severity", "on", "check", "message"];
                output.many("rules", &rules.list().await?, &columns)
            }
        }
    }
}

fn summary(rule: &rule::Rule) -> String {
    let rule::Rule { name, severity, revision, .. } = rule;
    format!("rule {name} added, severity {} (revision {revision})", severity.word())
}

impl Add {
    /// Applies the options, except the schema.
    fn described(&self, mut adding: AddingRule) -> AddingRule {
        type Change = fn(AddingRule, &str) -> AddingRule;
        let texts: [(&Option<String>, Change); 6] = [
            (&self.on_type, AddingRule::on_type),
            (&self.from, AddingRule::from),
            (&self.to, AddingRule::to),
            (&self.expression, AddingRule::expression),
            (&self.capability, AddingRule::capability),
            (&self.message, AddingRule::message),
        ];
        for (text, change) in texts {
            if let Some(text) = text {
                adding = change(adding, text);
            }
        }
        if !self.require_keys.is_empty() {
            let keys: Vec<&str> = self.require_keys.iter().map(String::as_str).collect();
            adding = adding.required_keys(&keys);
        }
        if self.receiver_alive {
            adding = adding.receiver_alive();
        }
        if let Some(bytes_max) = self.state_bytes_max {
            adding = adding.state_bytes_max(bytes_max);
        }
        if let Some(hops_max) = self.hops_max {
            adding = adding.hops_max(hops_max);
        }
        if self.warning { adding.warning() } else { adding }
    }
}
