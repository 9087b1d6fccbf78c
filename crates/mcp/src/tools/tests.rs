//! Tests of the tools on the data of a folder.

use std::time::Duration;

use baton::Baton;
use baton_client::Workspace;
use baton_core::wire::Problem;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Call, run};
use crate::prime;
use crate::resources::ResourceUri;
use crate::view::Detail;

struct Agents {
    baton: Baton,
    _folder: TempDir,
}

impl Agents {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { baton: baton::open(folder.path()).await.unwrap(), _folder: folder }
    }

    fn agent(&self, name: &str) -> Workspace {
        self.baton.workspace("default").unwrap().as_agent(name).unwrap()
    }

    async fn call(&self, agent: &str, tool: &str, arguments: Value) -> Result<Value, Problem> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let workspace = self.agent(agent);
        let call = Call { workspace: &workspace, arguments, detail: Detail::Concise };
        run(tool, call).await.unwrap()
    }

    /// The answer of a tool that succeeds.
    async fn ask(&self, agent: &str, tool: &str, arguments: Value) -> Value {
        let answer = self.call(agent, tool, arguments.clone()).await;
        answer.unwrap_or_else(|problem| panic!("{tool} {arguments}: {problem:?}"))
    }

    /// The code and the reason of a tool that is refused.
    async fn refused(&self, agent: &str, tool: &str, arguments: Value) -> String {
        let problem = self.call(agent, tool, arguments).await.unwrap_err();
        format!("{}: {}", problem.code, problem.detail)
    }

    async fn read(&self, agent: &str, uri: &str) -> Value {
        ResourceUri::parse(uri).unwrap().read(&self.agent(agent)).await.unwrap()
    }

    async fn offer(&self, to: &str, approval: bool) -> String {
        let offer = json!({"action": "offer", "to": to, "notes": "n", "approval": approval});
        let offered = self.ask("giver", "baton_handoff", offer).await;
        offered["handoff"]["id"].as_str().unwrap().to_owned()
    }
}

fn ids(list: &Value) -> Vec<&str> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn ready_tasks_are_those_that_the_agent_can_claim() {
    let agents = Agents::new().await;
    let mut tasks = vec![json!({"type": "x", "id": "first", "assigned_agent": "zoe"})];
    for number in 0..7 {
        tasks.push(json!({"type": "x", "id": format!("a{number}"), "depends_on": ["first"]}));
    }
    tasks.push(json!({"type": "x", "id": "later", "delay_ms": 3_600_000}));
    tasks.push(json!({"type": "x", "id": "able", "capabilities": ["cuda"]}));
    tasks.push(json!({"type": "x", "id": "zready"}));
    agents.ask("bob", "baton_create_task", json!({"tasks": tasks})).await;
    // An agent without a session can name its capabilities when it claims.
    let brief = agents.ask("ada", "baton_brief", json!({})).await;
    assert_eq!(ids(&brief["ready_tasks"]), ["zready", "able"]);
    assert_eq!(brief.get("narrow"), None);
    agents.agent("reg").agents().register().await.unwrap();
    let listed = agents.read("reg", "baton://tasks").await;
    assert_eq!(ids(&listed["tasks"]), ["zready"]);
    let primed = prime(&agents.agent("ada")).await.unwrap();
    assert!(primed.contains("zready") && !primed.contains("a0"), "{primed}");
    let brief = agents.ask("zoe", "baton_brief", json!({})).await;
    assert_eq!(ids(&brief["ready_tasks"]), ["first", "zready", "able"]);
    // Each of them can be claimed, after which there is none.
    for arguments in [json!({}), json!({"capabilities": ["cuda"]})] {
        assert!(agents.ask("ada", "baton_claim", arguments).await["task"].is_object());
    }
    let brief = agents.ask("ada", "baton_brief", json!({})).await;
    assert_eq!(brief.get("ready_tasks"), None);
    let none = agents.ask("ada", "baton_claim", json!({})).await;
    assert_eq!(none["task"], Value::Null);
}

#[tokio::test]
async fn a_task_whose_time_has_come_is_ready() {
    let agents = Agents::new().await;
    let task = json!({"tasks": [{"type": "x", "id": "soon", "delay_ms": 1}]});
    agents.ask("bob", "baton_create_task", task).await;
    // The claim waits until it is ready, and giving it back keeps the time before which it was not.
    let claimed = agents.ask("ada", "baton_claim", json!({"wait_ms": 50_000})).await;
    let token = &claimed["task"]["token"];
    let back = json!({"task": "soon", "token": token, "status": "blocked", "note": "n"});
    agents.ask("ada", "baton_report", back).await;
    let brief = agents.ask("ada", "baton_brief", json!({})).await;
    assert_eq!(ids(&brief["ready_tasks"]), ["soon"]);
}

