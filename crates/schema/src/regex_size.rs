//! The memory that the automaton of a regular expression takes, estimated without building it.
//!
//! The estimate is made from the syntax tree, in time proportional to the source, where building
//! takes time proportional to the result: `\p{L}{20}` is half a megabyte. It is an upper bound, and
//! for usual expressions at most five times the size.
//!
//! Expressions that the engine would still refuse are found here too: properties that do not exist,
//! and expressions without Unicode.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use regex_syntax::ast::{
    Ast, ClassSet, ClassSetItem, Flag, Flags, GroupKind, RepetitionKind, RepetitionRange, Span,
    parse,
};
use regex_syntax::hir::{Class, HirKind};

/// A state of the automaton, with what leads to it.
const STATE: usize = 32;
/// The memory that every automaton takes.
const FRAME: usize = 1 << 10;
/// Any character beyond ASCII, or all but a few.
const ANY: usize = 320;
/// One range of ASCII characters within a class.
const NARROW: usize = 8;
/// One range of other characters within a class, by the length of the longest in UTF-8.
const RANGES: [usize; 3] = [96, 240, 360];
/// One range of a property; its ranges share most of their states.
const PROPERTY_RANGE: usize = 26;
/// Variants of a character in upper and lower case, and those of a range.
const VARIANTS: usize = 4;
/// How many sizes of properties are remembered. There are some hundred properties.
const PROPERTIES_MAX: usize = 1_000;

/// The estimate in bytes; `None` if the expression is malformed. Beyond all limits is what the
/// engine supports and cannot be estimated.
pub(crate) fn estimate(translated: &str) -> Option<usize> {
    let tree = parse::Parser::new().parse(translated).ok()?;
    let folds = changes_case(&tree);
    Some(FRAME.saturating_add(Estimate { text: translated, folds }.of(&tree)?))
}

struct Estimate<'a> {
    text: &'a str,
    /// Whether upper and lower case are the same in some part of the expression.
    folds: bool,
}

impl Estimate<'_> {
    /// The recursion is as deep as the parser allows, some hundred levels.
    fn of(&self, tree: &Ast) -> Option<usize> {
        let all = |parts: &[Ast]| parts.iter().map(|part| self.of(part)).sum_saturating();
        Some(match tree {
            Ast::Flags(flags) if disables_unicode(&flags.flags) => usize::MAX,
            Ast::Empty(_) | Ast::Assertion(_) | Ast::Flags(_) => STATE,
            Ast::Literal(literal) if self.folds => self.range(literal.c, literal.c) + STATE,
            Ast::Literal(literal) => literal.c.len_utf8() * STATE,
            Ast::ClassUnicode(property) => self.property(&property.span)?,
            Ast::Dot(_) | Ast::ClassPerl(_) => ANY,
            Ast::ClassBracketed(class) => {
                let all_others = if class.negated { ANY } else { STATE };
                self.class(&class.kind)?.saturating_add(all_others)
            }
            Ast::Repetition(repetition) => {
                let (copies, optional) = copies(&repetition.op.kind);
                let once = self.of(&repetition.ast)?;
                once.saturating_mul(copies).saturating_add(optional.saturating_mul(STATE))
            }
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(flags)
                    if disables_unicode(flags) && !matches!(*group.ast, Ast::Assertion(_)) =>
                {
                    usize::MAX
                }
                _ => self.of(&group.ast)?,
            },
            Ast::Alternation(parts) => all(&parts.asts)?.saturating_add(parts.asts.len() * STATE),
            Ast::Concat(parts) => all(&parts.asts)?,
        })
    }

    fn class(&self, class: &ClassSet) -> Option<usize> {
        match class {
            ClassSet::Item(item) => self.member(item),
            // The translation escapes operators.
            ClassSet::BinaryOp(_) => Some(usize::MAX),
        }
    }

    fn member(&self, item: &ClassSetItem) -> Option<usize> {
        Some(match item {
            ClassSetItem::Empty(_) => 0,
            ClassSetItem::Literal(literal) => self.range(literal.c, literal.c),
            ClassSetItem::Range(range) => self.range(range.start.c, range.end.c),
            ClassSetItem::Unicode(property) => self.property(&property.span)?,
            ClassSetItem::Ascii(_) | ClassSetItem::Perl(_) => ANY,
            ClassSetItem::Bracketed(class) => {
                let all_others = if class.negated { ANY } else { 0 };
                self.class(&class.kind)?.saturating_add(all_others)
            }
            ClassSetItem::Union(union) => {
                union.items.iter().map(|item| self.member(item)).sum_saturating()?
            }
        })
    }

    fn range(&self, from: char, to: char) -> usize {
        let bytes = to.len_utf8();
        let size = match bytes {
            1 => NARROW,
            _ if from == to => bytes * STATE,
            _ => RANGES[bytes - 2],
        };
        match (self.folds, from == to) {
            (false, _) => size,
            // Two letters of ASCII have variants beyond it.
            (true, _) if bytes == 1 => size + VARIANTS * STATE,
            (true, true) => VARIANTS * size,
            (true, false) => VARIANTS * VARIANTS * size,
        }
    }

    fn property(&self, place: &Span) -> Option<usize> {
        let size = property(self.text.get(place.start.offset..place.end.offset)?)?;
        // Finding the variants of thousands of letters takes longer than building their states.
        Some(if self.folds { size.saturating_mul(VARIANTS) } else { size })
    }
}

