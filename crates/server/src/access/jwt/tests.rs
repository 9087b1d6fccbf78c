//! Tokens are built by hand here, since no library would create most of these.

use std::fs;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn encoded(value: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(value)
}

/// A token with any signature.
fn token(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let signed = format!(
        "{}.{}",
        encoded(header.to_string().as_bytes()),
        encoded(claims.to_string().as_bytes())
    );
    let signature = sign(signed.as_bytes());
    format!("{signed}.{}", encoded(&signature))
}

fn hmac_with(secret: &[u8]) -> impl Fn(&[u8]) -> Vec<u8> {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    move |text| ring::hmac::sign(&key, text).as_ref().to_vec()
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example", "aud": ["other", "baton"], "sub": "ada",
        "exp": 1_700_000_600, "nbf": 1_699_999_000,
        "baton": {"role": "worker", "workspaces": ["team-*"]},
    })
}

/// The claims with one of them changed, or omitted if it is null.
fn but(name: &str, value: Value) -> Value {
    let mut claims = claims();
    let fields = claims.as_object_mut().unwrap();
    match value {
        Value::Null => drop(fields.remove(name)),
        value => drop(fields.insert(name.to_owned(), value)),
    }
    claims
}

fn issuer(bytes: &[u8], is_set: bool) -> Issuer {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, bytes).unwrap();
    let file = if is_set { KeyFile::Set(path) } else { KeyFile::Key(path) };
    Issuer::read(file, "https://issuer.example", "baton").unwrap()
}

fn by_secret(claims: &Value) -> Result<JwtIdentity, JwtFlaw> {
    let header = json!({"alg": "HS256", "typ": "JWT"});
    let token = token(&header, claims, hmac_with(SECRET.as_bytes()));
    issuer(format!("{SECRET}\n").as_bytes(), false).verify(&token, NOW)
}

#[test]
fn a_valid_jwt_becomes_a_grant() {
    let identity = by_secret(&claims()).unwrap();
    assert_eq!(
        (identity.subject.as_str(), identity.expires_at),
        ("ada", Timestamp(1_700_000_600_000))
    );
    assert_eq!(identity.grant.agent, Some(AgentId::parse("ada").unwrap()));
    assert_eq!(identity.grant.role.name(), "worker");
    assert_eq!(identity.grant.workspaces.len(), 1);
    let named = json!({"role": "reader", "agent": "ci"});
    let identity = by_secret(&but("baton", named)).unwrap();
    assert_eq!(identity.grant.agent, Some(AgentId::parse("ci").unwrap()));
    let one = by_secret(&but("aud", json!("baton"))).unwrap();
    assert_eq!(one.subject, "ada");
}

#[test]
fn every_invalid_claim_is_refused_by_name() {
    let bad = [
        ("iss", json!("https://elsewhere.example"), JwtFlaw::Issuer),
        ("iss", Value::Null, JwtFlaw::Issuer),
        ("aud", json!("other"), JwtFlaw::Audience),
        ("aud", json!([]), JwtFlaw::Audience),
        ("aud", Value::Null, JwtFlaw::Audience),
        ("exp", json!(1_700_000_000), JwtFlaw::Expired),
        ("exp", json!(-1), JwtFlaw::Expired),
        ("exp", json!(1e300), JwtFlaw::Expired),
        ("exp", Value::Null, JwtFlaw::Expired),
        ("exp", json!("1700000600"), JwtFlaw::Claims),
        ("nbf", json!(1_700_003_600), JwtFlaw::NotYetValid),
        ("nbf", json!(1e300), JwtFlaw::NotYetValid),
        ("sub", Value::Null, JwtFlaw::Claims),
        ("sub", json!("no name\n"), JwtFlaw::Claims),
        ("sub", json!("baton"), JwtFlaw::Claims),
        ("baton", json!({"role": "reader", "agent": "baton"}), JwtFlaw::Claims),
        ("baton", Value::Null, JwtFlaw::Claims),
        ("baton", json!({}), JwtFlaw::Claims),
        ("baton", json!({"role": "emperor"}), JwtFlaw::Claims),
        ("baton", json!({"role": "reader", "more": 1}), JwtFlaw::Claims),
    ];
    for (name, value, flaw) in bad {
        assert_eq!(by_secret(&but(name, value.clone())).unwrap_err(), flaw, "{name}: {value}");
    }
    // Clocks differ a little.
    assert!(by_secret(&but("nbf", json!(1_700_000_020))).is_ok());
}

