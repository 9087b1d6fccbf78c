//! `baton contract`: dependencies between the agents that write keys and those that read them.

use baton_client::{Contracts, DeclaringContract};
use baton_core::contract::{Declaration, Terms};
use baton_core::json::Shape;
use baton_core::{Json, Rejection};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::Source;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton contract declare plans shared/plan --type object --fields steps,owner --refuse
  baton contract declare drafts 'shared/draft:*' --schema @draft.schema.json --optional
  baton contract declare both --keys @keys.json
  baton contract ls
  baton contract rm plans
  baton contract show
  baton contract show 'shared/**'
  baton contract check
  baton contract check --namespace shared --schema @next.schema.json

A command that would break a declared contract is refused with `--refuse`; without it, the command
is executed with a warning, and `contract.broken` is recorded: baton watch 'contracts/**'.

Other dependencies come from the receipts of hand-offs, the required keys of rules, and the keys
that pipeline stages declare. `check` exits with 4 if it finds a problem.";

/// Declare, show and check which agents depend on which keys
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Contract {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Declare the keys that you depend on, or replace your contract with that name
    Declare(Box<Declare>),
    /// List declared contracts
    Ls,
    /// Delete a contract
    Rm {
        /// Name
        name: String,
        /// Delete it even if another agent owns it
        #[arg(long)]
        force: bool,
    },
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

#[derive(Args)]
struct Declare {
    /// Name
    name: String,
    /// NAMESPACE/KEY, or a pattern with * and **
    #[arg(value_name = "KEY", required_unless_present = "keys")]
    key: Vec<String>,
    /// JSON type of the values: object, array, string, number, boolean or null
    #[arg(long = "type", value_name = "TYPE", value_parser = kind)]
    kind: Option<Shape>,
    /// Fields that the values contain, or JSON Pointers such as /owner/name (comma-separated)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    fields: Vec<String>,
    /// JSON Schema that the values satisfy: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    schema: Option<Source>,
    /// The entries may be deleted
    #[arg(long)]
    optional: bool,
    /// The keys with different terms, as a list of {key, type, fields, schema, optional}: JSON,
    /// @FILE, or - for stdin
    #[arg(long, value_name = "JSON",
        conflicts_with_all = ["key", "kind", "fields", "schema", "optional"])]
    keys: Option<Source>,
    /// Refuse commands that would break the contract
    #[arg(long)]
    refuse: bool,
}

fn kind(text: &str) -> Result<Shape, String> {
    let expected = || "expected object, array, string, number, boolean or null".to_owned();
    Json::of(text).and_then(|text| text.to()).map_err(|_| expected())
}

impl Declare {
    fn request(&self, contracts: &Contracts) -> Result<DeclaringContract, Failure> {
        let mut declaring = contracts.declare(&self.name);
        if let Some(keys) = &self.keys {
            let keys: Vec<Terms> = keys.json()?.to().map_err(Rejection::from)?;
            declaring = keys.into_iter().fold(declaring, DeclaringContract::terms);
        }
        let schema = self.schema.as_ref().map(Source::json).transpose()?;
        for key in &self.key {
            declaring = declaring.key(key);
            if let Some(kind) = self.kind {
                declaring = declaring.of_type(kind);
            }
            for field in &self.fields {
                declaring = declaring.field(field);
            }
            if let Some(schema) = &schema {
                declaring = declaring.schema(schema);
            }
            if self.optional {
                declaring = declaring.optional();
            }
        }
        Ok(if self.refuse { declaring.refuse() } else { declaring })
    }
}

fn summary(contract: &Declaration) -> String {
    let Declaration { name, keys, on_break, revision, .. } = contract;
    let keys = match keys.len() {
        1 => "1 key".to_owned(),
        count => format!("{count} keys"),
    };
    let on_break = on_break.word();
    format!("contract {name} declared, {keys}, on break {on_break} (revision {revision})")
}

impl Contract {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        // Read first, so that a bad file is reported even without a server.
        let schema = match &self.verb {
            Verb::Check { schema, .. } => schema.as_ref().map(Source::json).transpose()?,
            Verb::Declare(_) | Verb::Ls | Verb::Rm { .. } | Verb::Show { .. } => None,
        };
        let contracts = context.workspace().await?.contracts();
        let (namespace, schema) = match self.verb {
            Verb::Declare(declare) => {
                let declared = declare.request(&contracts)?.await?;
                return output.said(&declared, &summary(&declared));
            }
            Verb::Ls => {
                let columns = ["name", "owner", "on_break", "keys"];
                return output.many("contracts", &contracts.list().await?, &columns);
            }
            Verb::Rm { name, force } => {
                let deleted = if force {
                    contracts.force_delete(&name).await?
                } else {
                    contracts.delete(&name).await?
                };
                return output.said(&deleted, &format!("contract {} deleted", deleted.name));
            }
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
