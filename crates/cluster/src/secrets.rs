//! The values of secrets in a log that others can read: encrypted with a key that only the servers
//! have.
//!
//! ```text
//!   engine ──create `secrets/…`──▶ EncryptedSecrets ──AES-256-GCM──▶ log
//!          ◀──open───────────────                  ◀──────────────
//! ```
//!
//! | bytes | what of an encrypted blob |
//! |---|---|
//! | 8 | the letters `BATSEC01` |
//! | 8 | the id of the key: the beginning of a digest of it |
//! | 12 | a random nonce |
//! | any | the blob of the engine, encrypted; its name is authenticated with it |
//! | 16 | the tag of AES-256-GCM |
//!
//! 1. Without a key nothing is written under `secrets/`, and what is encrypted is not read.
//! 2. A log remembers the id of the first key that it was used with. Servers with another key, or
//!    without one, do not start ([`check_key`]), so that no value is unreadable later.
//! 3. A blob that was written before there were keys is read as it is.
//!
//! A random nonce is safe for four thousand million blobs with one key.
//!
//! Deliberately absent: changing the key of a log, which is a backup and a restore with another
//! key; and everything that is no secret, such as artifacts.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use baton_log::{
    AppendError, Blob, BlobError, BlobWriter, Log, MemoryBlob, OpenError, Position, ReadError,
    Record, TruncateError,
};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::roster::Roster;

/// The names of the blobs that are encrypted begin with this.
const SECRETS: &str = "secrets/";
const MAGIC: &[u8; 8] = b"BATSEC01";
const KEY_BYTES: usize = 32;
const ID_BYTES: usize = 8;
const HEAD_BYTES: usize = MAGIC.len() + ID_BYTES + NONCE_LEN;
const TAG_BYTES: usize = 16;
/// More than the blob of the largest secret has.
const PLAIN_BYTES_MAX: usize = 1 << 20;
/// A key file is small: a larger one is another file.
const FILE_BYTES_MAX: u64 = 1_024;
/// Everyone but the owner of a file.
const OTHERS: u32 = 0o077;

/// The key that encrypts the values of secrets.
pub struct SecretsKey {
    key: LessSafeKey,
    id: [u8; ID_BYTES],
    /// The permissions of its file, if others than its owner have some.
    exposed: Option<u32>,
}

impl fmt::Debug for SecretsKey {
    /// Omits the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SecretsKey({})", self.id())
    }
}

impl SecretsKey {
    /// Reads a key from its file: 64 hexadecimal digits.
    pub fn read(path: &Path) -> Result<Self, OpenError> {
        let unusable = |reason: &dyn fmt::Display| OpenError::SecretsKey {
            reason: format!("`{}` {reason}", path.display()),
        };
        let unreadable = |error: std::io::Error| unusable(&format!("cannot be read: {error}"));
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.len() > FILE_BYTES_MAX {
            return Err(unusable(&"is too large for a key"));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let mut key = Self::parse(bytes.trim_ascii()).ok_or_else(|| {
            unusable(
                &"is no key: it must have 64 hexadecimal digits, as `openssl rand -hex 32` \
                       writes them",
            )
        })?;
        let mode = metadata.permissions().mode() & 0o777;
        key.exposed = Some(mode).filter(|mode| mode & OTHERS != 0);
        Ok(key)
    }

    /// A key as text.
    #[must_use]
    pub fn parse(digits: &[u8]) -> Option<Self> {
        if digits.len() != 2 * KEY_BYTES {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes: Vec<u8> = digits.chunks_exact(2).map(byte).collect::<Option<_>>()?;
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes).ok()?);
        let named = [&b"baton secrets key "[..], &bytes].concat();
        let id = *digest(&SHA256, &named).as_ref().first_chunk()?;
        Some(Self { key, id, exposed: None })
    }

    /// The id of the key, which reveals nothing about the key itself.
    #[must_use]
    pub fn id(&self) -> String {
        hex(&self.id)
    }

    /// The permissions of its file, if others than its owner may use it.
    #[must_use]
    pub fn exposed(&self) -> Option<u32> {
        self.exposed
    }

    fn seal(&self, name: &str, plain: Vec<u8>) -> Result<Vec<u8>, BlobError> {
        let mut nonce = [0; NONCE_LEN];
        let failed = |_| BlobError::Failed("a secret could not be encrypted".to_owned());
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut sealed = plain;
        let aad = Aad::from(name.as_bytes());
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(nonce_used, aad, &mut sealed).map_err(failed)?;
        Ok([&MAGIC[..], &self.id, &nonce, &sealed].concat())
    }

    fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, BlobError> {
        let damaged = || BlobError::Failed(format!("`{name}` is not what was encrypted"));
        let (head, sealed) = sealed.split_at_checked(HEAD_BYTES).ok_or_else(damaged)?;
        let (id, nonce) = head[MAGIC.len()..].split_at(ID_BYTES);
        if id != self.id {
            let (theirs, ours) = (hex(id), self.id());
            let reason = format!("`{name}` is encrypted with the key {theirs}, not with {ours}");
            return Err(BlobError::Failed(reason));
        }
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| damaged())?;
        let mut plain = sealed.to_vec();
        let aad = Aad::from(name.as_bytes());
        let length = self.key.open_in_place(nonce, aad, &mut plain).map_err(|_| damaged())?.len();
        plain.truncate(length);
        Ok(plain)
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Refuses to use a log with another key than it was used with. `location` is where it is.
pub fn check_key(
    location: &str,
    roster: &dyn Roster,
    key: Option<&SecretsKey>,
) -> Result<(), OpenError> {
    let mine = key.map(SecretsKey::id);
    let known = roster.secrets_key(mine.as_deref())?;
    if known == mine {
        return Ok(());
    }
    let known = known.unwrap_or_default();
    let reason = match mine {
        Some(mine) => format!(
            "secrets in `{location}` are encrypted with the key {known}, and this server was given \
             {mine}"
        ),
        None => format!(
            "secrets in `{location}` are encrypted with the key {known}, and this server was given \
             none; name its file with --secrets-key-file"
        ),
    };
    Err(OpenError::SecretsKey { reason })
}

/// A log whose secrets are encrypted; without a key it accepts none.
pub struct EncryptedSecrets<L> {
    log: L,
    key: Option<Arc<SecretsKey>>,
}

impl<L: Log> EncryptedSecrets<L> {
    /// A log over another one.
    pub fn new(log: L, key: Option<Arc<SecretsKey>>) -> Self {
        Self { log, key }
    }
}

/// The reason why a secret cannot be used.
fn no_key() -> BlobError {
    BlobError::Failed("the server has no key for secrets".to_owned())
}

impl<L: Log> Log for EncryptedSecrets<L> {
    fn start(&self) -> Position {
        self.log.start()
    }

    fn tail(&self) -> Position {
        self.log.tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        self.log.append(expected, body)
    }

    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        self.log.read(from, bytes_max)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.log.read_part(record, offset, buffer)
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        self.log.truncate(before)
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        if !name.starts_with(SECRETS) {
            return self.log.create_blob(name);
        }
        let key = Arc::clone(self.key.as_ref().ok_or_else(no_key)?);
        let (log, name, plain) = (self.log.create_blob(name)?, name.to_owned(), Vec::new());
        Ok(Box::new(EncryptingWriter { log, key, name, plain }))
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        let Some(blob) = self.log.open_blob(name)? else { return Ok(None) };
        if !name.starts_with(SECRETS) || blob.len() < HEAD_BYTES as u64 {
            return Ok(Some(blob));
        }
        let mut magic = [0; MAGIC.len()];
        blob.read_at(0, &mut magic)?;
        if magic != *MAGIC {
            return Ok(Some(blob));
        }
        let length = usize::try_from(blob.len()).ok();
        let is_fitting = |length: &usize| *length <= PLAIN_BYTES_MAX + HEAD_BYTES + TAG_BYTES;
        let too_large = || BlobError::Failed(format!("`{name}` is too large for a secret"));
        let mut sealed = vec![0; length.filter(is_fitting).ok_or_else(too_large)?];
        blob.read_at(0, &mut sealed)?;
        let key = self.key.as_ref().ok_or_else(no_key)?;
        Ok(Some(Arc::new(MemoryBlob(key.open(name, &sealed)?))))
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        self.log.list_blobs(prefix)
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        self.log.delete_blob(name)
    }

    fn description(&self) -> String {
        self.log.description()
    }

    fn can_store_secrets(&self) -> bool {
        self.key.is_some()
    }

    fn is_current(&self) -> bool {
        self.log.is_current()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.log.free_bytes()
    }
}

/// Encrypts a blob when it is complete: it is small.
struct EncryptingWriter {
    log: Box<dyn BlobWriter>,
    key: Arc<SecretsKey>,
    name: String,
    plain: Vec<u8>,
}

impl BlobWriter for EncryptingWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        if self.plain.len() + bytes.len() > PLAIN_BYTES_MAX {
            return Err(BlobError::Failed(format!("`{}` is too large for a secret", self.name)));
        }
        self.plain.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), BlobError> {
        let Self { mut log, key, name, plain } = *self;
        log.write(&key.seal(&name, plain)?)?;
        log.commit()
    }
}

#[cfg(test)]
mod tests;
