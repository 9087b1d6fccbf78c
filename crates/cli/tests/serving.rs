//! Starting, refusing to start, and ending.

use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::process::{Ran, Running, Server, baton};

#[test]
fn it_ends_when_told_and_says_so() {
    for signal in [Signal::TERM, Signal::INT] {
        let (code, last) = Server::start().end(signal);
        assert_eq!(code, 0);
        assert_eq!(last.trim(), "baton has ended; everything acknowledged is durable");
    }
}

#[test]
fn what_the_banner_says_works_when_pasted() {
    let server = Server::start();
    assert!(server.banner.contains("  data     file log in data, "), "{}", server.banner);
    let after = server.banner.split("Try, in another terminal:\n").nth(1).unwrap();
    let lines: Vec<&str> = after.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let [export, set, watch, curl] = lines[..] else { panic!("{lines:?}") };
    let shell = |script: String| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env("HOME", server.home.path()).env_remove("BATON_WORKSPACE");
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    };
    let ran = Ran::of(shell(format!("{export}\n{set}")), "");
    assert_eq!(ran.json()["value"]["step"], 1);
    // The shell becomes the watch, so that it ends with the test.
    let mut watching = Running::of(shell(format!("{export}\nexec {watch}")));
    assert!(watching.line().contains("\"state/shared/plan\""));
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_ok() {
        let ran = Ran::of(shell(format!("{curl} -s")), "");
        assert!(ran.stdout.contains("\"step\""), "{ran:?}");
    }
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let server = Server::start();
    let mut second = baton(server.home.path());
    second.args(["-o", "table", "serve", "--data", "data", "--listen", "127.0.0.1:0"]);
    let ran = Ran::of(second, "");
    assert_eq!((ran.code, ran.stderr.lines().count()), (8, 3), "{ran:?}");
    let holder = format!("`data` is in use by process {}", server.child.id());
    assert!(ran.stderr.contains("(log.in_use)") && ran.stderr.contains(&holder), "{ran:?}");
}

#[test]
fn a_taken_port_is_refused() {
    let server = Server::start();
    let mut second = baton(server.home.path());
    let address = server.url.strip_prefix("http://").unwrap();
    second.args(["-o", "table", "serve", "--data", "other", "--listen", address]);
    let ran = Ran::of(second, "");
    assert_eq!((ran.code, ran.stderr.lines().count()), (8, 3), "{ran:?}");
    assert!(ran.stderr.contains("(server.address_taken)"), "{ran:?}");
}

#[test]
fn data_outlives_the_server() {
    let mut server = Server::start();
    assert_eq!(server.run("state set plan 1").code, 0);
    server.kill();
    server.restart();
    assert_eq!(server.run("state get plan --value").stdout, "1\n");
}
