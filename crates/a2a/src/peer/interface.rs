//! The address of an agent and its protocol: the content of its card, checked.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::method::Method;
use crate::params::{CARD_PATH, VERSION, check_version};
use crate::peer::PeerError;
use crate::transfer::TRANSFER_CONTEXT;

/// The scheme of addresses of agents, which may be omitted.
const SCHEME: &str = "a2a:";

/// A binding of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// JSON-RPC.
    JsonRpc,
    /// HTTP+JSON.
    HttpJson,
}

impl Binding {
    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
        }
    }
}

/// An interface of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its address, without a slash at the end.
    pub url: String,
    /// How it is called.
    pub binding: Binding,
    /// The tenant that every request names.
    pub tenant: Option<String>,
    /// Whether changes of a task can be streamed.
    pub streaming: bool,
    /// Whether it understands a transfer context.
    pub transfer_context: bool,
}

/// A request to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The whole address.
    pub url: String,
    /// The body; none for GET.
    pub body: Option<String>,
}

/// The address of the card of an agent: the one that was named, or below it.
pub fn card_url(named: &str) -> Result<String, PeerError> {
    let url = named.strip_prefix(SCHEME).unwrap_or(named);
    if origin(url).is_none() {
        return Err(PeerError::fatal(format!(
            "`{}` is not the address of an agent: write `https://host/path`",
            shown(named)
        )));
    }
    if url.ends_with("/agent-card.json") {
        return Ok(url.to_owned());
    }
    Ok(format!("{}/{CARD_PATH}", url.trim_end_matches('/')))
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let is_plain = url.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    // A name and password before the host would go to logs and events.
    let is_host = !authority.is_empty() && !authority.contains('@');
    let scheme = scheme.to_ascii_lowercase();
    let is_known = scheme == "https" || scheme == "http";
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.to_ascii_lowercase();
    let authority = authority.strip_suffix(usual).unwrap_or(&authority);
    (is_plain && is_host && is_known).then(|| format!("{scheme}://{authority}"))
}

/// The beginning of a text from a peer, without control characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_default).collect()
}

impl Interface {
    /// The first interface of a card that can be used. It must have the origin of the card:
    /// credentials are for the host that was named.
    pub fn of(card: &Value, card_url: &str) -> Result<Self, PeerError> {
        let Some(interfaces) = card["supportedInterfaces"].as_array() else {
            let detail = "the card has no `supportedInterfaces`: it is not one of version 1.0";
            return Err(PeerError::fatal(detail));
        };
        check_extensions(card)?;
        let mut refused = String::from("the card has no interface");
        for interface in interfaces.iter().take(32) {
            match Self::usable(card, interface, card_url) {
                Ok(usable) => return Ok(usable),
                Err(reason) => refused = reason,
            }
        }
        Err(PeerError::fatal(refused))
    }

