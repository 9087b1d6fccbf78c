//! Fields by name, from a JSON object, a path or a query, as a serde source of commands.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::Fault;
use super::frame::{elements, members};
use crate::json::{Json, RAW_VALUE, reason};

/// The maximum number of fields in one object. Commands have a dozen.
pub(super) const FIELDS_MAX: usize = 64;

/// Fields by name. The values are scanned JSON, or text from a path, a query or a header.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a>(pub(super) Vec<(Cow<'a, str>, Value<'a>)>);

#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    /// JSON that was scanned.
    Json(&'a str),
    /// Text, to be interpreted by the type of the field.
    Text(Cow<'a, str>),
}

impl<'a> Fields<'a> {
    /// The fields of a JSON object.
    pub fn parse(text: &'a str) -> Result<Self, Fault> {
        let mut fields = Self(Vec::with_capacity(8));
        members(text, |name, value| {
            fields.0.push((name, Value::Json(value)));
            Ok(())
        })?;
        Ok(fields)
    }

    /// Adds a field whose value is text.
    pub fn text(&mut self, name: impl Into<Cow<'a, str>>, text: impl Into<Cow<'a, str>>) {
        self.0.push((name.into(), Value::Text(text.into())));
    }

    /// Adds a field whose value is JSON.
    pub fn json(&mut self, name: &'a str, json: &'a Json) {
        self.0.push((name.into(), Value::Json(json.as_str())));
    }

    /// Adds the fields of another.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Whether there is a field of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// Takes a field out, if its value is text or a JSON string.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(field, _)| field == name)?;
        match self.0.remove(place).1 {
            Value::Json(text) => serde_json::from_str(text).ok(),
            Value::Text(text) => Some(text.into_owned()),
        }
    }

    /// The fields, to be stored.
    pub(super) fn owned(self) -> Vec<(String, Json)> {
        let keep = |(name, value): (Cow<'a, str>, Value<'a>)| {
            let value = match value {
                Value::Json(text) => Json::trusted(text.as_bytes()),
                Value::Text(text) => Json::of(text.as_ref()).expect("texts are JSON"),
            };
            (name.into_owned(), value)
        };
        self.0.into_iter().map(keep).collect()
    }

    /// Deserializes a type from the fields.
    pub fn to<T: Deserialize<'a>>(&self) -> Result<T, Fault> {
        T::deserialize(Given { fields: &self.0, at: 0 })
    }

    /// Deserializes a sum over the primitives: `Command` or `Query`, by the names of its variants.
    pub(crate) fn variant<T: Deserialize<'a>>(
        &self,
        primitive: &str,
        variant: &str,
    ) -> Result<T, Fault> {
        T::deserialize(Tagged { tag: primitive, inner: Some(variant), fields: self })
    }
}

/// The fields as a struct or map.
struct Given<'b, 'de> {
    fields: &'b [(Cow<'de, str>, Value<'de>)],
    at: usize,
}

impl<'de> Deserializer<'de> for Given<'_, 'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Given<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some((name, _)) = self.fields.get(self.at) else { return Ok(None) };
        let name: StrDeserializer<'_, Fault> = name.as_ref().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (name, value) = &self.fields[self.at];
        self.at += 1;
        seed.deserialize(value).map_err(|fault| fault.within(name))
    }
}

/// A variant, perhaps with another one inside; the fields are those of the innermost.
struct Tagged<'b, 'de> {
    tag: &'b str,
    inner: Option<&'b str>,
    fields: &'b Fields<'de>,
}

