//! Writes answers and notices as JSON: the bytes that `serde_json` writes, at about a third of the
//! cost.
//!
//! Names of fields and variants are Rust's, so they are copied without a search for what must be
//! escaped; texts are searched eight bytes at a time; and the names around a sum over the
//! primitives are left out instead of removed afterwards:
//!
//! ```text
//!   {"task":{"claimed":{"id":…}}}   ──write_bare──▶   {"id":…}
//! ```
//!
//! Invariant: the bytes are those of `serde_json`, for every value. The tests compare the two.

use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use serde_json::Error;

use super::answer::{write_number, write_text};
use crate::json::RAW_VALUE;

#[cfg(test)]
mod tests;

/// Appends a value as JSON.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    write_within(out, value, Around::Nothing).expect("what is sent can be encoded");
}

/// Appends a sum over the primitives without the names of the primitive and of the variant there.
/// A variant without content is `{}`.
pub(crate) fn write_bare<T: Serialize + ?Sized>(out: &mut Vec<u8>, sum: &T) {
    write_within(out, sum, Around::TwoNames(None)).expect("what is sent can be encoded");
}

/// Appends the fields of such a sum to an object that is not empty, with a comma before each of
/// them: without braces, and without the fields of these names.
pub(crate) fn write_own_fields<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    sum: &T,
    omitted: Omitted,
) {
    write_within(out, sum, Around::TwoNames(Some(omitted))).expect("what is sent can be encoded");
}

/// The names of fields that are not written.
pub(crate) type Omitted = &'static [&'static str];

fn write_within<T: Serialize + ?Sized>(
    out: &mut Vec<u8>,
    value: &T,
    around: Around,
) -> Result<(), Error> {
    value.serialize(JsonWriter { out, around })
}

/// The text around a value, which is not written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    /// The name of a variant, and the braces of its fields if some of them are left out.
    Name(Option<Omitted>),
    /// The names of a variant, and of one within it.
    TwoNames(Option<Omitted>),
    /// The braces of an object, and these fields.
    Braces(Omitted),
    /// The quotes of a text, which is JSON.
    Quotes,
}

/// Appends a small number with at most one decimal, such as a factor or a fraction; false if it is
/// another one. The shortest text of such a number is the one with this decimal.
fn write_tenths(out: &mut Vec<u8>, number: f64) -> bool {
    const MAX: f64 = 1e6;
    let tenths = (number * 10.0).round();
    #[expect(clippy::float_cmp, reason = "it is the same number or another one")]
    let is_short = number.is_sign_positive() && tenths < MAX && tenths / 10.0 == number;
    if is_short {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole, positive and small"
        )]
        let tenths = tenths as u64;
        write_number(out, tenths / 10);
        out.push(b'.');
        write_number(out, tenths % 10);
    }
    is_short
}

/// Writes one value.
struct JsonWriter<'a> {
    out: &'a mut Vec<u8>,
    around: Around,
}

/// Writes what is in a list, an object or a variant.
struct Within<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
    /// The text after the last one.
    end: &'static [u8],
    omitted: Omitted,
}

impl JsonWriter<'_> {
    /// Whether the name of a variant is left out.
    fn is_bare(&self) -> bool {
        matches!(self.around, Around::Name(_) | Around::TwoNames(_))
    }

    /// Appends the name of a variant.
    fn begin_variant(&mut self, name: &'static str) {
        self.out.extend_from_slice(b"{\"");
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

impl<'a> JsonWriter<'a> {
    fn begin(self, first: &'static [u8], end: &'static [u8]) -> Within<'a> {
        self.out.extend_from_slice(first);
        Within { out: self.out, is_first: true, end, omitted: &[] }
    }

    /// Begins the fields of an object or of a variant.
    fn begin_fields(self, end: &'static [u8]) -> Within<'a> {
        match self.around {
            Around::Braces(omitted) | Around::Name(Some(omitted)) => {
                Within { out: self.out, is_first: false, end: b"", omitted }
            }
            _ => self.begin(b"{", end),
        }
    }
}

impl Within<'_> {
    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        write_within(self.out, value, Around::Nothing)
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        if name == RAW_VALUE {
            return write_within(self.out, value, Around::Quotes);
        }
        if self.omitted.contains(&name) {
            return Ok(());
        }
        self.out.extend_from_slice(if self.is_first { &b"\""[..] } else { b",\"" });
        self.is_first = false;
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        write_within(self.out, value, Around::Nothing)
    }

    fn finish(self) {
        self.out.extend_from_slice(self.end);
    }
}

