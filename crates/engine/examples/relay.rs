//! Research, writing and review: one task that three agents work on in turn, with a rejection, an
//! approval, a crash and a return. Run with `cargo run --example relay`.
#![expect(clippy::print_stdout, reason = "a story is there to be read")]

use baton::core::{Json, Token, task::Task};
use baton::{Error, Workspace};
use serde_json::json;

fn token(task: &Task) -> Token {
    task.lease.as_ref().expect("a claimed task has a lease").token
}

fn value(text: &str) -> Json {
    Json::of(&text).expect("a text is JSON")
}

async fn agents(folder: &std::path::Path) -> Result<[Workspace; 4], Error> {
    let baton = baton::open(folder).await?;
    let agent = |name| baton.workspace("newsroom")?.as_agent(name);
    Ok([agent("researcher")?, agent("writer")?, agent("reviewer")?, agent("editor")?])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let [researcher, writer, reviewer, editor] = agents(folder.path()).await?;
    for agent in [&researcher, &writer, &reviewer] {
        agent.agents().register().await?;
    }
    editor.tasks().create("article").id("tides").await?;
    let task = researcher.tasks().claim().task("tides").await?.expect("no other agent claims it");
    researcher.state("agent:researcher").set("notes", json!(["moon", "sun"])).await?;

    let offer = researcher.handoffs().offer("writer").task("tides", token(&task));
    let offer = offer.key("agent:researcher/notes").reason("the facts are in").await?;
    writer.handoffs().reject(offer.id.as_str(), Some("which sources?")).await?;
    println!("the writer says no, and the researcher still has the task");

    let offer = researcher.handoffs().offer("writer").task("tides", token(&task));
    let offer = offer.key("agent:researcher/notes").state("source", value("almanac")).await?;
    let accepted = writer.handoffs().accept(offer.id.as_str()).await?;
    println!("the writer has it now, with {} key(s)", accepted.values.len());
    let late = researcher.tasks().heartbeat("tides", token(&task)).await;
    println!("the researcher is late: {}", late.expect_err("the token is stale"));

    let written = accepted.task.expect("the task came along");
    let offer = writer.handoffs().offer("reviewer").task("tides", token(&written));
    let offer = offer.reason("please check").approved_by(&["editor"]).await?;
    drop([researcher, writer, reviewer, editor]);
    println!("everything stops in the middle, and begins again from the folder");

    let [_, writer, reviewer, editor] = agents(folder.path()).await?;
    let early = reviewer.handoffs().accept(offer.id.as_str()).await;
    println!("not yet: {}", early.expect_err("it is not approved"));
    editor.handoffs().approve(offer.id.as_str(), Some(&offer.digest)).await?;
    let checked = reviewer.handoffs().accept(offer.id.as_str()).await?;

    let back = checked.task.expect("the task came along");
    let offer = reviewer.handoffs().offer("writer").task("tides", token(&back));
    let offer = offer.reason("it needs a title").await?;
    let again = writer.handoffs().accept(offer.id.as_str()).await?;
    println!("the reviewer returned it: {}", again.handoff.reason.unwrap_or_default());
    writer.handoffs().complete(offer.id.as_str(), Some(value("Tides, explained"))).await?;

    let done = editor.tasks().get("tides").await?;
    println!("{} is {}", done.id, done.status.word());
    for handoff in editor.handoffs().history("tides").await? {
        println!("  {} {} to {}: {}", handoff.id, handoff.from, handoff.to, handoff.status.word());
    }
    Ok(())
}
