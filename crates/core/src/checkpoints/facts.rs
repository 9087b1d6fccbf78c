//! Everything about checkpoints that a snapshot holds.

use std::sync::Arc;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

use super::{Record, Rule};
use crate::names::TaskId;

/// Everything about checkpoints that a snapshot holds. It shares the parts with the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// How many were ever saved.
    pub created: u64,
    /// How many are kept, and for how long.
    pub rules: Vec<Rule>,
    /// What there may be many of: chunks first, then pages, checkpoints and threads.
    pub parts: Vec<Part>,
}

/// One of many facts about checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A chunk, by number.
    Chunk(u32, #[serde(with = "shared")] Arc<str>),
    /// Which chunks a page has, by number.
    Page(u32, #[serde(with = "shared")] Arc<[u32]>),
    /// A checkpoint.
    Record(#[serde(with = "shared")] Arc<Record>),
    /// A task that has checkpoints: how many were ever saved, and which is its head.
    Thread(TaskId, u64, u64),
}

/// Serde knows no shared things unless it is told to.
mod shared {
    use super::{Arc, Deserializer, Serialize, Serializer};

    /// What a shared thing is made of when it is read.
    pub(super) trait Shared: Serialize {
        type Owned: serde::de::DeserializeOwned + Into<Arc<Self>>;
    }

    impl Shared for str {
        type Owned = String;
    }

    impl Shared for [u32] {
        type Owned = Vec<u32>;
    }

    impl Shared for super::Record {
        type Owned = Self;
    }

    pub(super) fn serialize<T, S>(thing: &Arc<T>, to: S) -> Result<S::Ok, S::Error>
    where
        T: Shared + ?Sized,
        S: Serializer,
    {
        (**thing).serialize(to)
    }

    pub(super) fn deserialize<'de, T, D>(from: D) -> Result<Arc<T>, D::Error>
    where
        T: Shared + ?Sized,
        D: Deserializer<'de>,
    {
        <T::Owned as serde::Deserialize>::deserialize(from).map(Into::into)
    }
}
