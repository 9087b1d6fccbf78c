//! The binding HTTP+JSON: a method and a path as an operation with parameters.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::method::Method;

/// The resource and operation of a path, below the address of an agent.
#[derive(Debug, PartialEq)]
pub struct Route {
    /// The tenant that the path names.
    pub tenant: Option<String>,
    /// The requested operation.
    pub wanted: Wanted,
}

/// The operation that a path requests.
#[derive(Debug, PartialEq)]
pub enum Wanted {
    /// A call of JSON-RPC, which names its method in the body.
    JsonRpc,
    /// The card.
    Card,
    /// An operation, with the parameters of the path.
    Operation(Method, Map<String, Value>),
}

/// First segments that are not a tenant.
const KNOWN: [&str; 5] =
    ["message:send", "message:stream", "tasks", "extendedAgentCard", ".well-known"];

/// Finds the operation of a method and a path.
pub fn route(http_method: &str, path: &str) -> Result<Route, Error> {
    let mut segments = Vec::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        let decoded = percent_decode_str(segment).decode_utf8();
        let bad = |_| Error::new(ErrorKind::InvalidRequest, "the path is not UTF-8");
        segments.push(decoded.map_err(bad)?.into_owned());
    }
    let has_tenant = segments.first().is_some_and(|first| !KNOWN.contains(&first.as_str()));
    let tenant = has_tenant.then(|| segments.remove(0));
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let wanted = wanted(http_method, &segments).ok_or_else(|| {
        let message = format!("there is no {http_method} /{}", segments.join("/"));
        Error::new(ErrorKind::MethodNotFound, message)
    })?;
    Ok(Route { tenant, wanted })
}

fn wanted(http_method: &str, segments: &[&str]) -> Option<Wanted> {
    let mut params = Map::new();
    let mut param = |name: &str, value: &str| {
        params.insert(name.to_owned(), Value::from(value));
    };
    let method = match (http_method, segments) {
        ("POST", []) => return Some(Wanted::JsonRpc),
        ("GET", [".well-known", "agent-card.json"]) => return Some(Wanted::Card),
        ("POST", ["message:send"]) => Method::SendMessage,
        ("POST", ["message:stream"]) => Method::SendStreamingMessage,
        ("GET", ["tasks"]) => Method::ListTasks,
        ("GET", ["extendedAgentCard"]) => Method::GetExtendedAgentCard,
        ("POST", ["tasks", task]) if task.ends_with(":cancel") => {
            param("id", task.strip_suffix(":cancel")?);
            Method::CancelTask
        }
        // The table of the specification has POST and its definition has GET.
        ("POST" | "GET", ["tasks", task]) if task.ends_with(":subscribe") => {
            param("id", task.strip_suffix(":subscribe")?);
            Method::SubscribeToTask
        }
        ("GET", ["tasks", task]) => {
            param("id", task);
            Method::GetTask
        }
        ("POST", ["tasks", task, "pushNotificationConfigs"]) => {
            param("taskId", task);
            Method::CreateTaskPushNotificationConfig
        }
        ("GET", ["tasks", task, "pushNotificationConfigs"]) => {
            param("taskId", task);
            Method::ListTaskPushNotificationConfigs
        }
        ("GET" | "DELETE", ["tasks", task, "pushNotificationConfigs", config]) => {
            param("taskId", task);
            param("id", config);
            match http_method {
                "GET" => Method::GetTaskPushNotificationConfig,
                _ => Method::DeleteTaskPushNotificationConfig,
            }
        }
        _ => return None,
    };
    Some(Wanted::Operation(method, params))
}

