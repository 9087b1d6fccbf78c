//! An error as clients see it.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::fault::Fault;
use super::fields::Fields;
use crate::json::Json;
use crate::kind::Kind;
use crate::rejection::Rejection;

/// An error: its description and cause, the next step, and the facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Stable across releases; documented in `docs/errors.md`.
    pub code: String,
    /// The recommended reaction of the caller.
    pub kind: Kind,
    /// A description of the error, as a sentence.
    pub detail: String,
    /// The next step, as a sentence.
    pub hint: String,
    /// Further facts: the winning entry for a conflict, the current token for a stale one. Text,
    /// because the value of an entry is never re-encoded.
    pub facts: Vec<(String, Json)>,
}

impl Problem {
    /// Builds a problem. Facts that are not an object are ignored.
    pub fn new(
        code: &str,
        kind: Kind,
        detail: &dyn std::fmt::Display,
        hint: &str,
        facts: &impl Serialize,
    ) -> Self {
        let text = serde_json::to_string(facts).unwrap_or_default();
        let facts = Fields::parse(&text).map_or_else(|_| Vec::new(), Fields::owned);
        let (code, detail, hint) = (code.to_owned(), detail.to_string(), hint.to_owned());
        Self { code, kind, detail, hint, facts }
    }

    /// Parses a problem. Fields of the envelope around it count as facts.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let mut facts = Fields::parse(text)?.owned();
        let mut take = |name: &'static str| {
            let place = facts.iter().position(|(field, _)| field == name);
            let missing = || Fault::MissingField { field: name.to_owned() };
            place.map(|place| facts.remove(place).1).ok_or_else(missing)
        };
        let bad = |name, error| Fault::field(name, error);
        let code = take("code")?.to().map_err(|error| bad("code", error))?;
        let kind = take("kind")?.to().map_err(|error| bad("kind", error))?;
        let detail = take("detail")?.to().map_err(|error| bad("detail", error))?;
        let hint = take("hint")?.to().map_err(|error| bad("hint", error))?;
        Ok(Self { code, kind, detail, hint, facts })
    }

    /// Its code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its hint.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// A fact by name.
    pub fn fact(&self, name: &str) -> Option<&Json> {
        self.facts.iter().find(|(field, _)| field == name).map(|(_, fact)| fact)
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("detail", &self.detail)?;
        map.serialize_entry("hint", &self.hint)?;
        for (name, fact) in &self.facts {
            map.serialize_entry(name, fact)?;
        }
        map.end()
    }
}

impl From<&Rejection> for Problem {
    fn from(rejection: &Rejection) -> Self {
        Self::new(rejection.code(), rejection.kind(), rejection, rejection.hint(), rejection)
    }
}

impl From<&Fault> for Problem {
    fn from(fault: &Fault) -> Self {
        Self::new(fault.code(), fault.kind(), fault, fault.hint(), fault)
    }
}
