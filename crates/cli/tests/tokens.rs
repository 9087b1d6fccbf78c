//! Access tokens and JWTs.

use crate::process::{Ran, Server, baton};

/// Runs a command with a token.
fn run(server: &Server, token: &str, line: &str) -> Ran {
    let mut command = server.command(line.split(' '));
    command.env("BATON_TOKEN", token);
    Ran::of(command, "")
}

#[test]
fn the_first_admin_creates_and_revokes_tokens() {
    let server = Server::in_home(tempfile::tempdir().unwrap(), &["--tokens"]);
    let admin = server.banner.split("export BATON_TOKEN=").nth(1).unwrap();
    let admin = admin.split_whitespace().next().unwrap();
    let refused = server.run("state get plan");
    assert_eq!((refused.code, refused.error()["code"].clone()), (6, "access.no_token".into()));
    let refused = run(&server, "baton_wrong", "state get plan");
    assert_eq!((refused.code, refused.error()["code"].clone()), (6, "access.bad_token".into()));
    let line = "token create ci --role worker --for ci --in team-*";
    let made = run(&server, admin, line).json();
    let worker = made["token"].as_str().unwrap();
    let set = run(&server, worker, "--workspace team-a --agent ci state set plan 1");
    assert_eq!(set.json()["updated_by"], "ci");
    for (line, code) in [
        ("--workspace other --agent ci state set plan 1", "access.workspace"),
        ("--workspace team-a --agent ada state set plan 1", "access.agent"),
        ("--workspace team-a --agent ci namespace create notes", "access.role"),
        ("--workspace team-a --agent ci workspace fork copy", "access.role"),
        ("token ls", "access.role"),
    ] {
        let refused = run(&server, worker, line);
        assert_eq!((refused.code, refused.error()["code"].clone()), (6, code.into()), "{line}");
    }
    let listed = run(&server, admin, "token ls").json();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["first admin", "ci"]);
    let revoked = run(&server, admin, &format!("token revoke {}", made["id"].as_str().unwrap()));
    assert!(revoked.json()["revoked_at"].is_string(), "{revoked:?}");
    let refused = run(&server, worker, "--workspace team-a --agent ci state get plan");
    assert_eq!(refused.error()["code"], "access.bad_token");
}

#[test]
fn the_owner_of_the_data_creates_a_token_without_a_server() {
    let home = tempfile::tempdir().unwrap();
    let mut create = baton(home.path());
    create.args(["token", "create", "me", "--role", "reader", "--data", "data"]);
    let made = Ran::of(create, "").json();
    let server = Server::in_home(home, &["--tokens"]);
    assert!(
        !server.banner.contains("export BATON_TOKEN"),
        "there is one already: {}",
        server.banner
    );
    let token = made["token"].as_str().unwrap();
    assert_eq!(run(&server, token, "state ls").code, 0);
    let refused = run(&server, token, "state set plan 1");
    assert_eq!(refused.error()["code"], "access.role");
    // A running server has exclusive access to the data.
    let mut second = baton(server.home.path());
    second.args(["token", "ls", "--data", "data"]);
    assert_eq!(Ran::of(second, "").error()["code"], "log.in_use");
}

#[test]
fn refusals_are_in_no_folder() {
    let home = tempfile::tempdir().unwrap();
    let mut list = baton(home.path());
    list.args(["token", "refusals", "--data", "data"]);
    let refused = Ran::of(list, "");
    assert_eq!((refused.code, refused.error()["code"].clone()), (2, "cli.usage".into()));
    assert!(!home.path().join("data").exists());
}

/// Signed with [`SECRET`] by the issuer `tests` for `baton`: for ada, a worker, until 2100.
const VOUCHED: &str = concat!(
    "eyJhbGciOiJIUzI1NiJ9.",
    "eyJpc3MiOiJ0ZXN0cyIsImF1ZCI6ImJhdG9uIiwic3ViIjoiYWRhIiwiZXhwIjo0MTAyNDQ0ODAw",
    "LCJiYXRvbiI6eyJyb2xlIjoid29ya2VyIn19.",
    "yeP2x8Zjd2iPp17cgYEY-GQ0Jvlbqruf6pepBt6ezFU"
);
const SECRET: &str = "a secret that only tests may know";
const ISSUER: [&str; 4] = ["--jwt-issuer", "tests", "--jwt-audience", "baton"];

