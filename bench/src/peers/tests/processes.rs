use std::path::Path;
use std::process::Command;

use super::super::Kind;
use super::super::processes::{self, Ending, Server};
use super::super::programs::target_folder;

fn start(words: &[&str], ending: Ending) -> (Server, std::path::PathBuf) {
    let folder = processes::folder(&std::env::temp_dir(), "test").unwrap();
    let path = folder.path().to_path_buf();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    (Server::start(Kind::Redis, folder, 0, command, ending).unwrap(), path)
}

#[test]
fn a_server_that_is_dropped_leaves_nothing_behind() {
    for ending in [Ending::Kill, Ending::Quit] {
        let (server, folder) = start(&["sleep", "600"], ending);
        let process = format!("/proc/{}", server.pid());
        assert!(Path::new(&process).exists() && folder.exists());
        drop(server);
        assert!(!Path::new(&process).exists(), "{ending:?}");
        assert!(!folder.exists(), "{ending:?}");
    }
}

#[test]
fn a_server_that_does_not_hear_is_ended_all_the_same() {
    let (server, folder) = start(&["sh", "-c", "trap '' QUIT; echo; exec sleep 600"], Ending::Quit);
    let log = folder.join("server.log");
    let server = server.wait_until(|_| {
        let has_begun = std::fs::read_to_string(&log)? == "\n";
        if has_begun { Ok(()) } else { Err("not yet".into()) }
    });
    let process = format!("/proc/{}", server.as_ref().unwrap().pid());
    drop(server);
    assert!(!Path::new(&process).exists() && !folder.exists());
}

#[test]
fn a_server_that_ends_says_why() {
    let (server, _) = start(&["sh", "-c", "echo the reason; exit 3"], Ending::Kill);
    let outcome = server.wait_until(|_| Err("refused".into()));
    let error = outcome.err().expect("it has ended").to_string();
    assert!(error.contains("Redis ended: exit status: 3\n  the reason"), "{error}");
}

#[test]
fn a_server_is_ready_when_it_does_what_it_is_asked() {
    let (server, _) = start(&["sleep", "600"], Ending::Kill);
    let attempts = std::cell::Cell::new(0);
    let server = server.wait_until(|_| {
        attempts.set(attempts.get() + 1);
        if attempts.get() < 3 { Err("not yet".into()) } else { Ok(()) }
    });
    assert_eq!(attempts.get(), 3);
    assert!(server.unwrap().resident_bytes().unwrap() > 0);
}

#[test]
fn a_program_that_is_missing_is_named() {
    let folder = processes::folder(&std::env::temp_dir(), "test").unwrap();
    let command = Command::new("/no/such/program");
    let outcome = Server::start(Kind::Etcd, folder, 0, command, Ending::Kill);
    let error = outcome.err().expect("it cannot start").to_string();
    assert!(error.starts_with("`/no/such/program` does not start: "), "{error}");
}

#[test]
fn free_ports_differ() {
    let [one, other, third] = processes::free_ports().unwrap();
    assert!(one != other && one != third && other != third);
}

#[test]
fn programs_are_two_folders_deep_in_the_target_folder() {
    let found = target_folder(Path::new("/a/target/release/baton-bench")).unwrap();
    assert_eq!(found, Path::new("/a/target"));
    assert!(target_folder(Path::new("baton-bench")).is_err());
}
