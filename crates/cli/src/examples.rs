//! Every example in the help, and every command mentioned in a document, must be valid.
//!
//! Shell blocks are also run, by `tests/documents.rs`.

use std::fs;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use crate::arguments::Arguments;
use crate::topics::TOPICS;

/// Tokens that end the command.
const ENDS: [&str; 8] = ["|", ">", "<", "&&", ";", "#", "or:", "2>&1"];

/// The words of the first command of a line; none if it is not `baton`.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.replace(['[', ']'], "");
    let line = if line.contains('\'') { line } else { line.replace("\\|", "|") };
    let mut words = shlex::split(&line)?;
    let end = words.iter().position(|word| ENDS.contains(&&**word));
    words.truncate(end.unwrap_or(words.len()));
    // An ellipsis represents anything, and a variable a number.
    words.retain(|word| word != "…");
    let is_variable = |word: &&mut String| word.starts_with('$');
    words.iter_mut().filter(is_variable).for_each(|word| *word = "7".to_owned());
    (words.first()? == "baton").then_some(words)
}

/// The error in a command, if any. Required arguments may be missing.
fn fault(line: &str) -> Option<String> {
    let words = words(line)?;
    if let [_, help, topic] = &words[..]
        && help == "help"
        && TOPICS.iter().any(|known| known.name == topic)
    {
        return None;
    }
    let is_pattern = words.iter().skip(1).any(|word| {
        word.len() > 1 && word.chars().all(|sign| sign.is_ascii_uppercase() || sign == '|')
    });
    // S3 is an optional build feature.
    if !cfg!(feature = "s3")
        && words.iter().any(|word| word == "--artifacts")
        && words[1] == "serve"
    {
        return None;
    }
    let error = Arguments::command().try_get_matches_from(&words).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        ErrorKind::ValueValidation | ErrorKind::InvalidValue | ErrorKind::InvalidSubcommand
            if is_pattern =>
        {
            None
        }
        _ => Some(format!("`{line}`: {error}")),
    }
}

/// The examples of a command and its subcommands.
fn examples(command: &Command, found: &mut Vec<String>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for line in help.lines().filter_map(|line| line.strip_prefix("  ")) {
        // A description follows after at least two spaces.
        let mut is_quoted = false;
        let end = line.char_indices().find(|(place, sign)| {
            is_quoted ^= *sign == '\'';
            !is_quoted && line[*place..].starts_with("  ")
        });
        found.push(line[..end.map_or(line.len(), |(place, _)| place)].to_owned());
    }
    for inner in command.get_subcommands() {
        examples(inner, found);
    }
}

#[test]
fn every_example_in_the_help_is_valid() {
    let mut found = Vec::new();
    examples(&Arguments::command(), &mut found);
    let ours = found.iter().filter(|line| words(line).is_some()).count();
    assert!(ours > 150, "only {ours} examples were found");
    let faults: Vec<String> = found.iter().filter_map(|line| fault(line)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_command_in_a_document_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md"), root.join("llms.txt")];
    let documents = fs::read_dir(root.join("docs")).unwrap();
    paths.extend(documents.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    let (mut count, mut faults) = (0, Vec::new());
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        // Between two backticks, or after a prompt.
        let spans = text.split('`').skip(1).step_by(2).filter(|span| !span.contains('\n'));
        let prompts = text.lines().filter_map(|line| line.strip_prefix("$ "));
        for line in spans.chain(prompts).filter(|line| line.starts_with("baton ")) {
            count += 1;
            faults.extend(fault(line).map(|fault| format!("{}: {fault}", path.display())));
        }
    }
    assert!(count > 100, "only {count} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn invalid_commands_are_found() {
    for line in
        ["baton task fly", "baton state get plan --colour red", "baton bench --seconds soon"]
    {
        assert!(fault(line).is_some(), "{line}");
    }
    for line in
        ["baton state get plan", "baton workspace diff FROM [TO]", "cargo test", "baton top"]
    {
        assert_eq!(fault(line), None, "{line}");
    }
}
