//! The bucket against an S3 server, which `scripts/s3` starts; without one these tests check
//! nothing.

use std::sync::Arc;

use baton::Options;
use baton::blobs::{BlobKind, StoredBlob};
use baton::clock::ManualClock;
use baton::error::Error;
use baton::machine::Held;
use baton::shard::Shard;
use baton_core::artifact::Command as ArtifactCommand;
use baton_core::kind::Kind;
use baton_core::{
    AgentId, Answer, ArtifactId, BlobPlace, Command, Rejection, Timestamp, WorkspaceName,
};
use baton_log::{Log, MemoryLog};
use baton_s3::{Bucket, S3Location, SplitLog};

/// A little more than two parts of an upload, and not a multiple of a block.
const LARGE: usize = (17 << 20) + 12_345;

/// The bucket, with a separate prefix for each test; none if no server was started.
fn location(test: &str) -> Option<S3Location> {
    let address = std::env::var("BATON_S3").ok()?;
    let mut location = S3Location::parse(&address).expect("the script gives a good address");
    location.prefix = format!("{}/{test}", location.prefix);
    Some(location)
}

type Data = Shard<SplitLog<Arc<MemoryLog>>>;

fn open(log: &Arc<MemoryLog>, location: &S3Location) -> Data {
    let bucket = Bucket::open(location).expect("a good place");
    let log = SplitLog::new(Arc::clone(log), bucket);
    let clock = Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)));
    let shard = Shard::open(log, clock, Options::default()).expect("memory opens");
    shard.load(&workspace()).expect("it loads");
    shard
}

fn workspace() -> WorkspaceName {
    WorkspaceName::parse("research").expect("a good name")
}

fn upload(shard: &Data, number: u128, bytes: &[u8]) -> Result<StoredBlob, Error> {
    let location = BlobPlace::of_number(number);
    let mut upload = shard.upload(&workspace(), BlobKind::Artifacts, location)?;
    for piece in bytes.chunks(100_000) {
        upload.write(piece)?;
    }
    upload.commit()
}

fn carry_out(shard: &Data, command: impl Into<Command>) -> Result<Answer, Rejection> {
    let agent = AgentId::parse("ada").expect("a good name");
    let admission = shard.submit(&workspace(), command.into().into(), &agent);
    let held = admission.answer().expect("it is decided at once");
    shard.flush();
    opened(shard, held)
}

fn opened<T>(shard: &Data, held: Held<T>) -> T {
    let fate = shard.watermark().group_status(held.group()).expect("it was flushed");
    held.open(fate.expect("memory does not fail"))
}

fn put(shard: &Data, number: u128, bytes: &[u8]) -> ArtifactId {
    let stored = upload(shard, number, bytes).expect("the bucket is there");
    let put = ArtifactCommand::Put(Box::new(stored.put()));
    carry_out(shard, put).expect("it is recorded");
    shard.recorded(&stored);
    stored.artifact.clone()
}

/// Bytes without two equal blocks.
fn some_bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at / 7 + at / 250_000).to_le_bytes()[0]).collect()
}

/// The objects in the bucket, seen through another client.
fn names(location: &S3Location) -> Vec<String> {
    let bucket = Bucket::open(location).expect("a good place");
    let log = SplitLog::new(Arc::new(MemoryLog::default()), bucket);
    log.list_blobs("artifacts/").expect("the bucket is there")
}

#[test]
fn uploaded_bytes_are_downloaded_unchanged() {
    let Some(location) = location("back") else { return };
    let log = Arc::new(MemoryLog::default());
    for (number, bytes) in [some_bytes(0), some_bytes(3), some_bytes(LARGE)].iter().enumerate() {
        let number = number as u128;
        let shard = open(&log, &location);
        put(&shard, number, bytes);
        let blob = BlobPlace::of_number(number);
        // A second instance reads it, completely and in parts.
        let shard = open(&log, &location);
        let content = shard.content(&workspace(), BlobKind::Artifacts, &blob).expect("it is there");
        assert_eq!(content.len(), bytes.len() as u64);
        assert!(content.whole().expect("it is whole") == *bytes, "{} bytes", bytes.len());
        for offset in [1, 262_143, 262_144, 4_194_300, LARGE - 5] {
            let block = content.block(offset as u64).expect("it is whole");
            let due = bytes.get(offset..).unwrap_or_default();
            assert!(due.starts_with(&block) && block.is_empty() == due.is_empty(), "{offset}");
        }
    }
    assert_eq!(names(&location).len(), 3);
    assert!(log.list_blobs("artifacts/").expect("memory does not fail").is_empty());
}

