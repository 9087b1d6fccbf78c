//! Compiles a schema from a tree to its parts and their keywords.
//!
//! Each part is compiled once, however many references name it, and none is compiled inside
//! another: pending work is kept in a list.
//!
//! A reference may lead to a place that no draft calls a schema, and that the meta-schema therefore
//! does not cover. There an operand of the wrong type is ignored: such schemas may be in logs, and
//! a schema that was accepted once must be accepted when the log is replayed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::content::{self, Encoding};
use crate::draft::Draft;
use crate::format::Format;
use crate::keyword::{At, Contains, Items, Keyword, Node, Properties, Types};
use crate::leaf::{Multiple, Options};
use crate::message::{begun, escaped};
use crate::metaschema::{check_part, pattern, unusable};
use crate::reference::resolved;
use crate::regex::Pattern;
use crate::{REGEX_BYTES_MAX, SchemaError, shortened};

/// A compiled schema.
pub(crate) struct Compiled {
    /// Its parts. The first is the root.
    pub(crate) nodes: Vec<Node>,
    /// JSON Pointers to the parts.
    pub(crate) paths: Vec<String>,
    /// The size of its regular expressions.
    pub(crate) regexes_bytes: usize,
}

/// Compiles a schema whose references and operands were checked.
pub(crate) fn compile(
    root: &Value,
    draft: Draft,
    regexes_bytes_max: usize,
) -> Result<Compiled, SchemaError> {
    let mut compiler = Compiler {
        root,
        draft,
        places: BTreeMap::new(),
        parts: Vec::new(),
        path: String::new(),
        regexes_bytes: 0,
        regexes_bytes_max,
    };
    compiler.place(root, String::new());
    let mut nodes = Vec::new();
    while let Some((part, path)) = compiler.parts.get(nodes.len()).cloned() {
        nodes.push(compiler.node(part, path)?);
    }
    let paths = compiler.parts.into_iter().map(|(_, path)| path).collect();
    Ok(Compiled { nodes, paths, regexes_bytes: compiler.regexes_bytes })
}

struct Compiler<'a> {
    root: &'a Value,
    draft: Draft,
    places: BTreeMap<*const Value, At>,
    /// All parts so far, and their paths.
    parts: Vec<(&'a Value, String)>,
    /// The part that is being compiled.
    path: String,
    /// How much memory the regular expressions so far take.
    regexes_bytes: usize,
    /// How much they may take; `usize::MAX` if neither they nor each of them are limited.
    regexes_bytes_max: usize,
}

impl<'a> Compiler<'a> {
    fn node(&mut self, part: &'a Value, path: String) -> Result<Node, SchemaError> {
        self.path = path;
        let keywords = match part {
            Value::Bool(always) => return Ok(Node::Always(*always)),
            Value::Object(keywords) => keywords,
            // A reference may lead to a place that no draft calls a schema.
            _ => return check_part(part, self.draft, &self.path).map(|()| Node::Always(true)),
        };
        if let Some(Value::String(reference)) = keywords.get("$ref")
            && self.draft.reference_stands_alone()
        {
            return Ok(Node::Keywords(vec![Keyword::Ref(self.referred(reference)?)]));
        }
        let mut list = Vec::new();
        self.values(keywords, &mut list);
        self.texts(keywords, &mut list)?;
        self.contents(keywords, &mut list)?;
        self.branches(keywords, &mut list)?;
        let scoped = self.unevaluated(keywords, &mut list);
        Ok(if scoped { Node::Scope(list) } else { Node::Keywords(list) })
    }

    /// Assertions about a value of any type, numbers and sizes.
    fn values(&mut self, keywords: &Map<String, Value>, list: &mut Vec<Keyword>) {
        match keywords.get("type") {
            Some(Value::String(name)) => {
                list.extend(Types::of([name.as_str()]).map(Keyword::Type));
            }
            Some(Value::Array(names)) => {
                list.extend(Types::of(names.iter().filter_map(Value::as_str)).map(Keyword::Type));
            }
            _ => {}
        }
        list.extend(keywords.get("const").cloned().map(Keyword::Const));
        list.extend(
            keywords
                .get("enum")
                .and_then(Value::as_array)
                .cloned()
                .map(|all| Keyword::Enum(Options::new(all))),
        );
        let number = |name: &str| keywords.get(name).and_then(Value::as_number);
        list.extend(number("minimum").cloned().map(Keyword::Minimum));
        list.extend(number("maximum").cloned().map(Keyword::Maximum));
        list.extend(number("exclusiveMinimum").cloned().map(Keyword::ExclusiveMinimum));
        list.extend(number("exclusiveMaximum").cloned().map(Keyword::ExclusiveMaximum));
        list.extend(number("multipleOf").map(|number| Keyword::MultipleOf(Multiple::new(number))));
        list.extend(natural(keywords, "minLength").map(Keyword::MinLength));
        list.extend(natural(keywords, "maxLength").map(Keyword::MaxLength));
        list.extend(natural(keywords, "minItems").map(Keyword::MinItems));
        list.extend(natural(keywords, "maxItems").map(Keyword::MaxItems));
        list.extend(natural(keywords, "minProperties").map(Keyword::MinProperties));
        list.extend(natural(keywords, "maxProperties").map(Keyword::MaxProperties));
        list.extend(names(keywords.get("required")).map(Keyword::Required));
        let mut dependent: Vec<_> = lists(keywords, "dependencies").collect();
        if self.draft >= Draft::D2019 {
            dependent.extend(lists(keywords, "dependentRequired"));
        }
        if !dependent.is_empty() {
            list.push(Keyword::DependentRequired(dependent));
        }
    }

