//! Cards: the capabilities of the fleet, and of one agent.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::agent::Agent;
use serde_json::{Value, json};

use crate::error::Error;
use crate::params::VERSION;
use crate::service::{Addressee, Service};
use crate::transfer::TRANSFER_CONTEXT;

/// Media types of messages and results.
const MODES: [&str; 2] = ["text/plain", "application/json"];
/// How many skills a card has.
const SKILLS_MAX: usize = 256;

/// The server that the card is of.
#[derive(Clone, Debug)]
pub struct Site {
    /// Scheme, host and port, such as `https://baton.example`.
    pub origin: String,
    /// Whether every caller needs a token.
    pub tokens: bool,
    /// Whether the server makes calls.
    pub push: bool,
}

fn skill(name: &str, description: &str) -> Value {
    json!({"id": name, "name": name, "description": description, "tags": [name]})
}

impl Site {
    /// The card of an addressee, without skills that depend on a workspace.
    pub(crate) fn card(&self, addressee: &Addressee, tenant: Option<&str>) -> Value {
        let path = match addressee {
            Addressee::Fleet => "fleet".to_owned(),
            Addressee::Agent(agent) => format!("agents/{agent}"),
        };
        let url = format!("{}/a2a/{path}", self.origin);
        let interface = |binding: &str| {
            let mut interface =
                json!({"url": url, "protocolBinding": binding, "protocolVersion": VERSION});
            if let Some(tenant) = tenant {
                interface["tenant"] = tenant.into();
            }
            interface
        };
        // A path has no room for an agent there, and clients need a host and a port.
        let mut grpc = interface("GRPC");
        grpc["url"] = self.host_and_port().into();
        if let Addressee::Agent(agent) = addressee {
            let workspace = tenant.unwrap_or("default");
            grpc["tenant"] = format!("{workspace}/agents/{agent}").into();
        }
        let extension = json!({
            "uri": TRANSFER_CONTEXT, "required": false,
            "description": "Originating task and agent, state, output keys, hand-off and token.",
        });
        let mut card = json!({
            "name": "Baton",
            "description": "A fleet of agents that share tasks, state and hand-offs.",
            "version": env!("CARGO_PKG_VERSION"),
            "supportedInterfaces": [interface("JSONRPC"), interface("HTTP+JSON"), grpc],
            "capabilities": {
                "streaming": true, "pushNotifications": self.push, "extendedAgentCard": true,
                "extensions": [extension],
            },
            "defaultInputModes": MODES,
            "defaultOutputModes": MODES,
            "skills": [{
                "id": "task", "name": "task", "tags": ["task"],
                "description": "Create a task, which an agent of the fleet claims and completes.",
            }],
        });
        if self.tokens {
            card["securitySchemes"] =
                json!({"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
            card["securityRequirements"] = json!([{"schemes": {"bearer": {"list": []}}}]);
        }
        card
    }

    fn host_and_port(&self) -> String {
        let (scheme, host) = self.origin.split_once("://").unwrap_or(("http", &self.origin));
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let port = if scheme == "https" { 443 } else { 80 };
        if has_port { host.to_owned() } else { format!("{host}:{port}") }
    }

    /// The card for callers without a token, if all other requests need one: it contains nothing
    /// about any workspace.
    pub fn public_card(&self) -> Value {
        self.card(&Addressee::Fleet, None)
    }
}

fn skills_of(agents: &[Agent]) -> Vec<Value> {
    let mut by_capability: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for agent in agents {
        for capability in &agent.capabilities {
            by_capability.entry(capability).or_default().insert(agent.id.as_str());
        }
    }
    let described = |(name, agents): (&str, BTreeSet<&str>)| {
        let agents: Vec<&str> = agents.into_iter().take(8).collect();
        skill(name, &format!("Offered by {}.", agents.join(", ")))
    };
    by_capability.into_iter().take(SKILLS_MAX).map(described).collect()
}

impl Service {
    /// The card with everything that the caller may see.
    pub async fn card(&self, tenant: Option<&str>) -> Result<Value, Error> {
        let mut card = self.site.card(&self.addressee, tenant);
        match &self.addressee {
            Addressee::Fleet => {
                let agents = self.workspace.agents().active().await?;
                let skills = card["skills"].as_array_mut().expect("a card has skills");
                skills.extend(skills_of(&agents));
            }
            Addressee::Agent(agent) => {
                let agent = self.workspace.agents().get(agent.as_str()).await?;
                let name = agent.id.as_str();
                let metadata = agent.metadata.as_ref().map(baton_core::Json::to_value);
                let described = metadata.as_ref().and_then(|data| data["description"].as_str());
                let usual = format!("The agent `{name}` of a Baton fleet.");
                card["name"] = name.into();
                card["description"] = described.unwrap_or(&usual).into();
                let skills = skills_of(std::slice::from_ref(&agent));
                if !skills.is_empty() {
                    card["skills"] = skills.into();
                }
            }
        }
        Ok(card)
    }
}
