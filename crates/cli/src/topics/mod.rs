//! `baton help TOPIC`: the ideas behind the commands, a page for each.
//!
//! Help of a command says what it takes. These pages say what it is for, in an order in which the
//! lines can be typed.
//!
//! 1. A line that begins with four blanks is for a shell. A test runs them all, page by page, each
//!    page against a fresh server; `# refused: CODE` marks those that are meant to be refused.
//! 2. No page is called like a command, so `baton help NAME` means one thing.
//! 3. A page fits on a screen: 80 columns and 45 lines.
//!
//! Deliberately absent: what is in `docs/`, which has room for it.

/// A page.
pub(crate) struct Topic {
    /// What one types after `baton help`.
    pub(crate) name: &'static str,
    /// What it is about, in some words.
    pub(crate) about: &'static str,
    /// The page itself.
    pub(crate) text: &'static str,
}

const fn topic(name: &'static str, about: &'static str, text: &'static str) -> Topic {
    Topic { name, about, text }
}

/// All pages.
pub(crate) const TOPICS: &[Topic] = &[
    topic("leases", "work that outlives whoever does it", include_str!("leases.txt")),
    topic("fencing", "numbers that keep the replaced out", include_str!("fencing.txt")),
    topic("handoffs", "work that changes hands", include_str!("handoffs.txt")),
    topic("watching", "what happens, and what happened", include_str!("watching.txt")),
    topic("access", "who may come in, and do what", include_str!("access.txt")),
    topic("backups", "everything as one file, and back", include_str!("backups.txt")),
    topic("scripting", "forms of output, exit codes, repeating", include_str!("scripting.txt")),
];

/// The page that a command line asks for, if it is one.
pub(crate) fn asked_for(words: impl IntoIterator<Item = String>) -> Option<&'static Topic> {
    let mut words = words.into_iter().skip(1);
    let (help, name) = (words.next()?, words.next()?);
    let is_all = words.next().is_none();
    TOPICS.iter().find(|topic| help == "help" && is_all && topic.name == name)
}

/// The list of pages, for the end of `baton help`.
pub(crate) fn contents() -> String {
    let lines = TOPICS.iter().map(|topic| format!("  {:<11}{}\n", topic.name, topic.about));
    format!("Ideas, each a page: baton help NAME\n{}", lines.collect::<String>())
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
    fn a_page_is_asked_for_by_its_name_alone() {
        assert_eq!(asked("baton help leases"), Some("leases"));
        for line in
            ["baton", "baton help", "baton leases", "baton help task", "baton help leases x"]
        {
            assert_eq!(asked(line), None, "{line}");
        }
    }

    #[test]
    fn no_page_is_called_like_a_command() {
        for topic in TOPICS {
            assert!(Arguments::command().find_subcommand(topic.name).is_none(), "{}", topic.name);
        }
    }

    #[test]
    fn a_page_fits_on_a_screen_and_says_what_to_type() {
        for Topic { name, text, .. } in TOPICS {
            assert!(text.lines().count() <= 45, "{name} has {} lines", text.lines().count());
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{name} is {widest:?} wide");
            assert!(text.lines().any(|line| line.starts_with("    baton ")), "{name}");
        }
    }
}
