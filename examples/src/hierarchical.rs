//! A director, two leads, and the authors.
//!
//! ```text
//!   book ─┬─ chapter-1 ─┬─ chapter-1.a      the director creates chapters,
//!         │             └─ chapter-1.b      a lead splits its chapter into sections,
//!         ├─ chapter-2 ─┬─ chapter-2.a      authors write sections
//!         │             └─ chapter-2.b
//!         └─ appendix ──── appendix.a       is cancelled, with everything below it
//! ```

use baton_client::Workspace;
use baton_client::core::task::Status;

use crate::{Ending, Story, WAIT_MS, tell};

/// The hierarchy.
pub struct Hierarchical;

impl Story for Hierarchical {
    const NAME: &str = "hierarchical";

    async fn happens(workspace: Workspace) -> Ending {
        let director = workspace.as_agent("director")?;
        plan(&director).await?;
        tokio::try_join!(
            lead(workspace.as_agent("lead-1")?, "chapter-1"),
            lead(workspace.as_agent("lead-2")?, "chapter-2"),
            write(workspace.as_agent("author-1")?, 2),
            write(workspace.as_agent("author-2")?, 2),
            publish(&director),
        )?;
        let stats = director.tasks().stats(None).await?.tasks;
        assert_eq!((stats.completed, stats.cancelled), (7, 2), "the book, without its appendix");
        Ok(())
    }
}

/// Creates a book, and cancels a part of it.
async fn plan(director: &Workspace) -> Result<(), baton_client::Error> {
    let tasks = director.tasks();
    tasks.create("book").id("book").assigned_to("director").await?;
    for chapter in ["chapter-1", "chapter-2", "appendix"] {
        tasks.create("chapter").id(chapter).parent("book").group("chapters").await?;
    }
    tasks.create("section").id("appendix.a").parent("appendix").await?;
    tell("director", "wants a book of two chapters and an appendix");
    tasks.cancel("appendix", Some("it is not needed")).await?;
    let section = tasks.get("appendix.a").await?;
    assert_eq!(section.status, Status::Cancelled, "what is below goes with it");
    tell("director", "wants no appendix any more, and nothing of it is left to do");
    Ok(())
}

/// Splits a chapter into sections, waits for them, and completes the chapter.
async fn lead(lead: Workspace, chapter: &str) -> Result<(), baton_client::Error> {
    let (name, tasks) = (lead.agent().to_string(), lead.tasks());
    let claimed = tasks.claim().task(chapter).wait_ms(WAIT_MS).await?;
    let token = claimed.and_then(|task| task.lease).expect("it is free").token;
    let sections = [format!("{chapter}.a"), format!("{chapter}.b")];
    for section in &sections {
        tasks.create("section").id(section).parent(chapter).await?;
    }
    tell(&name, &format!("splits {chapter} into two sections"));
    let join = lead.joins().of_tasks(&[&sections[0], &sections[1]]).need(2).await?;
    let settled = lead.joins().wait(join.id.as_str(), WAIT_MS).await?;
    assert!(settled.is_some(), "both sections are written");
    tasks.complete(chapter, token).result("two sections").await?;
    tell(&name, &format!("completes {chapter}"));
    Ok(())
}

/// Writes this many sections, of any chapter.
async fn write(author: Workspace, count: usize) -> Result<(), baton_client::Error> {
    let tasks = author.tasks();
    for _ in 0..count {
        let claimed = tasks.claim().of_type("section").wait_ms(WAIT_MS).await?;
        let task = claimed.expect("there are as many sections as turns");
        let token = task.lease.as_ref().expect("it was claimed").token;
        tell(author.agent().as_str(), &format!("writes {}", task.id));
        tasks.complete(task.id.as_str(), token).result("words").await?;
    }
    Ok(())
}

/// Waits for the chapters, and completes the book.
async fn publish(director: &Workspace) -> Result<(), baton_client::Error> {
    let joins = director.joins();
    let join = joins.of_tasks(&["chapter-1", "chapter-2"]).need(2).await?;
    let settled = joins.wait(join.id.as_str(), WAIT_MS).await?;
    assert!(settled.is_some(), "both chapters are done");
    let claimed = director.tasks().claim().task("book").wait_ms(WAIT_MS).await?;
    let token = claimed.and_then(|task| task.lease).expect("it is for the director").token;
    director.tasks().complete("book", token).result("in print").await?;
    tell("director", "has the book printed");
    Ok(())
}
