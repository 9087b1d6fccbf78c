//! Examples of agents that work together, each run by one command.
//!
//! ```text
//!   cargo run -p baton-examples --bin supervisor                 an engine in this process
//!   cargo run -p baton-examples --bin supervisor -- --url URL    a server elsewhere
//! ```
//!
//! Every example is written once, against the handles that the embedded engine and the client
//! share, and behaves the same with both.
//!
//! 1. No agent sleeps or polls: it waits for what it needs, and is woken when that is available.
//! 2. Every example checks its result at the end.
//!
//! Deliberately absent: models. Where an agent would call one, it makes something up.

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

/// The result of an example.
pub type Ending = Result<(), Box<dyn Error>>;

/// Longer than any wait that ends with a result.
pub const WAIT_MS: u64 = 60_000;

/// An example, for any carrier.
pub trait Story {
    /// The name of its workspace.
    const NAME: &str;

    /// Runs it.
    fn happens(workspace: Workspace) -> impl Future<Output = Ending>;
}

/// Prints what an agent does.
#[expect(clippy::print_stdout, reason = "this is how a story is told")]
pub fn tell(who: &str, what: &str) {
    println!("{who:>12}  {what}");
}

/// Runs an example where the command line says, and prints the result.
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

/// Runs an example in its own engine, in a temporary folder.
pub async fn embedded<S: Story>() -> Ending {
    let folder = tempfile::tempdir()?;
    let baton = baton::open(folder.path()).await?;
    let ending = S::happens(baton.workspace(S::NAME)?).await;
    baton.close().await;
    ending
}

/// Runs an example on a server, in an unused workspace.
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
