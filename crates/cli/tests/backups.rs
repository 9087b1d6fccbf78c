//! Backups of a running server, and restoring them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::process::{Server, baton};

fn count(folder: &std::path::Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_backup_is_taken_verified_restored_and_served() {
    let server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    assert_eq!(server.run("--workspace other lock acquire door").code, 0);
    let taken = server.run("backup --to all.backup").json();
    assert_eq!(taken["workspaces"][0], json!({"workspace": "default", "revision": 1}));
    let file = server.home.path().join("all.backup");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Later writes are not in the backup.
    assert_eq!(server.run("state set plan 2").code, 0);
    assert_eq!(server.run("restore all.backup --check").json(), taken);
    assert_eq!(server.run("restore all.backup --data new/data").code, 8, "its parent is missing");
    assert_eq!(server.run("restore all.backup --data elsewhere").json(), taken);
    let home = server.home.path().to_owned();
    let other = tempfile::tempdir().unwrap();
    fs::rename(home.join("elsewhere"), other.path().join("data")).unwrap();
    let restored = Server::in_home(other, &[]);
    assert_eq!(restored.run("state get plan").json()["value"], json!(1));
    let held = restored.run("--workspace other lock get door").json();
    assert_eq!(held["hold"]["holder"], json!("cli"));
}

#[test]
fn a_backup_into_a_folder_is_named_by_its_time_and_needs_no_server() {
    let mut server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    let folder = server.home.path().join("backups");
    fs::create_dir(&folder).unwrap();
    let in_use = server.run("backup --to backups --data data");
    assert_eq!((in_use.code, in_use.error()["code"].as_str()), (8, Some("log.in_use")));
    assert_eq!(server.run("-o table backup --to backups").code, 0);
    server.kill();
    assert_eq!(server.run("backup --to backups --data data").code, 0);
    let unreachable = server.run("backup --to backups");
    assert_eq!(unreachable.code, 8);
    assert_eq!(count(&folder), 2, "two complete files, and no partial ones");
}

#[test]
fn a_damaged_backup_or_an_occupied_target_is_refused_and_leaves_nothing() {
    let server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    assert_eq!(server.run("backup --to all.backup").code, 0);
    let taken = server.run("restore all.backup --data data");
    assert_eq!((taken.code, taken.error()["code"].as_str()), (4, Some("restore.not_empty")));
    let file = server.home.path().join("all.backup");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let before = count(server.home.path());
    for words in ["restore all.backup --data new", "restore all.backup --check"] {
        let ran = server.run(words);
        assert_eq!((ran.code, ran.error()["code"].as_str()), (2, Some("backup.damaged")));
    }
    assert_eq!(count(server.home.path()), before);
    let mut command = baton(server.home.path());
    command.args(["-o", "table", "restore", "missing", "--data", "new"]);
    let ran = crate::process::Ran::of(command, "");
    assert_eq!((ran.code, ran.stderr.lines().count()), (2, 3), "{ran:?}");
}
