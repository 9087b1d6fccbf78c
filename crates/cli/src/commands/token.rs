//! `baton token`: access tokens.

use std::path::{Path, PathBuf};

use baton_client::Method;
use baton_core::access::{Grant, Role};
use baton_core::{AgentId, Pattern};
use baton_server::Quota;
use baton_server::access::{DenialPage, Made, TokenRecord, Tokens, Wanted};
use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::json;

use crate::context::Context;
use crate::data_folder::{self, existing_logs};
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton token create ci --role worker --for ci --in 'team-*'
  baton token create dashboard --role reader --ttl 30d
  baton token create notes --role worker --namespace notes
  baton token create batch --role worker --rate 100 --watches-max 4
  baton token ls
  baton token revoke 3f9a1c0b77de                  also closes its open connections
  baton token refusals --limit 20                  list recently denied requests
  baton token create me --role admin --data ./.baton
                                                   without a server, with access to the data

A token is printed once; the server stores only a digest of it.

Roles: `reader` reads and watches; `worker` also writes state and takes part in tasks, hand-offs,
messages and locks; `operator` also manages namespaces, rules and reactions; `admin` also forks and
exports workspaces and manages tokens.";

const COLUMNS: [&str; 8] =
    ["id", "name", "role", "agent", "workspaces", "namespaces", "expires_at", "revoked_at"];

const REFUSAL_COLUMNS: [&str; 8] =
    ["at", "times", "who", "from", "operation", "workspace", "code", "detail"];

/// Create, list and revoke access tokens
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Token {
    #[command(subcommand)]
    verb: Verb,
    /// Use the data in this folder directly; no server may be running on it
    #[arg(long, value_name = "FOLDER", global = true)]
    data: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Verb {
    Create(Create),
    /// List tokens, including revoked ones
    Ls,
    /// Revoke a token
    Revoke {
        /// Token ID
        id: String,
    },
    /// List recently denied requests, newest first
    Refusals {
        /// Maximum number of entries
        #[arg(long, value_name = "COUNT", default_value_t = 100,
              value_parser = clap::value_parser!(u64).range(1..=1_000))]
        limit: u64,
    },
}

/// Create a token and print it once
#[derive(Args)]
struct Create {
    /// Name: the owner or purpose of the token
    name: String,
    /// Role
    #[arg(long, value_name = "ROLE")]
    role: Rank,
    /// Allow acting only as this agent [default: any agent]
    #[arg(long = "for", value_name = "AGENT", value_parser = agent)]
    speaks_for: Option<AgentId>,
    /// Allow only workspaces that match [default: all]; repeatable
    #[arg(long = "in", value_name = "PATTERN")]
    workspaces: Vec<Pattern>,
    /// Allow only namespaces that match [default: all]; repeatable
    #[arg(long = "namespace", value_name = "PATTERN")]
    namespaces: Vec<Pattern>,
    /// How long the token is valid [default: until it is revoked]
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
    /// Maximum operations per second [default: the server's quota for tokens, as for the limits
    /// below]
    #[arg(long, value_name = "COUNT", value_parser = count())]
    rate: Option<u64>,
    /// Maximum bytes written per second
    #[arg(long, value_name = "BYTES", value_parser = count())]
    bytes_rate: Option<u64>,
    /// Maximum number of concurrent connections
    #[arg(long, value_name = "COUNT", value_parser = count())]
    connections_max: Option<u64>,
    /// Maximum number of concurrent watches
    #[arg(long, value_name = "COUNT", value_parser = count())]
    watches_max: Option<u64>,
}

/// At least one: forbidding an operation is what roles are for.
fn count() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=1 << 50)
}

fn agent(text: &str) -> Result<AgentId, String> {
    AgentId::parse(text).map_err(|error| error.to_string())
}

#[derive(Clone, Copy, ValueEnum)]
enum Rank {
    Reader,
    Worker,
    Operator,
    Admin,
}