#[test]
fn only_unreferenced_blobs_are_swept() {
    let Some(location) = location("swept") else { return };
    let shard = open(&Arc::new(MemoryLog::default()), &location);
    let kept = put(&shard, 1, b"kept");
    let artifact = put(&shard, 2, b"gone");
    drop(upload(&shard, 3, b"on its way").expect("the bucket is there"));
    carry_out(&shard, ArtifactCommand::Delete { artifact }).expect("it is not referenced");
    shard.sweep_blobs(&workspace()).expect("the bucket is there");
    let mut due: Vec<String> = [1, 3]
        .map(|number| BlobKind::Artifacts.name(&workspace(), &BlobPlace::of_number(number)))
        .into();
    due.sort();
    assert_eq!(names(&location), due, "`{kept}` stays, and so does what may yet be recorded");
}

#[test]
fn an_upload_that_is_given_up_leaves_nothing() {
    let Some(location) = location("given-up") else { return };
    let shard = open(&Arc::new(MemoryLog::default()), &location);
    let mut upload = shard
        .upload(&workspace(), BlobKind::Artifacts, BlobPlace::of_number(1))
        .expect("nothing is sent yet");
    upload.write(&some_bytes(LARGE)).expect("the bucket is there");
    drop(upload);
    assert!(names(&location).is_empty());
}

#[test]
fn artifacts_stored_before_the_bucket_are_still_readable() {
    let Some(location) = location("before") else { return };
    let log = Arc::new(MemoryLog::default());
    let name = BlobKind::Artifacts.name(&workspace(), &BlobPlace::of_number(1));
    let mut writer = log.create_blob(&name).expect("memory does not fail");
    writer.write(b"bytes").expect("memory does not fail");
    writer.commit().expect("memory does not fail");
    let log = SplitLog::new(log, Bucket::open(&location).expect("a good place"));
    let blob = log.open_blob(&name).expect("the bucket is there").expect("it is there");
    assert_eq!(blob.len(), 5);
    let listed = log.list_blobs("artifacts/").expect("the bucket is there");
    assert_eq!(listed, std::slice::from_ref(&name));
    log.delete_blob(&name).expect("the bucket is there");
    assert!(log.open_blob(&name).expect("the bucket is there").is_none());
}

#[test]
fn a_missing_bucket_is_reported() {
    let Some(location) = location("not-there") else { return };
    let location = S3Location { bucket: "another".to_owned(), ..location };
    let looked = Bucket::open(&location).expect("a good place").check_access();
    let error = looked.expect_err("there is no such bucket");
    assert_eq!(error.code(), "artifact.store_unavailable");
    assert!(error.to_string().contains("NoSuchBucket"), "{error}");
}

/// Nothing listens at this port. The test needs no server, but it needs keys: without them the
/// client would look for some in the network.
#[test]
fn an_unreachable_bucket_affects_nothing_else() {
    if location("away").is_none() {
        return;
    }
    let location =
        S3Location::parse("s3://files?endpoint=http://127.0.0.1:1").expect("a good address");
    let shard = open(&Arc::new(MemoryLog::default()), &location);
    let away = upload(&shard, 1, b"bytes").err().expect("the bucket is unreachable");
    assert_eq!((away.code(), away.kind()), ("artifact.store_unavailable", Kind::Unavailable));
    let swept = shard.sweep_blobs(&workspace()).expect_err("the bucket is unreachable");
    assert_eq!(swept.code(), "artifact.store_unavailable");
    // Nothing was recorded, and everything else is unchanged.
    let list = baton_core::artifact::Query::List(baton_core::artifact::List::default());
    let asked = shard.ask(&workspace(), &list.into(), None);
    let held = asked.answer().expect("it is in memory");
    let answer = opened(&shard, held).expect("it can be asked");
    assert_eq!(answer.revision.0, 0);
    let name = "notes".try_into().expect("a good name");
    let rules = baton_core::Rules::default();
    let created = baton_core::namespace::Command::Create { name, rules };
    assert_eq!(carry_out(&shard, created).expect("it is created").revision.0, 1);
}
