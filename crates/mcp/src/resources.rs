//! Resources: the same answers as those of the tools, by URI, with subscriptions.

use baton_client::Workspace;
use baton_core::wire::Problem;
use percent_encoding::percent_decode_str;
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::{Value, json};

use crate::operation::Object;
use crate::reference::{Moment, Reference, long};
use crate::tools::{self, Call, brief, list};
use crate::view::Detail;

/// The beginning of every URI.
const SCHEME: &str = "baton://";
/// The media type of every resource.
pub(crate) const MEDIA_TYPE: &str = "application/json";
/// How many records a list has.
const RECORDS: u64 = 20;

/// The object of a URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceUri {
    Brief,
    Tasks,
    Inbox,
    Handoffs,
    Namespace(String),
    /// One record, by its reference.
    Record(String),
}

/// The resources that are listed.
pub(crate) fn resources() -> Vec<Resource> {
    let rows = [
        ("brief", "Brief", "Who you are, what you hold, and what waits for you"),
        ("tasks", "Tasks", "Tasks that are ready"),
        ("inbox", "Inbox", "Messages that wait for you"),
        ("handoffs", "Hand-offs", "Hand-offs that are offered to you"),
        ("state/shared", "Shared state", "The entries of the namespace shared"),
    ];
    let resource = |(path, name, description): (&str, &str, &str)| {
        let resource = Resource::new(format!("{SCHEME}{path}"), name);
        resource.with_description(description).with_mime_type(MEDIA_TYPE)
    };
    rows.into_iter().map(resource).collect()
}

/// The templates of all others.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let rows = [
        ("tasks/{id}", "Task"),
        ("handoffs/{id}", "Hand-off"),
        ("messages/{id}", "Message"),
        ("checkpoints/{id}", "Checkpoint"),
        ("state/{namespace}", "Namespace"),
        ("state/{namespace}/{key}", "Entry"),
    ];
    let template = |(path, name): (&str, &str)| {
        ResourceTemplate::new(format!("{SCHEME}{path}"), name).with_mime_type(MEDIA_TYPE)
    };
    rows.into_iter().map(template).collect()
}

impl ResourceUri {
    /// The place that a URI names; none if it names none.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME)?;
        let path = percent_decode_str(path).decode_utf8().ok()?;
        Some(match &*path {
            "brief" => Self::Brief,
            "tasks" => Self::Tasks,
            "inbox" => Self::Inbox,
            "handoffs" => Self::Handoffs,
            other => match other.split_once('/')? {
                ("state", rest) if !rest.is_empty() && !rest.contains('/') => {
                    Self::Namespace(rest.to_owned())
                }
                ("tasks" | "handoffs" | "messages" | "checkpoints" | "state", rest)
                    if !rest.is_empty() =>
                {
                    Self::Record(other.to_owned())
                }
                _ => return None,
            },
        })
    }

    /// The subjects whose events change it.
    pub(crate) fn pattern(&self, agent: &str) -> Option<String> {
        Some(match self {
            Self::Brief => "**".to_owned(),
            Self::Tasks => "tasks/**".to_owned(),
            Self::Inbox => format!("inbox/{agent}/**"),
            Self::Handoffs => "handoffs/**".to_owned(),
            Self::Namespace(name) => format!("state/{name}/**"),
            Self::Record(reference) => match Reference::parse(reference).ok()? {
                Reference::Task(id) => format!("tasks/{}", long(&id)),
                Reference::Handoff(id) => format!("handoffs/{id}"),
                Reference::Entry { namespace, key, at: Moment::Now } => {
                    format!("state/{namespace}/{key}")
                }
                _ => return None,
            },
        })
    }

    /// Its content.
    pub(crate) async fn read(&self, workspace: &Workspace) -> Result<Value, Problem> {
        let agent = workspace.agent().as_str();
        match self {
            Self::Brief => brief(workspace, Detail::Detailed).await,
            Self::Tasks => {
                list(workspace, "task.list", json!({"status": "pending", "limit": RECORDS})).await
            }
            Self::Inbox => {
                let fields = json!({"agent": agent, "status": "waiting", "limit": RECORDS});
                list(workspace, "inbox.list", fields).await
            }
            Self::Handoffs => {
                list(workspace, "handoff.list", json!({"to": agent, "limit": RECORDS})).await
            }
            Self::Namespace(name) => {
                list(workspace, "state.list", json!({"namespace": name, "limit": RECORDS})).await
            }
            Self::Record(reference) => {
                let mut arguments = Object::new();
                arguments.insert("ref".to_owned(), Value::from(reference.as_str()));
                let call = Call { workspace, arguments, detail: Detail::Detailed };
                tools::run("baton_get", call).await.expect("there is such a tool")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_name_places() {
        let record = |text: &str| Some(ResourceUri::Record(text.to_owned()));
        for (uri, place) in [
            ("baton://brief", Some(ResourceUri::Brief)),
            ("baton://state/shared", Some(ResourceUri::Namespace("shared".to_owned()))),
            ("baton://state/shared/a%20b", record("state/shared/a b")),
            ("baton://tasks/t-7", record("tasks/t-7")),
            ("baton://tasks/", None),
            ("baton://secrets/x", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(ResourceUri::parse(uri), place, "{uri}");
        }
        assert!(resources().iter().all(|one| ResourceUri::parse(&one.uri).is_some()));
    }
}
