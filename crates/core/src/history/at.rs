//! A point in history.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::numbers::Revision;
use crate::time::Timestamp;

/// A point in history: a revision, or a time, which selects the last revision up to then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// After this revision.
    Revision(Revision),
    /// At this time.
    Time(Timestamp),
}

impl From<Revision> for At {
    fn from(revision: Revision) -> Self {
        Self::Revision(revision)
    }
}

impl From<Timestamp> for At {
    fn from(time: Timestamp) -> Self {
        Self::Time(time)
    }
}

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision(revision) => revision.fmt(formatter),
            Self::Time(time) => time.fmt(formatter),
        }
    }
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(revision) = text.parse() {
            return Ok(Self::Revision(Revision(revision)));
        }
        let time = Timestamp::read(text).map_err(|wrong| format!("{wrong}, nor a revision"))?;
        Ok(Self::Time(time))
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Revision(revision) => serializer.serialize_u64(revision.0),
            Self::Time(time) => serializer.collect_str(time),
        }
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl Visitor<'_> for Reading {
    type Value = At;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a revision, or a time such as `2026-01-31T12:00:00Z`")
    }

    fn visit_u64<E: Error>(self, revision: u64) -> Result<At, E> {
        Ok(At::Revision(Revision(revision)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<At, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_revision_and_a_date_is_a_time() {
        let noon = Timestamp(1_769_860_800_000);
        for (text, at) in [
            ("17", At::Revision(Revision(17))),
            ("\"17\"", At::Revision(Revision(17))),
            ("\"2026-01-31T12:00:00Z\"", At::Time(noon)),
            ("\"2026-01-31T12:00:00.000Z\"", At::Time(noon)),
            ("\"2026-01-31T14:30:00+02:30\"", At::Time(noon)),
            ("\"2026-01-31\"", At::Time(Timestamp(noon.0 - 43_200_000))),
        ] {
            let read: At = serde_json::from_str(text).unwrap();
            assert_eq!(read, at, "{text}");
            let again = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<At>(&again).unwrap(), at, "{again}");
        }
    }

    #[test]
    fn neither_a_revision_nor_a_time_is_refused() {
        for text in ["-1", "1.5", "true", "\"\"", "\"yesterday\"", "\"2026-02-30\"", "null", "{}"] {
            assert!(serde_json::from_str::<At>(text).is_err(), "{text}");
        }
    }
}
