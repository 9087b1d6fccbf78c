//! Option before environment before file before default.

use std::fs;

use crate::process::{Ran, Server};

/// Who wrote, with these words and this environment.
fn author(server: &Server, words: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = server.command(["state", "set", "who", "1"]);
    command.args(words).envs(environment.iter().copied());
    Ran::of(command, "").json()["updated_by"].as_str().unwrap().to_owned()
}

#[test]
fn the_strongest_source_wins() {
    let server = Server::start();
    let folder = server.home.path().join(".config/baton");
    assert_eq!(author(&server, &[], &[]), "cli");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "agent = 'file'\n").unwrap();
    assert_eq!(author(&server, &[], &[]), "file");
    assert_eq!(author(&server, &[], &[("BATON_AGENT", "")]), "file");
    assert_eq!(author(&server, &[], &[("BATON_AGENT", "variable")]), "variable");
    let both = author(&server, &["--agent", "option"], &[("BATON_AGENT", "variable")]);
    assert_eq!(both, "option");
    fs::write(server.home.path().join("mine.toml"), "agent = 'mine'\n").unwrap();
    assert_eq!(author(&server, &["--config", "mine.toml"], &[]), "mine");
    assert_eq!(author(&server, &[], &[("BATON_CONFIG", "mine.toml")]), "mine");
}

#[test]
fn the_file_says_where_which_and_how() {
    let server = Server::start();
    let text = format!("url = '{}'\nworkspace = 'research'\noutput = 'yaml'\n", server.url);
    fs::write(server.home.path().join("mine.toml"), text).unwrap();
    let run = |words: &[&str]| {
        let mut command = server.command(["--config", "mine.toml"]);
        Ran::of(
            {
                command.env_remove("BATON_URL").args(words);
                command
            },
            "",
        )
    };
    assert!(run(&["state", "set", "key", "1"]).stdout.contains("\nkey: key\n"));
    assert_eq!(run(&["state", "get", "key", "--workspace", "default"]).code, 3);
    assert_eq!(run(&["state", "get", "key", "--value"]).stdout, "1\n");
}

#[test]
fn a_file_that_cannot_be_used_is_refused() {
    let server = Server::start();
    let refused = |text: &str| {
        fs::write(server.home.path().join("mine.toml"), text).unwrap();
        let ran = server.run("--config mine.toml state ls -o table");
        assert_eq!((ran.code, ran.stderr.lines().count()), (2, 3), "{ran:?}");
        assert!(ran.stderr.contains("(cli.settings)"), "{ran:?}");
        ran.stderr
    };
    assert!(refused("\nurll = 'x'").contains("line 2: unknown field `urll`"));
    assert!(refused("url = 7").contains("line 1: "));
    assert!(refused("url = ").contains("line 1: "));
    assert!(refused("output = 'xml'").contains("xml"));
    let ran = server.run("--config none.toml state ls");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (2, Some("cli.settings")));
}
