//! `baton demo handoff`: one task is handed over several times, on its own server in a temporary
//! folder, which is killed halfway.

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

/// A temporary server and its folder; both are removed at the end.
struct Demonstration<'a> {
    output: &'a mut Output,
    pace: Duration,
    folder: PathBuf,
    server: Child,
    address: String,
    client: Client,
}

impl Drop for Demonstration<'_> {
    fn drop(&mut self) {
        // Errors cannot be reported here.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts this program as a server and returns its address.
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
    Err(std::io::Error::other(format!("the server exited at startup: {code}")))
}

/// Runs the demo, with a pause after each line.
pub(super) async fn run(output: &mut Output, pace: Duration) -> Result<(), Failure> {
    Demonstration::open(output, pace).await?.relay().await
}

fn value(text: &str) -> Json {
    Json::of(&text).expect("a text is JSON")
}

fn token(task: Option<&Task>) -> Token {
    let lease = task.and_then(|task| task.lease.as_ref());
    lease.expect("a claimed task has a lease").token
}

impl<'a> Demonstration<'a> {
    async fn open(output: &'a mut Output, pace: Duration) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("baton-demo-{}", std::process::id()));
        let (server, address) = serve(&folder, "127.0.0.1:0")?;
        let client = connect(&format!("http://{address}")).await?;
        let ready = format!("a server is ready at http://{address}");
        let mut demonstration = Self { output, pace, folder, server, address, client };
        demonstration.print("", &ready).await?;
        Ok(demonstration)
    }

    async fn print(&mut self, who: &str, what: &str) -> Result<(), Failure> {
        self.output.bytes(format!("{who:>12}  {what}\n").as_bytes())?;
        tokio::time::sleep(self.pace).await;
        Ok(())
    }

    fn agent(&self, name: &str) -> Result<Workspace, Failure> {
        Ok(self.client.workspace("newsroom")?.as_agent(name)?)
    }

    /// Kills the server and starts it again on the same data.
    async fn crash(&mut self) -> Result<(), Failure> {
        self.server.kill()?;
        self.server.wait()?;
        self.print("✗", "the server is killed with SIGKILL").await?;
        (self.server, _) = serve(&self.folder, &self.address)?;
        self.print("", "the server is started again; the offer is still open").await
    }

    async fn relay(&mut self) -> Result<(), Failure> {
        let (researcher, writer) = (self.agent("researcher")?, self.agent("writer")?);
        let (reviewer, editor) = (self.agent("reviewer")?, self.agent("editor")?);
        for agent in [&researcher, &writer, &reviewer] {
            agent.agents().register().await?;
        }
        editor.tasks().create("article").id("tides").await?;
        self.print("editor", "creates a task: an article about tides").await?;
        let held = self.research(&researcher, &writer).await?;
        let offered = self.write(&researcher, &writer, held).await?;
        self.crash().await?;
        self.review(&writer, &reviewer, &editor, &offered).await?;
        let history = editor.handoffs().history("tides").await?;
        self.output.bytes(format!("\n{}", story("tides", &history)).as_bytes())
    }

    /// The researcher offers the task, and the writer rejects it.
    async fn research(
        &mut self,
        researcher: &Workspace,
        writer: &Workspace,
    ) -> Result<Token, Failure> {
        let task = researcher.tasks().claim().task("tides").await?;
        let held = token(task.as_ref());
        self.print("researcher", &format!("claims it with token {held}")).await?;
        researcher.state("agent:researcher").set("notes", value("moon, sun, shore")).await?;
        let offer = researcher.handoffs().offer("writer").task("tides", held);
        let offer = offer.key("agent:researcher/notes").reason("the facts are collected").await?;
        self.print("researcher", &format!("offers it to the writer: {}", offer.id)).await?;
        let received = writer.handoffs().receive(10_000).await?;
        let received = received.map_or_else(String::new, |handoff| handoff.id.to_string());
        writer.handoffs().reject(&received, Some("which sources?")).await?;
        self.print("writer", "rejects it: which sources? The researcher keeps the task").await?;
        Ok(held)
    }

    /// The writer accepts, and makes an offer to the reviewer that the editor must approve.
    async fn write(
        &mut self,
        researcher: &Workspace,
        writer: &Workspace,
        held: Token,
    ) -> Result<String, Failure> {
        let offer = researcher.handoffs().offer("writer").task("tides", held);
        let offer = offer.key("agent:researcher/notes").state("source", value("almanac")).await?;
        self.print("researcher", &format!("offers it again, with a source: {}", offer.id)).await?;
        let accepted = writer.handoffs().accept(offer.id.as_str()).await?;
        let mine = token(accepted.task.as_ref());
        let sentence =
            format!("accepts: it holds the task with token {mine}, and the notes moved too");
        self.print("writer", &sentence).await?;
        if let Err(late) = researcher.tasks().heartbeat("tides", held).await {
            self.print("researcher", &format!("writes too late: {late}")).await?;
        }
        let offer = writer.handoffs().offer("reviewer").task("tides", mine);
        let offer = offer.reason("please check").approved_by(&["editor"]).await?;
        let sentence =
            format!("offers it to the reviewer, pending approval by the editor: {}", offer.id);
        self.print("writer", &sentence).await?;
        Ok(offer.id.to_string())
    }

    /// The editor approves; the reviewer returns the task once and completes it in the end.
    async fn review(
        &mut self,
        writer: &Workspace,
        reviewer: &Workspace,
        editor: &Workspace,
        offered: &str,
    ) -> Result<(), Failure> {
        if let Err(early) = reviewer.handoffs().accept(offered).await {
            self.print("reviewer", &format!("cannot accept it yet: {early}")).await?;
        }
        let proposed = editor.handoffs().get(offered).await?;
        editor.handoffs().approve(offered, Some(&proposed.digest)).await?;
        self.print("editor", &format!("approves this exact offer: digest {}", proposed.digest))
            .await?;
        let accepted = reviewer.handoffs().accept(offered).await?;
        let checked = token(accepted.task.as_ref());
        self.print("reviewer", "accepts, and finds that the title is missing").await?;
        let back = reviewer.handoffs().offer("writer").task("tides", checked);
        let back = back.reason("it needs a title").await?;
        let returned = writer.handoffs().accept(back.id.as_str()).await?;
        self.print("writer", "accepts it back, and adds a title").await?;
        let done = writer.handoffs().offer("reviewer").task("tides", token(returned.task.as_ref()));
        done.reason("it has a title").execute().await?;
        self.print("writer", "hands it over without asking: task and state move in one commit")
            .await?;
        let task = reviewer.tasks().claim().task("tides").await?;
        let result = value("Tides, explained");
        reviewer.tasks().complete("tides", token(task.as_ref())).result(result).await?;
        self.print("reviewer", "claims it and completes it").await
    }
}