#[test]
fn identities_of_an_issuer_are_accepted_and_refusals_are_listed() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("secret"), SECRET).unwrap();
    let mut more = vec!["--tokens", "--jwt-key", "secret"];
    more.extend(ISSUER);
    let server = Server::in_home(home, &more);
    let admin = server.banner.split("export BATON_TOKEN=").nth(1).unwrap();
    let admin = admin.split_whitespace().next().unwrap();
    let set = run(&server, VOUCHED, "--agent ada state set plan 1");
    assert_eq!(set.json()["updated_by"], "ada");
    let refused = run(&server, &VOUCHED.replace("eyJhbGci", "eyJhbGcj"), "state ls");
    assert_eq!((refused.code, refused.error()["code"].clone()), (6, "access.bad_jwt".into()));
    let refused = run(&server, VOUCHED, "--agent ada namespace create notes");
    assert_eq!(refused.error()["code"], "access.role");
    let listed = run(&server, admin, "token refusals").json();
    let first = &listed.as_array().unwrap()[0];
    assert_eq!((&first["who"], &first["operation"]), (&"ada".into(), &"namespace.create".into()));
    let table = run(&server, admin, "token refusals --limit 1 -o table").stdout;
    assert!(table.contains("namespace.create") && table.contains("127.0.0.1"), "{table}");
    let refused = run(&server, VOUCHED, "token refusals");
    assert_eq!(refused.error()["code"], "access.role");
}

#[test]
fn an_issuer_is_configured_completely_or_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("secret"), SECRET).unwrap();
    std::fs::write(home.path().join("short"), "short").unwrap();
    for (more, code) in [
        (&["--jwt-key", "secret"][..], "cli.usage"),
        (&["--jwt-issuer", "tests"], "cli.usage"),
        (&["--jwt-key", "secret", "--jwt-jwks", "secret"], "cli.usage"),
        (
            &["--jwt-key", "short", ISSUER[0], ISSUER[1], ISSUER[2], ISSUER[3]],
            "access.bad_key_file",
        ),
        (
            &["--jwt-jwks", "secret", ISSUER[0], ISSUER[1], ISSUER[2], ISSUER[3]],
            "access.bad_key_file",
        ),
    ] {
        let mut serve = baton(home.path());
        serve.args(["serve", "--listen", "127.0.0.1:0", "--data", "data"]).args(more);
        let refused = Ran::of(serve, "");
        assert_eq!((refused.code, refused.error()["code"].clone()), (2, code.into()), "{more:?}");
    }
}

#[test]
fn quotas_of_a_file_and_of_a_token_hold() {
    let home = tempfile::tempdir().unwrap();
    let text = "[quota]\nentries_max = 2\n[quota.workspace.free]\nentries_max = 0\n";
    std::fs::write(home.path().join("mine.toml"), text).unwrap();
    let server = Server::in_home(home, &["--config", "mine.toml", "--tokens"]);
    let admin = server.banner.split("export BATON_TOKEN=").nth(1).unwrap();
    let admin = admin.split_whitespace().next().unwrap();
    for (workspace, key, code) in
        [("w", "a", 0), ("w", "b", 0), ("w", "c", 7), ("w", "a", 0), ("free", "c", 0)]
    {
        let ran = run(&server, admin, &format!("--workspace {workspace} state set {key} 1"));
        assert_eq!(ran.code, code, "{workspace} {key}: {ran:?}");
    }
    let refused = run(&server, admin, "--workspace w state set c 1");
    assert_eq!(refused.error()["code"], "quota.entries");
    let made = run(&server, admin, "token create slow --role worker --bytes-rate 1").json();
    assert_eq!(made["quota"]["bytes_per_s"], 1);
    let slow = made["token"].as_str().unwrap();
    let long = "9".repeat(300);
    let ran = run(&server, slow, &format!("--workspace free state set long {long}"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let refused = run(&server, slow, "--workspace free state set long 1");
    assert_eq!((refused.code, refused.error()["code"].clone()), (7, "quota.bytes".into()));
    let refused = run(&server, admin, "token create none --role worker --rate 0");
    assert_eq!(refused.code, 2, "{refused:?}");
    let shown = run(&server, admin, "--config mine.toml config show").json();
    let row = shown.as_array().unwrap().iter().find(|row| row["key"] == "quota.entries_max");
    assert_eq!(row.unwrap()["value"], "2");
}
