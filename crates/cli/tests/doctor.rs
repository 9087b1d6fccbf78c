//! `baton doctor` finds common problems and suggests fixes.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;

use crate::process::{Ran, Server, baton};

/// Runs the checks on this data; the findings and the exit code.
fn looked(server: &Server, words: &[&str]) -> (Value, i32) {
    let mut command = baton(server.home.path());
    command.args(["-o", "json", "doctor"]).args(words);
    let ran = Ran::of(command, "");
    (serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}")), ran.code)
}

fn state<'a>(findings: &'a Value, check: &str) -> &'a str {
    let found = findings.as_array().unwrap().iter().find(|found| found["check"] == check);
    let found = found.unwrap_or_else(|| panic!("no {check}: {findings}"));
    // Everything that is not good has a suggestion.
    assert_eq!(found["state"] == "good", found.get("do").is_none(), "{found}");
    found["state"].as_str().unwrap()
}

#[test]
fn a_healthy_server_passes_all_checks() {
    let server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    let address = server.url.strip_prefix("http://").unwrap();
    let mut command = server.command(["doctor", "--data", "data", "-o", "json"]);
    command.env("BATON_LISTEN", address);
    let ran = Ran::of(command, "");
    let found = ran.json();
    for check in ["settings", "folder", "log", "address", "server", "version", "access"] {
        assert_eq!(state(&found, check), "good", "{found}");
    }
    let log = found.to_string();
    assert!(log.contains(&format!("process {}", server.child.id())), "{log}");
}

#[test]
fn sound_data_without_a_server_is_read_to_its_end() {
    let mut server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    server.kill();
    let (found, code) = looked(&server, &["--data", "data"]);
    for check in ["folder", "log", "files", "clock"] {
        assert_eq!(state(&found, check), "good", "{found}");
    }
    // No server is configured explicitly.
    assert_eq!((state(&found, "server"), code), ("fair", 0), "{found}");
    let (found, code) = looked(&server, &["--data", "data", "--url", "http://127.0.0.1:1"]);
    assert_eq!((state(&found, "server"), code), ("bad", 8), "{found}");
    assert_eq!(server.run("doctor --alive").code, 8);
    server.restart();
    assert_eq!(server.run("doctor --alive").code, 0);
}

#[test]
fn problems_are_found() {
    let mut server = Server::start();
    for number in 0..5 {
        assert_eq!(server.run(&format!("state set key/{number} {number}")).code, 0);
    }
    server.kill();
    let (found, code) = looked(&server, &["--data", "missing"]);
    assert_eq!((state(&found, "folder"), code), ("fair", 0), "{found}");
    fs::write(server.home.path().join("file"), "").unwrap();
    let (found, code) = looked(&server, &["--data", "file"]);
    assert_eq!((state(&found, "folder"), code), ("bad", 8), "{found}");
    fs::write(server.home.path().join("bad.toml"), "[serve]\nlisen = 1\n").unwrap();
    let (found, code) = looked(&server, &["--config", "bad.toml", "--data", "data"]);
    assert_eq!((state(&found, "settings"), code), ("bad", 8), "{found}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = baton(server.home.path());
    command.env("BATON_LISTEN", taken.local_addr().unwrap().to_string());
    command.args(["-o", "json", "doctor", "--data", "data"]);
    let ran = Ran::of(command, "");
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((state(&found, "address"), ran.code), ("bad", 8), "{found}");
    let segment = server.data().join("log/00000000000000000000.segment");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4096 + 60] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let (found, code) = looked(&server, &["--data", "data"]);
    assert_eq!((state(&found, "log"), code), ("bad", 8), "{found}");
}

#[test]
fn a_damaged_or_missing_artifact_is_seen() {
    let mut server = Server::start();
    fs::write(server.home.path().join("report"), "a report").unwrap();
    assert_eq!(server.run("artifact put report").code, 0);
    server.kill();
    let mut found = Vec::new();
    let mut folders = vec![server.data()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains("artifacts/") {
                found.push(path);
            }
        }
    }
    let mut bytes = fs::read(&found[0]).unwrap();
    bytes[3] ^= 1;
    fs::write(&found[0], bytes).unwrap();
    let (damaged, code) = looked(&server, &["--data", "data"]);
    assert_eq!((state(&damaged, "files"), code), ("bad", 8), "{damaged}");
    fs::remove_file(&found[0]).unwrap();
    let (missing, code) = looked(&server, &["--data", "data"]);
    assert_eq!((state(&missing, "files"), code), ("bad", 8), "{missing}");
    assert!(missing.to_string().contains("its content has disappeared"), "{missing}");
}