macro_rules! numbers {
    ($($method:ident $kind:ty),*) => {$(
        fn $method(self, number: $kind) -> Result<(), Error> {
            let number = i64::from(number);
            if number < 0 {
                self.out.push(b'-');
            }
            write_number(self.out, number.unsigned_abs());
            Ok(())
        }
    )*};
}

impl<'a> Serializer for JsonWriter<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Within<'a>;
    type SerializeTuple = Within<'a>;
    type SerializeTupleStruct = Within<'a>;
    type SerializeTupleVariant = Within<'a>;
    type SerializeMap = Within<'a>;
    type SerializeStruct = Within<'a>;
    type SerializeStructVariant = Within<'a>;

    numbers! {
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32
    }

    fn serialize_u64(self, number: u64) -> Result<(), Error> {
        write_number(self.out, number);
        Ok(())
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        serde_json::to_writer(self.out, &number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        if write_tenths(self.out, number) {
            return Ok(());
        }
        serde_json::to_writer(self.out, &number)
    }

    fn serialize_char(self, character: char) -> Result<(), Error> {
        write_text(self.out, character.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        match self.around {
            Around::Quotes => self.out.extend_from_slice(text.as_bytes()),
            _ => write_text(self.out, text),
        }
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        bytes.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<(), Error> {
        match self.around {
            Around::Name(Some(_)) | Around::TwoNames(Some(_)) => {}
            Around::Name(None) | Around::TwoNames(None) => self.out.extend_from_slice(b"{}"),
            _ => write_text(self.out, name),
        }
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        match self.around {
            Around::TwoNames(omitted) => {
                return write_within(self.out, value, Around::Name(omitted));
            }
            Around::Name(None) => return write_within(self.out, value, Around::Nothing),
            Around::Name(Some(omitted)) => {
                return write_within(self.out, value, Around::Braces(omitted));
            }
            Around::Nothing | Around::Braces(_) | Around::Quotes => {}
        }
        self.begin_variant(name);
        write_within(self.out, value, Around::Nothing)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Within<'a>, Error> {
        Ok(self.begin(b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Within<'a>, Error> {
        Ok(self.begin(b"[", b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Within<'a>, Error> {
        Ok(self.begin(b"[", b"]"))
    }

    fn serialize_tuple_variant(
        mut self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Within<'a>, Error> {
        if self.is_bare() {
            return Ok(self.begin(b"[", b"]"));
        }
        self.begin_variant(name);
        Ok(self.begin(b"[", b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Within<'a>, Error> {
        Ok(self.begin(b"{", b"}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Within<'a>, Error> {
        Ok(if name == RAW_VALUE { self.begin(b"", b"") } else { self.begin_fields(b"}") })
    }

    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Within<'a>, Error> {
        if self.is_bare() {
            return Ok(self.begin_fields(b"}"));
        }
        self.begin_variant(name);
        Ok(self.begin(b"{", b"}}"))
    }
}

macro_rules! within {
    ($($kind:ident $method:ident),*) => {$(
        impl $kind for Within<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish();
                Ok(())
            }
        }
    )*};
}
within! {
    SerializeSeq serialize_element, SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field
}

macro_rules! fields_within {
    ($($kind:ident),*) => {$(
        impl $kind for Within<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish();
                Ok(())
            }
        }
    )*};
}
fields_within! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Within<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Error> {
        self.separate();
        let begin = self.out.len();
        write_within(self.out, name, Around::Nothing)?;
        // A number as a name is a text.
        if self.out.get(begin) != Some(&b'"') {
            self.out.insert(begin, b'"');
            self.out.push(b'"');
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(b':');
        write_within(self.out, value, Around::Nothing)
    }

    fn end(self) -> Result<(), Error> {
        self.finish();
        Ok(())
    }
}
