//! `baton secret`: values that are stored apart and referred to by ID.

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton secret put < key.txt                        read the value from stdin
  baton secret put @key.txt --name model-key --ttl 30d
  baton state set model '{\"key\": {\"secret\": \"secret:…\"}}'
  baton secret reveal secret:…                      print the value; this is logged
  baton secret ls
  baton secret rm secret:…

A reference reveals nothing about the value and can be used anywhere. History, watches and exports
contain only references. Read values from stdin or a file to keep them out of the shell history.";

const COLUMNS: [&str; 6] = ["secret", "name", "bytes", "put_by", "reveals", "expires_at"];

/// Store secrets and refer to them by ID
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Secret {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Put(Put),
    /// Print the value of a secret; this is logged
    Reveal {
        /// Secret reference
        secret: String,
    },
    /// Show the metadata of a secret
    Show {
        /// Secret reference
        secret: String,
    },
    /// List secrets without their values
    Ls,
    /// Delete a secret permanently
    Rm {
        /// Secret reference
        secret: String,
    },
}

/// Store a secret and print its reference
#[derive(Args)]
struct Put {
    /// Value: @FILE, or - for stdin
    #[arg(default_value = "-")]
    value: Source,
    /// Name
    #[arg(long)]
    name: Option<String>,
    /// Time to live [default: until it is deleted]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

impl Secret {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let secrets = context.workspace().await?.secrets();
        match self.verb {
            Verb::Put(Put { value, name, ttl }) => {
                let mut putting = secrets.put(value.read()?);
                if let Some(name) = &name {
                    putting = putting.name(name);
                }
                if let Some(ttl_ms) = ttl {
                    putting = putting.ttl_ms(ttl_ms);
                }
                let put = putting.await?;
                output.said(&put, put.secret.as_str())
            }
            Verb::Reveal { secret } => {
                let value = secrets.reveal(&secret).await?;
                output.bytes(&value)
            }
            Verb::Show { secret } => output.one(&secrets.get(&secret).await?),
            Verb::Ls => output.many("secrets", &secrets.list().await?, &COLUMNS),
            Verb::Rm { secret } => {
                let gone = secrets.delete(&secret).await?;
                output.said(&gone, &format!("{} deleted", gone.secret))
            }
        }
    }
}
