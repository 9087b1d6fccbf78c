//! `baton token`: who may come in, and what they may do.

use std::path::PathBuf;

use baton_client::Method;
use baton_core::access::{Grant, Role};
use baton_core::{AgentId, Pattern};
use baton_server::Quota;
use baton_server::access::{DenialPage, Made, Record, Tokens, Wanted};
use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::input::milliseconds;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton token create ci --role worker --for ci --in 'team-*'
  baton token create dashboard --role reader --ttl 30d
  baton token create notes --role worker --namespace notes
  baton token create batch --role worker --rate 100 --watches-max 4
  baton token ls
  baton token revoke 3f9a1c0b77de                  open connections end within a second
  baton token refusals --limit 20                  who was refused what, and why; the newest first
  baton token create me --role admin --data ./.baton   without a server, as whoever owns the data

A token is printed once. What is kept is a digest of it.

Roles: reader asks and watches; worker takes part; operator sets up namespaces, rules and
reactions; admin forks, exports and makes tokens.";

const COLUMNS: [&str; 8] =
    ["id", "name", "role", "agent", "workspaces", "namespaces", "expires_at", "revoked_at"];

const REFUSAL_COLUMNS: [&str; 8] =
    ["at", "times", "who", "from", "operation", "workspace", "code", "detail"];

/// Make, list and revoke tokens, and see who was refused what
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Token {
    #[command(subcommand)]
    verb: Verb,
    /// Work on the data in this folder, while no server does
    #[arg(long, value_name = "FOLDER", global = true)]
    data: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Verb {
    Create(Create),
    /// List them, also those that were revoked
    Ls,
    /// Make one worth nothing
    Revoke {
        /// Which, by its id
        id: String,
    },
    /// See what was refused lately: who, what, where, why, when, from where
    Refusals {
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 100,
              value_parser = clap::value_parser!(u64).range(1..=1_000))]
        limit: u64,
    },
}

/// Make a token; it is printed once
#[derive(Args)]
struct Create {
    /// Whose it is, or what for
    name: String,
    /// How much it may
    #[arg(long, value_name = "ROLE")]
    role: Rank,
    /// The agent it speaks for; whoever is named if not given
    #[arg(long = "for", value_name = "AGENT", value_parser = agent)]
    speaks_for: Option<AgentId>,
    /// Workspaces it is for; all if not given; may be given several times
    #[arg(long = "in", value_name = "PATTERN")]
    workspaces: Vec<Pattern>,
    /// Namespaces it is for; all if not given; may be given several times
    #[arg(long = "namespace", value_name = "PATTERN")]
    namespaces: Vec<Pattern>,
    /// How long it is valid; until it is revoked unless given
    #[arg(long, value_name = "DURATION", value_parser = milliseconds)]
    ttl: Option<u64>,
    /// Operations a second; as the server has it for tokens unless given, like what follows
    #[arg(long, value_name = "COUNT", value_parser = count())]
    rate: Option<u64>,
    /// Bytes a second that it may write
    #[arg(long, value_name = "BYTES", value_parser = count())]
    bytes_rate: Option<u64>,
    /// Connections at a time
    #[arg(long, value_name = "COUNT", value_parser = count())]
    connections_max: Option<u64>,
    /// Watches at a time
    #[arg(long, value_name = "COUNT", value_parser = count())]
    watches_max: Option<u64>,
}

/// At least one: what nobody may do at all is for roles.
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
    tokens: Vec<Record>,
}

impl Token {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let desk = match &self.data {
            Some(folder) => Desk::Data(Tokens::of(&baton::open(folder).await?)?),
            None => Desk::Server(context),
        };
        match self.verb {
            Verb::Refusals { limit } => {
                let path = format!("access/refusals?limit={limit}");
                let page: DenialPage = context.administer(Method::GET, &path, None).await?;
                output.many(&page.refusals, &REFUSAL_COLUMNS)
            }
            Verb::Create(create) => {
                let made = desk.create(create).await?;
                output.said(&made, &made.token)
            }
            Verb::Ls => output.many(&desk.all().await?, &COLUMNS),
            Verb::Revoke { id } => {
                let record = desk.revoke(&id).await?;
                output.said(&record, &format!("{} is worth nothing any more", record.id))
            }
        }
    }
}

/// Where the tokens are.
enum Desk<'a> {
    Data(Tokens),
    Server(&'a Context),
}

impl Desk<'_> {
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
                let wanted = Wanted { name, grant, ttl_ms: ttl, quota };
                let Made { token, record } = tokens.create(wanted).await?;
                Ok(Made { token, record: record.shown() })
            }
            Self::Server(context) => {
                let mut wanted = json!({"name": name, "grant": grant, "ttl_ms": ttl});
                // Left out if there is none: a server of before does not know the word.
                if !quota.is_none() {
                    wanted["quota"] = json!(quota);
                }
                context.administer(Method::POST, "access/tokens", Some(&wanted)).await
            }
        }
    }

    async fn all(&self) -> Result<Vec<Record>, Failure> {
        match self {
            Self::Data(tokens) => Ok(tokens.all().await?.into_iter().map(Record::shown).collect()),
            Self::Server(context) => {
                let listed: Listed = context.administer(Method::GET, "access/tokens", None).await?;
                Ok(listed.tokens)
            }
        }
    }

    async fn revoke(&self, id: &str) -> Result<Record, Failure> {
        match self {
            Self::Data(tokens) => Ok(tokens.revoke(id).await?.shown()),
            Self::Server(context) => {
                context.administer(Method::DELETE, &format!("access/tokens/{id}"), None).await
            }
        }
    }
}
