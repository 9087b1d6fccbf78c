//! A data folder that is divided among several engines.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::process::{Ran, Server, baton};

/// One in each of four shards.
const WORKSPACES: [&str; 4] = ["w0", "w10", "w3", "w4"];

fn divided() -> Server {
    Server::in_home(tempfile::tempdir().unwrap(), &["--shards", "4"])
}

fn fill(server: &Server) {
    for name in WORKSPACES {
        assert_eq!(server.run(&format!("--workspace {name} state set plan \"{name}\"")).code, 0);
    }
}

fn check(server: &Server) {
    for name in WORKSPACES {
        let found = server.run(&format!("--workspace {name} state get plan")).json();
        assert_eq!(found["value"], json!(name));
    }
}

fn offline(server: &Server, line: &str) -> Ran {
    let mut command = baton(server.home.path());
    command.args(line.split(' '));
    Ran::of(command, "")
}

/// The shards of a folder that have records.
fn used(server: &Server) -> Vec<Value> {
    let verified = offline(server, "log verify --data data -o jsonl").stdout;
    let rows = verified.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["records"] != 0).map(|row| row["shard"].clone()).collect()
}

#[test]
fn all_shards_are_one_server() {
    let mut server = divided();
    assert!(server.banner.contains("  data     4 shards in data\n"), "{}", server.banner);
    fill(&server);
    check(&server);
    server.kill();
    assert_eq!(used(&server), [0, 1, 2, 3], "each has some of the workspaces");
    server.restart();
    check(&server);
    let status = server.run("cluster status").json();
    assert_eq!((&status["shards"], &status["unowned"]), (&json!(4), &json!([])), "{status}");
    let listed = server.run("workspace ls -o jsonl").stdout;
    assert_eq!(listed.lines().count(), WORKSPACES.len(), "{listed}");
    let (code, last) = server.end(Signal::TERM);
    assert_eq!((code, last.trim()), (0, "baton has stopped; all acknowledged writes are durable"));
}

#[test]
fn the_number_of_shards_is_that_of_the_folder() {
    let mut server = divided();
    for (line, code) in [
        ("serve --data data --listen 127.0.0.1:0", "log.in_use"),
        ("log verify --data data", "log.in_use"),
        ("backup --to all.backup --data data", "log.in_use"),
        ("token ls --data data", "log.in_use"),
    ] {
        let ran = offline(&server, &format!("{line} -o json"));
        assert!(ran.code == 8 && ran.stderr.contains(code), "{line}: {ran:?}");
    }
    server.kill();
    let ran = offline(&server, "serve --data data --listen 127.0.0.1:0 --shards 3 -o json");
    assert!(ran.code != 0 && ran.stderr.contains("log.shard_count"), "{ran:?}");
    assert!(ran.stderr.contains("baton restore --shards"), "{ran:?}");
    let one = Server::start();
    assert_eq!(one.run("state set plan 1").code, 0);
    drop(one);
    let home = tempfile::tempdir().unwrap();
    let mut one = Server::in_home(home, &["--shards", "1"]);
    assert_eq!(one.run("state set plan 1").code, 0);
    assert!(one.data().join("log").is_dir(), "one shard is a folder like any other");
    one.kill();
    let ran = offline(&one, "serve --data data --listen 127.0.0.1:0 --shards 4 -o json");
    assert!(ran.code != 0 && ran.stderr.contains("log.shard_count"), "{ran:?}");
    one.restart();
    assert_eq!(one.run("state get plan --value").stdout, "1\n");
}

#[test]
fn a_backup_moves_workspaces_between_numbers_of_shards() {
    let mut server = divided();
    fill(&server);
    assert_eq!(server.run("backup --to online.backup").code, 0);
    server.kill();
    assert_eq!(offline(&server, "backup --to offline.backup --data data").code, 0);
    for (number, line) in [
        "restore online.backup --data restored",
        "restore online.backup --data restored --shards 2",
        "restore offline.backup --data restored --shards 7",
    ]
    .iter()
    .enumerate()
    {
        let restored = offline(&server, line).json();
        assert_eq!(restored["workspaces"].as_array().map(Vec::len), Some(WORKSPACES.len()));
        let home = tempfile::tempdir().unwrap();
        fs::rename(server.home.path().join("restored"), home.path().join("data")).unwrap();
        let again = Server::in_home(home, &[]);
        check(&again);
        assert_eq!(again.data().join("shards").exists(), number > 0);
    }
}

#[test]
fn damage_is_found_in_its_shard() {
    let mut server = divided();
    fill(&server);
    server.kill();
    let sound = offline(&server, "doctor --data data -o json").stdout;
    for shard in 0..4 {
        assert!(sound.contains(&format!("shard {shard}: ")), "{sound}");
    }
    let dumped = offline(&server, "log dump w3 --data data").stdout;
    let event: Value = serde_json::from_str(dumped.lines().next().unwrap()).unwrap();
    assert_eq!(event["workspace"], "w3");
    let shard = event["shard"].as_u64().expect("there are several");
    let segment = format!("data/shard-{shard}/log/00000000000000000000.segment");
    let segment = server.home.path().join(segment);
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4096 + 60] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let verified = offline(&server, "log verify --data data -o json");
    assert!(verified.code == 8 && verified.stderr.contains("log.corrupt"), "{verified:?}");
    let unhealthy = offline(&server, "doctor --data data -o json").stdout;
    assert!(unhealthy.contains(&format!("shard {shard}: ")) && unhealthy.contains("is damaged"));
    let unconfirmed = offline(&server, "log repair --data data");
    assert!(unconfirmed.stderr.contains(&format!("shard-{shard}/log")), "{unconfirmed:?}");
    assert_eq!(offline(&server, "log repair --yes --data data").code, 0);
    assert_eq!(offline(&server, "log verify --data data").code, 0);
    server.restart();
    assert_eq!(server.run("--workspace w3 state get plan").code, 3, "it was discarded");
}

#[test]
fn tokens_are_managed_without_a_server() {
    let options = ["--shards", "3", "--tokens"];
    let mut server = Server::in_home(tempfile::tempdir().unwrap(), &options);
    assert!(server.banner.contains("export BATON_TOKEN="), "{}", server.banner);
    server.kill();
    let made = offline(&server, "token create ci --role worker --data data").json();
    let listed = offline(&server, "token ls --data data -o jsonl").stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let home = std::mem::replace(&mut server.home, tempfile::tempdir().unwrap());
    let server = Server::in_home(home, &["--tokens"]);
    assert!(!server.banner.contains("export BATON_TOKEN="), "{}", server.banner);
    for (token, code) in [(made["token"].as_str().unwrap(), 0), ("baton_wrong", 6)] {
        let mut command = server.command(["state", "set", "plan", "1"]);
        command.env("BATON_TOKEN", token);
        let ran = Ran::of(command, "");
        assert_eq!(ran.code, code, "{ran:?}");
    }
}
