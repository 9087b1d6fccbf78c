//! A change is handed over for review, and needs an approval.
//!
//! The author offers the change to a reviewer, who rejects it: the author keeps it. The second
//! offer needs the approval of a lead. Before that it cannot be accepted; the approval is valid for
//! exactly what was offered. The reviewer accepts it, with its context, and completes it.

use baton_client::Workspace;
use baton_client::core::task::Status;
use baton_client::core::{Json, handoff};

use crate::{Ending, Story, WAIT_MS, tell};

/// The change.
pub struct ReviewAndApproval;

impl Story for ReviewAndApproval {
    const NAME: &str = "review-and-approval";

    async fn happens(workspace: Workspace) -> Ending {
        let [author, reviewer, lead] =
            ["author", "reviewer", "lead"].map(|name| workspace.as_agent(name));
        let (author, reviewer, lead) = (author?, reviewer?, lead?);
        author.agents().register().await?;
        reviewer.agents().register().await?;
        author.tasks().create("change").id("change-7").await?;
        tokio::try_join!(write(&author), review(&reviewer), approve(&author, &lead, &reviewer))?;
        let change = lead.tasks().get("change-7").await?;
        assert_eq!(change.status, Status::Completed);
        let offers = lead.handoffs().history("change-7").await?;
        let ends: Vec<&str> = offers.iter().map(|handoff| handoff.status.word()).collect();
        assert_eq!(ends, ["rejected", "completed"], "and all of it is on record");
        Ok(())
    }
}

/// Writes the change, and offers it until it is accepted.
async fn write(author: &Workspace) -> Ending {
    let claimed = author.tasks().claim().task("change-7").await?;
    let token = claimed.and_then(|task| task.lease).ok_or("no other agent claimed it")?.token;
    let first = author.handoffs().offer("reviewer").task("change-7", token);
    first.reason("please review").await?;
    tell("author", "offers change-7 to the reviewer");
    // The reviewer sends the reason in a message.
    let said = author.messages().receive().wait_ms(WAIT_MS).limit(1).await?;
    let why: String = said.first().ok_or("the reviewer says something")?.body.to()?;
    tell("author", &format!("still has it, and reads: {why}"));
    author.tasks().heartbeat("change-7", token).await?;
    let second = author.handoffs().offer("reviewer").task("change-7", token);
    let second = second.state("tests", Json::of("42 of 42")?).approved_by(&["lead"]);
    let offered = second.reason("with tests").await?;
    tell("author", "offers it again, with tests, if the lead approves");
    author.messages().send("lead", offered.id.as_str()).await?;
    Ok(())
}

/// Rejects a change without tests, and accepts one with tests.
async fn review(reviewer: &Workspace) -> Ending {
    let handoffs = reviewer.handoffs();
    let offer = handoffs.receive(WAIT_MS).await?.ok_or("there is an offer")?;
    assert!(!offer.state.contains_key("tests"));
    handoffs.reject(offer.id.as_str(), Some("where are the tests?")).await?;
    tell("reviewer", "rejects it");
    reviewer.messages().send("author", "where are the tests?").await?;
    // An offer that needs an approval is not delivered before it has one.
    let offer = handoffs.receive(WAIT_MS).await?.ok_or("there is another offer")?;
    assert_eq!(offer.status, handoff::Status::Delivered);
    let accepted = handoffs.accept(offer.id.as_str()).await?;
    let tests = accepted.handoff.state.get("tests").ok_or("the tests came along")?;
    tell("reviewer", &format!("takes it over, with what came along: {}", tests.as_str()));
    handoffs.complete(offer.id.as_str(), Some(Json::of("merged")?)).await?;
    tell("reviewer", "completes it");
    Ok(())
}

/// Reads what is offered, and approves exactly that.
async fn approve(author: &Workspace, lead: &Workspace, reviewer: &Workspace) -> Ending {
    let mail = lead.messages().receive().wait_ms(WAIT_MS).limit(1).await?;
    let offer: String = mail.first().ok_or("there is something to approve")?.body.to()?;
    let early = reviewer.handoffs().accept(&offer).await;
    let early = early.err().ok_or("it must be approved first")?;
    tell("reviewer", &format!("cannot have it yet: {early}"));
    let own = author.handoffs().approve(&offer, None).await;
    assert!(own.is_err_and(|error| !error.is_unknown()), "no agent approves its own work");
    let proposed = lead.handoffs().get(&offer).await?;
    lead.handoffs().approve(&offer, Some(&proposed.digest)).await?;
    tell("lead", "approves exactly this");
    Ok(())
}