impl From<Rank> for Role {
    fn from(rank: Rank) -> Self {
        match rank {
            Rank::Reader => Self::Reader,
            Rank::Worker => Self::Worker,
            Rank::Operator => Self::Operator,
            Rank::Admin => Self::Admin,
        }
    }
}

#[derive(Deserialize)]
struct Listed {
    tokens: Vec<TokenRecord>,
}

impl Token {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let store = match &self.data {
            Some(folder) => self.verb.store_in(folder, output).await?,
            None => TokenStore::Server(context),
        };
        match self.verb {
            Verb::Refusals { limit } => {
                let path = format!("access/refusals?limit={limit}");
                let page: DenialPage = context.administer(Method::GET, &path, None).await?;
                output.many("refusals", &page.refusals, &REFUSAL_COLUMNS)
            }
            Verb::Create(create) => {
                let made = store.create(create).await?;
                output.said(&made, &made.token)
            }
            Verb::Ls => output.many("tokens", &store.all().await?, &COLUMNS),
            Verb::Revoke { id } => {
                let record = store.revoke(&id).await?;
                output.said(&record, &format!("token {} revoked", record.id))
            }
        }
    }
}

impl Verb {
    /// The tokens in a data folder. The first one may be created before the first start of a
    /// server; for everything else a folder without data is a mistake.
    async fn store_in(
        &self,
        folder: &Path,
        output: &Output,
    ) -> Result<TokenStore<'static>, Failure> {
        let there = existing_logs(folder);
        match self {
            Self::Refusals { .. } => {
                let reason = "refused requests are known to a running server only: omit --data";
                return Err(Fault::Usage { reason: reason.to_owned() }.into());
            }
            Self::Create(_) if there.is_err() => {
                let folder = folder.display();
                output.note(&format!("there was no data in {folder}: it is a new folder"));
            }
            Self::Create(_) => {}
            Self::Ls | Self::Revoke { .. } => drop(there?),
        }
        let home = data_folder::home(folder).map_err(baton::error::Error::from)?;
        Ok(TokenStore::Data(Tokens::of(&baton::open(home).await?)?))
    }
}

/// Where tokens are stored: in a data folder, or behind a server.
enum TokenStore<'a> {
    Data(Tokens),
    Server(&'a Context),
}

impl TokenStore<'_> {
    async fn create(&self, create: Create) -> Result<Made, Failure> {
        let Create { name, role, speaks_for, workspaces, namespaces, ttl, .. } = create;
        let quota = Quota {
            operations_per_s: create.rate,
            bytes_per_s: create.bytes_rate,
            connections_max: create.connections_max,
            watches_max: create.watches_max,
        };
        let grant = Grant { role: role.into(), workspaces, namespaces, agent: speaks_for };
        match self {
            Self::Data(tokens) => {
                let wanted = Wanted { name, grant, ttl_ms: ttl, quota: Some(quota) };
                let Made { token, record } = tokens.create(wanted).await?;
                Ok(Made { token, record: record.shown() })
            }
            Self::Server(context) => {
                let mut wanted = json!({"name": name, "grant": grant, "ttl_ms": ttl});
                // Left out if empty: older servers do not know the field.
                if !quota.is_none() {
                    wanted["quota"] = json!(quota);
                }
                context.administer(Method::POST, "access/tokens", Some(&wanted)).await
            }
        }
    }

    async fn all(&self) -> Result<Vec<TokenRecord>, Failure> {
        match self {
            Self::Data(tokens) => {
                Ok(tokens.all().await?.into_iter().map(TokenRecord::shown).collect())
            }
            Self::Server(context) => {
                let listed: Listed = context.administer(Method::GET, "access/tokens", None).await?;
                Ok(listed.tokens)
            }
        }
    }

    async fn revoke(&self, id: &str) -> Result<TokenRecord, Failure> {
        match self {
            Self::Data(tokens) => Ok(tokens.revoke(id).await?.shown()),
            Self::Server(context) => {
                context.administer(Method::DELETE, &format!("access/tokens/{id}"), None).await
            }
        }
    }
}
