//! TLS: invalid files, valid files, and a reloaded certificate.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::process::{Ran, Running, Server, baton, send};

const SERVE: [&str; 4] = ["--tls-cert", "chain.pem", "--tls-key", "key.pem"];

/// Writes a certificate for this machine, and its key.
fn papers(folder: &Path) {
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    fs::write(folder.join("chain.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

/// Runs a command without a server.
fn run(home: &Path, words: &[&str]) -> Ran {
    let mut command = baton(home);
    command.args(words);
    Ran::of(command, "")
}

#[test]
fn a_server_with_a_certificate_accepts_tls_only() {
    let home = tempfile::tempdir().unwrap();
    papers(home.path());
    let mut server = Server::in_home(home, &SERVE);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.banner);
    let stranger = tempfile::tempdir().unwrap();
    papers(stranger.path());
    let theirs = stranger.path().join("chain.pem").display().to_string();
    let refused = server.run(&format!("--ca-file {theirs} state set plan 1"));
    assert_eq!((refused.code, refused.error()["code"].clone()), (6, "tls.untrusted".into()));
    assert_eq!(server.run("--ca-file chain.pem state set plan 1").code, 0);
    let mut get = server.command(["state", "get", "plan", "--value"]);
    get.env("BATON_CA_FILE", "chain.pem");
    assert_eq!(Ran::of(get, "").stdout, "1\n");
    assert_eq!(server.run("--ca-file chain.pem doctor --alive").code, 0);
    let plain = server.url.replace("https", "http");
    let refused = server.run(&format!("--url {plain} state ls"));
    assert_eq!((refused.code, refused.error()["code"].clone()), (2, "request.plain_text".into()));

    fs::copy(server.home.path().join("chain.pem"), server.home.path().join("old.pem")).unwrap();
    papers(server.home.path());
    send(&server.child, Signal::HUP);
    assert_eq!(server.says().trim(), "TLS certificate reloaded");
    assert_eq!(server.run("--ca-file chain.pem state get plan").code, 0);
    assert_eq!(server.run("--ca-file old.pem state get plan").code, 6);
    fs::write(server.home.path().join("key.pem"), "").unwrap();
    send(&server.child, Signal::HUP);
    let said = server.says();
    assert!(said.contains("error certificate.not_renewed why="), "{said}");
    assert!(said.contains("key.pem"), "{said}");
    assert_eq!(server.run("--ca-file chain.pem state get plan").code, 0);
}

/// As `systemctl reload` does, whatever is configured.
#[test]
fn a_service_without_a_certificate_survives_a_reload() {
    let server = Server::start();
    send(&server.child, Signal::HUP);
    assert_eq!(server.run("state set plan 1").code, 0);
}

#[test]
fn bad_files_are_named_before_anything_is_served() {
    let home = tempfile::tempdir().unwrap();
    papers(home.path());
    fs::copy(home.path().join("key.pem"), home.path().join("other.pem")).unwrap();
    papers(home.path());
    for (more, code) in [
        (&["--tls-cert", "chain.pem"][..], "cli.usage"),
        (&["--tls-cert", "missing.pem", "--tls-key", "key.pem"], "tls.unreadable"),
        (&["--tls-cert", "key.pem", "--tls-key", "key.pem"], "tls.unreadable"),
        (&["--tls-cert", "chain.pem", "--tls-key", "other.pem"], "tls.unusable"),
        (&["--webhooks", "--ca-file", "missing.pem"], "tls.unreadable"),
    ] {
        let mut words = vec!["serve", "--listen", "127.0.0.1:0", "--data", "data"];
        words.extend(more);
        let refused = run(home.path(), &words);
        assert_eq!((refused.code, refused.error()["code"].clone()), (2, code.into()), "{more:?}");
    }
    let settings = |key: &str| {
        let text = format!("[serve]\ntls_cert = 'chain.pem'\ntls_key = '{key}'\n");
        fs::write(home.path().join("mine.toml"), text).unwrap();
        run(home.path(), &["config", "check", "mine.toml"])
    };
    assert_eq!(settings("key.pem").code, 0);
    assert_eq!(settings("other.pem").error()["code"], "tls.unusable");
    fs::write(home.path().join("mine.toml"), "ca_file = 'nowhere.pem'\n").unwrap();
    let refused = run(home.path(), &["config", "check", "mine.toml"]);
    assert_eq!(refused.error()["code"], "tls.unreadable");
}

#[test]
fn a_webhook_trusts_the_certificates_in_the_settings() {
    let home = tempfile::tempdir().unwrap();
    papers(home.path());
    let ca_file = home.path().join("chain.pem").display().to_string();
    // The endpoint is reached, but has nothing at that path.
    let called = Server::in_home(home, &SERVE);
    let stranger = tempfile::tempdir().unwrap();
    papers(stranger.path());
    let other = stranger.path().join("chain.pem").display().to_string();
    for (ca_file, said) in [(ca_file, "status 404"), (other, "tls.untrusted")] {
        let more = ["--webhooks", "--webhooks-private", "--ca-file", &ca_file];
        let server = Server::in_home(tempfile::tempdir().unwrap(), &more);
        let add = format!("reaction add tell --on go --webhook {}/nowhere", called.url);
        assert_eq!(server.run(&add).code, 0);
        assert_eq!(server.run("event emit go").code, 0);
        let watch = server.command(["watch", "--from", "1", "-o", "jsonl"]);
        let mut watching = Running::of(watch);
        let output = loop {
            let line = watching.line();
            if line.contains("reaction.call_dead") || line.contains("reaction.call_failed") {
                break line;
            }
        };
        assert!(output.contains(said), "{output}");
    }
}
