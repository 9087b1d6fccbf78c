//! The guide, line by line: what it shows works, and what it says is refused is refused.

use std::fs;
use std::path::Path;

use crate::process::{Ran, Server, baton};

/// How a line of the guide says that it is meant to be refused.
const REFUSED: &str = "# refused: ";

/// The lines of all blocks for a shell, each with its number.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut is_shell = false;
    for (number, line) in text.lines().enumerate() {
        match line {
            "```sh" => is_shell = true,
            "```" => is_shell = false,
            line if is_shell && !line.is_empty() => lines.push((number + 1, line.to_owned())),
            _ => {}
        }
    }
    lines
}

#[test]
fn every_line_of_the_guide_does_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let server = Server::start();
    let home = server.home.path();
    let program = Path::new(env!("CARGO_BIN_EXE_baton")).parent().unwrap().to_owned();
    let elsewhere = std::env::var("PATH").unwrap();
    let path_of_programs = format!("{}:{elsewhere}", program.display());
    let mut named: Vec<(String, String)> = vec![("BATON_URL".to_owned(), server.url.clone())];
    let (mut ran, mut failed) = (0, Vec::new());
    for (number, line) in lines(&fs::read_to_string(path).unwrap()) {
        if let Some((name, value)) = line.strip_prefix("export ").and_then(|it| it.split_once('='))
        {
            named.push((name.to_owned(), value.to_owned()));
            continue;
        }
        let (line, code) = match line.split_once(REFUSED) {
            Some((line, code)) => (line, Some(code.trim())),
            None => (line.as_str(), None),
        };
        // Made from what `baton` is given, so that nothing of this machine's settings is around.
        let mut shell = std::process::Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", line]);
        let clean = baton(home);
        for (name, value) in clean.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.current_dir(home).env("PATH", &path_of_programs).envs(named.clone());
        shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let outcome = Ran::of(shell, "");
        let is_as_said = match code {
            Some(code) => outcome.code != 0 && outcome.stderr.contains(code),
            None => outcome.code == 0,
        };
        if !is_as_said {
            failed.push(format!("docs/guide.md:{number}: {line}\n{outcome:?}"));
        }
        ran += 1;
    }
    assert!(ran > 40, "only {ran} lines were found");
    assert!(failed.is_empty(), "{} lines failed\n\n{}\n", failed.len(), failed.join("\n\n"));
}
