//! Checking a value against a compiled schema.
//!
//! Each function of the recursion is small, so that the depth that `work` allows fits into the
//! stack of any thread.

use serde_json::{Map, Value};

use crate::effort::Effort;
use crate::evaluated::Evaluated;
use crate::keyword::{At, Contains, Items, Keyword, Node, Properties};
use crate::leaf;
use crate::message::{Failure, Reason, Step};

type Checked<'a> = Result<(), Box<Failure<'a>>>;

/// Finds the first violation.
pub(crate) fn check<'a>(nodes: &'a [Node], instance: &'a Value, effort: &'a Effort) -> Checked<'a> {
    Checker { nodes, effort }.fresh(0, instance)
}

#[derive(Clone, Copy)]
struct Checker<'a> {
    nodes: &'a [Node],
    effort: &'a Effort,
}

impl<'a> Checker<'a> {
    /// Checks a value that no other part of the schema applies to together with this one.
    fn fresh(self, at: At, instance: &'a Value) -> Checked<'a> {
        self.part(at, instance, &mut Evaluated::default())
    }

    fn fits(self, at: At, instance: &'a Value) -> bool {
        self.fresh(at, instance).is_ok()
    }

    fn part(self, at: At, instance: &'a Value, seen: &mut Evaluated<'a>) -> Checked<'a> {
        match &self.nodes[at] {
            Node::Always(true) => Ok(()),
            Node::Always(false) => Err(Failure::new(Reason::Never, instance)),
            Node::Keywords(keywords) => self.all(keywords, instance, seen),
            Node::Scope(keywords) => {
                let mut own = Evaluated::wanted();
                self.all(keywords, instance, &mut own)?;
                seen.add(own);
                Ok(())
            }
        }
    }

    fn all(
        self,
        keywords: &'a [Keyword],
        instance: &'a Value,
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        for keyword in keywords {
            match keyword {
                Keyword::Ref(part) => self.part(*part, instance, seen)?,
                _ => match instance {
                    Value::Object(fields) => self.object(keyword, instance, fields, seen)?,
                    Value::Array(elements) => self.array(keyword, instance, elements, seen)?,
                    _ => self.same(keyword, instance, seen)?,
                },
            }
        }
        Ok(())
    }

    /// Keywords about the fields of an object, and all others.
    fn object(
        self,
        keyword: &'a Keyword,
        instance: &'a Value,
        fields: &'a Map<String, Value>,
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        match keyword {
            Keyword::Properties(keyword) => self.properties(keyword, instance, fields, seen),
            Keyword::PropertyNames(part) => self.names(*part, instance, fields),
            Keyword::DependentSchemas(parts) => {
                for (name, part) in parts {
                    if fields.contains_key(name) {
                        self.part(*part, instance, seen)?;
                    }
                }
                Ok(())
            }
            Keyword::UnevaluatedProperties(part) => {
                self.unevaluated_properties(*part, instance, fields, seen)
            }
            _ => self.same(keyword, instance, seen),
        }
    }

    /// Keywords about the elements of an array, and all others.
    fn array(
        self,
        keyword: &'a Keyword,
        instance: &'a Value,
        elements: &'a [Value],
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        match keyword {
            Keyword::Items(keyword) => self.items(keyword, instance, elements, seen),
            Keyword::Contains(keyword) => self.contains(keyword, instance, elements, seen),
            Keyword::UnevaluatedItems(part) => {
                self.unevaluated_items(*part, instance, elements, seen)
            }
            _ => self.same(keyword, instance, seen),
        }
    }

    /// Keywords that apply other parts to the same value, and those that apply none.
    fn same(
        self,
        keyword: &'a Keyword,
        instance: &'a Value,
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        match keyword {
            Keyword::AllOf(parts) => {
                parts.iter().try_for_each(|part| self.part(*part, instance, seen))
            }
            Keyword::AnyOf(parts) => self.any_of(parts, instance, seen),
            Keyword::OneOf(parts) => self.one_of(parts, instance, seen),
            Keyword::Not(part, source) => {
                if self.fits(*part, instance) {
                    return Err(Failure::new(Reason::Not(source), instance));
                }
                Ok(())
            }
            Keyword::If(condition, then, otherwise) => {
                let next = if self.branch(*condition, instance, seen) { then } else { otherwise };
                next.map_or(Ok(()), |part| self.part(part, instance, seen))
            }
            _ => match leaf::failed(keyword, instance, self.effort) {
                None => Ok(()),
                Some(reason) => Err(Failure::new(reason, instance)),
            },
        }
    }

    /// Whether an optional part matches. If not, nothing counts as evaluated.
    fn branch(self, at: At, instance: &'a Value, seen: &mut Evaluated<'a>) -> bool {
        let mark = seen.mark();
        let fits = self.part(at, instance, seen).is_ok();
        if !fits {
            seen.return_to(mark);
        }
        fits
    }

