//! `baton man`: generate man pages.
//!
//! One page per command in section 1, and one per help topic in section 7.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, Command, CommandFactory};
use clap_mangen::roff::{Roff, roman};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::atomic_file::unwritable;
use crate::failure::Failure;
use crate::output::Output;
use crate::topics::{TOPICS, Topic};

const AFTER_HELP: &str = "\
Examples:
  baton man --out ~/.local/share/man     then: man baton, man baton-task-claim, man baton-leases";

/// Generate man pages
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Man {
    /// Output folder; `man1` and `man7` are created in it
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// The result.
#[derive(Serialize)]
struct Written {
    folder: String,
    pages: usize,
}

impl Man {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        write(&self.out).map_err(|error| unwritable(&self.out, error))?;
        let pages = TOPICS.len() + count(&Arguments::command());
        let folder = self.out.display().to_string();
        let sentence = format!("{pages} pages written to {folder}");
        output.said(&Written { folder, pages }, &sentence)
    }
}

fn write(folder: &Path) -> io::Result<()> {
    let (commands, topics) = (folder.join("man1"), folder.join("man7"));
    fs::create_dir_all(&commands)?;
    fs::create_dir_all(&topics)?;
    clap_mangen::generate_to(Arguments::command(), &commands)?;
    for topic in TOPICS {
        fs::write(topics.join(format!("baton-{}.7", topic.name)), page(topic))?;
    }
    Ok(())
}

/// A command and all its subcommands.
fn count(command: &Command) -> usize {
    1 + command.get_subcommands().map(count).sum::<usize>()
}

/// The text without reflowing: it is formatted by hand.
fn page(topic: &Topic) -> String {
    let name = format!("baton-{}", topic.name);
    let mut roff = Roff::new();
    roff.control("TH", [name.to_uppercase().as_str(), "7"]);
    roff.control("SH", ["NAME"]).text([roman(format!("{name} - {}", topic.about))]);
    roff.control("SH", ["DESCRIPTION"]).control("nf", []);
    for line in topic.text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff.to_roff()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(command: &Command, before: &str, found: &mut Vec<String>) {
        let name = format!("{before}{}", command.get_name());
        for inner in command.get_subcommands() {
            names(inner, &format!("{name}-"), found);
        }
        found.push(name);
    }

    #[test]
    fn every_command_and_every_topic_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let read = |path: String| {
            let text = fs::read_to_string(folder.path().join(&path));
            text.unwrap_or_else(|error| panic!("{path}: {error}"))
        };
        let mut commands = Vec::new();
        names(&Arguments::command(), "", &mut commands);
        assert_eq!(commands.len(), count(&Arguments::command()));
        assert!(commands.iter().any(|name| name == "baton-task-claim"), "{commands:?}");
        for name in &commands {
            assert!(read(format!("man1/{name}.1")).contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(read("man1/baton-task.1".to_owned()).contains("Examples:"));
        for topic in TOPICS {
            // A line that begins with a dot would be a request.
            let text = read(format!("man7/baton-{}.7", topic.name));
            let requests = text.lines().filter(|line| line.starts_with('.'));
            let known = [".ie", ".el", ".TH", ".SH", ".nf", ".fi"];
            let strange = requests.filter(|line| !known.iter().any(|it| line.starts_with(it)));
            assert_eq!(strange.count(), 0, "{text}");
        }
    }
}
