//! `baton namespace`: places for entries, with rules about what is written into them.

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

Rules are an object of append_only, schema, schema_version, merge, ttl_ms, value_bytes_max, flat
and keys.";

/// Create and configure places for entries
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Namespace {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create one
    Create {
        /// Its name
        name: String,
        /// What it demands of what is written: JSON, - for stdin, or @file
        #[arg(long, value_name = "JSON")]
        rules: Option<Source>,
    },
    /// List all
    Ls,
    /// Show one
    Get {
        /// Its name
        name: String,
    },
    /// Replace its rules
    Configure {
        /// Its name
        name: String,
        /// All its rules from now on: JSON, - for stdin, or @file
        #[arg(long, value_name = "JSON")]
        rules: Source,
    },
    /// Delete one, with all its entries
    Delete {
        /// Its name
        name: String,
    },
}

impl Namespace {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read before anyone is called, so that a bad file is told even without a server.
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
                output.said(&created, &done("is there", &created))
            }
            Verb::Configure { name, .. } => {
                let configured = namespaces.configure(&name, rules).await?;
                output.said(&configured, &done("has new rules", &configured))
            }
            Verb::Delete { name } => {
                let deleted = namespaces.delete(&name).await?;
                output.said(&deleted, &format!("namespace {} is gone", deleted.name))
            }
            Verb::Get { name } => output.one(&namespaces.get(&name).await?),
            Verb::Ls => {
                let columns = ["name", "created_by", "created_at", "rules"];
                output.many(&namespaces.list().await?, &columns)
            }
        }
    }
}
