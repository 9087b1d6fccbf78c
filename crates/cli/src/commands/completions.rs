//! `baton completions`: shell completion scripts.

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  source <(baton completions bash)                             for the current bash session
  echo 'source <(baton completions bash)' >> ~/.bashrc         for all bash sessions
  baton completions zsh > ~/.zfunc/_baton                      for all zsh sessions
  baton completions fish > ~/.config/fish/completions/baton.fish

Completes commands, options, and live names from the configured server: workspaces, keys, tasks,
agents, locks, hand-offs and more. If the server does not respond within BATON_COMPLETION_MS
milliseconds (700 by default), no names are offered.";

/// Print a shell completion script
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Completions {
    /// Shell
    shell: Shell,
}

/// By default a colon ends a word in bash, but names such as `agent:ada` contain one.
const COLONS: &str = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n";

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        if self.shell == Shell::Bash {
            script.extend_from_slice(COLONS.as_bytes());
        }
        let shells = Shells::builtins();
        let shell = shells.completer(&self.shell.to_string()).expect("both know the same shells");
        shell.write_registration("COMPLETE", "baton", "baton", "baton", &mut script)?;
        output.bytes(&script)
    }
}
