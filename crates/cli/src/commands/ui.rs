//! `baton ui`: the dashboard of the server, in a browser.

use std::io::IsTerminal;
use std::process::Stdio;

use clap::Args;
use tokio::process::Command;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  baton ui                               open the dashboard of the server
  baton ui --workspace research          open it at this workspace
  baton ui --print                       print its address only

If the server requires a token, the page asks for it. The token is not put into the address.";

/// Open the dashboard in a browser
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Ui {
    /// Print the address and open nothing
    #[arg(long)]
    print: bool,
}

impl Ui {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let url = context.settings().urls().next().unwrap_or_default().trim_end_matches('/');
        let page = match context.workspace_said() {
            Some(workspace) => format!("{url}/#/{workspace}/now"),
            None => format!("{url}/"),
        };
        output.bytes(format!("{page}\n").as_bytes())?;
        // Without a screen, such as in a pipe or a remote shell, the address is printed.
        if !self.print && std::io::stdout().is_terminal() && !open(&page).await {
            output.note("no browser could be opened; open the address yourself");
        }
        Ok(())
    }
}

/// Opens an address with the browser of the desktop, if there is one.
async fn open(page: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}
