//! Sixty seconds of shared state. Run with `cargo run --example tour`.
#![expect(clippy::print_stdout, reason = "a tour is there to be read")]

use baton::core::state::{Command, History, Set};
use baton::core::{Json, Key, NamespaceName, Precondition, Revision, Version};
use baton::{Error, Item};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let baton = baton::open(folder.path()).await?;
    println!("opened: {}\n", baton.description());
    let ada = baton.workspace("research")?.as_agent("ada")?;
    let bob = baton.workspace("research")?.as_agent("bob")?;
    let (hers, his) = (ada.state("shared"), bob.state("shared"));

    println!("{:?}", hers.set("plan", json!({"step": 1})).await?);
    println!("{:?}", his.set("plan", json!({"step": 2})).expected_version(1).await?);
    let late = hers.set("plan", json!({"step": 9})).expected_version(1).await;
    let error = late.expect_err("another write came first");
    println!("refused {}: {error}\n  hint: {}\n", error.code(), error.hint());

    hers.increment("tokens_spent", 1_200).await?;
    println!("{:?}", ada.once("request-17")?.state("shared").increment("tokens_spent", 300).await?);
    println!("{:?}", ada.once("request-17")?.state("shared").increment("tokens_spent", 300).await?);
    println!("{:?}\n", his.append("findings", json!({"source": "paper 7"})).await?);

    let shared = NamespaceName::shared();
    let set = |key: &str, value: &str| -> Result<Command, Error> {
        let value = Json::of(&value).expect("text is JSON");
        Ok(Command::Set(Set::new(shared.clone(), Key::parse(key)?, value)))
    };
    let unchanged = Precondition::Entry {
        namespace: shared.clone(),
        key: Key::parse("plan")?,
        version: Some(Version(2)),
        exists: None,
        value: None,
    };
    let transaction = ada.transaction().require(unchanged);
    let transaction = transaction.command(set("phase", "writing")?).command(set("owner", "bob")?);
    let (revision, replies) = transaction.commit().await?;
    println!("two commands, one commit: revision {revision}, {} replies\n", replies.len());

    let session = ada.agents().register().capability("search").ttl_ms(30_000).await?;
    hers.set("search/leader", "ada").ephemeral().await?;
    ada.agents().leave(session.token).await?;

    println!("as it was after revision 1: {:?}\n", hers.get_at("plan", Revision(1)).await?);
    println!("every change, newest first:");
    for change in hers.history(History::default()).await?.0 {
        let (agent, operation) = (change.agent, change.operation);
        println!("  {} {agent} {operation} {}", change.revision, change.key);
    }
    println!("\nthe same, as a watcher from the beginning sees it:");
    let mut watch = bob.watch("**").from(1).await?;
    let last = ada.revision().await?;
    while watch.resume_from() <= last {
        match watch.next().await {
            Some(Ok(Item::Event(notice))) => println!("  {notice:?} by {}", notice.agent()),
            Some(Ok(Item::Snapshot { .. })) | None => break,
            Some(Err(error)) => return Err(error),
        }
    }
    baton.close().await;
    Ok(())
}
