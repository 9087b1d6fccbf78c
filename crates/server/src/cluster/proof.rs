//! The proof by which a server verifies the identity of another one at the end of a connection.
//!
//! ```text
//!   caller ── GET /cluster/proof, a nonce ──▶ what listens at the advertised address
//!          ◀── HMAC-SHA-256(secret, nonce, id), id ──
//!          ── requests with tokens of clients, and with the secret ──▶ only after that
//! ```
//!
//! 1. On a new connection nothing else is sent before the proof is verified: an address may be
//!    wrong, or may be used by another program, which would receive the tokens of clients.
//! 2. A proof is for one id. So the wrong one of two servers with the same address is detected, and
//!    a program that asks the caller itself for a proof gets one that does not match.
//!
//! Deliberately absent: protection from a program on the network path that relays everything and
//! reads it. Use `https://` in the advertised URL against that.

use axum::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use ring::rand::{SecureRandom, SystemRandom};

/// The path at which a server proves its identity.
pub(super) const PROOF: &str = "/cluster/proof";
/// The header with the random number that the proof is about.
pub(super) const NONCE: HeaderName = HeaderName::from_static("baton-nonce");
/// Its length, in hexadecimal digits.
const NONCE_BYTES: usize = 64;
const TAG_BYTES: usize = 32;
/// No other use of the secret signs a text that begins like this.
const PURPOSE: &str = "baton server proof";

/// A number that is used once.
pub(super) struct Nonce(String);

impl Nonce {
    /// None if the machine gives no random numbers.
    pub(super) fn random() -> Option<Self> {
        let (mut high, mut low) = ([0; 16], [0; 16]);
        let random = SystemRandom::new();
        random.fill(&mut high).ok()?;
        random.fill(&mut low).ok()?;
        let [high, low] = [high, low].map(u128::from_be_bytes);
        Some(Self(format!("{high:032x}{low:032x}")))
    }

    pub(super) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("digits are a good value")
    }
}

fn message(nonce: &[u8], id: &[u8]) -> Vec<u8> {
    [PURPOSE.as_bytes(), b"\0", nonce, b"\0", id].concat()
}

/// The proof that this server knows the secret and has this id. None without a secret or a nonce.
pub(super) fn prove(secret: &str, id: &str, nonce: Option<&HeaderValue>) -> Option<Vec<u8>> {
    let nonce = nonce.map(HeaderValue::as_bytes);
    let nonce = nonce.filter(|nonce| nonce.len() == NONCE_BYTES)?;
    if secret.is_empty() {
        return None;
    }
    let key = Key::new(HMAC_SHA256, secret.as_bytes());
    let tag = sign(&key, &message(nonce, id.as_bytes()));
    Some([tag.as_ref(), id.as_bytes()].concat())
}

/// Whether it is the proof of the server with this id; the reason if it is not.
pub(super) fn check(secret: &str, id: &str, nonce: &Nonce, proof: &Bytes) -> Result<(), String> {
    let foreign = || "another program answers at this address, not a server of this log".to_owned();
    let (tag, theirs) = proof.split_at_checked(TAG_BYTES).ok_or_else(foreign)?;
    let key = Key::new(HMAC_SHA256, secret.as_bytes());
    // The comparison takes the same time wherever the tags differ.
    let is_proven = verify(&key, &message(nonce.0.as_bytes(), theirs), tag).is_ok();
    if secret.is_empty() || !is_proven {
        return Err(foreign());
    }
    if theirs == id.as_bytes() {
        return Ok(());
    }
    let theirs = String::from_utf8_lossy(theirs);
    Err(format!("the server {theirs} answers at this address, not {id}: check --advertise of both"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_server_with_the_id_and_the_secret_proves_itself() {
        let nonce = Nonce::random().unwrap();
        let proven = |secret: &str, id: &str, nonce: &Nonce| {
            Bytes::from(prove(secret, id, Some(&nonce.header())).unwrap())
        };
        let good = proven("secret", "a-1", &nonce);
        assert_eq!(check("secret", "a-1", &nonce, &good), Ok(()));
        let wrong = check("secret", "b-2", &nonce, &good).unwrap_err();
        assert!(wrong.contains("a-1"), "{wrong}");
        let other = Nonce::random().unwrap();
        let mut claimed = good.to_vec();
        claimed.truncate(TAG_BYTES);
        claimed.extend_from_slice(b"b-2");
        for (what, id, proof) in [
            ("another secret", "a-1", proven("guess", "a-1", &nonce)),
            ("another nonce", "a-1", proven("secret", "a-1", &other)),
            ("another id", "b-2", Bytes::from(claimed)),
            ("nothing", "a-1", Bytes::new()),
            ("a page", "a-1", Bytes::from_static(&[b'x'; 300])),
        ] {
            let why = check("secret", id, &nonce, &proof).unwrap_err();
            assert!(why.contains("another program"), "{what}: {why}");
        }
        assert_eq!(prove("", "a-1", Some(&nonce.header())), None);
        assert_eq!(prove("secret", "a-1", None), None);
        assert_eq!(prove("secret", "a-1", Some(&HeaderValue::from_static("1"))), None);
    }
}
