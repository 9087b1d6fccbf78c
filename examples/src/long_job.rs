//! A long job, and a worker that crashes in the middle of it.
//!
//! ```text
//!   first   1 2 3 4 … ✗              saves its progress after each part, then crashes
//!   second          4 5 6 … 10 ✓     waits until the lease expires, and continues from there
//!   first           ✋ stale          resumes with its old token, and is refused
//! ```

use baton_client::Workspace;
use baton_client::core::task::Status;
use baton_client::core::{Json, Key, NamespaceName, TaskId, Token, checkpoint, state};

use crate::{Ending, Story, WAIT_MS, tell};

const PARTS: u64 = 10;
/// The minimum, because the example waits for its expiry.
const LAST_LEASE_MS: u64 = 100;

/// The job.
pub struct LongJob;

impl Story for LongJob {
    const NAME: &str = "long-job";

    async fn happens(workspace: Workspace) -> Ending {
        let [first, second] = ["first", "second"].map(|name| workspace.as_agent(name));
        let (first, second) = (first?, second?);
        workspace.tasks().create("index").id("library").max_retries(5).await?;
        tell("", "the library is to be indexed, in ten parts");
        let old = work(&first, 3).await?.ok_or("the task was free")?;
        // Its last heartbeat, with a short lease, so that the example need not wait long.
        first.tasks().heartbeat_for("library", old, LAST_LEASE_MS).await?;
        tell("first", "dies after three parts without a notice");
        // Waits until the lease has expired, however long that takes.
        work(&second, PARTS).await?;
        late(&first, old).await?;
        let job = workspace.tasks().get("library").await?;
        assert_eq!((job.status, job.attempts), (Status::Completed, 2));
        for part in 1..=PARTS {
            let entry = workspace.state("shared").get(&format!("index/{part}")).await?;
            assert_eq!(entry.version().0, 1, "part {part} was written once");
        }
        Ok(())
    }
}

/// Works from the saved position up to a part; returns its token, if the job is not finished.
async fn work(worker: &Workspace, up_to: u64) -> Result<Option<Token>, Box<dyn std::error::Error>> {
    let name = worker.agent().to_string();
    let claimed = worker.tasks().claim().of_type("index").wait_ms(WAIT_MS).await?;
    let Some(task) = claimed else { return Ok(None) };
    let token = task.lease.ok_or("it was claimed")?.token;
    let under = worker.under(token);
    let latest = under.checkpoints().latest("library").await?;
    let done: u64 = match latest.and_then(|checkpoint| checkpoint.state) {
        Some(state) => state.to()?,
        None => 0,
    };
    tell(&name, &format!("begins after part {done}, under token {token}"));
    for part in done + 1..=up_to {
        done_with(&under, token, part).await?;
        tell(&name, &format!("has done part {part} of {PARTS}"));
    }
    if up_to < PARTS {
        return Ok(Some(token));
    }
    worker.tasks().complete("library", token).result(PARTS).await?;
    tell(&name, "has done all of it");
    Ok(None)
}

/// Writes a part and the position in one transaction, so that a crash cannot separate them.
async fn done_with(under: &Workspace, token: Token, part: u64) -> Ending {
    let (key, name) = (Key::parse(&format!("index/{part}"))?, Json::of(under.agent().as_str())?);
    let set = state::Set::new(NamespaceName::parse("shared")?, key, name);
    let save = checkpoint::Save {
        task: TaskId::parse("library")?,
        state: Json::of(&part)?,
        content_type: None,
        key: None,
        parent_key: None,
        description: Some(format!("part {part} of {PARTS}")),
        parent: None,
        label: None,
        metadata: None,
        token: Some(token),
    };
    let both = under.transaction().command(state::Command::Set(set));
    both.command(checkpoint::Command::Save(save)).commit().await?;
    Ok(())
}

/// Continues with the old token, and is refused.
async fn late(worker: &Workspace, old: Token) -> Ending {
    let written = worker.under(old).state("shared").set("index/4", "by a dead man").await;
    let refused = written.err().ok_or("its token is stale")?;
    assert_eq!(refused.code(), "request.stale_token");
    tell("first", &format!("comes back from the dead: {refused}"));
    let completed = worker.tasks().complete("library", old).await;
    assert!(completed.is_err(), "and can complete nothing");
    Ok(())
}