#[test]
fn a_signature_with_another_algorithm_than_that_of_the_key_is_refused() {
    let issuer = issuer(SECRET.as_bytes(), false);
    let verify = |token: &str| issuer.verify(token, NOW).unwrap_err();
    let good = hmac_with(SECRET.as_bytes());
    let with = |header: Value| verify(&token(&header, &claims(), &good));
    for alg in ["none", "None", "NONE", "", "HS1", "RS256", "ES256", "EdDSA", "hs256"] {
        assert_eq!(with(json!({ "alg": alg })), JwtFlaw::Algorithm, "{alg}");
    }
    assert_eq!(with(json!({"alg": "HS384"})), JwtFlaw::Signature);
    assert_eq!(with(json!({"alg": "HS256", "crit": ["exp"]})), JwtFlaw::Malformed);
    assert_eq!(with(json!({})), JwtFlaw::Malformed);
    let unsigned = token(&json!({"alg": "HS256"}), &claims(), |_| Vec::new());
    assert_eq!(verify(&unsigned), JwtFlaw::Signature);
    let other = token(&json!({"alg": "HS256"}), &claims(), hmac_with(&[b'x'; 32]));
    assert_eq!(verify(&other), JwtFlaw::Signature);
    let whole = token(&json!({"alg": "HS256"}), &claims(), &good);
    let parts: Vec<&str> = whole.split('.').collect();
    let forged = encoded(but("sub", json!("eve")).to_string().as_bytes());
    assert_eq!(verify(&format!("{}.{forged}.{}", parts[0], parts[2])), JwtFlaw::Signature);
    for odd in ["", "a", "a.b", "..", "a.b.c", &format!("{whole}="), &format!(" {whole}")] {
        let flaw = verify(odd);
        assert!(matches!(flaw, JwtFlaw::Malformed | JwtFlaw::Signature), "{odd:?}: {flaw:?}");
    }
    assert_eq!(verify(&format!("{}.{}", parts[0], parts[1])), JwtFlaw::Malformed);
    assert_eq!(verify(&format!("{whole}.{whole}")), JwtFlaw::Signature);
    assert_eq!(verify(&"a.".repeat(8_000)), JwtFlaw::TooLarge);
}

/// A P-256 key pair: its signing key, and its point.
fn elliptic() -> (impl Fn(&[u8]) -> Vec<u8>, Vec<u8>) {
    let random = SystemRandom::new();
    let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let made = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).unwrap();
    let point = pair.public_key().as_ref().to_vec();
    (move |text: &[u8]| pair.sign(&SystemRandom::new(), text).unwrap().as_ref().to_vec(), point)
}

/// The point as a public key in PEM.
fn pem_of(point: &[u8]) -> String {
    let mut der = vec![
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08,
        0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ];
    der.extend(point);
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
}

#[test]
fn a_public_key_is_never_taken_for_a_secret() {
    let (sign, point) = elliptic();
    let text = pem_of(&point);
    let issuer = issuer(text.as_bytes(), false);
    let good = token(&json!({"alg": "ES256", "kid": "whatever"}), &claims(), sign);
    assert!(issuer.verify(&good, NOW).is_ok());
    // The public key is public: a token signed with it as a secret must be rejected.
    for secret in [text.as_bytes(), text.trim().as_bytes(), &point] {
        let confused = token(&json!({"alg": "HS256"}), &claims(), hmac_with(secret));
        assert_eq!(issuer.verify(&confused, NOW).unwrap_err(), JwtFlaw::Algorithm);
    }
}

