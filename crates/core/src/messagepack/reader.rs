//! The deserializer, with as few generic lines as possible.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::Error;
use super::token::{Reader, Token, utf8};

/// The elements of an array or a map. The caller knows how many are left.
struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: &'a mut u32,
}

impl Elements<'_, '_> {
    fn is_next(&mut self) -> bool {
        let is_next = *self.left > 0;
        *self.left -= u32::from(is_next);
        is_next
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        if self.is_next() { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(*self.left as usize)
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if self.is_next() { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(*self.left as usize)
    }
}

/// The fields of a struct. An array is presented as a map: most of the code of a type reads its
/// map, and this avoids a second half for arrays.
struct Fields<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: &'a mut u32,
    /// The names of the values to come, if they are not in the input.
    names: &'static [&'static str],
}

impl<'de> Fields<'_, 'de> {
    #[inline(never)]
    fn next_name(&mut self) -> Result<Option<&'de str>, Error> {
        if *self.left == 0 {
            return Ok(None);
        }
        *self.left -= 1;
        match self.names {
            [] => self.reader.text().map(Some),
            [name, rest @ ..] => {
                self.names = rest;
                Ok(Some(name))
            }
        }
    }
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        match self.next_name()? {
            Some(name) => seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}

/// A variant: its name, and its content.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    name: &'de str,
    has_content: bool,
}

impl Variant<'_, '_> {
    /// Refuses a bare name for a variant with content.
    #[inline(never)]
    fn content(&self) -> Result<(), Error> {
        if self.has_content {
            Ok(())
        } else {
            Err(Error::invalid_type(Unexpected::UnitVariant, &"a variant with content"))
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        Ok((seed.deserialize(BorrowedStrDeserializer::<Error>::new(self.name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if self.has_content { self.reader.nil() } else { Ok(()) }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.content()?;
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        self.content()?;
        self.reader.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.content()?;
        self.reader.deserialize_struct("", fields, visitor)
    }
}

impl<'de> Reader<'de> {
    fn visit_array<V: Visitor<'de>>(
        &mut self,
        mut left: u32,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let value = visitor.visit_seq(Elements { reader: self, left: &mut left })?;
        self.leave(left)?;
        Ok(value)
    }

    fn visit_map<V: Visitor<'de>>(&mut self, mut left: u32, visitor: V) -> Result<V::Value, Error> {
        let value = visitor.visit_map(Elements { reader: self, left: &mut left })?;
        self.leave(left)?;
        Ok(value)
    }
}

/// Methods that read a token of one kind and hand it to one method of the visitor.
macro_rules! plain {
    ($($method:ident: $read:ident, $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.$read()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Nil => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Unsigned(value) => visitor.visit_u64(value),
            Token::Signed(value) => visitor.visit_i64(value),
            Token::Single(value) => visitor.visit_f32(value),
            Token::Double(value) => visitor.visit_f64(value),
            Token::Text(text) => visitor.visit_borrowed_str(utf8(text)?),
            Token::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Token::Array(count) => {
                self.enter()?;
                self.visit_array(count, visitor)
            }
            Token::Map(count) => {
                self.enter()?;
                self.visit_map(count, visitor)
            }
        }
    }

    plain! {
        deserialize_bool: boolean, visit_bool;
        deserialize_u8: unsigned, visit_u64;
        deserialize_u16: unsigned, visit_u64;
        deserialize_u32: unsigned, visit_u64;
        deserialize_u64: unsigned, visit_u64;
        deserialize_i8: signed, visit_i64;
        deserialize_i16: signed, visit_i64;
        deserialize_i32: signed, visit_i64;
        deserialize_i64: signed, visit_i64;
        deserialize_f32: single, visit_f32;
        deserialize_f64: double, visit_f64;
        deserialize_char: text, visit_borrowed_str;
        deserialize_str: text, visit_borrowed_str;
        deserialize_string: text, visit_borrowed_str;
        deserialize_identifier: text, visit_borrowed_str;
        deserialize_bytes: bytes, visit_borrowed_bytes;
        deserialize_byte_buf: bytes, visit_borrowed_bytes;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_nil()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.nil()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.unit_struct()?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = self.array()?;
        self.visit_array(count, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = self.map()?;
        self.visit_map(count, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (mut left, names) = self.structure(fields)?;
        let value = visitor.visit_map(Fields { reader: self, left: &mut left, names })?;
        self.leave(left)?;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (name, has_content) = self.variant()?;
        let value = visitor.visit_enum(Variant { reader: self, name, has_content })?;
        if has_content {
            self.leave(0)?;
        }
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip()?;
        visitor.visit_unit()
    }
}
