//! `baton demo`.

use tempfile::TempDir;

use crate::process::{Ran, Server, baton};

#[test]
fn a_task_is_handed_on_and_survives_the_server() {
    let home = TempDir::new().unwrap();
    let mut command = baton(home.path());
    command.env("TMPDIR", home.path()).args(["demo", "handoff", "--pace", "0ms"]);
    let Ran { code, stdout, stderr } = Ran::of(command, "");
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let parts = [
        "writer  rejects it",
        "researcher  writes too late: token",
        "the server is killed with SIGKILL",
        "reviewer  cannot accept it yet",
        "editor  approves this exact offer",
        "reviewer  claims it and completes it",
        "rejected by `writer` (which sources?)",
    ];
    let mut rest = stdout.as_str();
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}` is not in {rest}"));
        rest = &rest[at + part.len()..];
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_fleet_survives_failures_and_loses_nothing() {
    let server = Server::start();
    let Ran { code, stdout, stderr } = server.run("demo --rounds 4 --pace fast --seed 7");
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    // In four rounds every failure happens once.
    let parts = [
        "is writing articles in the workspace demo: 4 articles, seed 7",
        "joins as researcher",
        "the archive is not responding; it will be retried",
        "is lost: no heartbeat",
        "resumes",
        "it needs a title",
        "kim   ⇒ accepts ",
        "lost: all 12 tasks are completed on the server",
    ];
    for part in parts {
        assert!(stdout.contains(part), "`{part}` is not in {stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "colour is for terminals");
    let tasks = server.run("task stats --workspace demo").json();
    assert_eq!(tasks["tasks"]["completed"], 12, "{tasks}");
    for left in ["pending", "in_progress", "handed_off", "waiting_review", "failed", "cancelled"] {
        assert_eq!(tasks["tasks"][left], 0, "{left} in {tasks}");
    }
    let handoffs = server.run("handoff stats --workspace demo").json();
    assert_eq!((&handoffs["completed"], &handoffs["open"]), (&4.into(), &0.into()), "{handoffs}");
    assert!(handoffs["rejected"].as_u64() >= Some(1), "{handoffs}");
    // Other workspaces are untouched, and the demo can run again in the same one.
    assert_eq!(server.run("task stats").json()["tasks"]["completed"], 0);
    let again = server.run("demo --rounds 1 --pace fast --agents 4");
    assert!(again.stdout.contains("all 3 tasks are completed on the server"), "{again:?}");
}

#[test]
fn a_fleet_needs_a_server_and_one_of_each_kind() {
    let server = Server::start();
    let small = server.run("demo --agents 3");
    assert_eq!((small.code, &small.error()["code"]), (2, &"cli.usage".into()), "{small:?}");
    let home = TempDir::new().unwrap();
    let mut command = baton(home.path());
    command.args(["demo", "--url", "http://127.0.0.1:1"]);
    let away = Ran::of(command, "");
    assert_eq!((away.code, away.stdout.as_str()), (8, ""), "{away:?}");
}
