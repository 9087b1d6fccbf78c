//! Stories of agents that work together, each to be run by one command.
//!
//! ```text
//!   cargo run -p baton-examples --bin supervisor                 an engine in this process
//!   cargo run -p baton-examples --bin supervisor -- --url URL    a server elsewhere
//! ```
//!
//! Every story is written once, against the handles that the embedded engine and the client share,
//! and is told the same by both.
//!
//! 1. Nobody sleeps: whoever needs something waits for it, and is woken when it is there.
//! 2. A story ends by looking whether what it promised is so.
//!
//! Deliberately absent: models. Where an agent would ask one, it makes something up.

pub mod collaborative_research;
pub mod content_pipeline;
pub mod hierarchical;
pub mod long_job;
pub mod peer_to_peer;
pub mod review_and_approval;
pub mod supervisor;

use std::error::Error;
use std::process::ExitCode;

use baton_client::Workspace;

/// How a story ends: well, or with whatever went wrong.
pub type Ending = Result<(), Box<dyn Error>>;

/// Longer than anybody in a story waits who is not forgotten.
pub const WAIT_MS: u64 = 60_000;

/// A story, for any carrier.
pub trait Story {
    /// The workspace in which it happens.
    const NAME: &str;

    /// What happens.
    fn happens(workspace: Workspace) -> impl Future<Output = Ending>;
}

/// Tells what an agent does.
#[expect(clippy::print_stdout, reason = "this is how a story is told")]
pub fn tell(who: &str, what: &str) {
    println!("{who:>12}  {what}");
}

/// Runs a story where the command line says, and tells how it ended.
pub fn main_of<S: Story>() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new();
    let ending = match (runtime, words.as_slice()) {
        (Err(error), _) => Err(error.into()),
        (Ok(runtime), []) => runtime.block_on(embedded::<S>()),
        (Ok(runtime), ["--url", url]) => runtime.block_on(at_server::<S>(url)),
        (Ok(_), _) => Err("nothing but `--url URL` may follow".into()),
    };
    match ending {
        Ok(()) => {
            tell("", "and all of it was as promised");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell("error", &error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// A story in an engine of its own, in a folder that goes with it.
pub async fn embedded<S: Story>() -> Ending {
    let folder = tempfile::tempdir()?;
    let baton = baton::open(folder.path()).await?;
    let ending = S::happens(baton.workspace(S::NAME)?).await;
    baton.close().await;
    ending
}

/// A story at a server, in a workspace that nobody has used before.
pub async fn at_server<S: Story>(url: &str) -> Ending {
    let client = baton_client::connect(url).await?;
    let mut number = 1;
    let workspace = loop {
        let workspace = client.workspace(&format!("{}-{number}", S::NAME))?;
        if workspace.revision().await?.0 == 0 {
            break workspace;
        }
        number += 1;
    };
    tell("", &format!("this happens in the workspace {}", workspace.name()));
    let ending = S::happens(workspace).await;
    client.close().await;
    ending
}
