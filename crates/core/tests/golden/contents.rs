//! Examples of events of artifacts and secrets.

use baton_core::{
    ArtifactId, BlobPlace, ContentName, Event, MediaType, SecretId, Timestamp, artifact, secret,
};

pub(super) fn artifacts() -> Vec<(&'static str, Event)> {
    let id = || ArtifactId::of_digest(&[0xab; 32]);
    let place = BlobPlace::of_number(0x1234_5678_9abc_def0);
    let put = |place, media_type: &str, name: Option<&str>| artifact::Event::Put {
        artifact: id(),
        place,
        bytes: 70_000,
        media_type: MediaType::parse(media_type).unwrap(),
        name: name.map(|name| ContentName::parse(name).unwrap()),
        keep_ms: 86_400_000,
    };
    let events = vec![
        ("artifact.put", put(Some(place), "application/pdf", Some("report.pdf"))),
        ("artifact.put with no place", put(None, "application/octet-stream", None)),
        ("artifact.deleted", artifact::Event::Deleted { artifact: id() }),
        ("artifact.expired", artifact::Event::Expired { artifact: id() }),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Artifact(event))).collect()
}

pub(super) fn secrets() -> Vec<(&'static str, Event)> {
    let id = || SecretId::at(&BlobPlace::of_number(0x0fed_cba9_8765_4321));
    let put = |name: Option<&str>, expires_at| secret::Event::Put {
        secret: id(),
        bytes: 20,
        name: name.map(|name| ContentName::parse(name).unwrap()),
        expires_at,
    };
    let end = Timestamp(1_794_700_800_123);
    let events = vec![
        ("secret.put", put(None, None)),
        ("secret.put with everything", put(Some("key of the model"), Some(end))),
        ("secret.revealed", secret::Event::Revealed { secret: id() }),
        ("secret.deleted", secret::Event::Deleted { secret: id() }),
        ("secret.expired", secret::Event::Expired { secret: id() }),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Secret(event))).collect()
}
