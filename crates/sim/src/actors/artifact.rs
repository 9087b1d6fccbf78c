//! An agent that puts artifacts and references them in entries. Messages reference them too.
//!
//! No bytes are uploaded here: that is tested with failing disks
//! (`crates/engine/tests/contents.rs`). This is about references, and how long an artifact is kept.

use baton_core::artifact::{Command as Ask, List, Put, Query as ArtifactQuery};
use baton_core::{ArtifactId, BlobPlace, Command, Json, NamespaceName, Query};

use crate::actors::agent::write;
use crate::actors::inputs::Inputs;

/// The number of different contents.
const CONTENTS: u64 = 3;

/// One of a few.
pub(crate) fn artifact(inputs: &mut Inputs<'_>) -> ArtifactId {
    let number = u8::try_from(inputs.rng.below(CONTENTS)).unwrap_or_default();
    ArtifactId::of_digest(&[number; 32])
}

/// Puts one of a few artifacts, references it in an entry, or deletes it.
pub fn store(inputs: &mut Inputs<'_>) -> Command {
    let artifact = artifact(inputs);
    match inputs.rng.below(8) {
        0..=2 => {
            let number = u128::from(inputs.rng.next()) << 64 | u128::from(inputs.rng.next());
            let keep_ms = inputs.rng.once_in(2).then(|| inputs.rng.between(1_000, 20_000));
            Ask::Put(Box::new(Put {
                place: BlobPlace::of_number(number),
                bytes: 5,
                expected: Some(artifact.clone()),
                artifact,
                media_type: None,
                name: None,
                keep_ms,
            }))
            .into()
        }
        3 => Ask::Delete { artifact }.into(),
        _ => {
            let namespace = match inputs.rng.below(3) {
                0 => Inputs::namespace("notes"),
                1 => NamespaceName::of_agent(inputs.agent),
                _ => NamespaceName::shared(),
            };
            let text = format!(r#"{{"by":"{}","artifact":"{artifact}"}}"#, inputs.agent);
            let mut set = write(namespace, inputs.key(), Json::parse(text).expect("good JSON"));
            set.ttl_ms = inputs.rng.once_in(3).then(|| inputs.rng.between(10, 30_000));
            baton_core::state::Command::Set(set).into()
        }
    }
}

/// One of them, or all.
pub fn question(inputs: &mut Inputs<'_>) -> Query {
    if inputs.rng.once_in(3) {
        return ArtifactQuery::List(List::default()).into();
    }
    ArtifactQuery::Get { artifact: artifact(inputs) }.into()
}