    fn texts(
        &mut self,
        keywords: &Map<String, Value>,
        list: &mut Vec<Keyword>,
    ) -> Result<(), SchemaError> {
        let text = |name: &str| keywords.get(name).and_then(Value::as_str);
        if let Some(source) = text("pattern") {
            let pattern = self.pattern(source, "pattern")?;
            list.push(Keyword::Pattern(Box::new(pattern)));
        }
        if self.draft.asserts_format() {
            let format = text("format").and_then(|name| Format::of(name, self.draft));
            list.extend(format.map(Keyword::Format));
            let named = text("contentEncoding");
            let encoding = named.and_then(Encoding::of);
            match text("contentMediaType") {
                None => list.extend(encoding.map(Keyword::ContentEncoding)),
                // Content that cannot be decoded cannot be parsed.
                Some(content::JSON) if named.is_none() || encoding.is_some() => {
                    list.push(Keyword::ContentJson(encoding));
                }
                Some(_) => {}
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            list.push(Keyword::UniqueItems);
        }
        Ok(())
    }

    /// A regular expression, if there is room for it.
    fn pattern(&mut self, source: &str, keyword: &str) -> Result<Pattern, SchemaError> {
        let path = format!("{}/{keyword}", self.path);
        let pattern = pattern(source, &path)?;
        let regexes_bytes_max = self.regexes_bytes_max;
        if pattern.bytes() > REGEX_BYTES_MAX.min(regexes_bytes_max)
            && regexes_bytes_max < usize::MAX
        {
            return Err(unusable(&path));
        }
        self.regexes_bytes = self.regexes_bytes.saturating_add(pattern.bytes());
        let regexes_bytes = self.regexes_bytes;
        if regexes_bytes > regexes_bytes_max {
            return Err(SchemaError::RegexesTooLarge { regexes_bytes, regexes_bytes_max });
        }
        Ok(pattern)
    }

    /// Requirements on the fields and elements of a value.
    fn contents(
        &mut self,
        keywords: &'a Map<String, Value>,
        list: &mut Vec<Keyword>,
    ) -> Result<(), SchemaError> {
        let mut named = self.by_name(keywords, "properties");
        named.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        let mut patterns = Vec::new();
        for (source, part) in self.by_name(keywords, "patternProperties") {
            patterns.push((self.pattern(&source, "patternProperties")?, part));
        }
        let additional = self.one(keywords, "additionalProperties");
        let properties = Properties { named, patterns, additional };
        if ["properties", "patternProperties", "additionalProperties"]
            .iter()
            .any(|name| keywords.contains_key(*name))
        {
            list.push(Keyword::Properties(properties));
        }
        list.extend(self.one(keywords, "propertyNames").map(Keyword::PropertyNames));
        let items = self.items(keywords);
        if !items.prefix.is_empty() || items.rest.is_some() {
            list.push(Keyword::Items(items));
        }
        if let Some(part) = self.one(keywords, "contains") {
            let counts = self.draft >= Draft::D2019;
            let limit = |name| natural(keywords, name).filter(|_| counts);
            let (min, max) = (limit("minContains").unwrap_or(1), limit("maxContains"));
            let evaluates = self.draft >= Draft::D2020;
            list.push(Keyword::Contains(Contains { part, min, max, evaluates }));
        }
        Ok(())
    }

    fn items(&mut self, keywords: &'a Map<String, Value>) -> Items {
        if self.draft >= Draft::D2020 {
            let prefix = self.many(keywords, "prefixItems");
            return Items { prefix, rest: self.one(keywords, "items"), rest_is_additional: false };
        }
        match keywords.get("items") {
            Some(Value::Array(_)) => {
                let rest = self.one(keywords, "additionalItems");
                Items { prefix: self.many(keywords, "items"), rest, rest_is_additional: true }
            }
            _ => Items { rest: self.one(keywords, "items"), ..Items::default() },
        }
    }

    /// Parts that apply to the same value.
    fn branches(
        &mut self,
        keywords: &'a Map<String, Value>,
        list: &mut Vec<Keyword>,
    ) -> Result<(), SchemaError> {
        let mut dependent = self.by_name(keywords, "dependencies");
        if self.draft >= Draft::D2019 {
            dependent.extend(self.by_name(keywords, "dependentSchemas"));
        }
        if !dependent.is_empty() {
            list.push(Keyword::DependentSchemas(dependent));
        }
        for (name, keyword) in [
            ("allOf", Keyword::AllOf as fn(Vec<At>) -> Keyword),
            ("anyOf", Keyword::AnyOf),
            ("oneOf", Keyword::OneOf),
        ] {
            let parts = self.many(keywords, name);
            if !parts.is_empty() {
                list.push(keyword(parts));
            }
        }
        if let Some(part) = self.one(keywords, "not") {
            list.push(Keyword::Not(part, begun(&keywords["not"])));
        }
        if self.draft >= Draft::D7
            && let Some(condition) = self.one(keywords, "if")
        {
            let then = self.one(keywords, "then");
            list.push(Keyword::If(condition, then, self.one(keywords, "else")));
        }
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            list.push(Keyword::Ref(self.referred(reference)?));
        }
        Ok(())
    }

