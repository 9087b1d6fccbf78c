//! A server with TLS: everything uses it, and nothing is sent to an untrusted server.

use std::path::{Path, PathBuf};

use baton::Baton;
use baton::clock::SystemClock;
use baton::log::MemoryLog;
use baton_client::{Client, Error, Item, Options, connect_with};
use baton_server::{Identity, Server, Settings};
use serde_json::json;

use crate::peer::patiently;

/// A certificate for this machine, and its key, in a folder.
fn papers(folder: &Path) -> (PathBuf, PathBuf) {
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (certificate, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

/// A server; returns its port. It ends with the test.
async fn serve(tls: Option<Identity>) -> u16 {
    let clock = SystemClock::default();
    let baton = Baton::on(MemoryLog::default(), clock, baton::Options::default()).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let server = Server::bind(baton, Settings { listen, tls, ..Settings::default() }).await;
    let server = server.unwrap();
    let port = server.address().port();
    tokio::spawn(server.run(std::future::pending()));
    port
}

async fn connect(url: &str, ca_file: &Path) -> Result<Client, Error> {
    let options = Options { ca_file: Some(ca_file.to_owned()), ..Options::default() };
    patiently(connect_with(url, options)).await
}

#[tokio::test]
async fn calls_watches_and_bytes_go_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = papers(folder.path());
    let port = serve(Some(Identity::read(&certificate, &key).unwrap())).await;
    for url in [format!("https://127.0.0.1:{port}"), format!("wss://localhost:{port}/")] {
        let client = connect(&url, &certificate).await.unwrap();
        assert!(client.description().contains("https://"), "{}", client.description());
        let ada = client.workspace("research").unwrap().as_agent("ada").unwrap();
        let pushed = patiently(async {
            let set = ada.state("shared").set("plan", json!({"step": 1})).await.unwrap();
            let mut watch = ada.watch("**").from(set.revision()).await.unwrap();
            watch.next().await
        });
        let Some(Ok(Item::Event(event))) = pushed.await else { panic!("no event came") };
        assert_eq!(event.agent().as_str(), "ada");
        let bytes = "y".repeat(600_000);
        let read = patiently(async {
            let put = ada.artifacts().put(std::io::Cursor::new(bytes.clone())).await?;
            ada.artifacts().read(put.artifact.artifact.as_str()).await?.rest().await
        });
        assert_eq!(read.await.unwrap(), bytes.as_bytes());
        client.close().await;
    }
}

#[tokio::test]
async fn unknown_identities_and_other_protocols_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let (certificate, key) = papers(folder.path());
    let (stranger, _) = papers(other.path());
    let port = serve(Some(Identity::read(&certificate, &key).unwrap())).await;
    let plain = serve(None).await;
    let missing = folder.path().join("missing.pem");
    for (url, ca_file, code) in [
        (format!("https://127.0.0.1:{port}"), &stranger, "tls.untrusted"),
        (format!("https://127.0.0.2:{port}"), &certificate, "client.unreachable"),
        (format!("https://127.0.0.1:{port}"), &missing, "tls.unreadable"),
        (format!("https://127.0.0.1:{port}"), &key, "tls.unreadable"),
        (format!("https://127.0.0.1:{plain}"), &certificate, "tls.plain_server"),
        (format!("http://127.0.0.1:{port}"), &certificate, "request.plain_text"),
    ] {
        let refused = connect(&url, ca_file).await.unwrap_err();
        assert_eq!(refused.code(), code, "{url}: {refused}");
    }
}
