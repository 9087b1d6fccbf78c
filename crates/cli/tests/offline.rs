//! `baton log` on valid and damaged data.

use std::fs;
use std::path::PathBuf;

use crate::process::{Ran, Server, baton};

/// Data that a killed server left behind.
fn left_behind() -> Server {
    let mut server = Server::start();
    for number in 0..5 {
        assert_eq!(server.run(&format!("state set key/{number} {number}")).code, 0);
    }
    assert_eq!(server.run("--workspace other state set plan 1").code, 0);
    server.kill();
    server
}

fn log(server: &Server, words: &[&str]) -> Ran {
    let mut command = baton(server.home.path());
    command.arg("log").args(words).args(["--data", "data"]);
    Ran::of(command, "")
}

/// Damages the first record, so that valid ones follow.
fn damage(server: &Server) -> PathBuf {
    let segment = server.data().join("log/00000000000000000000.segment");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4096 + 60] ^= 1;
    fs::write(&segment, bytes).unwrap();
    segment
}

#[test]
fn sound_data_is_verified_and_dumped() {
    let server = left_behind();
    let verified = log(&server, &["verify"]).json();
    assert_eq!((verified["records"].as_u64(), &verified["damage"]), (Some(6), &().into()));
    let dumped = log(&server, &["dump"]).stdout;
    let events: Vec<serde_json::Value> =
        dumped.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sets: Vec<&str> = events
        .iter()
        .filter(|event| event["event"]["type"] == "state.set")
        .map(|event| event["event"]["subject"].as_str().unwrap())
        .collect();
    assert_eq!((sets.len(), sets[0], sets[5]), (6, "state/shared/key/0", "state/shared/plan"));
    let other = log(&server, &["dump", "other", "-o", "table"]).stdout;
    assert!(other.contains("  other 1.0  ") && !other.contains("default"), "{other}");
    assert_eq!(log(&server, &["verify"]).json(), verified, "nothing was changed");
    assert_eq!(log(&server, &["repair"]).json()["damage"], serde_json::Value::Null);
}

#[test]
fn damaged_data_is_named_refused_and_repaired_only_on_request() {
    let mut server = left_behind();
    let segment = damage(&server);
    let before = fs::read(&segment).unwrap();
    let verified = log(&server, &["verify"]);
    assert_eq!(verified.code, 8);
    let report: serde_json::Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(
        (report["records"].as_u64(), report["damage"]["records_after"].as_u64()),
        (Some(0), Some(5))
    );
    let mut serve = baton(server.home.path());
    serve.args(["-o", "table", "serve", "--data", "data", "--listen", "127.0.0.1:0"]);
    let refused = Ran::of(serve, "");
    assert_eq!((refused.code, refused.stderr.lines().count()), (8, 3), "{refused:?}");
    assert!(refused.stderr.contains("(log.corrupt)"), "{refused:?}");
    assert_eq!(log(&server, &["dump"]).code, 8);
    let unconfirmed = log(&server, &["repair"]);
    assert_eq!(
        (unconfirmed.code, unconfirmed.error()["code"].as_str()),
        (2, Some("cli.unconfirmed"))
    );
    assert_eq!(fs::read(&segment).unwrap(), before, "nothing was changed");
    let repaired = log(&server, &["repair", "--yes"]).json();
    assert_eq!(repaired["kept"].as_array().unwrap().len(), 1);
    assert_eq!(log(&server, &["verify"]).code, 0);
    server.restart();
    assert_eq!(server.run("state get key/0").code, 3, "the truncated part is gone");
}

#[test]
fn data_in_use_or_not_there_is_refused() {
    let server = Server::start();
    for words in [&["verify"][..], &["dump"], &["repair", "--yes"]] {
        let ran = log(&server, words);
        assert_eq!((ran.code, ran.error()["code"].as_str()), (8, Some("log.in_use")), "{words:?}");
    }
    let ran = server.run("log verify --data missing");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (8, Some("log.failed")));
    assert!(!server.home.path().join("missing").exists());
}

#[test]
fn a_folder_without_data_is_refused_and_stays_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("empty")).unwrap();
    let run = |line: &str| {
        let mut command = baton(home.path());
        command.args(line.split(' '));
        Ran::of(command, "")
    };
    for folder in ["missing", "empty"] {
        for line in ["log repair --yes", "log repair", "token ls", "token revoke 3f9a1c0b77de"] {
            let ran = run(&format!("{line} --data {folder}"));
            let code = (ran.code, ran.error()["code"].clone());
            assert_eq!(code, (8, "log.failed".into()), "{line} {folder}");
        }
    }
    assert!(!home.path().join("missing").exists());
    assert_eq!(fs::read_dir(home.path().join("empty")).unwrap().count(), 0);
    // The first token may be made before the server is started for the first time.
    let made = run("token create me --role admin --data missing -o table");
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(made.stderr, "there was no data in missing: it is a new folder\n");
    let made = run("token create you --role admin --data missing -o table");
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    assert_eq!(run("token ls --data missing").json().as_array().map(Vec::len), Some(2));
    assert_eq!(run("log repair --yes --data missing").code, 0);
}
