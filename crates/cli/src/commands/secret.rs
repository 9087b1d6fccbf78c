//! `baton secret`: values that stand nowhere but where they are asked for.

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, milliseconds};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton secret put < key.txt                        from stdin, so that no shell remembers it
  baton secret put @key.txt --name model-key --ttl 30d
  baton state set model '{\"key\": {\"secret\": \"secret:…\"}}'
  baton secret reveal secret:…                      and that you did is written down
  baton secret ls
  baton secret rm secret:…

A reference says nothing about the value and may stand anywhere. History, watches and exports have
references only.";

const COLUMNS: [&str; 6] = ["secret", "name", "bytes", "put_by", "reveals", "expires_at"];

/// Hand in secrets, and use references to them
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Secret {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Put(Put),
    /// Print the value; that it was asked for is written down
    Reveal {
        /// Which secret
        secret: String,
    },
    /// Show what is known of one, without its value
    Show {
        /// Which secret
        secret: String,
    },
    /// List them, without their values
    Ls,
    /// Remove one for good
    Rm {
        /// Which secret
        secret: String,
    },
}

/// Hand in a secret
#[derive(Args)]
struct Put {
    /// The value: - for stdin, or @file
    #[arg(default_value = "-")]
    value: Source,
    /// What it is called
    #[arg(long)]
    name: Option<String>,
    /// How long it is kept; until it is removed unless given
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
}

impl Secret {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let secrets = context.workspace().await?.secrets();
        match self.verb {
            Verb::Put(Put { value, name, ttl }) => {
                let mut hiding = secrets.put(value.read()?);
                if let Some(name) = &name {
                    hiding = hiding.name(name);
                }
                if let Some(ttl_ms) = ttl {
                    hiding = hiding.ttl_ms(ttl_ms);
                }
                let put = hiding.await?;
                output.said(&put, put.secret.as_str())
            }
            Verb::Reveal { secret } => {
                let value = secrets.reveal(&secret).await?;
                output.bytes(&value)
            }
            Verb::Show { secret } => output.one(&secrets.get(&secret).await?),
            Verb::Ls => output.many(&secrets.list().await?, &COLUMNS),
            Verb::Rm { secret } => {
                let gone = secrets.delete(&secret).await?;
                output.said(&gone, &format!("{} is gone", gone.secret))
            }
        }
    }
}
