//! `baton lock run`: a program runs only while a lock is held.

use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::process::{Ran, Running, Server, send};

fn under_lock(server: &Server, options: &[&str], script: &str) -> Command {
    let mut command = server.command(["lock", "run", "door"]);
    command.args(options).args(["--", "sh", "-c", script]);
    command
}

/// With a stdin that stays open until it is closed here.
fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::piped());
    command
}

/// Polls the lock until the condition is true.
fn eventually(server: &Server, so: impl Fn(&serde_json::Value) -> bool) {
    while !so(&server.run("lock get door").json()) {}
}

#[test]
fn a_program_runs_under_the_lock_and_its_exit_code_is_ours() {
    let server = Server::start();
    let script = "echo $BATON_LOCK_TOKEN; cat; exit 7";
    let ran = Ran::of(under_lock(&server, &[], script), "given\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (7, "1\ngiven\n"), "{ran:?}");
    assert_eq!(server.run("lock get door").json()["status"], "free");
    let ran = Ran::of(under_lock(&server, &[], "kill -9 $$"), "");
    assert_eq!(ran.code, 128 + 9, "{ran:?}");
    let ran = server.run("lock run door -- no-such-program-anywhere");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (2, Some("cli.no_program")));
    assert_eq!(server.run("lock get door").json()["status"], "free");
}

#[test]
fn one_caller_holds_it_and_the_others_are_queued() {
    let server = Server::start();
    // The program continues when its stdin is closed.
    let command = under_lock(&server, &[], "echo begun; read line; echo ended");
    let mut first = Running::of(piped(command));
    assert_eq!(first.line(), "begun\n");
    let ran = Ran::of(under_lock(&server, &[], "echo never"), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (10, ""), "{ran:?}");
    let ran = Ran::of(under_lock(&server, &["--wait", "1ms"], "echo never"), "");
    assert_eq!((ran.code, ran.error()["code"].as_str()), (10, Some("cli.nothing_in_time")));
    let mut second = Running::of(under_lock(&server, &["--wait", "1h"], "echo my turn"));
    eventually(&server, |lock| lock["waiters"].as_array().unwrap().len() == 1);
    drop(first.child.stdin.take());
    assert_eq!(first.line(), "ended\n");
    assert_eq!(second.line(), "my turn\n");
    assert_eq!((first.ended().0, second.ended().0), (0, 0));
}

#[test]
fn a_hold_is_renewed_for_as_long_as_the_program_runs() {
    let server = Server::start();
    let command = under_lock(&server, &["--ttl", "3s"], "echo begun; read line");
    let mut running = Running::of(piped(command));
    assert_eq!(running.line(), "begun\n");
    let first = server.run("lock get door").json()["hold"].clone();
    // Renewals are visible by their effect: without them the lock would have expired.
    eventually(&server, |lock| {
        assert_eq!(lock["hold"]["token"], first["token"], "{lock}");
        lock["hold"]["expires_at"].as_str() > first["expires_at"].as_str()
    });
    drop(running.child.stdin.take());
    assert_eq!(running.ended().0, 1, "`read` met the end");
}

#[test]
fn a_program_is_ended_when_the_lock_is_lost() {
    let mut server = Server::start();
    // Long enough for the lock not to be lost by itself on a busy machine.
    let ttl = ["--ttl", "3s"];
    // Lost because it was released.
    let script = "trap 'echo asked to end; exit 3' TERM; echo begun; while :; do sleep 0.01; done";
    let mut running = Running::of(under_lock(&server, &ttl, script));
    assert_eq!(running.line(), "begun\n");
    let token = server.run("lock get door").json()["hold"]["token"].clone();
    assert_eq!(server.run(&format!("lock release door --token {token}")).code, 0);
    assert_eq!(running.line(), "asked to end\n");
    let (code, said) = running.ended();
    assert!(code == 5 && said.contains("lock.stale_token"), "{code}: {said}");
    // Lost because the server is gone.
    let mut running = Running::of(under_lock(&server, &ttl, script));
    assert_eq!(running.line(), "begun\n");
    server.kill();
    assert_eq!(running.line(), "asked to end\n");
    let (code, said) = running.ended();
    assert!(code == 5 && said.contains("cli.lost"), "{code}: {said}");
}

