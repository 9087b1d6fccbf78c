//! Startup, startup errors and shutdown.

use std::io::{BufRead, BufReader};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Ran, Running, Server, baton, send};

#[test]
fn it_ends_on_a_signal_and_reports_it() {
    for signal in [Signal::TERM, Signal::INT] {
        let (code, last) = Server::start().end(signal);
        assert_eq!(code, 0);
        assert_eq!(last.trim(), "baton has stopped; all acknowledged writes are durable");
    }
}

#[test]
fn the_service_manager_is_notified_when_the_server_listens_and_stops() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("notify").display().to_string();
    let hidden = format!("baton-test-{}", std::process::id());
    let by_name = SocketAddr::from_abstract_name(&hidden).unwrap();
    let sockets = [
        (path.clone(), UnixDatagram::bind(&path).unwrap()),
        (format!("@{hidden}"), UnixDatagram::bind_addr(&by_name).unwrap()),
    ];
    for (name, socket) in sockets {
        let received = || {
            let mut bytes = [0; 64];
            let count = socket.recv(&mut bytes).unwrap();
            str::from_utf8(&bytes[..count]).unwrap().to_owned()
        };
        let mut serve = baton(home.path());
        serve.args(["--quiet", "serve", "--data", "data", "--listen", "127.0.0.1:0"]);
        let mut serving = Running::of({
            serve.env("NOTIFY_SOCKET", &name);
            serve
        });
        assert_eq!(received(), "READY=1\n", "{name}");
        send(&serving.child, Signal::TERM);
        assert_eq!(received(), "STOPPING=1\n", "{name}");
        assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_missing_service_manager_stops_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut serve = baton(home.path());
    serve.args(["serve", "--data", "data", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    let mut child = serve.env("NOTIFY_SOCKET", "/nowhere/notify").spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_warning = |line: &String| line.contains("service_manager.unreachable");
    assert!(said.by_ref().map(Result::unwrap).any(|line| is_warning(&line)));
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_commands_of_the_banner_work_when_pasted() {
    let server = Server::start();
    assert!(server.banner.contains("  data     file log in data, "), "{}", server.banner);
    let after = server.banner.split("Try this in another terminal:\n").nth(1).unwrap();
    let lines: Vec<&str> = after.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let [export, demo, set, watch, curl] = lines[..] else { panic!("{lines:?}") };
    let shell = |script: String| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env("HOME", server.home.path()).env_remove("BATON_WORKSPACE");
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    };
    let ran = Ran::of(shell(format!("{export}\n{demo} --pace fast")), "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = Ran::of(shell(format!("{export}\n{set}")), "");
    assert_eq!(ran.json()["value"]["step"], 1);
    // The shell execs the watch, so that it ends with the test.
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

#[test]
fn a_log_for_programs_is_one_object_in_every_line() {
    let home = tempfile::tempdir().unwrap();
    let mut serve = baton(home.path());
    serve.args(["serve", "--data", "data", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    serve.args(["--log-level", "debug", "--tokens"]);
    let mut child = serve.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut next = |what: &str| {
        let line = lines.find_map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            assert!(line["time"].is_string() && line["level"].is_string(), "{line}");
            (line["what"] == what).then_some(line)
        });
        line.unwrap_or_else(|| panic!("no `{what}`"))
    };
    let token = next("token.first")["token"].as_str().unwrap().to_owned();
    let address = next("server.began")["address"].as_str().unwrap().to_owned();
    let mut set = baton(home.path());
    set.args(["--url", &address, "--access-token", &token, "state", "set", "plan", "1"]);
    assert_eq!(Ran::of(set, "").code, 0);
    assert_eq!(next("operation.asked")["operation"], "state.set");
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    next("server.ended");
    assert!(child.wait().unwrap().success());
    for (option, value) in
        [("--log-level", "loud"), ("--log-format", "xml"), ("--log-slow-ms", "0")]
    {
        let mut serve = baton(home.path());
        serve.args(["serve", "--data", "data", "--listen", "127.0.0.1:0", option, value]);
        let ran = Ran::of(serve, "");
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}

#[cfg(not(feature = "otel"))]
#[test]
fn a_feature_that_was_not_built_is_reported_as_missing() {
    let home = tempfile::tempdir().unwrap();
    let serve = ["serve", "--data", "data", "--listen", "127.0.0.1:0"];
    let mut asked = baton(home.path());
    asked.args(serve).args(["--otel-endpoint", "http://127.0.0.1:4318", "--output", "json"]);
    let ran = Ran::of(asked, "");
    assert_eq!((ran.code, &ran.error()["code"]), (2, &"cli.not_built".into()), "{ran:?}");
    assert!(ran.stderr.contains("--features otel"), "{ran:?}");
    std::fs::write(home.path().join("baton.toml"), "[otel]\nendpoint = 'http://a:1'\n").unwrap();
    let mut said = baton(home.path());
    said.args(["--config", "baton.toml"]).args(serve);
    let ran = Ran::of(said, "");
    assert_eq!((ran.code, &ran.error()["code"]), (2, &"cli.not_built".into()), "{ran:?}");
}
