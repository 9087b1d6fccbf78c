//! A supervisor creates tasks, and workers do them.
//!
//! It creates tasks and waits for all of them with one join. Three workers claim what they can. One
//! attempt fails, and the task is retried by the next free worker, without the supervisor.

use baton_client::Workspace;
use baton_client::core::task::{Backoff, Status};
use baton_client::{Job, Setback, Workplace};
use serde_json::json;
use tokio::sync::watch;

use crate::{Ending, Story, WAIT_MS, tell};

const LANGUAGES: [&str; 6] = ["da", "de", "fr", "is", "it", "pl"];

/// The supervisor.
pub struct Supervisor;

impl Story for Supervisor {
    const NAME: &str = "supervisor";

    async fn happens(workspace: Workspace) -> Ending {
        let (notifier, notified) = watch::channel(false);
        let supervising = async {
            let ending = supervise(workspace.as_agent("supervisor")?).await;
            // Workers are stopped, whatever the result.
            notifier.send_replace(true);
            ending
        };
        let ((), a, b, c) = tokio::try_join!(
            supervising,
            work(workspace.as_agent("ana")?, notified.clone()),
            work(workspace.as_agent("ben")?, notified.clone()),
            work(workspace.as_agent("cyd")?, notified.clone()),
        )?;
        assert_eq!(a + b + c, LANGUAGES.len() as u64, "every task was completed once");
        Ok(())
    }
}

async fn supervise(supervisor: Workspace) -> Ending {
    let tasks = supervisor.tasks();
    for language in LANGUAGES {
        let backoff = Backoff { initial_ms: 10, ..Backoff::default() };
        let creating = tasks.create("translate").id(language).group("manual");
        creating.definition(json!({"into": language})).max_retries(3).backoff(backoff).await?;
    }
    tell("supervisor", "wants the manual in six languages, and waits for all of them");
    let join = supervisor.joins().of_group("manual").await?;
    let settled = supervisor.joins().wait(join.id.as_str(), WAIT_MS).await?;
    assert!(settled.is_some(), "all of them have finished");
    tell("supervisor", "has them all");
    let polish = tasks.get("pl").await?;
    assert_eq!((polish.status, polish.retries), (Status::Completed, 1));
    assert_eq!(tasks.stats(None).await?.tasks.completed, 6, "as the workspace tells it");
    Ok(())
}

/// Works until it is stopped; returns how many tasks it completed.
async fn work(
    worker: Workspace,
    mut stop: watch::Receiver<bool>,
) -> Result<u64, Box<dyn std::error::Error>> {
    let stopped = async move { drop(stop.wait_for(|notified| *notified).await) };
    let worked = worker.worker(&["translate"]).run(translate, stopped).await?;
    tell(worker.agent().as_str(), &format!("has translated {}", worked.completed));
    Ok(worked.completed)
}

async fn translate(job: Job) -> Result<serde_json::Value, Setback> {
    let (task, workspace) = (job.task(), job.workspace());
    // The first attempt at Polish always fails.
    if task.id.as_str() == "pl" && task.attempts == 1 {
        tell(workspace.agent().as_str(), "cannot do pl; another agent may try");
        return Err(Setback::new("the model does not know enough Polish"));
    }
    // Fenced by the lease: refused, if another worker has the task by now.
    workspace.state("shared").set(&format!("manual/{}", task.id), "…").await?;
    tell(workspace.agent().as_str(), &format!("translates into {}", task.id));
    Ok(json!({"key": format!("manual/{}", task.id)}))
}