    fn usable(card: &Value, interface: &Value, card_url: &str) -> Result<Self, String> {
        let text = |name: &str| interface[name].as_str().unwrap_or_default();
        let binding = match text("protocolBinding") {
            "JSONRPC" => Binding::JsonRpc,
            "HTTP+JSON" => Binding::HttpJson,
            other => return Err(format!("the binding `{}` is not supported", shown(other))),
        };
        let version = text("protocolVersion").to_owned();
        if check_version(std::slice::from_ref(&version)).is_err() {
            let version = shown(&version);
            return Err(format!("the agent speaks version `{version}`, not {VERSION}"));
        }
        let url = text("url").trim_end_matches('/').to_owned();
        match origin(&url) {
            Some(there) if Some(&there) == origin(card_url).as_ref() => {}
            Some(there) => {
                return Err(format!(
                    "the card points to {}, another host than that of the card",
                    shown(&there)
                ));
            }
            None => return Err(format!("the card has the address `{}`", shown(&url))),
        }
        let tenant = Some(text("tenant")).filter(|tenant| !tenant.is_empty());
        let capabilities = &card["capabilities"];
        let extensions = capabilities["extensions"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(Self {
            url,
            binding,
            tenant: tenant.map(str::to_owned),
            streaming: capabilities["streaming"].as_bool().unwrap_or_default(),
            transfer_context: extensions.iter().any(|known| known["uri"] == TRANSFER_CONTEXT),
        })
    }

    /// A request for an operation on a task or a message.
    pub fn call(&self, method: Method, mut params: Value) -> Call {
        let name = Method::ALL.into_iter().find(|(_, known)| *known == method);
        let name = name.map_or("", |(name, _)| name);
        if self.binding == Binding::JsonRpc {
            if let Some(tenant) = &self.tenant {
                params["tenant"] = tenant.as_str().into();
            }
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": params});
            return Call { url: self.url.clone(), body: Some(call.to_string()) };
        }
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let tenant = self.tenant.as_deref().map(encoded);
        let base = tenant.map_or(self.url.clone(), |tenant| format!("{}/{tenant}", self.url));
        let id = encoded(params["id"].as_str().unwrap_or_default());
        let context = encoded(params["contextId"].as_str().unwrap_or_default());
        let (path, body) = match method {
            Method::SendMessage => ("message:send".to_owned(), Some(params.to_string())),
            Method::SendStreamingMessage => ("message:stream".to_owned(), Some(params.to_string())),
            Method::CancelTask => (format!("tasks/{id}:cancel"), Some("{}".to_owned())),
            Method::SubscribeToTask => (format!("tasks/{id}:subscribe"), None),
            Method::ListTasks => (format!("tasks?contextId={context}"), None),
            Method::GetExtendedAgentCard => ("extendedAgentCard".to_owned(), None),
            _ => (format!("tasks/{id}"), None),
        };
        Call { url: format!("{base}/{path}"), body }
    }
}

/// Refuses an agent that demands an extension which is not known here.
fn check_extensions(card: &Value) -> Result<(), PeerError> {
    let extensions = card["capabilities"]["extensions"].as_array();
    let unknown = extensions.into_iter().flatten().find(|extension| {
        extension["required"].as_bool().unwrap_or_default() && extension["uri"] != TRANSFER_CONTEXT
    });
    match unknown {
        None => Ok(()),
        Some(extension) => {
            let uri = shown(extension["uri"].as_str().unwrap_or_default());
            Err(PeerError::fatal(format!("the agent requires the extension `{uri}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str = "https://a.example/x/.well-known/agent-card.json";

    fn card(interface: &Value) -> Value {
        json!({"name": "a", "supportedInterfaces": [interface],
               "capabilities": {"streaming": true, "extensions": [{"uri": TRANSFER_CONTEXT}]}})
    }

    fn interface(url: &str, binding: &str, version: &str) -> Value {
        json!({"url": url, "protocolBinding": binding, "protocolVersion": version})
    }

    #[test]
    fn a_card_is_found_by_the_address_of_its_agent() {
        for (named, url) in
            [("https://a.example/x", CARD), ("a2a:https://a.example/x/", CARD), (CARD, CARD)]
        {
            assert_eq!(card_url(named).as_deref(), Ok(url), "{named}");
        }
        for bad in [
            "",
            "a.example",
            "ftp://a.example",
            "https://",
            "https://u:p@a.example",
            "https://a.example/\n",
            "a2a:",
        ] {
            assert!(card_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_interface_has_the_host_of_its_card_and_version_1() {
        let good = card(&interface("https://A.example:443/x/", "JSONRPC", "1.0"));
        let found = Interface::of(&good, CARD).unwrap();
        assert_eq!(found.binding, Binding::JsonRpc);
        assert!(found.streaming && found.transfer_context);
        for (bad, reason) in [
            (json!({}), "supportedInterfaces"),
            (json!([]), "supportedInterfaces"),
            (card(&json!(7)), "binding"),
            (card(&interface("https://a.example/x", "GRPC", "1.0")), "binding `GRPC`"),
            (card(&interface("https://a.example/x", "JSONRPC", "0.3")), "version `0.3`"),
            (card(&interface("https://b.example/x", "JSONRPC", "1.0")), "another host"),
            (card(&interface("http://a.example/x", "JSONRPC", "1.0")), "another host"),
            (card(&interface("https://a.example:8443/x", "JSONRPC", "1.0")), "another host"),
            (card(&interface("https://a.example@b.example/", "JSONRPC", "1.0")), "the address"),
            (card(&interface("/x", "JSONRPC", "1.0")), "the address"),
        ] {
            let error = Interface::of(&bad, CARD).unwrap_err();
            assert!(error.detail.contains(reason), "{bad}: {}", error.detail);
            assert!(!error.again);
        }
        let mut demanding = good.clone();
        demanding["capabilities"]["extensions"] = json!([{"uri": "urn:x", "required": true}]);
        let error = Interface::of(&demanding, CARD).unwrap_err();
        assert!(error.detail.contains("urn:x"));
        let mut several = good;
        let usable = interface("https://a.example/y", "HTTP+JSON", "1.0.1");
        several["supportedInterfaces"] =
            json!([interface("https://a.example/x", "GRPC", "1.0"), usable]);
        assert_eq!(Interface::of(&several, CARD).unwrap().binding, Binding::HttpJson);
    }

    #[test]
    fn a_tenant_is_a_member_or_a_segment() {
        let mut found =
            Interface::of(&card(&interface("https://a.example/x", "JSONRPC", "1.0")), CARD)
                .unwrap();
        found.tenant = Some("team".to_owned());
        let call = found.call(Method::GetTask, json!({"id": "t/1"}));
        let body: Value = serde_json::from_str(&call.body.unwrap()).unwrap();
        assert_eq!(
            (&*call.url, &body["params"]["tenant"]),
            ("https://a.example/x", &json!("team"))
        );
        found.binding = Binding::HttpJson;
        let call = found.call(Method::GetTask, json!({"id": "t/1"}));
        assert_eq!((&*call.url, call.body), ("https://a.example/x/team/tasks/t%2F1", None));
    }
}
