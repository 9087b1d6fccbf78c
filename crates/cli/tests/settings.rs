//! The precedence of option, environment, file and default.

use std::fs;

use crate::process::{Ran, Server, baton};

/// The author of a write with these options and this environment.
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
fn the_settings_file_selects_the_server() {
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
    assert!(refused("\nurll = 'x'").contains("line 2: unknown key `urll`; did you mean `url`?"));
    assert!(refused("url = 7").contains("line 1: "));
    assert!(refused("url = ").contains("line 1: "));
    assert!(refused("output = 'xml'").contains("xml"));
    let ran = server.run("--config none.toml state ls");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (2, Some("cli.settings")));
}

#[test]
fn a_server_takes_its_settings_from_a_file() {
    let home = tempfile::tempdir().unwrap();
    let text = "[serve]\nlisten = '127.0.0.1:1'\ndata = 'elsewhere'\nhosts = ['baton.test']\n";
    fs::write(home.path().join("mine.toml"), text).unwrap();
    // The helper passes the address and the data folder as options, which take precedence.
    let server = Server::in_home(home, &["--config", "mine.toml"]);
    assert!(server.data().is_dir() && !server.home.path().join("elsewhere").exists());
    assert_eq!(server.run("state set plan 1").code, 0);
    let shown = server.run("--config mine.toml config show").json();
    let row = |key: &str| {
        let rows = shown.as_array().unwrap();
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        (row["value"].as_str().unwrap().to_owned(), row["from"].as_str().unwrap().to_owned())
    };
    let setting = |value: &str, from: &str| (value.to_owned(), from.to_owned());
    assert_eq!(row("serve.data"), setting("elsewhere", "mine.toml"));
    assert_eq!(row("serve.hosts"), setting("baton.test", "mine.toml"));
    assert_eq!(row("serve.tokens"), setting("false", "default"));
    assert_eq!(row("url"), setting(&server.url, "BATON_URL"));
    let table = server.run("--config mine.toml config show -o table").stdout;
    let unset = table.lines().find(|line| line.starts_with("serve.jwt_key ")).unwrap();
    assert_eq!(unset.split_whitespace().collect::<Vec<_>>(), ["serve.jwt_key", "-", "-"]);
}

#[test]
fn all_errors_in_a_file_are_reported_together() {
    let server = Server::start();
    let text = "agent = 7\n[serve]\nlisen = 'x'\nconnections_max = 0\n";
    fs::write(server.home.path().join("mine.toml"), text).unwrap();
    let ran = server.run("config check mine.toml");
    let error = ran.error();
    assert_eq!((ran.code, error["code"].as_str()), (2, Some("cli.settings")));
    let detail = error["detail"].as_str().unwrap();
    for part in
        ["line 1: `agent` must", "did you mean `serve.listen`?", "line 4: `serve.connections"]
    {
        assert!(detail.contains(part), "{detail}");
    }
    let ran = server.run("config check mine.toml -o table");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines[1].ends_with("line 1: `agent` must be a string"), "{ran:?}");
    assert!(lines[2].starts_with("       line 3: "), "{ran:?}");
    assert_eq!(server.run("--config mine.toml serve").code, 2);
    fs::write(server.home.path().join("mine.toml"), "url = 'ftp://x'\n").unwrap();
    assert_eq!(server.run("config check mine.toml").error()["code"], "cli.settings");
    fs::write(server.home.path().join("mine.toml"), "agent = 'ada'\n").unwrap();
    assert_eq!(server.run("config check mine.toml").code, 0);
    // An error in a variable names the variable.
    let mut command = server.command(["config", "show"]);
    let ran = Ran::of(
        {
            command.env("BATON_LISTEN", "nowhere");
            command
        },
        "",
    );
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("BATON_LISTEN: `nowhere` is not an address"), "{ran:?}");
}

#[test]
fn a_token_is_not_shown() {
    let server = Server::start();
    let mut command = server.command(["config", "show", "-o", "table"]);
    let ran = Ran::of(
        {
            command.env("BATON_TOKEN", "baton_secret");
            command
        },
        "",
    );
    assert!(ran.stdout.contains("(not shown)") && !ran.stdout.contains("baton_secret"), "{ran:?}");
}

#[test]
fn the_settings_of_the_service_are_in_order() {
    let server = Server::start();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/baton.toml");
    let shown = Ran::of(server.command(["config", "check", file]), "").json();
    let data = shown.as_array().unwrap().iter().find(|row| row["key"] == "serve.data").unwrap();
    assert_eq!(data["value"], "/var/lib/baton", "as the unit says with StateDirectory");
}

#[test]
fn a_file_with_which_a_server_would_not_start_is_invalid() {
    let home = tempfile::tempdir().unwrap();
    for (text, code) in [
        ("[serve]\nlisten = '0.0.0.0:0'\n", "server.not_loopback"),
        ("[serve]\nadvertise = 'http://a:1'\n", "cli.usage"),
        ("[otel]\nendpoint = 'foo'\n", "cli.usage"),
        ("[otel]\nendpoint = 'http://x'\nheaders = 'abc'\n", "cli.usage"),
        ("[serve]\nlisten = '0.0.0.0:0'\ntokens = true\n", ""),
    ] {
        fs::write(home.path().join("mine.toml"), text).unwrap();
        let mut check = baton(home.path());
        check.args(["config", "check", "mine.toml"]);
        let checked = Ran::of(check, "");
        if code.is_empty() {
            assert_eq!(checked.code, 0, "{text}: {checked:?}");
            continue;
        }
        assert_eq!(checked.error()["code"], code, "{text}: {checked:?}");
        let mut serve = baton(home.path());
        serve.args(["--config", "mine.toml", "serve"]);
        assert_eq!(Ran::of(serve, "").error()["code"], code, "{text}");
    }
}

#[test]
fn a_key_for_secrets_is_read_before_anything_is_served() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("short"), "0123abcd").unwrap();
    let log = ["--log", "postgres://baton@127.0.0.1:1/fleet"];
    for (more, code, said) in [
        (&["--secrets-key-file", "short"][..], "cli.usage", "requires --log"),
        (&[log[0], log[1], "--secrets-key-file", "none"], "log.secrets_key", "cannot be read"),
        (&[log[0], log[1], "--secrets-key-file", "short"], "log.secrets_key", "64 hexadecimal"),
    ] {
        let mut serve = baton(home.path());
        serve.args(["serve", "--listen", "127.0.0.1:0"]).args(more);
        let refused = Ran::of(serve, "");
        assert_eq!(refused.error()["code"], code, "{refused:?}");
        assert!(refused.stderr.contains(said) && !refused.stderr.contains("0123"), "{refused:?}");
    }
    fs::write(home.path().join("mine.toml"), "[serve]\nsecrets_key_file = 'short'\n").unwrap();
    let mut check = baton(home.path());
    check.args(["config", "check", "mine.toml"]);
    let refused = Ran::of(check, "");
    assert_eq!(refused.error()["code"], "log.secrets_key", "{refused:?}");
}
