//! `baton completions`: what a shell needs to complete commands.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  source <(baton completions bash)                             for this bash
  baton completions zsh > ~/.zfunc/_baton                      for every zsh
  baton completions fish > ~/.config/fish/completions/baton.fish";

/// Print what a shell needs to complete commands
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "baton", &mut script);
        output.bytes(&script)
    }
}