#[test]
fn a_set_is_asked_for_the_key_that_is_named() {
    let (sign, point) = elliptic();
    let random = SystemRandom::new();
    let made = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let edwards = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
    let set = json!({"keys": [
        {"kty": "EC", "crv": "P-256", "kid": "a", "alg": "ES256",
         "x": encoded(&point[1..33]), "y": encoded(&point[33..])},
        {"kty": "OKP", "crv": "Ed25519", "kid": "b", "use": "sig",
         "x": encoded(edwards.public_key().as_ref())},
        {"kty": "RSA", "kid": "c", "use": "enc", "n": "AQAB", "e": "AQAB"},
        {"kty": "quantum", "kid": "d"},
    ]});
    let issuer = issuer(set.to_string().as_bytes(), true);
    let by_edwards = |text: &[u8]| edwards.sign(text).as_ref().to_vec();
    let verify = |header: Value, sign: &dyn Fn(&[u8]) -> Vec<u8>| {
        issuer.verify(&token(&header, &claims(), sign), NOW).map(|identity| identity.by)
    };
    let first = verify(json!({"alg": "ES256", "kid": "a"}), &sign).unwrap();
    let second = verify(json!({"alg": "EdDSA", "kid": "b"}), &by_edwards).unwrap();
    assert!(first != second && issuer.still_has(&first) && issuer.still_has(&second));
    for (header, flaw) in [
        (json!({"alg": "ES256", "kid": "b"}), JwtFlaw::Algorithm),
        (json!({"alg": "ES256", "kid": "c"}), JwtFlaw::UnknownKey),
        (json!({"alg": "ES256", "kid": "z"}), JwtFlaw::UnknownKey),
        (json!({"alg": "ES256"}), JwtFlaw::UnknownKey),
        (json!({"alg": "EdDSA", "kid": "a"}), JwtFlaw::Algorithm),
    ] {
        assert_eq!(verify(header.clone(), &sign).unwrap_err(), flaw, "{header}");
    }
}

#[test]
fn files_that_are_no_keys_are_refused_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let read = |text: &str, is_set: bool| {
        fs::write(&path, text).unwrap();
        let file = if is_set { KeyFile::Set(path.clone()) } else { KeyFile::Key(path.clone()) };
        Issuer::read(file, "i", "a").map(drop)
    };
    let private = "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n";
    let broken = "-----BEGIN PUBLIC KEY-----\nhush\n-----END PUBLIC KEY-----\n";
    let key = json!({"kty": "RSA", "n": SHORT_RSA_MODULUS, "e": "AQAB"});
    let short_set = json!({"keys": [key]}).to_string();
    for (text, is_set) in [
        ("", false),
        ("hush", false),
        (private, false),
        (broken, false),
        ("hush", true),
        ("{\"keys\": []}", true),
        ("{\"keys\": [{\"kty\": \"oct\", \"k\": \"aHVzaA\"}]}", true),
        (SHORT_RSA_KEY, false),
        (&short_set, true),
    ] {
        let refused = read(text, is_set).unwrap_err();
        assert_eq!(refused.code(), "access.bad_key_file");
        assert!(!refused.to_string().contains("hush"), "{refused}");
    }
    fs::remove_file(&path).unwrap();
    assert!(Issuer::read(KeyFile::Key(path), "i", "a").is_err());
}

#[test]
fn reloaded_keys_replace_all_previous_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, SECRET).unwrap();
    let issuer =
        Issuer::read(KeyFile::Key(path.clone()), "https://issuer.example", "baton").unwrap();
    let old = token(&json!({"alg": "HS256"}), &claims(), hmac_with(SECRET.as_bytes()));
    let by = issuer.verify(&old, NOW).unwrap().by;
    fs::write(&path, "short").unwrap();
    assert!(issuer.read_again().is_err());
    assert!(issuer.still_has(&by) && issuer.generation() == 0);
    fs::write(&path, "f".repeat(32)).unwrap();
    issuer.read_again().unwrap();
    assert!(!issuer.still_has(&by) && issuer.generation() == 1);
    assert_eq!(issuer.verify(&old, NOW).unwrap_err(), JwtFlaw::Signature);
    assert!(!format!("{issuer:?}").contains("ffff"));
}

