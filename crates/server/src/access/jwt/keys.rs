//! Keys that verify JWTs: a public key in PEM, a set of them (JWKS), or a secret.
//!
//! | file | keys | algorithms |
//! |---|---|---|
//! | `PUBLIC KEY` or `RSA PUBLIC KEY` in PEM | one | those of its kind |
//! | JSON with `keys` | all that are for signatures | those of its kind, or the one it names |
//! | anything else, of 32 bytes and more | one secret | `HS256`, `HS384`, `HS512` |
//!
//! A key is only used with algorithms of its own kind, so that a public key is never used as a
//! secret. There is no algorithm `none`: an algorithm that is not listed here verifies nothing.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};
use ring::{digest, hmac};
use serde::Deserialize;

/// Shorter secrets can be guessed.
const SECRET_BYTES_MIN: usize = 32;
/// The maximum number of keys: more than any issuer has at a time.
const KEYS_MAX: usize = 64;

/// The shortest RSA key that signatures are verified with: 2048 bits.
const RSA_BYTES_MIN: usize = 256;
const NOT_A_KEY: &str =
    "it is not a public key of RSA with 2048 bits or more, P-256, P-384 or Ed25519";
const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01];
const ELLIPTIC: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01];
const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x22];
const ED25519: &[u8] = &[0x2B, 0x65, 0x70];

/// The identity of a key.
pub(crate) type Fingerprint = [u8; 32];

/// A signature algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "HS256" => Self::Hs256,
            "HS384" => Self::Hs384,
            "HS512" => Self::Hs512,
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" => Self::EdDsa,
            _ => return None,
        })
    }

    fn secret(self) -> Option<hmac::Algorithm> {
        match self {
            Self::Hs256 => Some(hmac::HMAC_SHA256),
            Self::Hs384 => Some(hmac::HMAC_SHA384),
            Self::Hs512 => Some(hmac::HMAC_SHA512),
            _ => None,
        }
    }

    fn rsa(self) -> Option<&'static RsaParameters> {
        match self {
            Self::Rs256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
            _ => None,
        }
    }
}

/// The key material.
enum Material {
    Secret(Vec<u8>),
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key.
pub(super) struct Key {
    /// Its key id, if it has one.
    pub(super) id: Option<String>,
    /// The only algorithm that it is for, if it names one.
    only: Option<Algorithm>,
    material: Material,
    pub(super) fingerprint: Fingerprint,
}

impl Key {
    fn new(id: Option<String>, only: Option<Algorithm>, material: Material) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        let (kind, first, second): (u8, &[u8], &[u8]) = match &material {
            Material::Secret(bytes) => (0, bytes, &[]),
            Material::Rsa { modulus, exponent } => (1, modulus, exponent),
            Material::P256(point) => (2, point, &[]),
            Material::P384(point) => (3, point, &[]),
            Material::Ed25519(point) => (4, point, &[]),
        };
        context.update(&[kind]);
        context.update(first);
        context.update(second);
        let mut fingerprint = [0; 32];
        fingerprint.copy_from_slice(context.finish().as_ref());
        Self { id, only, material, fingerprint }
    }

    /// Whether it may be used with an algorithm at all.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        let is_of_its_kind = match self.material {
            Material::Secret(_) => algorithm.secret().is_some(),
            Material::Rsa { .. } => algorithm.rsa().is_some(),
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        is_of_its_kind && self.only.is_none_or(|only| only == algorithm)
    }

    /// Whether this key made the signature. Secrets are compared in constant time.
    pub(super) fn has_signed(&self, algorithm: Algorithm, text: &[u8], signature: &[u8]) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        let verified = match &self.material {
            Material::Secret(secret) => match algorithm.secret() {
                Some(kind) => hmac::verify(&hmac::Key::new(kind, secret), text, signature),
                None => return false,
            },
            Material::Rsa { modulus, exponent } => match algorithm.rsa() {
                Some(kind) => {
                    RsaPublicKeyComponents { n: modulus, e: exponent }.verify(kind, text, signature)
                }
                None => return false,
            },
            Material::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                    .verify(text, signature)
            }
            Material::P384(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point)
                    .verify(text, signature)
            }
            Material::Ed25519(point) => {
                UnparsedPublicKey::new(&signature::ED25519, point).verify(text, signature)
            }
        };
        verified.is_ok()
    }
}

/// The keys of a file, or why it is invalid, without any of its content.
pub(super) fn read(bytes: &[u8], is_set: bool) -> Result<Vec<Key>, &'static str> {
    if is_set {
        return set(bytes);
    }
    let text = str::from_utf8(bytes).unwrap_or_default();
    if text.contains("-----BEGIN") {
        if text.contains("PRIVATE KEY-----") {
            return Err("it is a private key, which is for the issuer alone: give the public one");
        }
        let material = pem(text).ok_or(NOT_A_KEY)?;
        return Ok(vec![Key::new(None, None, material)]);
    }
    // Editors add a line break at the end that is not part of the secret.
    let secret = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
    if secret.len() < SECRET_BYTES_MIN {
        return Err("it is neither a key in PEM nor a secret of at least 32 bytes");
    }
    Ok(vec![Key::new(None, None, Material::Secret(secret.to_vec()))])
}

