//! `baton a2a`: agents of other systems.

use std::path::{Path, PathBuf};

use baton_server::{Outgoing, Remote, Webhooks};
use clap::{Args, Subcommand};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::{Output, plain};

const AFTER_HELP: &str = "\
Examples:
  baton a2a card https://agents.example/reviewer
  baton a2a send https://agents.example/reviewer 'review the last change'
  baton a2a send https://agents.example/reviewer 'the second one' --task t-7
  baton a2a send http://127.0.0.1:4747/a2a/fleet 'run the tests' --skill rust -o json

The address is that of an agent, or of its card. A message is sent once: to repeat one whose
outcome is unknown, give it an id with --message-id, and use the same one again. To have the tasks
of an agent done elsewhere, see `baton serve --a2a-peer` and docs/a2a.md.";

/// Talk to agents of other systems over A2A
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct A2a {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Fetch the card of an agent, check it and show it
    Card {
        /// Address of the agent
        #[arg(value_name = "URL")]
        address: String,
        /// File with the token that the agent requires
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    Send(Send),
}

/// Send a message, and print the outcome
#[derive(Args)]
struct Send {
    /// Address of the agent
    #[arg(value_name = "URL")]
    address: String,
    /// Words of the message
    #[arg(value_name = "TEXT")]
    words: String,
    /// Continue this task of the agent, which needs input
    #[arg(long = "task", value_name = "ID")]
    remote_task: Option<String>,
    /// Conversation that the message belongs to
    #[arg(long, value_name = "ID")]
    context: Option<String>,
    /// Capability that the agent must have, if a Baton fleet is addressed
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// Id of the message; the same one again has no further effect at a Baton server
    #[arg(long, value_name = "ID")]
    message_id: Option<String>,
    /// Return as soon as the message has arrived
    #[arg(long)]
    no_wait: bool,
    /// File with the token that the agent requires
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl A2a {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Card { address, token_file } => {
                let remote = remote(&address, token_file.as_deref(), context)?;
                let without = |error| without_card(&address, error);
                let card = remote.card().await.map_err(without)?;
                let interface = remote.interface().await.map_err(without)?;
                let text = |name: &str| card[name].as_str().unwrap_or_default();
                let skills = card["skills"].as_array().into_iter().flatten();
                let skills: Vec<_> = skills.filter_map(|skill| skill["id"].as_str()).collect();
                let shown = json!({
                    "name": text("name"), "description": text("description"),
                    "version": text("version"), "url": interface.url,
                    "binding": interface.binding.name(), "streaming": interface.streaming,
                    "transfer_context": interface.transfer_context, "skills": skills.join(", "),
                });
                output.one_of(&card, "agent", &shown)
            }
            Verb::Send(send) => send.run(context, output).await,
        }
    }
}

impl Send {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let remote = remote(&self.address, self.token_file.as_deref(), context)?;
        let made = || format!("{:032x}", SmallRng::from_os_rng().random::<u128>());
        let outgoing = Outgoing {
            text: self.words,
            message_id: self.message_id.unwrap_or_else(made),
            task: self.remote_task,
            context: self.context,
            skill: self.skill,
            returns_at_once: self.no_wait,
        };
        let mut last = String::new();
        let sent = remote.send(&outgoing, |update| {
            let line = progress(update);
            if line != last {
                output.note(&line);
                last = line;
            }
        });
        let ended = sent.await.map_err(|error| unusable(&self.address, error))?;
        let state = state(&ended);
        output.show(&ended, |_| text(&ended))?;
        match state.as_str() {
            "failed" | "canceled" | "rejected" => Err(Failure::Ended { exit: 1 }),
            _ => Ok(()),
        }
    }
}

fn remote(url: &str, token_file: Option<&Path>, context: &Context) -> Result<Remote, Failure> {
    let unreadable = |error: std::io::Error| {
        let given = token_file.unwrap_or(Path::new("")).display().to_string();
        Failure::from(Fault::Unreadable { given, reason: error.to_string() })
    };
    let token = token_file.map(std::fs::read_to_string).transpose().map_err(unreadable)?;
    let token = token.map(|token| token.trim().to_owned());
    // The user of the program can reach what it reaches.
    let webhooks = Webhooks::new(true, context.settings().ca_file.as_deref())?;
    Ok(Remote::new(url, token, webhooks))
}

/// The advice if a card cannot be fetched.
const CARD_ADVICE: &str = "check the address, and that the agent runs and supports version 1.0 of \
    the protocol; pass its token with --token-file";

fn unusable(url: &str, error: baton_server::PeerError) -> Failure {
    let (url, reason) = (url.to_owned(), error.detail);
    let fault = if error.is_refusal {
        Fault::PeerRefused { url, reason }
    } else {
        Fault::Peer { url, reason }
    };
    fault.into()
}

fn without_card(url: &str, error: baton_server::PeerError) -> Failure {
    let fault = Fault::Peer { url: url.to_owned(), reason: error.detail };
    Failure::from(fault).hinting(CARD_ADVICE)
}

/// The state of a task, in lower case; empty for anything else.
fn state(of: &Value) -> String {
    let status = of.get("status").or_else(|| of["statusUpdate"].get("status"));
    let state = status.and_then(|status| status["state"].as_str()).unwrap_or_default();
    state.trim_start_matches("TASK_STATE_").to_lowercase()
}

/// The contents of parts, one after the other.
fn words(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten();
    let word = |part: &Value| match (part["text"].as_str(), part.get("data")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(data)) => data.to_string(),
        (None, None) => part.to_string(),
    };
    parts.map(word).collect::<Vec<_>>().join("\n")
}

fn progress(update: &Value) -> String {
    let status = update.get("status").or_else(|| update["statusUpdate"].get("status"));
    let said = status.map(|status| words(&status["message"]["parts"])).unwrap_or_default();
    let name = state(update);
    if said.is_empty() { plain(&name) } else { plain(&format!("{name}: {said}")) }
}

/// The outcome of a message, for people.
fn text(ended: &Value) -> String {
    if let Some(message) = ended.get("message") {
        return format!("{}\n", plain(&words(&message["parts"])));
    }
    let task = ended["id"].as_str().unwrap_or_default();
    let mut lines = vec![format!("{}: {}", plain(task), plain(&state(ended)))];
    let said = words(&ended["status"]["message"]["parts"]);
    if !said.is_empty() {
        lines.push(plain(&said));
    }
    for artifact in ended["artifacts"].as_array().into_iter().flatten() {
        lines.push(plain(&words(&artifact["parts"])));
    }
    lines.join("\n") + "\n"
}
