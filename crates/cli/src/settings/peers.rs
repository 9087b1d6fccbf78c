//! The agents of other systems to which `baton serve` sends tasks.

use std::path::Path;

use baton_core::WorkspaceName;
use baton_server::{Peer, Peers};
use clap::Args;

use super::{Sources, keys};
use crate::failure::{Failure, Fault};

/// The options about agents of other systems.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PeerOptions {
    /// Have the tasks of this agent done by an agent of another system, over A2A; repeatable
    #[arg(long = "a2a-peer", value_name = "AGENT=URL")]
    peer: Vec<String>,
    /// File with the token that this peer requires; repeatable
    #[arg(long = "a2a-peer-token", value_name = "AGENT=FILE")]
    peer_token: Vec<String>,
    /// Let agents of this workspace register with an A2A address of their own; repeatable
    #[arg(long = "a2a-registered", value_name = "WORKSPACE")]
    registered: Vec<String>,
    /// Also allow peers at private, loopback and link-local addresses
    #[arg(long = "a2a-peers-private")]
    peers_private: bool,
}

/// The effective settings about them: lists are separated by commas.
#[derive(Debug)]
pub(crate) struct PeerSettings {
    peers: String,
    tokens: String,
    registered: String,
    private: bool,
}

fn each(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|one| !one.is_empty())
}

fn usage(reason: String) -> Failure {
    Fault::Usage { reason }.into()
}

impl PeerSettings {
    /// Resolves the settings from options, environment, file and defaults.
    pub(super) fn of(options: &PeerOptions, sources: &mut Sources) -> Result<Self, Failure> {
        let mut text = |key, option: Option<&str>| {
            Ok::<_, Failure>(sources.choose(key, option)?.unwrap_or_default())
        };
        let peers = text(&keys::A2A_PEERS, Some(&options.peer.join(",")))?;
        let tokens = text(&keys::A2A_PEER_TOKENS, Some(&options.peer_token.join(",")))?;
        let registered = text(&keys::A2A_REGISTERED, Some(&options.registered.join(",")))?;
        let private = options.peers_private.then_some("true");
        let private = text(&keys::A2A_PEERS_PRIVATE, private)? == "true";
        Ok(Self { peers, tokens, registered, private })
    }

    /// The agents, if there are any; reads the files with their tokens.
    pub(crate) fn read(&self, ca_file: Option<&Path>) -> Result<Option<Peers>, Failure> {
        let peers = self.named()?;
        let bad = |error| usage(format!("--a2a-registered: {error}"));
        let registered = each(&self.registered).map(WorkspaceName::parse);
        let registered = registered.collect::<Result<Vec<_>, _>>().map_err(bad)?;
        if peers.is_empty() && registered.is_empty() {
            return Ok(None);
        }
        let mut peers = Peers::new(peers, self.private, ca_file)?;
        peers.registered = registered;
        Ok(Some(peers))
    }

    /// The agents that are named, each with its token if there is a file for it.
    fn named(&self) -> Result<Vec<Peer>, Failure> {
        let mut found: Vec<Peer> = Vec::new();
        for text in each(&self.peers) {
            let peer = Peer::parse(text).map_err(|why| usage(format!("--a2a-peer: {why}")))?;
            if found.iter().any(|other| other.name() == peer.name()) {
                return Err(usage(format!("--a2a-peer: `{}` is named twice", peer.name())));
            }
            found.push(peer);
        }
        for text in each(&self.tokens) {
            let (name, file) = text.split_once('=').unwrap_or((text, ""));
            let is_named = |peer: &&mut Peer| peer.name() == name || peer.agent.as_str() == name;
            let Some(peer) = found.iter_mut().find(is_named) else {
                return Err(usage(format!("--a2a-peer-token: there is no peer `{name}`")));
            };
            let unreadable = |error: std::io::Error| {
                let (given, reason) = (file.to_owned(), error.to_string());
                Failure::from(Fault::Unreadable { given, reason })
            };
            let token = std::fs::read_to_string(file).map_err(unreadable)?.trim().to_owned();
            if token.is_empty() || token.bytes().any(|byte| !(0x21..0x7f).contains(&byte)) {
                return Err(usage(format!("--a2a-peer-token: `{file}` has no usable token")));
            }
            peer.token = Some(token);
        }
        Ok(found)
    }
}
