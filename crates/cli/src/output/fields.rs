//! The fields of a JSON object in order, each as its original text.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::failure::Fault;

/// The fields of an object; empty for anything else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// The fields of a serializable object.
    pub(crate) fn of<T: Serialize>(thing: &T) -> Self {
        Self::parse(&serde_json::to_string(thing).expect("output can be encoded"))
    }

    /// The fields of a JSON text.
    pub(crate) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// All fields.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, value.get()))
    }

    /// One field; empty if it is missing.
    pub(crate) fn get(&self, wanted: &str) -> &str {
        let found = self.pairs().find(|(name, _)| *name == wanted);
        found.map_or("", |(_, value)| value)
    }

    /// Converts all fields.
    pub(crate) fn map<T>(self, make: impl Fn((String, Box<RawValue>)) -> T) -> Vec<T> {
        self.0.into_iter().map(make).collect()
    }

    /// The fields except these.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, _)| !names.contains(&&**name));
        self
    }

    /// The fields as a JSON object.
    pub(crate) fn text(&self) -> String {
        let pairs = self.pairs().map(|(name, value)| {
            let name = serde_json::to_string(name).expect("text can be encoded");
            format!("{name}:{value}")
        });
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
    }
}

/// Where the token of a task or a lock is.
const TOKENS: [&str; 2] = ["lease.token", "hold.token"];

/// One field of a JSON object by its path, such as `lease.token`; text without quotes. An object
/// without a token of its own has that of its lease or hold: all tokens are passed as `--token`.
pub(super) fn at(text: &str, path: &str) -> Result<String, Fault> {
    let of_holder = || TOKENS.iter().find_map(|path| value(text, path).ok());
    let found = value(text, path);
    let found = found.or_else(|names| of_holder().filter(|_| path == "token").ok_or(names));
    let found = found.map_err(|names| Fault::NoField {
        path: path.to_owned(),
        names,
        answer: text.to_owned(),
    })?;
    Ok(serde_json::from_str::<String>(&found).unwrap_or(found))
}

/// The value at a path; otherwise the names of the fields where it ends.
fn value(text: &str, path: &str) -> Result<String, String> {
    let mut found = text.to_owned();
    for name in path.split('.') {
        let fields = Fields::parse(&found);
        let Some((_, value)) = fields.pairs().find(|(there, _)| *there == name) else {
            let names: Vec<&str> = fields.pairs().map(|(name, _)| name).collect();
            return Err(names.join(", "));
        };
        value.clone_into(&mut found);
    }
    Ok(found)
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Standard maps would sort the fields or drop duplicates.
struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
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