#[tokio::test]
async fn an_offer_is_seen_behind_many_others() {
    let agents = Agents::new().await;
    for _ in 0..22 {
        let id = agents.offer("rec", false).await;
        agents.ask("rec", "baton_handoff", json!({"action": "accept", "handoff": id})).await;
    }
    for _ in 0..102 {
        agents.offer("nobody", false).await;
    }
    let newest = agents.offer("rec", false).await;
    let unapproved = agents.offer("rec", true).await;
    let listed = agents.read("rec", "baton://handoffs").await;
    assert_eq!(ids(&listed["handoffs"]), [newest.as_str()]);
    assert_eq!(listed.get("narrow"), None);
    let brief = agents.ask("boss", "baton_brief", json!({})).await;
    assert_eq!(ids(&brief["waiting_for_approval"]), [unapproved.as_str()]);
    let brief = agents.ask("rec", "baton_brief", json!({})).await;
    assert_eq!(ids(&brief["handoffs_for_you"]), [newest.as_str()]);
    assert_eq!(brief.get("waiting_for_approval"), None, "its receiver does not approve it");
}

#[tokio::test]
async fn nobody_reviews_its_own_work() {
    let agents = Agents::new().await;
    let task = json!({"type": "x", "id": "work", "review": true});
    agents.ask("bob", "baton_create_task", json!({"tasks": [task]})).await;
    let token = agents.ask("ada", "baton_claim", json!({})).await["task"]["token"].take();
    let done = json!({"task": "work", "token": token, "status": "done", "result": 1});
    agents.ask("ada", "baton_report", done).await;
    let own = agents.ask("ada", "baton_brief", json!({})).await;
    assert_eq!(own.get("waiting_for_review"), None);
    let other = agents.ask("bob", "baton_brief", json!({})).await;
    assert_eq!(ids(&other["waiting_for_review"]), ["work"]);
}