    fn unevaluated(&mut self, keywords: &'a Map<String, Value>, list: &mut Vec<Keyword>) -> bool {
        if self.draft < Draft::D2019 {
            return false;
        }
        let before = list.len();
        let properties = self.one(keywords, "unevaluatedProperties");
        list.extend(properties.map(Keyword::UnevaluatedProperties));
        list.extend(self.one(keywords, "unevaluatedItems").map(Keyword::UnevaluatedItems));
        list.len() > before
    }

    fn referred(&mut self, reference: &str) -> Result<At, SchemaError> {
        let part = resolved(self.root, reference)
            .ok_or_else(|| SchemaError::Reference { reference: shortened(reference) })?;
        let path = reference.strip_prefix('#').unwrap_or(reference);
        Ok(self.place(part, path.to_owned()))
    }

    fn one(&mut self, keywords: &'a Map<String, Value>, name: &str) -> Option<At> {
        let part = keywords.get(name).filter(|part| part.is_boolean() || part.is_object())?;
        let path = format!("{}/{name}", self.path);
        Some(self.place(part, path))
    }

    fn many(&mut self, keywords: &'a Map<String, Value>, name: &str) -> Vec<At> {
        let parts = keywords.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let parts = parts.iter().enumerate();
        parts.map(|(at, part)| self.place(part, format!("{}/{name}/{at}", self.path))).collect()
    }

    /// The schemas of an object; lists of names in `dependencies` are skipped.
    fn by_name(&mut self, keywords: &'a Map<String, Value>, keyword: &str) -> Vec<(String, At)> {
        let Some(Value::Object(parts)) = keywords.get(keyword) else { return Vec::new() };
        let schemas = parts.iter().filter(|(_, part)| !part.is_array());
        schemas
            .map(|(name, part)| {
                let path = format!("{}/{keyword}/{}", self.path, escaped(name));
                (name.clone(), self.place(part, path))
            })
            .collect()
    }

    /// The number of a part, the next one if it has none yet.
    fn place(&mut self, part: &'a Value, path: String) -> At {
        let next = self.parts.len();
        let at = *self.places.entry(std::ptr::from_ref(part)).or_insert(next);
        if at == next {
            self.parts.push((part, path));
        }
        at
    }
}

/// A size, which may be written as `2.0`. Sizes beyond those of any value are equivalent.
fn natural(keywords: &Map<String, Value>, name: &str) -> Option<u64> {
    let number = keywords.get(name)?.as_number()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and the meta-schema admits neither fraction nor sign"
    )]
    number.as_u64().or_else(|| number.as_f64().map(|double| double as u64))
}

fn names(operand: Option<&Value>) -> Option<Vec<String>> {
    let names = operand?.as_array()?.iter().filter_map(Value::as_str);
    Some(names.map(str::to_owned).collect())
}

/// The lists of names of an object.
fn lists<'a>(
    keywords: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (String, Vec<String>)> + 'a {
    let lists = keywords.get(keyword).and_then(Value::as_object).into_iter().flatten();
    lists.filter_map(|(name, list)| Some((name.clone(), names(Some(list))?)))
}