fn pem(text: &str) -> Option<Material> {
    let section = |label: &str| {
        let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
        let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
        STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
    };
    match section("RSA PUBLIC KEY") {
        Some(bytes) => rsa(&bytes),
        None => public_key(&section("PUBLIC KEY")?),
    }
}

/// The first element of DER data: its tag, its content, and the rest.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7F => (usize::from(first), rest),
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => (usize::from(u16::from_be_bytes(*rest.first_chunk()?)), rest.get(2..)?),
        _ => return None,
    };
    Some((tag, rest.get(..length)?, rest.get(length..)?))
}

/// The content of the first element, if it has this tag; and the rest.
fn inside(bytes: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    let (tag, content, rest) = element(bytes)?;
    (tag == wanted).then_some((content, rest))
}

/// `SubjectPublicKeyInfo` of RFC 5280.
fn public_key(bytes: &[u8]) -> Option<Material> {
    let (whole, _) = inside(bytes, 0x30)?;
    let (algorithm, rest) = inside(whole, 0x30)?;
    let (name, parameters) = inside(algorithm, 0x06)?;
    let (bits, _) = inside(rest, 0x03)?;
    let (0, key) = bits.split_first().map(|(unused, key)| (*unused, key))? else { return None };
    match name {
        RSA => rsa(key),
        ED25519 => (key.len() == 32).then(|| Material::Ed25519(key.to_vec())),
        ELLIPTIC => match inside(parameters, 0x06)?.0 {
            P256 => (key.len() == 65).then(|| Material::P256(key.to_vec())),
            P384 => (key.len() == 97).then(|| Material::P384(key.to_vec())),
            _ => None,
        },
        _ => None,
    }
}

/// `RSAPublicKey` of RFC 8017.
fn rsa(bytes: &[u8]) -> Option<Material> {
    let (both, _) = inside(bytes, 0x30)?;
    let (modulus, rest) = inside(both, 0x02)?;
    let (exponent, _) = inside(rest, 0x02)?;
    rsa_of(modulus, exponent)
}

/// Numbers without the zeros that some put before them; none if the key is too short to verify
/// anything with.
fn rsa_of(modulus: &[u8], exponent: &[u8]) -> Option<Material> {
    let bare = |number: &[u8]| number.iter().copied().skip_while(|byte| *byte == 0).collect();
    let modulus: Vec<u8> = bare(modulus);
    let exponent = bare(exponent);
    (modulus.len() >= RSA_BYTES_MIN).then_some(Material::Rsa { modulus, exponent })
}

/// A set of keys in the form of RFC 7517.
#[derive(Deserialize)]
struct Set {
    keys: Vec<Member>,
}

#[derive(Deserialize)]
struct Member {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    k: Option<String>,
}

fn set(bytes: &[u8]) -> Result<Vec<Key>, &'static str> {
    let set: Set = serde_json::from_slice(bytes).map_err(|_| "it is not a set of keys (JWKS)")?;
    if set.keys.len() > KEYS_MAX {
        return Err("it has more than 64 keys");
    }
    // A set may contain keys of unknown types, or for other purposes.
    let keys: Vec<Key> = set.keys.into_iter().filter_map(member).collect();
    if keys.is_empty() {
        return Err("no key in it can be used: RSA, P-256, P-384, Ed25519 and secrets can");
    }
    Ok(keys)
}

fn member(member: Member) -> Option<Key> {
    if member.usage.is_some_and(|usage| usage != "sig") {
        return None;
    }
    let only = match &member.alg {
        Some(name) => Some(Algorithm::named(name)?),
        None => None,
    };
    let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
    let point = |length: usize| {
        let (x, y) = (bytes(&member.x)?, bytes(&member.y)?);
        let whole = [&[4], &*x, &*y].concat();
        (x.len() == length && y.len() == length).then_some(whole)
    };
    let material = match (member.kty.as_str(), member.crv.as_deref()) {
        ("RSA", _) => rsa_of(&bytes(&member.n)?, &bytes(&member.e)?)?,
        ("EC", Some("P-256")) => Material::P256(point(32)?),
        ("EC", Some("P-384")) => Material::P384(point(48)?),
        ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&member.x).filter(|x| x.len() == 32)?),
        ("oct", _) => Material::Secret(bytes(&member.k).filter(|k| k.len() >= SECRET_BYTES_MIN)?),
        _ => return None,
    };
    Some(Key::new(member.kid, only, material))
}