/// A public RSA key made by `openssl`, as `SubjectPublicKeyInfo`; its private key was discarded.
const RSA_KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxY1H+LZgqKGE1S6PhVyU
JBdZai7i2GmBaHcL01Fp6A0gWMkgUJv4vtiQF6bM0hfhCGVrG0WvSB4xDknnTygM
aNVjmBlbgRdQJCKyIasAzsymyjDZA+/00evF+jRsSufhsLa1YQ2EqT8/vffIInpw
bMQoUMTIygV8gQ8CnFyPgx6CH4QApn5esw/2lgU86foMWYtVA+7fTzYmf1hYTm+3
CVZ+Jlvun36EZJ4iodNtGG3KkNhxA2wjRrwvY50zwrBuLfv/2zPaD5gwYdH2bLBk
AGzulJHGiYgd3SnrQlOORp32rN7gRwO+LnM4zxC5smIk0g55Swq/2u3Z2/8Lh26G
ewIDAQAB
-----END PUBLIC KEY-----
";

/// The same as `RSAPublicKey`.
const RSA_KEY_BARE: &str = "\
-----BEGIN RSA PUBLIC KEY-----
MIIBCgKCAQEAxY1H+LZgqKGE1S6PhVyUJBdZai7i2GmBaHcL01Fp6A0gWMkgUJv4
vtiQF6bM0hfhCGVrG0WvSB4xDknnTygMaNVjmBlbgRdQJCKyIasAzsymyjDZA+/0
0evF+jRsSufhsLa1YQ2EqT8/vffIInpwbMQoUMTIygV8gQ8CnFyPgx6CH4QApn5e
sw/2lgU86foMWYtVA+7fTzYmf1hYTm+3CVZ+Jlvun36EZJ4iodNtGG3KkNhxA2wj
RrwvY50zwrBuLfv/2zPaD5gwYdH2bLBkAGzulJHGiYgd3SnrQlOORp32rN7gRwO+
LnM4zxC5smIk0g55Swq/2u3Z2/8Lh26GewIDAQAB
-----END RSA PUBLIC KEY-----
";

/// Its modulus, as in a JWKS.
const RSA_MODULUS: &str = "\
xY1H-LZgqKGE1S6PhVyUJBdZai7i2GmBaHcL01Fp6A0gWMkgUJv4vtiQF6bM0hfhCGVrG0WvSB4xDknnTygMaNVjmBlb\
gRdQJCKyIasAzsymyjDZA-_00evF-jRsSufhsLa1YQ2EqT8_vffIInpwbMQoUMTIygV8gQ8CnFyPgx6CH4QApn5esw_2\
lgU86foMWYtVA-7fTzYmf1hYTm-3CVZ-Jlvun36EZJ4iodNtGG3KkNhxA2wjRrwvY50zwrBuLfv_2zPaD5gwYdH2bLBk\
AGzulJHGiYgd3SnrQlOORp32rN7gRwO-LnM4zxC5smIk0g55Swq_2u3Z2_8Lh26Gew";

/// A public RSA key of 1024 bits, made in the same way.
const SHORT_RSA_KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDLY3u9ryA6od2lyRQTCwDyHv+8
u0+sh/fK1NG6T8mUmKg2xk2UmfE98zSVOMckHHt52AkfyIMeaKhh4crmvW3deXD0
yf43hoUQHo8jonTj8of49T7pcEIKECf1f0UaH7LF1bDKxwoUCO+QzM8VgJ6Ijk5k
w9+P16/ZpDCzepjKiwIDAQAB
-----END PUBLIC KEY-----
";

/// Its modulus, as in a JWKS.
const SHORT_RSA_MODULUS: &str = "\
y2N7va8gOqHdpckUEwsA8h7_vLtPrIf3ytTRuk_JlJioNsZNlJnxPfM0lTjHJBx7edgJH8iDHmioYeHK5r1t3Xlw9Mn-\
N4aFEB6PI6J04_KH-PU-6XBCChAn9X9FGh-yxdWwyscKFAjvkMzPFYCeiI5OZMPfj9ev2aQws3qYyos";