    fn any_of(self, parts: &'a [At], instance: &'a Value, seen: &mut Evaluated<'a>) -> Checked<'a> {
        let mut fits = false;
        for part in parts {
            fits |= self.branch(*part, instance, seen);
            // Every matching branch counts as evaluated, so all are tried then.
            if fits && !seen.wanted {
                break;
            }
        }
        if fits { Ok(()) } else { Err(Failure::new(Reason::AnyOf, instance)) }
    }

    fn one_of(self, parts: &'a [At], instance: &'a Value, seen: &mut Evaluated<'a>) -> Checked<'a> {
        let mut fitting = parts.iter().filter(|part| self.branch(**part, instance, seen));
        match (fitting.next(), fitting.next()) {
            (Some(_), None) => Ok(()),
            (None, _) => Err(Failure::new(Reason::OneOfNone, instance)),
            (Some(_), Some(_)) => Err(Failure::new(Reason::OneOfMany, instance)),
        }
    }

    fn properties(
        self,
        keyword: &'a Properties,
        instance: &'a Value,
        fields: &'a Map<String, Value>,
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        for (name, part) in &keyword.named {
            if let Some(value) = fields.get(name) {
                self.field(*part, name, value)?;
                seen.add_name(name);
            }
        }
        if keyword.patterns.is_empty() && keyword.additional.is_none() {
            return Ok(());
        }
        let mut unexpected = Vec::new();
        for (name, value) in fields {
            let mut known = keyword.named.binary_search_by(|(known, _)| known.cmp(name)).is_ok();
            for (pattern, part) in &keyword.patterns {
                if pattern.matches(name, self.effort) {
                    known = true;
                    self.field(*part, name, value)?;
                    seen.add_name(name);
                }
            }
            match keyword.additional {
                Some(part) if !known => match &self.nodes[part] {
                    Node::Always(false) => unexpected.push(name.as_str()),
                    _ => self.field(part, name, value)?,
                },
                _ => {}
            }
        }
        if !unexpected.is_empty() {
            return Err(Failure::new(Reason::AdditionalProperties(unexpected), instance));
        }
        if keyword.additional.is_some() {
            seen.add_all_names();
        }
        Ok(())
    }

    fn field(self, at: At, name: &'a str, value: &'a Value) -> Checked<'a> {
        self.fresh(at, value).map_err(|failure| failure.inside(Step::Field(name)))
    }

    fn element(self, at: At, position: usize, value: &'a Value) -> Checked<'a> {
        self.fresh(at, value).map_err(|failure| failure.inside(Step::Element(position)))
    }

    fn names(self, part: At, instance: &'a Value, fields: &'a Map<String, Value>) -> Checked<'a> {
        for name in fields.keys() {
            let name = Value::String(name.clone());
            if let Some(text) = self.fresh_name(part, &name) {
                return Err(Failure::new(Reason::Name(text), instance));
            }
        }
        Ok(())
    }

    /// The violation of a name, in words: the name as a value does not outlive its check.
    fn fresh_name(self, part: At, name: &Value) -> Option<String> {
        let failure = Checker { nodes: self.nodes, effort: self.effort }.fresh(part, name).err()?;
        Some(failure.text())
    }

    fn items(
        self,
        keyword: &'a Items,
        instance: &'a Value,
        elements: &'a [Value],
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        for ((position, element), part) in elements.iter().enumerate().zip(&keyword.prefix) {
            self.element(*part, position, element)?;
        }
        seen.add_prefix(keyword.prefix.len());
        let Some(part) = keyword.rest else { return Ok(()) };
        let first = keyword.prefix.len();
        if keyword.rest_is_additional
            && elements.len() > first
            && matches!(self.nodes[part], Node::Always(false))
        {
            return Err(Failure::new(Reason::AdditionalItems(&elements[first..]), instance));
        }
        for (position, element) in elements.iter().enumerate().skip(first) {
            self.element(part, position, element)?;
        }
        seen.add_all_elements();
        Ok(())
    }

    fn contains(
        self,
        keyword: &'a Contains,
        instance: &'a Value,
        elements: &'a [Value],
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        let marks = keyword.evaluates && seen.wanted;
        let mut count = 0;
        for (position, element) in elements.iter().enumerate() {
            let decided = count >= keyword.min && keyword.max.is_none();
            if decided && !marks {
                break;
            }
            if self.fits(keyword.part, element) {
                count += 1;
                if marks {
                    seen.add_element(position);
                }
            }
        }
        let reason = match keyword.max {
            Some(max) if count > max => Reason::MaxContains(max),
            _ if count >= keyword.min => return Ok(()),
            _ if keyword.min == 1 => Reason::NothingContained,
            _ => Reason::MinContains(keyword.min),
        };
        Err(Failure::new(reason, instance))
    }

    fn unevaluated_properties(
        self,
        part: At,
        instance: &'a Value,
        fields: &'a Map<String, Value>,
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        seen.sort();
        let mut unexpected = Vec::new();
        for (name, value) in fields.iter().filter(|(name, _)| !seen.has_name(name)) {
            match &self.nodes[part] {
                Node::Always(false) => unexpected.push(name.as_str()),
                _ => self.field(part, name, value)?,
            }
        }
        if !unexpected.is_empty() {
            return Err(Failure::new(Reason::UnevaluatedProperties(unexpected), instance));
        }
        seen.add_all_names();
        Ok(())
    }

    fn unevaluated_items(
        self,
        part: At,
        instance: &'a Value,
        elements: &'a [Value],
        seen: &mut Evaluated<'a>,
    ) -> Checked<'a> {
        seen.sort();
        let mut unexpected = Vec::new();
        let all = elements.iter().enumerate();
        for (position, element) in all.filter(|(position, _)| !seen.has_element(*position)) {
            match &self.nodes[part] {
                Node::Always(false) => unexpected.push(element),
                _ => self.element(part, position, element)?,
            }
        }
        if !unexpected.is_empty() {
            return Err(Failure::new(Reason::UnevaluatedItems(unexpected), instance));
        }
        seen.add_all_elements();
        Ok(())
    }
}