/// How many copies of a part a repetition makes, and how many of them can be skipped.
fn copies(kind: &RepetitionKind) -> (usize, usize) {
    let copies = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => {
            (1, 1)
        }
        RepetitionKind::Range(RepetitionRange::Exactly(count)) => (copies(*count), 0),
        RepetitionKind::Range(RepetitionRange::AtLeast(count)) => (copies(*count).max(1), 1),
        RepetitionKind::Range(RepetitionRange::Bounded(least, most)) => {
            (copies(*most), copies(most.saturating_sub(*least)))
        }
    }
}

fn disables_unicode(flags: &Flags) -> bool {
    flags.flag_state(Flag::Unicode) == Some(false)
}

/// Whether upper and lower case are the same in some part.
fn changes_case(tree: &Ast) -> bool {
    let sets = |flags: &Flags| flags.flag_state(Flag::CaseInsensitive) == Some(true);
    match tree {
        Ast::Flags(flags) => sets(&flags.flags),
        Ast::Group(group) => {
            matches!(&group.kind, GroupKind::NonCapturing(flags) if sets(flags))
                || changes_case(&group.ast)
        }
        Ast::Repetition(repetition) => changes_case(&repetition.ast),
        Ast::Alternation(parts) => parts.asts.iter().any(changes_case),
        Ast::Concat(parts) => parts.asts.iter().any(changes_case),
        _ => false,
    }
}

/// The size of a property such as `\p{L}`; `None` if there is no such property.
fn property(text: &str) -> Option<usize> {
    static SIZES: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
    let sizes = || SIZES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(size) = sizes().get(text) {
        return Some(*size);
    }
    let property = regex_syntax::parse(text).ok()?;
    let ranges = match property.kind() {
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        _ => 1,
    };
    let size = ANY + ranges * PROPERTY_RANGE;
    let mut sizes = sizes();
    if sizes.len() == PROPERTIES_MAX {
        // The same property can be written in many ways.
        sizes.clear();
    }
    sizes.insert(text.to_owned(), size);
    Some(size)
}

/// The sum of sizes, of which none may be missing.
trait SumSaturating: Iterator<Item = Option<usize>> + Sized {
    fn sum_saturating(mut self) -> Option<usize> {
        self.try_fold(0_usize, |sum, size| Some(sum.saturating_add(size?)))
    }
}

impl<I: Iterator<Item = Option<usize>>> SumSaturating for I {}

#[cfg(test)]
mod tests {
    use regex_automata::nfa::thompson::{Config, NFA};

    use super::*;
    use crate::regex::translated;

    fn sizes(source: &str) -> (usize, usize) {
        let text = translated(source).unwrap();
        let config =
            Config::new().which_captures(regex_automata::nfa::thompson::WhichCaptures::None);
        let built = NFA::compiler().configure(config).build(&text).unwrap();
        (estimate(&text).unwrap(), built.memory_usage())
    }

    #[test]
    fn an_estimate_is_an_upper_bound_and_close_to_the_actual_size() {
        for source in [
            "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
            r"^\d{4}-\d{2}-\d{2}$",
            r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
            "^[a-z]{1,64}$",
            "^[a-z]{64}$",
            "^.{1,1000}$",
            "^[^/]{1,255}$",
            "^[^/é]{1,255}$",
            r"^\S{1,100}$",
            r"^[^\s,]{1,100}$",
            r"^\W+\s*\D$",
            r"^\p{L}{1,20}$",
            r"^[\p{L}\p{N} .,'-]{1,10}$",
            r"^[\p{L}\p{N}\p{M}\p{P}]+$",
            r"^\P{L}{5}$",
            r"^\p{Greek}{1,99}\p{Han}{1,99}\p{Lu}{3}$",
            r"^\p{Alphabetic}{5}$",
            r"^[äöüßÄÖÜa-z]{1,40}$",
            r"^[\u0100-\u017f]{9}[\u0080-\uffff]{9}[\u{10000}-\u{10ffff}]{9}$",
            r"^[\u0370-\u{1f9ff}]{30}$",
            "(?i)^[a-zäöü]{1,40}$",
            "(?i)^kelvins?$",
            r"(?i)^\p{L}{3}$",
            r"(?i)^[\u0250-\u02af]{9}$",
            r"(?i)^[\u0100-\u1fff]{3}$",
            "^(queued|running|done|failed|cancelled)$",
            "^(a|b|c){1,100}$",
            "^((a{10}){10}){10}$",
            "(a?){100}",
            "(x+x+)+y",
            "(|a){50}b{3,}c*",
            r"\bword\b|^$",
            "äöü€😀",
            "",
        ] {
            let (estimate, built) = sizes(source);
            assert!(estimate >= built, "{source}: {estimate} is less than {built}");
            let may_be = if source.starts_with("(?i)") { 12 } else { 5 };
            assert!(estimate <= may_be * built + FRAME, "{source}: {estimate} for {built}");
        }
    }
}
