//! `baton mcp`: the Model Context Protocol on standard input and output.

use std::path::PathBuf;
use std::sync::Arc;

use baton::Baton;
use baton_client::{Error, Workspace};
use baton_mcp::{FixedWorkspace, Mcp as Server, Toolset, serve_stdio};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::settings::keys;

const AFTER_HELP: &str = "\
Examples:
  baton mcp install --client claude --print     print the configuration for Claude Code
  baton mcp                                     serve the data in ./.baton on stdin and stdout
  baton mcp --url http://127.0.0.1:4747         serve the data of a server
  baton mcp --agent ada --toolset full          act as an agent; tools for all that reads or works

Without a URL, the folder is opened in this process. If another process has it open, the server at
the default address is used. Clients that speak HTTP can use http://ADDRESS/mcp of a server instead,
with an access token as Bearer token and the agent in the header Baton-Agent.

Unless --agent is given, the agent is named after the client, such as claude-code.";

/// The hint if another process has the folder open, and is not the server at the default address.
const IN_USE: &str = "give the address of the server that uses the folder with --url, or stop the \
    program that uses it";

/// Serve the Model Context Protocol, for coding agents and other clients
#[derive(Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Data folder to open if no URL is given [default: ./.baton]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Tools to offer: core has eleven, full adds operations that read or work, ops those that
    /// read, set up or administer
    #[arg(long, value_name = "NAME", default_value = "core")]
    toolset: Tools,
}

#[derive(Clone, Copy, ValueEnum)]
enum Tools {
    Core,
    Full,
    Ops,
}

#[derive(Subcommand)]
enum Verb {
    Install(Install),
}

/// Print the configuration of an MCP client
#[derive(Args)]
struct Install {
    /// Client to configure
    #[arg(long, value_name = "NAME")]
    client: Client,
    /// Print the configuration; no file is changed
    #[arg(long, required = true)]
    print: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Client {
    Claude,
    ClaudeDesktop,
    Codex,
    Cursor,
    Gemini,
    Opencode,
    Vscode,
    Windsurf,
    Zed,
}

impl Mcp {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        if let Some(Verb::Install(install)) = self.verb {
            return install.run(context, output);
        }
        let toolset = match self.toolset {
            Tools::Core => Toolset::Core,
            Tools::Full => Toolset::Full,
            Tools::Ops => Toolset::Ops,
        };
        let sources = context.sources();
        let is_agent_named = sources.is_explicit(&keys::AGENT);
        let data = match self.data {
            None if sources.is_explicit(&keys::URL) => None,
            None => keys::DATA.default.map(PathBuf::from),
            some => some,
        };
        let (workspace, opened) = match data {
            Some(folder) => opened(folder, context, output).await?,
            None => (context.workplace().await?, None),
        };
        let resolver = Arc::new(FixedWorkspace { workspace, is_agent_named });
        serve_stdio(Server::new(resolver, toolset)).await?;
        if let Some(baton) = opened {
            baton.close().await;
        }
        Ok(())
    }
}

/// The workspace in a folder, or that of the server which has the folder open.
async fn opened(
    folder: PathBuf,
    context: &Context,
    output: &Output,
) -> Result<(Workspace, Option<Baton>), Failure> {
    match baton::open(&folder).await {
        Ok(baton) => {
            let workspace = baton.workspace(context.workspace_name())?;
            Ok((workspace.as_agent(context.agent())?, Some(baton)))
        }
        Err(error) if matches!(error.code(), "log.in_use" | "log.divided") => {
            let in_use = |_| Failure::from(error).hinting(IN_USE);
            let workspace = context.workplace().await.map_err(in_use)?;
            let url = &context.settings().url;
            output.note(&format!("{} is used by a server; connected to {url}", folder.display()));
            Ok((workspace, None))
        }
        Err(error) => Err(Error::into(error)),
    }
}

impl Install {
    fn run(&self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let program = std::env::current_exe().map_err(|error| {
            let (given, reason) = ("the path of this program".to_owned(), error.to_string());
            Fault::Unreadable { given, reason }
        })?;
        let program = program.display().to_string();
        let sources = context.sources();
        let mut arguments = vec!["mcp".to_owned()];
        for key in [&keys::URL, &keys::WORKSPACE, &keys::AGENT, &keys::CA_FILE] {
            let chosen = sources.chosen().iter().find(|chosen| chosen.key == key.name);
            if let Some(chosen) = chosen.filter(|_| sources.is_explicit(key)) {
                arguments.extend([key.option.to_owned(), chosen.value.clone()]);
            }
        }
        if self.client.is_for_all_projects() && !sources.is_explicit(&keys::URL) {
            let folder = std::path::absolute(keys::DATA.default.unwrap_or_default());
            let folder = folder.map_err(|error| {
                let (given, reason) = ("the current folder".to_owned(), error.to_string());
                Fault::Unreadable { given, reason }
            })?;
            let folder = folder.display().to_string();
            output.note(&format!("{folder} is used in all projects; --url names a server instead"));
            arguments.extend(["--data".to_owned(), folder]);
        }
        let (place, text) = self.client.configuration(&program, &arguments);
        output.note(&format!("add this to {place}"));
        if context.settings().token.is_some() {
            output.note("the access token is not printed: set BATON_TOKEN for the client");
        }
        output.bytes(text.as_bytes())
    }
}

impl Client {
    /// Whether its configuration is for all projects: it starts the program in any folder.
    fn is_for_all_projects(self) -> bool {
        matches!(self, Self::ClaudeDesktop | Self::Codex | Self::Windsurf | Self::Zed)
    }

    /// The file that the client reads, and what to add to it.
    fn configuration(self, program: &str, arguments: &[String]) -> (&'static str, String) {
        let plain = json!({"command": program, "args": arguments});
        let servers = || pretty(&json!({"mcpServers": {"baton": plain}}));
        match self {
            Self::Claude => (".mcp.json of the project", servers()),
            Self::ClaudeDesktop => ("claude_desktop_config.json", servers()),
            Self::Cursor => (".cursor/mcp.json of the project", servers()),
            Self::Gemini => (".gemini/settings.json of the project", servers()),
            Self::Windsurf => ("~/.codeium/windsurf/mcp_config.json", servers()),
            Self::Codex => {
                let text = format!(
                    "[mcp_servers.baton]\ncommand = {}\nargs = {}\n",
                    json!(program),
                    json!(arguments)
                );
                ("~/.codex/config.toml", text)
            }
            Self::Vscode => {
                let server = json!({"type": "stdio", "command": program, "args": arguments});
                (".vscode/mcp.json of the project", pretty(&json!({"servers": {"baton": server}})))
            }
            Self::Zed => {
                let text = pretty(&json!({"context_servers": {"baton": plain}}));
                ("settings.json of Zed", text)
            }
            Self::Opencode => {
                let command: Vec<&str> =
                    std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect();
                let server = json!({"type": "local", "command": command, "enabled": true});
                ("opencode.json of the project", pretty(&json!({"mcp": {"baton": server}})))
            }
        }
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
