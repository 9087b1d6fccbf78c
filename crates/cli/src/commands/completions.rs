//! `baton completions`: what a shell needs to complete commands.

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  source <(baton completions bash)                             for this bash
  echo 'source <(baton completions bash)' >> ~/.bashrc         for every bash
  baton completions zsh > ~/.zfunc/_baton                      for every zsh
  baton completions fish > ~/.config/fish/completions/baton.fish

Commands and options are completed, and so are the names of what there is on the server that the
settings lead to: workspaces, keys, tasks, agents, locks, hand-offs and so on. A server that does
not answer at once offers nothing; BATON_COMPLETION_MS says how long it has (700).";

/// Print what a shell needs to complete commands
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

/// In bash a colon ends a word unless this is said, and names such as `agent:ada` have one.
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