impl<'de> Deserializer<'de> for Tagged<'_, 'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Tagged<'_, 'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let tag: StrDeserializer<'_, Fault> = self.tag.into_deserializer();
        Ok((seed.deserialize(tag)?, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'_, 'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.fields.0.first() {
            Some((name, _)) => Err(Fault::unknown_field(name, &[])),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        match self.inner {
            Some(tag) => seed.deserialize(Tagged { tag, inner: None, fields: self.fields }),
            None => seed.deserialize(Given { fields: &self.fields.0, at: 0 }),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        unreachable!("no command is a tuple")
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(Given { fields: &self.fields.0, at: 0 })
    }
}

/// A JSON string without escapes, like nearly every one.
pub(super) fn plain_string(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.as_bytes().contains(&b'\\')).then_some(inner)
}

/// Lets `serde_json` deserialize types with their own shape.
macro_rules! as_json {
    ($text:expr, $visitor:expr, $method:ident $(, $argument:expr)*) => {{
        let mut reader = serde_json::Deserializer::from_str($text);
        reader.$method($($argument,)* $visitor).map_err(|error| Fault::custom(reason(&error)))
    }};
}

macro_rules! numbers {
    ($($method:ident $visit:ident $kind:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self {
                Value::Json(text) => as_json!(text, visitor, $method),
                Value::Text(text) => match text.parse::<$kind>() {
                    Ok(number) => visitor.$visit(number),
                    Err(_) => Err(Fault::custom(format!("`{text}` is not a valid number"))),
                },
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &Value<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Value::Json(text) => match plain_string(text) {
                Some(inner) => visitor.visit_borrowed_str(inner),
                None => as_json!(text, visitor, deserialize_any),
            },
            Value::Text(text) => visitor.visit_str(text),
        }
    }

    numbers! {
        deserialize_u8 visit_u64 u64, deserialize_u16 visit_u64 u64, deserialize_u32 visit_u64 u64,
        deserialize_u64 visit_u64 u64, deserialize_i8 visit_i64 i64, deserialize_i16 visit_i64 i64,
        deserialize_i32 visit_i64 i64, deserialize_i64 visit_i64 i64,
        deserialize_f32 visit_f64 f64, deserialize_f64 visit_f64 f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Value::Json(text) => as_json!(text, visitor, deserialize_bool),
            Value::Text(text) => match text.as_ref() {
                "true" | "" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                other => Err(Fault::custom(format!("`{other}` is neither `true` nor `false`"))),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Value::Json("null") => visitor.visit_none(),
            Value::Json(_) | Value::Text(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self {
            // The text was scanned: `Json` takes it unchanged.
            Value::Json(text) if name == RAW_VALUE => visitor.visit_borrowed_bytes(text.as_bytes()),
            Value::Text(text) if name == RAW_VALUE => {
                let json = Json::parse(text.as_bytes()).map_err(Fault::custom)?;
                visitor.visit_byte_buf(json.as_bytes().to_vec())
            }
            Value::Json(_) | Value::Text(_) => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self {
            Value::Json(text) => {
                let mut items = Vec::new();
                elements(text, |item| {
                    items.push(Value::Json(item));
                    Ok(())
                })?;
                visitor.visit_seq(Items { items, at: 0 })
            }
            // A list in a query: its items separated by commas.
            Value::Text(text) => {
                let item = |item: &str| Value::Text(item.to_owned().into());
                let items = text.split(',').filter(|item| !item.is_empty()).map(item).collect();
                visitor.visit_seq(Items { items, at: 0 })
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self {
            Value::Json(text) => as_json!(text, visitor, deserialize_enum, name, variants),
            Value::Text(text) => {
                let word: StrDeserializer<'_, Fault> = text.as_ref().into_deserializer();
                visitor.visit_enum(word)
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self {
            Value::Json(text) => as_json!(text, visitor, deserialize_struct, name, fields),
            Value::Text(text) => {
                let mut reader = serde_json::Deserializer::from_reader(text.as_bytes());
                let read = reader.deserialize_struct(name, fields, visitor);
                read.map_err(|error| Fault::custom(reason(&error)))
            }
        }
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct tuple tuple_struct map identifier
        ignored_any
    }
}

struct Items<'de> {
    items: Vec<Value<'de>>,
    at: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.get(self.at) else { return Ok(None) };
        self.at += 1;
        seed.deserialize(item).map(Some)
    }
}
