//! A point in history: a revision, or a time.

use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::numbers::Revision;
use crate::time::Timestamp;

/// A point in history. A number is a revision, a text is a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The commit of this revision.
    Revision(Revision),
    /// The last commit up to this time.
    Time(Timestamp),
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(revision) = text.parse() {
            return Ok(Self::Revision(Revision(revision)));
        }
        let wrong = |cause| format!("{cause}, nor is it a revision");
        text.parse().map(Self::Time).map_err(wrong)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision(revision) => revision.fmt(formatter),
            Self::Time(moment) => moment.fmt(formatter),
        }
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Revision(revision) => serializer.serialize_u64(revision.0),
            Self::Time(moment) => serializer.collect_str(moment),
        }
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl Visitor<'_> for Reading {
    type Value = Point;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a revision, or a time such as `2026-01-31T12:00:00.000Z`")
    }

    fn visit_u64<E: serde::de::Error>(self, revision: u64) -> Result<Point, E> {
        Ok(Point::Revision(Revision(revision)))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Point, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_revision_and_a_text_a_moment() {
        let read = |text: &str| serde_json::from_str::<Point>(text);
        assert_eq!(read("7").unwrap(), Point::Revision(Revision(7)));
        assert_eq!(read("\"7\"").unwrap(), Point::Revision(Revision(7)));
        let moment = Point::Time(Timestamp(1_000));
        assert_eq!(read("\"1970-01-01T00:00:01.000Z\"").unwrap(), moment);
        assert_eq!(serde_json::to_string(&moment).unwrap(), "\"1970-01-01T00:00:01.000Z\"");
        for bad in ["-1", "1.5", "\"\"", "\"yesterday\"", "null", "[1]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
