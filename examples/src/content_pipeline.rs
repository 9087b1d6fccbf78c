//! An article passes through stages: outline, drafts of its sections, edit.
//!
//! ```text
//!   topics ──▶ outline ──▶ draft (one task for each heading, two writers) ──▶ edit
//! ```
//!
//! The pipeline creates the tasks of a stage when the previous one is completed, in the same
//! commit, with its output as input. The workers know nothing of the pipeline: they claim tasks by
//! type.

use baton_client::Workspace;
use baton_client::core::pipeline::{Design, Status};
use baton_client::core::{Json, StageName};
use baton_client::{Job, Setback, Workplace};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{Ending, Story, WAIT_MS, tell};

/// The pipeline.
pub struct ContentPipeline;

impl Story for ContentPipeline {
    const NAME: &str = "content-pipeline";

    async fn happens(workspace: Workspace) -> Ending {
        let (notifier, notified) = watch::channel(false);
        let publishing = async {
            let ending = publish(workspace.as_agent("publisher")?).await;
            notifier.send_replace(true);
            ending
        };
        tokio::try_join!(
            publishing,
            work(workspace.as_agent("outliner")?, "outline", notified.clone()),
            work(workspace.as_agent("writer-1")?, "draft", notified.clone()),
            work(workspace.as_agent("writer-2")?, "draft", notified.clone()),
            work(workspace.as_agent("editor")?, "edit", notified.clone()),
        )?;
        Ok(())
    }
}

async fn publish(publisher: Workspace) -> Ending {
    let pipelines = publisher.pipelines();
    // Its input is a list, and each element becomes a task.
    let draft = Design { each: true, ..Design::new(StageName::parse("draft")?) };
    let creating = pipelines.create("tides").stage("outline").design(draft).stage("edit");
    creating.input(Json::of("tides")?).automatic().await?;
    tell("publisher", "wants an article about tides: outline, draft, edit");
    // The last task does not exist yet, so the publisher waits at a barrier at which its worker
    // arrives.
    let met = publisher.barriers().arrive("printed", 2).wait_ms(WAIT_MS).await?;
    assert!(met.opened, "the editor is there");
    let article = publisher.state("shared").get("article").await?;
    let article = String::from_utf8_lossy(article.value()).into_owned();
    tell("publisher", &format!("prints {article}"));
    let headings = ["moon", "sun", "shore"].map(|heading| article.find(heading));
    assert!(headings.iter().all(Option::is_some) && headings.is_sorted(), "in order: {article}");
    Ok(())
}

async fn work(worker: Workspace, stage: &str, mut stop: watch::Receiver<bool>) -> Ending {
    let stopped = async move { drop(stop.wait_for(|notified| *notified).await) };
    worker.worker(&[stage]).run(craft, stopped).await?;
    if stage == "edit" {
        let pipeline = worker.pipelines().get("tides").await?;
        assert_eq!(pipeline.status, Status::Completed, "with its last stage it is done");
    }
    Ok(())
}

/// Processes any stage.
async fn craft(job: Job) -> Result<Value, Setback> {
    let (task, workspace) = (job.task(), job.workspace());
    let given = task.definition.as_ref().map(Json::to::<Value>);
    let given = given.transpose()?.unwrap_or_default()["input"].take();
    let who = workspace.agent().as_str();
    Ok(match task.task_type.as_str() {
        "outline" => {
            tell(who, &format!("outlines {given}"));
            json!(["moon", "sun", "shore"])
        }
        "draft" => {
            tell(who, &format!("writes about {given}"));
            json!(format!("all about the {}", given.as_str().unwrap_or("rest")))
        }
        _ => {
            tell(who, "joins the sections, which are in order regardless of their authors");
            workspace.state("shared").set("article", &given).await?;
            workspace.barriers().arrive("printed", 2).wait_ms(WAIT_MS).await?;
            given
        }
    })
}
