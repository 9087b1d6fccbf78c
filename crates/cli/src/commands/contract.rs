//! `baton contract`: keys that one writes and another reads are an interface.

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

Who depends on what is known from receipts of hand-offs, required keys of rules, and what stages of
pipelines say they read and write. The exit code of `check` is 4 if something is wrong.";

/// See who depends on which keys, and what would break
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Contract {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Who writes and who reads which keys
    Show {
        /// Only keys that match, as namespace/key with * and **
        pattern: Option<String>,
    },
    /// What somebody depends on and is gone, renamed or of another kind
    Check {
        /// Only keys of this namespace
        #[arg(long, value_name = "NAME")]
        namespace: Option<String>,
        /// A schema that the namespace shall have, what would break: JSON, - for stdin, or @file
        #[arg(long, value_name = "JSON", requires = "namespace")]
        schema: Option<Source>,
    },
}

impl Contract {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read before anyone is called, so that a bad file is told even without a server.
        let schema = match &self.verb {
            Verb::Check { schema, .. } => schema.as_ref().map(Source::json).transpose()?,
            Verb::Show { .. } => None,
        };
        let contracts = context.workspace().await?.contracts();
        let (namespace, schema) = match self.verb {
            Verb::Show { pattern } => {
                let columns = ["key", "writers", "readers", "present"];
                return output.many(&contracts.show(pattern.as_deref()).await?, &columns);
            }
            Verb::Check { namespace, .. } => (namespace, schema),
        };
        let problems = match (namespace, schema) {
            (Some(namespace), Some(schema)) => contracts.check_schema(&namespace, schema).await?,
            (Some(namespace), None) => contracts.check_namespace(&namespace).await?,
            (None, _) => contracts.check().await?,
        };
        output.many(&problems, &["key", "problem", "detail", "depended_on_by"])?;
        match problems.len() {
            0 => Ok(()),
            count => Err(Fault::Broken { count }.into()),
        }
    }
}
