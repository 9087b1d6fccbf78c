//! `baton demo handoff`: one task goes from hand to hand, on a server of its own in a temporary
//! folder, which is really killed in the middle.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use baton_client::{Client, Workspace, connect};
use baton_core::task::Task;
use baton_core::{Json, Token};

use crate::commands::handoff::story;
use crate::failure::Failure;
use crate::output::Output;

/// A server in a folder of its own; both go when the demo does.
struct Stage<'a> {
    output: &'a mut Output,
    pace: Duration,
    folder: PathBuf,
    server: Child,
    address: String,
    client: Client,
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // Nobody is left to be told if that fails.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts this very program as a server; its address.
fn serve(folder: &Path, listen: &str) -> std::io::Result<(Child, String)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve").arg("--data").arg(folder).args(["--listen", listen]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = command.spawn()?;
    let said = server.stderr.take().expect("it was piped");
    for line in BufReader::new(said).lines() {
        if let Some(address) = line?.strip_prefix("  address  http://") {
            return Ok((server, address.to_owned()));
        }
    }
    let code = server.wait()?;
    Err(std::io::Error::other(format!("the server ended at once: {code}")))
}

/// Acts it out, with a pause after each line.
pub(super) async fn act(output: &mut Output, pace: Duration) -> Result<(), Failure> {
    Stage::open(output, pace).await?.relay().await
}

fn value(text: &str) -> Json {
    Json::of(&text).expect("a text is JSON")
}

fn token(task: Option<&Task>) -> Token {
    let lease = task.and_then(|task| task.lease.as_ref());
    lease.expect("whoever has a task has its lease").token
}

impl<'a> Stage<'a> {
    async fn open(output: &'a mut Output, pace: Duration) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("baton-demo-{}", std::process::id()));
        let (server, address) = serve(&folder, "127.0.0.1:0")?;
        let client = connect(&format!("http://{address}")).await?;
        let ready = format!("a server is ready at http://{address}");
        let mut stage = Self { output, pace, folder, server, address, client };
        stage.tell("", &ready).await?;
        Ok(stage)
    }

    async fn tell(&mut self, who: &str, what: &str) -> Result<(), Failure> {
        self.output.bytes(format!("{who:>12}  {what}\n").as_bytes())?;
        tokio::time::sleep(self.pace).await;
        Ok(())
    }

    fn agent(&self, name: &str) -> Result<Workspace, Failure> {
        Ok(self.client.workspace("newsroom")?.as_agent(name)?)
    }

    /// Kills the server without a warning, and starts it again where it was.
    async fn crash(&mut self) -> Result<(), Failure> {
        self.server.kill()?;
        self.server.wait()?;
        self.tell("✗", "the server is killed (SIGKILL), in the middle of everything").await?;
        (self.server, _) = serve(&self.folder, &self.address)?;
        self.tell("", "and started again: the offer is where it was").await
    }

    async fn relay(&mut self) -> Result<(), Failure> {
        let (researcher, writer) = (self.agent("researcher")?, self.agent("writer")?);
        let (reviewer, editor) = (self.agent("reviewer")?, self.agent("editor")?);
        for agent in [&researcher, &writer, &reviewer] {
            agent.agents().register().await?;
        }
        editor.tasks().create("article").id("tides").await?;
        self.tell("editor", "wants an article about tides").await?;
        let held = self.research(&researcher, &writer).await?;
        let offered = self.write(&researcher, &writer, held).await?;
        self.crash().await?;
        self.review(&writer, &reviewer, &editor, &offered).await?;
        let told = editor.handoffs().history("tides").await?;
        self.output.bytes(format!("\n{}", story("tides", &told)).as_bytes())
    }

    /// The researcher offers, and the writer says no.
    async fn research(
        &mut self,
        researcher: &Workspace,
        writer: &Workspace,
    ) -> Result<Token, Failure> {
        let task = researcher.tasks().claim().task("tides").await?;
        let held = token(task.as_ref());
        self.tell("researcher", &format!("claims it, under token {held}")).await?;
        researcher.state("agent:researcher").set("notes", value("moon, sun, shore")).await?;
        let offer = researcher.handoffs().offer("writer").task("tides", held);
        let offer = offer.key("agent:researcher/notes").reason("the facts are in").await?;
        self.tell("researcher", &format!("offers it to the writer: {}", offer.id)).await?;
        let received = writer.handoffs().receive(10_000).await?;
        let received = received.map_or_else(String::new, |handoff| handoff.id.to_string());
        writer.handoffs().reject(&received, Some("which sources?")).await?;
        self.tell("writer", "rejects it: which sources? The researcher still has the task").await?;
        Ok(held)
    }

    /// The writer accepts, and offers to the reviewer what an editor must approve.
    async fn write(
        &mut self,
        researcher: &Workspace,
        writer: &Workspace,
        held: Token,
    ) -> Result<String, Failure> {
        let offer = researcher.handoffs().offer("writer").task("tides", held);
        let offer = offer.key("agent:researcher/notes").state("source", value("almanac")).await?;
        self.tell("researcher", &format!("offers it again, with a source: {}", offer.id)).await?;
        let accepted = writer.handoffs().accept(offer.id.as_str()).await?;
        let mine = token(accepted.task.as_ref());
        let sentence =
            format!("accepts: the task is under token {mine} now, and the notes came along");
        self.tell("writer", &sentence).await?;
        if let Err(late) = researcher.tasks().heartbeat("tides", held).await {
            self.tell("researcher", &format!("is late: {late}")).await?;
        }
        let offer = writer.handoffs().offer("reviewer").task("tides", mine);
        let offer = offer.reason("please check").approved_by(&["editor"]).await?;
        let sentence = format!("offers it to the reviewer, if the editor approves: {}", offer.id);
        self.tell("writer", &sentence).await?;
        Ok(offer.id.to_string())
    }

    /// The editor approves, the reviewer returns it once and completes it in the end.
    async fn review(
        &mut self,
        writer: &Workspace,
        reviewer: &Workspace,
        editor: &Workspace,
        offered: &str,
    ) -> Result<(), Failure> {
        if let Err(early) = reviewer.handoffs().accept(offered).await {
            self.tell("reviewer", &format!("cannot take it yet: {early}")).await?;
        }
        let proposed = editor.handoffs().get(offered).await?;
        editor.handoffs().approve(offered, Some(&proposed.digest)).await?;
        self.tell("editor", &format!("approves exactly this: digest {}", proposed.digest)).await?;
        let accepted = reviewer.handoffs().accept(offered).await?;
        let checked = token(accepted.task.as_ref());
        self.tell("reviewer", "accepts, and finds that a title is missing").await?;
        let back = reviewer.handoffs().offer("writer").task("tides", checked);
        let back = back.reason("it needs a title").await?;
        let returned = writer.handoffs().accept(back.id.as_str()).await?;
        self.tell("writer", "has it back, and gives it a title").await?;
        let done = writer.handoffs().offer("reviewer").task("tides", token(returned.task.as_ref()));
        done.reason("it has a title").execute().await?;
        self.tell("writer", "hands it over without asking: state and task in one commit").await?;
        let task = reviewer.tasks().claim().task("tides").await?;
        let result = value("Tides, explained");
        reviewer.tasks().complete("tides", token(task.as_ref())).result(result).await?;
        self.tell("reviewer", "takes it up and completes it").await
    }
}