/// The parameters of path, query and body together. Values that are given twice must agree.
pub fn params(
    path: Map<String, Value>,
    query: &str,
    body: &[u8],
) -> Result<Map<String, Value>, Error> {
    let mut params = match body {
        [] => Map::new(),
        body => serde_json::from_slice(body).map_err(|error| {
            Error::new(ErrorKind::Parse, format!("the body is not a JSON object: {error}"))
        })?,
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = value.replace('+', " ");
        let value = percent_decode_str(&value).decode_utf8();
        let bad = |_| Error::new(ErrorKind::InvalidRequest, "the query is not UTF-8");
        let value = typed(name, &value.map_err(bad)?);
        agree(&mut params, name, value)?;
    }
    for (name, value) in path {
        agree(&mut params, &name, value)?;
    }
    Ok(params)
}

fn typed(name: &str, value: &str) -> Value {
    match name {
        "historyLength" | "pageSize" => value.parse::<i64>().map_or(value.into(), Value::from),
        "includeArtifacts" => value.parse::<bool>().map_or(value.into(), Value::from),
        _ => value.into(),
    }
}

fn agree(params: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), Error> {
    match params.get(name) {
        Some(other) if *other != value => {
            Err(Error::invalid(name, &"the path or the query and the body say different things"))
        }
        Some(_) | None => {
            params.insert(name.to_owned(), value);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_operation_has_a_path_with_and_without_a_tenant() {
        for (http_method, path, method) in [
            ("POST", "message:send", Method::SendMessage),
            ("POST", "message:stream", Method::SendStreamingMessage),
            ("GET", "tasks/t-1", Method::GetTask),
            ("GET", "tasks", Method::ListTasks),
            ("POST", "tasks/t-1:cancel", Method::CancelTask),
            ("POST", "tasks/t-1:subscribe", Method::SubscribeToTask),
            ("GET", "tasks/t-1:subscribe", Method::SubscribeToTask),
            ("POST", "tasks/t-1/pushNotificationConfigs", Method::CreateTaskPushNotificationConfig),
            ("GET", "tasks/t-1/pushNotificationConfigs", Method::ListTaskPushNotificationConfigs),
            ("GET", "tasks/t-1/pushNotificationConfigs/c", Method::GetTaskPushNotificationConfig),
            (
                "DELETE",
                "tasks/t-1/pushNotificationConfigs/c",
                Method::DeleteTaskPushNotificationConfig,
            ),
            ("GET", "extendedAgentCard", Method::GetExtendedAgentCard),
        ] {
            for tenant in [None, Some("team")] {
                let path = tenant.map_or(path.to_owned(), |tenant| format!("{tenant}/{path}"));
                let found = route(http_method, &path).unwrap();
                assert_eq!(found.tenant.as_deref(), tenant, "{path}");
                let Wanted::Operation(found, params) = found.wanted else { panic!("{path}") };
                assert_eq!(found, method, "{path}");
                for name in ["id", "taskId"] {
                    let value = params.get(name);
                    let is_right = |value: &Value| *value == json!("t-1") || *value == json!("c");
                    assert!(value.is_none_or(is_right), "{path}");
                }
            }
        }
        assert_eq!(route("POST", "").unwrap().wanted, Wanted::JsonRpc);
        assert_eq!(route("GET", "/team/.well-known/agent-card.json").unwrap().wanted, Wanted::Card);
        for (http_method, path) in [("PUT", "tasks"), ("GET", "message:send"), ("GET", "a/b/c")] {
            assert!(route(http_method, path).is_err(), "{http_method} {path}");
        }
    }

    #[test]
    fn parameters_come_from_everywhere_and_agree() {
        let path = || Map::from_iter([("id".to_owned(), json!("t-1"))]);
        let read = params(path(), "historyLength=2&includeArtifacts=true", b"").unwrap();
        assert_eq!(read["historyLength"], 2);
        assert_eq!(read["includeArtifacts"], true);
        assert!(params(path(), "", br#"{"id":"t-1"}"#).is_ok());
        assert!(params(path(), "", br#"{"id":"t-2"}"#).is_err());
        assert!(params(path(), "id=t-2", b"").is_err());
        assert!(params(path(), "", b"[]").is_err());
    }
}
