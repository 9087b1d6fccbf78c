//! Resources: the same answers as those of the tools, by URI, with subscriptions.

use baton_client::Workspace;
use baton_core::wire::Problem;
use percent_encoding::percent_decode_str;
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::{Value, json};

use crate::operation::{Object, bad, given, perform};
use crate::reference::{Moment, Reference, at_present, task_id};
use crate::tools::{self, Call, brief};
use crate::view::{self, Detail};
use crate::waiting;

/// The beginning of every URI.
const SCHEME: &str = "baton://";
/// The media type of every resource.
pub(crate) const MEDIA_TYPE: &str = "application/json";
/// How many records a list has.
const RECORDS: usize = 20;
/// The maximum length of the pattern of a watch.
const PATTERN_BYTES_MAX: usize = 512;

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
                // Every character of a key is part of it, as in the template.
                ("state", rest) if !rest.is_empty() => {
                    Self::Record(format!("state/{}", at_present(rest)))
                }
                ("tasks" | "handoffs" | "messages" | "checkpoints", rest) if !rest.is_empty() => {
                    Self::Record(other.to_owned())
                }
                _ => return None,
            },
        })
    }

    /// The pattern of the subjects whose events can change it.
    pub(crate) async fn pattern(&self, workspace: &Workspace) -> Result<String, Problem> {
        Ok(match self {
            Self::Brief => "**".to_owned(),
            Self::Tasks => "tasks/**".to_owned(),
            Self::Inbox => format!("inbox/{}/**", workspace.agent()),
            Self::Handoffs => "handoffs/**".to_owned(),
            Self::Namespace(name) => format!("state/{name}/**"),
            Self::Record(reference) => match Reference::parse(reference)? {
                Reference::Task(name) => format!("tasks/{}", task_id(workspace, &name).await?),
                Reference::Handoff(id) => format!("handoffs/{id}"),
                // The owner of the inbox can change.
                Reference::Message(id) => format!("inbox/*/{id}"),
                Reference::Checkpoint(id) => of_checkpoint(workspace, &id).await?,
                Reference::Entry { namespace, key, at: Moment::Now } => {
                    let pattern = format!("state/{namespace}/{key}");
                    let fits = pattern.len() <= PATTERN_BYTES_MAX;
                    if fits { pattern } else { format!("state/{namespace}/**") }
                }
                _ => return Err(bad("uri", "there is no such resource")),
            },
        })
    }

    /// Its content.
    pub(crate) async fn read(&self, workspace: &Workspace) -> Result<Value, Problem> {
        let agent = workspace.agent().as_str();
        match self {
            Self::Brief => brief(workspace, Detail::Detailed).await,
            Self::Tasks => {
                let ready = waiting::ready_tasks(workspace, RECORDS).await?;
                let shown = view::tasks(&ready.value(), agent, Detail::Concise);
                Ok(listed("tasks", &shown, ready.has_more, "baton_search kind:task status:pending"))
            }
            Self::Inbox => {
                let messages = waiting::messages(workspace, RECORDS).await?;
                let shown = view::MESSAGE.all(&messages.value(), Detail::Concise);
                let how = format!("baton_search kind:message status:waiting to:\"{agent}\"");
                Ok(listed("messages", &shown, messages.has_more, &how))
            }
            Self::Handoffs => {
                let offers = waiting::handoffs(workspace, RECORDS).await?;
                let shown = view::handoffs(&offers.records, Detail::Concise);
                Ok(listed("handoffs", &shown, offers.has_more, "accept or reject some of these"))
            }
            Self::Namespace(name) => {
                let fields = json!({"namespace": name, "limit": RECORDS});
                let page = perform(workspace, "state.list", given(fields)).await?;
                let entries = page["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
                let shown = entries.iter().map(|one| view::entry(one, Detail::Concise));
                let shown: Vec<Value> = shown.collect();
                let how = format!("baton_search kind:key namespace:\"{name}\"");
                Ok(listed("entries", &shown, page["cursor"].is_string(), &how))
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

/// A list, and how to read the rest.
fn listed(name: &str, shown: &[Value], has_more: bool, how: &str) -> Value {
    let mut answer = json!({name: shown});
    if has_more {
        answer["narrow"] = Value::from(format!("Only the first. To see more: {how}"));
    }
    answer
}

/// Events of checkpoints name the task. Rules about keeping them, and checkpoints that do not exist
/// yet, are of any task.
async fn of_checkpoint(workspace: &Workspace, id: &str) -> Result<String, Problem> {
    match perform(workspace, "checkpoint.get", given(json!({"checkpoint": id}))).await {
        Ok(checkpoint) => {
            Ok(format!("checkpoints/{}", checkpoint["task"].as_str().unwrap_or("**")))
        }
        Err(problem) if problem.code == "checkpoint.not_found" => Ok("checkpoints/**".to_owned()),
        Err(problem) => Err(problem),
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
            ("baton://state/shared/plan%401", record("state/shared/plan@1@now")),
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

    #[tokio::test]
    async fn every_resource_can_be_watched() {
        let folder = tempfile::tempdir().unwrap();
        let baton = baton::open(folder.path()).await.unwrap();
        let workspace = baton.workspace("default").unwrap().as_agent("ada").unwrap();
        let saved = workspace.checkpoints().save("build", json!(1)).await.unwrap();
        workspace.tasks().create("x").id("t-7").await.unwrap();
        let long = "k".repeat(512);
        for (path, pattern) in [
            ("messages/m-3", "inbox/*/m-0000000003".to_owned()),
            (&*format!("checkpoints/{}", saved.id), "checkpoints/build".to_owned()),
            ("checkpoints/c-99", "checkpoints/**".to_owned()),
            ("tasks/t-7", "tasks/t-7".to_owned()),
            ("tasks/t-8", "tasks/t-0000000008".to_owned()),
            ("state/shared/plan@1", "state/shared/plan@1".to_owned()),
            (&*format!("state/shared/{long}"), "state/shared/**".to_owned()),
        ] {
            let place = ResourceUri::parse(&format!("{SCHEME}{path}")).unwrap();
            let found = place.pattern(&workspace).await.unwrap();
            assert_eq!(found, pattern, "{path}");
            assert!(workspace.watch(&found).await.is_ok(), "{path}");
        }
        for resource in resources() {
            let place = ResourceUri::parse(&resource.uri).unwrap();
            let pattern = place.pattern(&workspace).await.unwrap();
            assert!(workspace.watch(&pattern).await.is_ok(), "{}", resource.uri);
        }
    }
}
