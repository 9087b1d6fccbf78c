//! Signals to commands that read their stdin, wait or have something to tidy up.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;

use crate::process::{Ran, Running, Server, send};

/// More than a pipe holds: when all of it is written, the program is reading.
const MORE_THAN_A_PIPE: usize = 256 << 10;

#[test]
fn an_interrupt_ends_a_command_that_reads_stdin() {
    let server = Server::start();
    for line in [
        "state set k -",
        "artifact put -",
        "secret put",
        "checkpoint save th",
        "tx",
        "handoff import -",
        "event emit a.b -",
        "stream send answer --lines",
    ] {
        let mut command = server.command(line.split(' '));
        command.stdin(Stdio::piped());
        let mut running = Running::of(command);
        // It stays open: the end of the input never comes.
        let mut stdin = running.child.stdin.take().unwrap();
        stdin.write_all(" ".repeat(MORE_THAN_A_PIPE).as_bytes()).unwrap();
        send(&running.child, Signal::INT);
        assert_eq!(running.ended(), (130, String::new()), "{line}");
    }
}

#[test]
fn an_interrupted_benchmark_tidies_up() {
    let server = Server::start();
    let keys = || {
        let list = server.command(["--workspace", "baton-bench", "state", "ls"]);
        Ran::of(list, "").json().as_array().map(Vec::len)
    };
    let command = server.command(["bench", "--seconds", "3600", "--concurrency", "2"]);
    let mut running = Running::of(command);
    while keys() != Some(2) {}
    send(&running.child, Signal::INT);
    assert_eq!(running.ended(), (130, String::new()));
    assert_eq!(keys(), Some(0));
}

#[test]
fn the_exit_code_of_a_wait_names_the_signal() {
    let server = Server::start();
    assert_eq!(server.run("lock acquire door --ttl 1h").code, 0);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let words = ["lock", "run", "door", "--wait", "1h", "--", "true"];
        let mut running = Running::of(server.command(words));
        let waiting = || server.run("lock get door").json()["waiters"].as_array().unwrap().len();
        while waiting() == 0 {}
        send(&running.child, signal);
        assert_eq!(running.ended(), (code, String::new()));
        while waiting() > 0 {}
    }
}