#[tokio::test]
async fn a_brief_names_the_lists_that_are_cut() {
    let agents = Agents::new().await;
    for _ in 0..6 {
        agents.ask("bob", "baton_send", json!({"to": "ada", "body": "b"})).await;
    }
    let brief = agents.ask("ada", "baton_brief", json!({})).await;
    let narrow = brief["narrow"].as_str().unwrap();
    assert!(narrow.contains("messages_for_you") && !narrow.contains("task"), "{narrow}");
    let (_, query) = narrow.split_once("baton_search ").unwrap();
    let found = agents.ask("ada", "baton_search", json!({"query": query})).await;
    assert_eq!(found["found"].as_array().unwrap().len(), 6, "{found}");
    let listed = agents.read("ada", "baton://inbox").await;
    assert_eq!(listed["messages"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn a_key_that_ends_like_a_revision_is_read_as_it_is_shown() {
    let agents = Agents::new().await;
    agents.ask("ada", "baton_write_state", json!({"ref": "shared/plan", "value": 1})).await;
    let past = json!({"ref": "shared/plan@1", "value": 2});
    let refused = agents.refused("ada", "baton_write_state", past).await;
    assert!(refused.contains("shared/plan@1@now"), "{refused}");
    let named = json!({"ref": "shared/plan@1@now", "value": "own key"});
    let written = agents.ask("ada", "baton_write_state", named).await;
    let found = agents.ask("ada", "baton_search", json!({"query": "own key"})).await;
    for shown in [&written["ref"], &found["found"][0]["ref"]] {
        let entry = agents.ask("ada", "baton_get", json!({"ref": shown})).await;
        assert_eq!(entry["untrusted"]["value"], "own key");
        assert_eq!(entry["ref"], *shown);
    }
    let entry = agents.read("ada", "baton://state/shared/plan%401").await;
    assert_eq!(entry["untrusted"]["value"], "own key");
    let first = agents.ask("ada", "baton_get", json!({"ref": "shared/plan@1"})).await;
    assert_eq!((&first["untrusted"]["value"], &first["ref"]), (&json!(1), &json!("shared/plan")));
}

#[tokio::test]
async fn an_argument_that_is_null_was_not_given() {
    let agents = Agents::new().await;
    for (arguments, value) in [
        (json!({"value": 1, "merge": null, "append": null, "delete": null}), json!(1)),
        (json!({"value": 2, "delete": false}), json!(2)),
        (json!({"value": null, "increment": 1, "delete": false}), json!(3)),
        (json!({"value": null}), json!(null)),
        (json!({"value": null, "ttl_ms": null}), json!(null)),
    ] {
        let mut arguments = arguments;
        arguments["ref"] = json!("shared/x");
        agents.ask("ada", "baton_write_state", arguments.clone()).await;
        let entry = agents.ask("ada", "baton_get", json!({"ref": "shared/x", "view": null})).await;
        assert_eq!(entry["untrusted"]["value"], value, "{arguments}");
    }
    for arguments in [
        json!({"value": 1, "append": 2}),
        json!({"value": null, "merge": null}),
        json!({"delete": false}),
        json!({}),
    ] {
        let mut arguments = arguments;
        arguments["ref"] = json!("shared/x");
        let refused = agents.refused("ada", "baton_write_state", arguments.clone()).await;
        assert!(refused.starts_with("request.bad_field"), "{arguments}: {refused}");
    }
    let reserve = json!({"paths": ["a"], "action": null, "lock": null, "wait_ms": null});
    agents.ask("ada", "baton_reserve", reserve).await;
    let send = json!({"to": "bob", "body": "b", "ack": null, "reply_to": null});
    agents.ask("ada", "baton_send", send).await;
}

#[tokio::test]
async fn a_note_is_kept_or_refused() {
    let agents = Agents::new().await;
    let task = json!({"type": "x", "id": "a"});
    agents.ask("bob", "baton_create_task", json!({"tasks": [task]})).await;
    let token = agents.ask("ada", "baton_claim", json!({})).await["task"]["token"].take();
    let report = |mut fields: Value| {
        (fields["task"], fields["token"]) = (json!("a"), token.clone());
        fields
    };
    for (fields, argument) in [
        (json!({"status": "done", "result": 1, "note": "n"}), "note"),
        (json!({"status": "failed", "error": 1, "note": "n"}), "note"),
        (json!({"status": "done", "error": 1}), "error"),
        (json!({"status": "progress", "result": 1}), "result"),
    ] {
        let refused = agents.refused("ada", "baton_report", report(fields.clone())).await;
        assert!(refused.starts_with("request.bad_field"), "{fields}: {refused}");
        assert!(refused.contains(&format!("`{argument}`")), "{fields}: {refused}");
    }
    let done = report(json!({"status": "done", "note": "the note", "error": null}));
    agents.ask("ada", "baton_report", done).await;
    let read = agents.ask("ada", "baton_get", json!({"ref": "a"})).await;
    assert_eq!(read["untrusted"]["result"], "the note");
}

#[tokio::test]
async fn a_reservation_of_files_waits() {
    let agents = Agents::new().await;
    agents.ask("bob", "baton_reserve", json!({"paths": ["src/**"]})).await;
    let paths = json!(["docs/a", "src/a.rs"]);
    let taken = agents.ask("ada", "baton_reserve", json!({"paths": paths})).await;
    assert_eq!(taken["taken"][0]["holder"], "bob");
    let taken = agents.ask("ada", "baton_reserve", json!({"paths": paths, "wait_ms": 1})).await;
    assert_eq!(taken["taken"][0]["holder"], "bob", "it does not wait for longer");
    let waiting = agents.ask("ada", "baton_reserve", json!({"paths": paths, "wait_ms": 50_000}));
    let mut waiting = std::pin::pin!(waiting);
    let early = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
    assert!(early.is_err(), "it waits: {early:?}");
    agents.ask("bob", "baton_reserve", json!({"action": "release"})).await;
    assert_eq!(waiting.await["reserved"].as_array().unwrap().len(), 2);
    let long = json!({"paths": paths, "wait_ms": 50_001});
    let refused = agents.refused("ada", "baton_reserve", long).await;
    assert!(refused.starts_with("request.bad_field"), "{refused}");
}

#[tokio::test]
async fn the_holder_of_a_lock_learns_that_it_is_the_holder() {
    let agents = Agents::new().await;
    let lock = json!({"lock": "L"});
    let held = agents.ask("ada", "baton_reserve", lock.clone()).await;
    let again = agents.ask("ada", "baton_reserve", lock.clone()).await;
    let next = again["next"].as_str().unwrap();
    assert!(next.starts_with("You hold it.") && next.contains("action=check"), "{next}");
    let other = agents.ask("bob", "baton_reserve", lock).await;
    assert!(other["next"].as_str().unwrap().contains("ask the holder"), "{other}");
    agents.ask("ada", "baton_reserve", json!({"paths": ["src/**"]})).await;
    let brief = agents.ask("ada", "baton_brief", json!({})).await;
    assert_eq!(brief["locks_you_hold"].as_array().unwrap().len(), 1, "{brief}");
    assert_eq!(brief["locks_you_hold"][0]["token"], held["lock"]["token"]);
    let brief = agents.ask("bob", "baton_brief", json!({})).await;
    assert_eq!(brief.get("locks_you_hold"), None);
}
