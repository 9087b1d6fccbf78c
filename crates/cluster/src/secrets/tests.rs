//! What is stored, what can be read again, and which keys are refused.

use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use baton_log::MemoryLog;
use tokio::sync::watch;

use super::*;
use crate::{DrainOutcome, OwnedLog, View};

const VALUE: &[u8] = b"the value that nobody may read";
const NAME: &str = "secrets/fleet/0a1b";

fn key(digit: char) -> Arc<SecretsKey> {
    let text = digit.to_string().repeat(64);
    Arc::new(SecretsKey::parse(text.as_bytes()).expect("it is a key"))
}

fn write(log: &impl Log, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
    let mut writer = log.create_blob(name)?;
    for part in bytes.chunks(7) {
        writer.write(part)?;
    }
    writer.commit()
}

fn read(log: &impl Log, name: &str) -> Result<Vec<u8>, BlobError> {
    let blob = log.open_blob(name)?.expect("it is there");
    let mut bytes = vec![0; usize::try_from(blob.len()).unwrap()];
    blob.read_at(0, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn a_secret_is_stored_encrypted_and_read_with_its_key() {
    let stored = Arc::new(MemoryLog::default());
    let log = EncryptedSecrets::new(Arc::clone(&stored), Some(key('a')));
    assert!(log.can_store_secrets());
    write(&log, NAME, VALUE).unwrap();
    write(&log, "artifacts/fleet/0a1b", VALUE).unwrap();
    assert_eq!(read(&log, NAME).unwrap(), VALUE);
    assert_eq!(read(&log, "artifacts/fleet/0a1b").unwrap(), VALUE);
    let raw = read(&stored, NAME).unwrap();
    assert!(!raw.windows(VALUE.len()).any(|window| window == VALUE), "it is not readable");
    assert_eq!(read(&stored, "artifacts/fleet/0a1b").unwrap(), VALUE, "only secrets are encrypted");
    // The same value is another blob: nobody sees that two secrets are equal.
    write(&log, "secrets/fleet/0a1c", VALUE).unwrap();
    assert_ne!(read(&stored, "secrets/fleet/0a1c").unwrap()[HEAD_BYTES..], raw[HEAD_BYTES..]);
    let again = EncryptedSecrets::new(Arc::clone(&stored), Some(key('a')));
    assert_eq!(read(&again, NAME).unwrap(), VALUE, "the next server has the same key");
}

#[test]
fn another_key_another_name_and_a_changed_byte_are_noticed() {
    let stored = Arc::new(MemoryLog::default());
    write(&EncryptedSecrets::new(Arc::clone(&stored), Some(key('a'))), NAME, VALUE).unwrap();
    let other = EncryptedSecrets::new(Arc::clone(&stored), Some(key('b')));
    let said = read(&other, NAME).unwrap_err().to_string();
    assert!(said.contains(&key('a').id()) && said.contains(&key('b').id()), "{said}");
    let log = EncryptedSecrets::new(Arc::clone(&stored), Some(key('a')));
    let raw = read(&stored, NAME).unwrap();
    write(&stored, "secrets/other/0a1b", &raw).unwrap();
    let said = read(&log, "secrets/other/0a1b").unwrap_err().to_string();
    assert!(said.contains("is not what was encrypted"), "{said}");
    for index in HEAD_BYTES - NONCE_LEN..raw.len() {
        let mut changed = raw.clone();
        changed[index] ^= 1;
        let name = format!("secrets/changed/{index}");
        write(&stored, &name, &changed).unwrap();
        assert!(read(&log, &name).is_err(), "byte {index}");
    }
    write(&stored, "secrets/cut/1", &raw[..HEAD_BYTES]).unwrap();
    assert!(read(&log, "secrets/cut/1").is_err());
}

#[test]
fn without_a_key_no_secret_is_written_and_none_is_given_out() {
    let stored = Arc::new(MemoryLog::default());
    write(&stored, "secrets/before/1", VALUE).unwrap();
    let without = EncryptedSecrets::new(Arc::clone(&stored), None);
    assert!(!without.can_store_secrets());
    let refused = without.create_blob(NAME).err().expect("there is no key");
    assert!(refused.to_string().contains("no key"), "{refused}");
    write(&without, "workspaces/fleet/1", VALUE).unwrap();
    let with = EncryptedSecrets::new(Arc::clone(&stored), Some(key('a')));
    write(&with, NAME, VALUE).unwrap();
    assert!(read(&without, NAME).is_err());
    // What was stored before there were keys is read as it is.
    assert_eq!(read(&with, "secrets/before/1").unwrap(), VALUE);
    assert_eq!(read(&without, "secrets/before/1").unwrap(), VALUE);
    without.delete_blob(NAME).unwrap();
    assert!(with.open_blob(NAME).unwrap().is_none(), "deleting needs no key");
}

#[test]
fn a_blob_is_read_within_its_length() {
    let log = EncryptedSecrets::new(MemoryLog::default(), Some(key('a')));
    write(&log, NAME, b"").unwrap();
    assert_eq!(read(&log, NAME).unwrap(), b"");
    let blob = log.open_blob(NAME).unwrap().unwrap();
    assert!(matches!(blob.read_at(0, &mut [0]), Err(BlobError::OutOfRange { .. })));
    let large = vec![1; PLAIN_BYTES_MAX + 1];
    assert!(write(&log, "secrets/large/1", &large).is_err());
}

#[test]
fn a_key_file_has_64_digits_and_only_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let said = SecretsKey::read(&path).unwrap_err().to_string();
    assert!(said.contains("cannot be read") && said.contains("key"), "{said}");
    for (text, reason) in [
        ("", "64 hexadecimal digits"),
        ("abc", "64 hexadecimal digits"),
        (&"g".repeat(64), "64 hexadecimal digits"),
        (&"a".repeat(65), "64 hexadecimal digits"),
        (&"a".repeat(2_000), "too large"),
    ] {
        std::fs::write(&path, text).unwrap();
        let said = SecretsKey::read(&path).unwrap_err().to_string();
        assert!(said.contains(reason) && !said.contains("aaaa"), "{said}");
    }
    std::fs::write(&path, format!("{}\n", "0aF".repeat(22).split_at(64).0)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let read = SecretsKey::read(&path).unwrap();
    assert_eq!(read.exposed(), None);
    assert!(!format!("{read:?}").contains("0a"), "{read:?}");
    for mode in [0o640, 0o604] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(SecretsKey::read(&path).unwrap().exposed(), Some(mode));
    }
}

/// Servers of a log that remembers a key.
#[derive(Default)]
struct Remembers(Mutex<Option<String>>);

impl Roster for Remembers {
    fn id(&self) -> &'static str {
        "me"
    }

    fn shards(&self) -> u32 {
        1
    }

    fn secret(&self) -> &'static str {
        ""
    }

    fn description(&self) -> &'static str {
        "memory"
    }

    fn view(&self) -> watch::Receiver<Arc<View>> {
        watch::channel(Arc::default()).1
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn secrets_key(&self, mine: Option<&str>) -> Result<Option<String>, OpenError> {
        let mut known = self.0.lock().unwrap();
        if known.is_none() {
            *known = mine.map(str::to_owned);
        }
        Ok(known.clone())
    }

    fn take(self: Arc<Self>, _: u32, _: i64) -> Result<Option<Arc<dyn OwnedLog>>, OpenError> {
        Ok(None)
    }

    fn announce_leaving(&self) {}

    fn set_drained(&self, _: &str, _: bool) -> Result<DrainOutcome, OpenError> {
        Ok(DrainOutcome::Unknown)
    }

    fn leave(&self) {}
}

#[test]
fn a_log_remembers_its_first_key_and_refuses_others() {
    let roster = Remembers::default();
    let check = |key: Option<&SecretsKey>| check_key("postgres://a/fleet", &roster, key);
    check(None).expect("no key was used yet");
    check(Some(&key('a'))).expect("it is the first");
    check(Some(&key('a'))).expect("it is the same");
    let said = check(Some(&key('b'))).unwrap_err().to_string();
    let (first, second) = (key('a').id(), key('b').id());
    assert!(said.contains(&first) && said.contains(&second), "{said}");
    assert!(said.contains("postgres://a/fleet"), "{said}");
    let refused = check(None).unwrap_err();
    assert_eq!(refused.code(), "log.secrets_key");
    assert!(refused.to_string().contains("--secrets-key-file"), "{refused}");
}
