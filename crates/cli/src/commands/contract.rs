//! `baton contract`: dependencies between the agents that write keys and those that read them.

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton contract show
  baton contract show 'shared/**'
  baton contract check
  baton contract check --namespace shared --schema @next.schema.json

Dependencies come from the receipts of hand-offs, the required keys of rules, and the keys that
pipeline stages declare. `check` exits with 4 if it finds a problem.";

/// Show and check which agents depend on which keys
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Contract {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the writers and readers of keys
    Show {
        /// Only keys that match this pattern, as NAMESPACE/KEY with * and **
        pattern: Option<String>,
    },
    /// Report keys that others depend on and that are missing, renamed or of another type
    Check {
        /// Only keys in this namespace
        #[arg(long, value_name = "NAME")]
        namespace: Option<String>,
        /// Report what would break if the namespace had this schema: JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON", requires = "namespace")]
        schema: Option<Source>,
    },
}

impl Contract {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read first, so that a bad file is reported even without a server.
        let schema = match &self.verb {
            Verb::Check { schema, .. } => schema.as_ref().map(Source::json).transpose()?,
            Verb::Show { .. } => None,
        };
        let contracts = context.workspace().await?.contracts();
        let (namespace, schema) = match self.verb {
            Verb::Show { pattern } => {
                let columns = ["key", "writers", "readers", "present"];
                return output.many(
                    "contracts",
                    &contracts.show(pattern.as_deref()).await?,
                    &columns,
                );
            }
            Verb::Check { namespace, .. } => (namespace, schema),
        };
        let problems = match (namespace, schema) {
            (Some(namespace), Some(schema)) => contracts.check_schema(&namespace, schema).await?,
            (Some(namespace), None) => contracts.check_namespace(&namespace).await?,
            (None, _) => contracts.check().await?,
        };
        output.many("problems", &problems, &["key", "problem", "detail", "depended_on_by"])?;
        match problems.len() {
            0 => Ok(()),
            count => Err(Fault::Broken { count }.into()),
        }
    }
}
