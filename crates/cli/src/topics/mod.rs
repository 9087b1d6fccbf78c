//! `baton help TOPIC`: the concepts behind the commands, one page each.
//!
//! The help of a command describes its arguments. These pages describe what the commands are for,
//! with examples that can be typed in order.
//!
//! 1. A line indented by four spaces is a shell command. A test runs all of them, each page against
//!    a fresh server; `# refused: CODE` marks a command that is expected to fail.
//! 2. No page has the name of a command, so `baton help NAME` is unambiguous.
//! 3. A page fits on a screen: 80 columns and 45 lines.
//!
//! Deliberately absent: details, which are in `docs/`.

/// A help page.
pub(crate) struct Topic {
    /// The name to type after `baton help`.
    pub(crate) name: &'static str,
    /// A short summary.
    pub(crate) about: &'static str,
    /// The text of the page.
    pub(crate) text: &'static str,
}

const fn topic(name: &'static str, about: &'static str, text: &'static str) -> Topic {
    Topic { name, about, text }
}

/// All pages.
pub(crate) const TOPICS: &[Topic] = &[
    topic("leases", "how work survives the agent that does it", include_str!("leases.txt")),
    topic("fencing", "how stale holders are kept from writing", include_str!("fencing.txt")),
    topic("handoffs", "how work moves from one agent to another", include_str!("handoffs.txt")),
    topic("watching", "live events, history and causes", include_str!("watching.txt")),
    topic("access", "tokens, roles and permissions", include_str!("access.txt")),
    topic("backups", "backing up and restoring a server", include_str!("backups.txt")),
    topic(
        "scripting",
        "output formats, exit codes and safe retries",
        include_str!("scripting.txt"),
    ),
];

/// The page that a command line asks for, if any.
pub(crate) fn asked_for(words: impl IntoIterator<Item = String>) -> Option<&'static Topic> {
    let mut words = words.into_iter().skip(1);
    let (help, name) = (words.next()?, words.next()?);
    let is_all = words.next().is_none();
    TOPICS.iter().find(|topic| help == "help" && is_all && topic.name == name)
}

/// The list of pages, for the end of `baton help`.
pub(crate) fn contents() -> String {
    let lines = TOPICS.iter().map(|topic| format!("  {:<11}{}\n", topic.name, topic.about));
    format!("Help topics (baton help TOPIC):\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn asked(line: &str) -> Option<&'static str> {
        asked_for(line.split(' ').map(str::to_owned)).map(|topic| topic.name)
    }

    #[test]
    fn a_page_is_found_by_its_exact_name() {
        assert_eq!(asked("baton help leases"), Some("leases"));
        for line in
            ["baton", "baton help", "baton leases", "baton help task", "baton help leases x"]
        {
            assert_eq!(asked(line), None, "{line}");
        }
    }

    #[test]
    fn no_page_has_the_name_of_a_command() {
        for topic in TOPICS {
            assert!(Arguments::command().find_subcommand(topic.name).is_none(), "{}", topic.name);
        }
    }

    #[test]
    fn a_page_fits_on_a_screen_and_contains_commands() {
        for Topic { name, text, .. } in TOPICS {
            assert!(text.lines().count() <= 45, "{name} has {} lines", text.lines().count());
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{name} is {widest:?} wide");
            assert!(text.lines().any(|line| line.starts_with("    baton ")), "{name}");
        }
    }
}
