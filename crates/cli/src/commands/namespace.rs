//! `baton namespace`: namespaces for entries, with rules for what may be written to them.

use baton_core::{Rules, namespace};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton namespace create notes
  baton namespace create log --rules '{\"append_only\": true}'
  baton namespace configure notes --rules @rules.json
  baton namespace ls

Rules are a JSON object with the fields append_only, schema, schema_version, merge, ttl_ms,
value_bytes_max, flat and keys.";

/// Manage namespaces and their rules
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Namespace {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a namespace
    Create {
        /// Name
        name: String,
        /// Rules for writes: JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON")]
        rules: Option<Source>,
    },
    /// List namespaces
    Ls,
    /// Show a namespace
    Get {
        /// Name
        name: String,
    },
    /// Replace the rules of a namespace
    Configure {
        /// Name
        name: String,
        /// The new rules: JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON")]
        rules: Source,
    },
    /// Delete a namespace and all its entries
    Delete {
        /// Name
        name: String,
    },
}

impl Namespace {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read first, so that a bad file is reported even without a server.
        let rules: Rules = match &self.verb {
            Verb::Create { rules: Some(rules), .. } | Verb::Configure { rules, .. } => {
                rules.to()?
            }
            Verb::Create { rules: None, .. }
            | Verb::Ls
            | Verb::Get { .. }
            | Verb::Delete { .. } => Rules::default(),
        };
        let namespaces = context.workspace().await?.namespaces();
        let done = |done: &str, namespace: &namespace::Namespace| {
            format!("namespace {} {done} (revision {})", namespace.name, namespace.revision)
        };
        match self.verb {
            Verb::Create { name, .. } => {
                let created = namespaces.create(&name).rules(rules).await?;
                output.said(&created, &done("created", &created))
            }
            Verb::Configure { name, .. } => {
                let configured = namespaces.configure(&name, rules).await?;
                output.said(&configured, &done("configured", &configured))
            }
            Verb::Delete { name } => {
                let deleted = namespaces.delete(&name).await?;
                output.said(&deleted, &format!("namespace {} deleted", deleted.name))
            }
            Verb::Get { name } => output.one(&namespaces.get(&name).await?),
            Verb::Ls => {
                let columns = ["name", "created_by", "created_at", "rules"];
                output.many("namespaces", &namespaces.list().await?, &columns)
            }
        }
    }
}