#[test]
fn a_hold_is_renewed_often_enough_for_the_session_of_its_agent() {
    let server = Server::start();
    for verb in ["lock", "semaphore"] {
        assert_eq!(server.run("--agent bob agent register bob --ttl 3s").code, 0);
        let script = "echo begun; read line; exit 0";
        let mut command = server.command(["--agent", "bob", verb, "run", "door"]);
        command.args(if verb == "lock" { &[][..] } else { &["--permits", "1"] });
        let mut running = Running::of(piped({
            command.args(["--", "sh", "-c", script]);
            command
        }));
        assert_eq!(running.line(), "begun\n");
        // A session that begins later, and is not renewed, ends before that of bob.
        let silent = format!("silent-{verb}");
        let register = format!("--agent {silent} agent register {silent} --ttl 3s");
        assert_eq!(server.run(&register).code, 0);
        let is_active = |agent: &str| {
            let agents = server.run("agent ls --status active").json();
            agents.as_array().unwrap().iter().any(|active| active["id"] == agent)
        };
        while is_active(&silent) {}
        assert!(is_active("bob"), "the session of bob is kept");
        drop(running.child.stdin.take());
        assert_eq!(running.ended().0, 0);
    }
}

#[test]
fn signals_are_forwarded_to_the_program() {
    let server = Server::start();
    let script = "trap 'echo asked; exit 3' TERM INT; echo begun; while :; do sleep 0.01; done";
    for signal in [Signal::TERM, Signal::INT] {
        let mut running = Running::of(under_lock(&server, &[], script));
        assert_eq!(running.line(), "begun\n");
        send(&running.child, signal);
        assert_eq!(running.line(), "asked\n");
        assert_eq!(running.ended().0, 3);
        assert_eq!(server.run("lock get door").json()["status"], "free");
    }
    // While it waits, the program has not started.
    assert_eq!(server.run("lock acquire door").code, 0);
    let mut waiting = Running::of(under_lock(&server, &["--wait", "1h"], "echo never"));
    eventually(&server, |lock| lock["waiters"].as_array().unwrap().len() == 1);
    send(&waiting.child, Signal::TERM);
    assert_eq!(waiting.ended().0, 128 + 15);
    eventually(&server, |lock| lock["waiters"].as_array().unwrap().is_empty());
}

#[test]
fn a_semaphore_limits_the_number_of_running_programs() {
    let server = Server::start();
    let run = |options: &[&str], script: &str| {
        let mut command = server.command(["semaphore", "run", "models"]);
        command.args(options).args(["--", "sh", "-c", script]);
        command
    };
    let hold = || Running::of(piped(run(&["--permits", "2"], "echo $BATON_PERMIT_TOKEN; read x")));
    let (mut first, mut second) = (hold(), hold());
    assert_ne!(first.line(), second.line());
    let ran = Ran::of(run(&[], "echo never"), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (10, ""), "{ran:?}");
    drop(first.child.stdin.take());
    assert_eq!(first.ended().0, 1, "`read` met the end");
    let ran = Ran::of(run(&["--wait", "1h"], "echo my turn"), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "my turn\n"), "{ran:?}");
}

#[test]
fn agents_that_wait_for_each_other_are_marked() {
    let server = Server::start();
    for line in ["lock acquire left --agent ada", "lock acquire right --agent bob"] {
        assert_eq!(server.run(line).code, 0);
    }
    let wait = |agent: &str, name: &str| {
        let words = ["lock", "acquire", name, "--agent", agent, "--wait", "1h"];
        Running::of(server.command(words))
    };
    let _waiting = (wait("ada", "right"), wait("bob", "left"));
    let mut output = server.run("lock ls -o table").stdout;
    while !output.contains("deadlock") {
        output = server.run("lock ls -o table").stdout;
    }
    let last = output.lines().last().unwrap();
    let cycle = "ada waits for right, held by bob; bob waits for left, held by ada";
    assert_eq!(last, format!("deadlock: {cycle}"), "{output}");
    assert_eq!(server.run("lock ls").json()["deadlocks"][0][0]["agent"], "ada");
}

#[test]
fn an_interrupted_command_does_not_wait_for_an_unreachable_server() {
    // Gone, and there but silent: connections are still accepted by the system.
    for signal in [Signal::KILL, Signal::STOP] {
        let server = Server::start();
        let script = "trap 'exit 3' TERM; echo begun; while :; do sleep 0.01; done";
        let mut holding = Running::of(under_lock(&server, &["--ttl", "10m"], script));
        assert_eq!(holding.line(), "begun\n");
        let serve = ["message", "serve", "--handler", "add", "--", "cat"];
        let serving = Running::of(server.command(serve));
        let working = Running::of(server.command(["task", "work", "--", "cat"]));
        send(&server.child, signal);
        for mut running in [holding, serving, working] {
            send(&running.child, Signal::TERM);
            running.child.wait().unwrap();
        }
        // One that has never reached it.
        let mut waiting = Running::of(under_lock(&server, &["--wait", "1h"], "echo never"));
        send(&waiting.child, Signal::TERM);
        waiting.child.wait().unwrap();
    }
}
