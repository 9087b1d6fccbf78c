//! The handshake succeeds with peers whose identity is verified, and with no others.

use std::path::PathBuf;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A certificate for these names, and its key, as files in a folder.
fn made(folder: &TempDir, file: &str, names: &[&str]) -> (PathBuf, PathBuf) {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let certificate = folder.path().join(format!("{file}.pem"));
    let key = folder.path().join(format!("{file}.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

/// Both ends of one connection.
async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let calling = TcpStream::connect(listener.local_addr().unwrap());
    let (calling, called) = tokio::join!(calling, listener.accept());
    (calling.unwrap(), called.unwrap().0)
}

#[tokio::test]
async fn a_peer_that_vanishes_is_noticed_within_half_a_minute() {
    use rustix::net::sockopt::{socket_keepalive, tcp_keepcnt, tcp_keepidle, tcp_keepintvl};
    let (_calling, called) = sockets().await;
    probe_quiet_peer(&called).unwrap();
    assert!(socket_keepalive(&called).unwrap());
    let probes = tcp_keepintvl(&called).unwrap() * tcp_keepcnt(&called).unwrap();
    assert_eq!((tcp_keepidle(&called).unwrap() + probes).as_secs(), 30);
}

async fn shake(identity: &Identity, trust: &Trust, host: &str) -> Result<(), TlsError> {
    let (calling, called) = sockets().await;
    let (near, far) = tokio::join!(trust.connect(host, calling), identity.accept(called));
    let mut near = near?;
    let Accepted::Secure(mut far) = far.unwrap() else { panic!("it was not secure") };
    assert!(near.is_secure() && far.is_secure());
    near.write_all(b"hello").await.unwrap();
    near.flush().await.unwrap();
    let mut heard = [0; 5];
    far.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
    let mut sent = far.try_write(b"and back").unwrap();
    assert_eq!(sent, 8);
    while far.has_unsent() {
        far.writable().await.unwrap();
        sent += far.try_write(&[]).unwrap_or(0);
    }
    assert_eq!(sent, 8);
    let mut heard = [0; 8];
    near.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"and back");
    Ok(())
}

#[tokio::test]
async fn handshakes_need_the_right_name_and_authority() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = made(&folder, "server", &["localhost", "127.0.0.1", "::1"]);
    let (other, _) = made(&folder, "other", &["localhost"]);
    let identity = Identity::read(&certificate, &key).unwrap();
    let trust = Trust::of(Some(&certificate)).unwrap();
    for host in ["localhost", "127.0.0.1", "[::1]", "::1"] {
        assert_eq!(shake(&identity, &trust, host).await, Ok(()), "{host}");
    }
    for host in ["elsewhere.example", "127.0.0.2", "no name", ""] {
        let refused = shake(&identity, &trust, host).await.unwrap_err();
        assert_eq!(refused.code(), "tls.untrusted", "{host}: {refused}");
    }
    let stranger = Trust::of(Some(&other)).unwrap();
    let refused = shake(&identity, &stranger, "localhost").await.unwrap_err();
    assert_eq!(refused.code(), "tls.untrusted", "{refused}");
}

#[tokio::test]
async fn plain_text_is_returned_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = made(&folder, "server", &["localhost"]);
    let identity = Identity::read(&certificate, &key).unwrap();
    let (mut calling, called) = sockets().await;
    calling.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let Ok(Accepted::Plain(mut called)) = identity.accept(called).await else { panic!("secure") };
    let mut first = [0; 3];
    called.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"GET", "nothing of it is lost");

    let (calling, mut called) = sockets().await;
    called.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    let trust = Trust::of(Some(&certificate)).unwrap();
    let Err(refused) = trust.connect("localhost", calling).await else { panic!("agreed") };
    assert_eq!(refused.to_string(), "the server does not use TLS");

    let (calling, called) = sockets().await;
    drop(calling);
    assert!(identity.accept(called).await.is_err());
}

#[test]
fn bad_files_are_refused_by_name_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = made(&folder, "server", &["localhost"]);
    let (_, other_key) = made(&folder, "other", &["localhost"]);
    let missing = folder.path().join("missing.pem");
    let broken = folder.path().join("broken.pem");
    std::fs::write(&broken, "-----BEGIN PRIVATE KEY-----\nhush!\n-----END PRIVATE KEY-----\n")
        .unwrap();
    for (certificate, key, code) in [
        (&missing, &key, "tls.unreadable"),
        (&certificate, &missing, "tls.unreadable"),
        (&key, &key, "tls.unreadable"),
        (&certificate, &certificate, "tls.unreadable"),
        (&certificate, &broken, "tls.unreadable"),
        (&certificate, &other_key, "tls.unusable"),
    ] {
        let refused = Identity::read(certificate, key).unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
        assert!(!refused.to_string().contains("hush"), "{refused}");
        assert!(!refused.hint().is_empty());
    }
    assert_eq!(Trust::of(Some(&key)).unwrap_err().code(), "tls.unreadable");
    assert!(!format!("{:?}", Identity::read(&certificate, &key).unwrap()).contains("BEGIN"));
}

#[tokio::test]
async fn a_renewed_certificate_is_reloaded_completely_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = made(&folder, "server", &["localhost"]);
    let identity = Identity::read(&certificate, &key).unwrap();
    let before = Trust::of(Some(&certificate)).unwrap();
    std::fs::write(&key, "").unwrap();
    assert_eq!(identity.read_again().unwrap_err().code(), "tls.unreadable");
    assert_eq!(shake(&identity, &before, "localhost").await, Ok(()));
    made(&folder, "server", &["localhost"]);
    identity.read_again().unwrap();
    let after = Trust::of(Some(&certificate)).unwrap();
    assert_eq!(shake(&identity, &after, "localhost").await, Ok(()));
    assert!(shake(&identity, &before, "localhost").await.is_err(), "the old one is gone");
}