/// A token signed by the longer key: `RS256`, for ada, a worker.
const RSA_TOKEN: &str = "\
eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGx\
lIiwiYXVkIjoiYmF0b24iLCJzdWIiOiJhZGEiLCJleHAiOjE3MDAwMDA2MDAsImJhdG9uIjp7InJvbGUiOiJ3b3JrZXI\
ifX0.MsdZUIFEzBm-VOGGYzSMoAK1qHhkqwJQt5VNbqMBLJ8fldiSfzEtt5W18Hnrg3fThEeDtvkJmrUSfgLQESfncei\
bu-bCPjj77n8Xf51WMWqp3JM153HYYA5P0e3yy6z6TVJckY1CZqQTbC_j57zINq7cTURJk4WaazEs4tgquNuYIWH1lMk\
3D_zua-5RfZ-hto_eV0qB9w5VObptSzzcnF7ICdgw_nBcoUiHHlmLQDTgVrk9dkEKxCPFi5k8-gmTblI67U0f8S37czy\
X-4pnevVyEN3CTPAEXkhhV1zH_Nd1KdrFr4aT7qRoR_wUYaxXYlKOX_-BWkAK-G_CMAwgaQ";

#[test]
fn a_valid_rsa_signature_is_accepted_for_every_form_of_the_key() {
    let set = json!({"keys": [
        {"kty": "RSA", "kid": "rsa", "use": "sig", "n": RSA_MODULUS, "e": "AQAB"},
    ]});
    let set = set.to_string();
    for (file, is_set) in [(RSA_KEY, false), (RSA_KEY_BARE, false), (&set, true)] {
        let identity = issuer(file.as_bytes(), is_set).verify(RSA_TOKEN, NOW).unwrap();
        assert_eq!((identity.subject.as_str(), identity.grant.role.name()), ("ada", "worker"));
    }
}

#[test]
fn an_invalid_rsa_signature_is_refused_for_every_form_of_the_key() {
    let set = |modulus: &str, alg: &str| {
        let key = json!({"kty": "RSA", "kid": "rsa", "alg": alg, "n": modulus, "e": "AQAB"});
        json!({"keys": [key]}).to_string()
    };
    let parts: Vec<&str> = RSA_TOKEN.split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("a token has three parts") };
    let named = |alg: &str| encoded(json!({"alg": alg, "kid": "rsa"}).to_string().as_bytes());
    let promoted = URL_SAFE_NO_PAD.decode(claims).unwrap();
    let promoted =
        encoded(str::from_utf8(&promoted).unwrap().replace("worker", "admin").as_bytes());
    let mut flipped = URL_SAFE_NO_PAD.decode(signature).unwrap();
    flipped[100] ^= 1;
    let flipped = encoded(&flipped);
    let good_set = set(RSA_MODULUS, "RS256");
    for (file, is_set) in [(RSA_KEY, false), (RSA_KEY_BARE, false), (&*good_set, true)] {
        let issuer = issuer(file.as_bytes(), is_set);
        let verify = |parts: [&str; 3]| issuer.verify(&parts.join("."), NOW).map(drop);
        assert_eq!(verify([header, claims, signature]), Ok(()));
        for forged in [
            [header, &promoted, signature],
            [header, claims, &flipped],
            [header, claims, &signature[..300]],
            [header, claims, ""],
            [&named("RS256"), claims, signature],
        ] {
            assert_eq!(verify(forged), Err(JwtFlaw::Signature), "{forged:?}");
        }
        // In a set the key names its algorithm; in a file any algorithm of its kind may be tried.
        let flaw = if is_set { JwtFlaw::Algorithm } else { JwtFlaw::Signature };
        for alg in ["RS384", "RS512", "PS256"] {
            assert_eq!(verify([&named(alg), claims, signature]), Err(flaw), "{alg}");
        }
        // The public key is public: it is not a secret to sign with.
        let confused = token(
            &json!({"alg": "HS256", "kid": "rsa"}),
            &self::claims(),
            hmac_with(file.as_bytes()),
        );
        assert_eq!(issuer.verify(&confused, NOW).map(drop), Err(JwtFlaw::Algorithm));
    }
    let other = set(&RSA_MODULUS.replacen("xY1H", "xY1J", 1), "RS256");
    let other = issuer(other.as_bytes(), true).verify(RSA_TOKEN, NOW).map(drop);
    assert_eq!(other, Err(JwtFlaw::Signature), "another key has not signed it");
    let late = Timestamp(1_700_000_600_000);
    let late = issuer(RSA_KEY.as_bytes(), false).verify(RSA_TOKEN, late).map(drop);
    assert_eq!(late, Err(JwtFlaw::Expired));
}
