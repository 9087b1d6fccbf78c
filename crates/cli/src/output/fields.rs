//! A thing as the fields it is written with, in their order, each as the text it was.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object. What is no object has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// The fields of whatever can be written as an object.
    pub(crate) fn of<T: Serialize>(thing: &T) -> Self {
        Self::parse(&serde_json::to_string(thing).expect("what is shown can be encoded"))
    }

    /// The fields of an object that was written.
    pub(crate) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// All of them.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, value.get()))
    }

    /// One of them; empty if it is not there.
    pub(crate) fn get(&self, wanted: &str) -> &str {
        let found = self.pairs().find(|(name, _)| *name == wanted);
        found.map_or("", |(_, value)| value)
    }

    /// All of them, made into something else.
    pub(crate) fn map<T>(self, make: impl Fn((String, Box<RawValue>)) -> T) -> Vec<T> {
        self.0.into_iter().map(make).collect()
    }

    /// The others.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, _)| !names.contains(&&**name));
        self
    }

    /// Written as an object again.
    pub(crate) fn text(&self) -> String {
        let pairs = self.pairs().map(|(name, value)| {
            let name = serde_json::to_string(name).expect("text can be encoded");
            format!("{name}:{value}")
        });
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading)
    }
}

/// The standard maps would sort the fields or lose those that stand there twice.
struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Fields;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Fields(pairs))
    }
}
