//! The parser: from tokens to a tree, by operator precedence.
//!
//! ```text
//!   ? :   ||   &&   == != < <= > >= in   + -   * / %   ! -   . [ ] ( )
//!    0     1    2            3            4      5      6        7
//! ```

use super::token::{Lexeme, Lexer, fault};
use super::{ExpressionError, Kind, Node, Operator, Variable};
use crate::limits;

/// The precedence of relations; lower ones join conditions.
const RELATION: u8 = 3;

pub(super) fn parse(source: &str, variables: &[(&str, Variable)]) -> Result<Node, ExpressionError> {
    let mut reader = Lexer::new(source);
    let next = reader.next()?;
    let mut parser = Parser { reader, next, levels: 0, variables };
    let root = parser.expression()?;
    match &parser.next {
        (_, Lexeme::End) if root.can_be_bool() => Ok(root),
        (_, Lexeme::End) => fault(root.offset, "it must be true or false, and this never is"),
        (offset, token) => fault(*offset, format!("{} is too much", shown(token))),
    }
}

struct Parser<'a> {
    reader: Lexer<'a>,
    next: (usize, Lexeme),
    /// The current depth of recursion.
    levels: usize,
    variables: &'a [(&'a str, Variable)],
}

fn shown(token: &Lexeme) -> String {
    match token {
        Lexeme::Integer(number) => format!("`{number}`"),
        Lexeme::Double(number) => format!("`{number}`"),
        Lexeme::Text(_) => "a text".into(),
        Lexeme::Name(name) => format!("`{name}`"),
        Lexeme::Sign(sign) => format!("`{sign}`"),
        Lexeme::End => "the end".into(),
    }
}

fn too_deep<T>(offset: usize) -> Result<T, ExpressionError> {
    let depth_max = limits::EXPRESSION_DEPTH_MAX;
    fault(offset, format!("it nests deeper than {depth_max} levels"))
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<(usize, Lexeme), ExpressionError> {
        let next = self.reader.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn is_next(&self, sign: &str) -> bool {
        matches!(&self.next.1, Lexeme::Sign(next) if *next == sign)
    }

    fn take(&mut self, sign: &str) -> Result<bool, ExpressionError> {
        let is_next = self.is_next(sign);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn demand(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.take(sign)? {
            return Ok(());
        }
        let (offset, token) = &self.next;
        fault(*offset, format!("`{sign}` was expected, not {}", shown(token)))
    }

    fn expression(&mut self) -> Result<Node, ExpressionError> {
        let condition = self
            .conditions("||", |parser| parser.conditions("&&", |parser| parser.binary(RELATION)))?;
        let offset = self.next.0;
        if !self.take("?")? {
            return Ok(condition);
        }
        let one = self.nested(Self::expression)?;
        self.demand(":")?;
        let other = self.nested(Self::expression)?;
        node(offset, Kind::Choice(Box::new([condition, one, other])))
    }

    /// Enters a level, unless that is too deep.
    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        if self.levels >= limits::EXPRESSION_DEPTH_MAX {
            return too_deep(self.next.0);
        }
        self.levels += 1;
        let read = read(self);
        self.levels -= 1;
        read
    }

    /// Operands of the same operator, which do not add depth.
    fn conditions(
        &mut self,
        sign: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        let first = read(self)?;
        if !self.is_next(sign) {
            return Ok(first);
        }
        let offset = self.next.0;
        let mut nodes = vec![first];
        while self.take(sign)? {
            nodes.push(read(self)?);
        }
        node(offset, if sign == "&&" { Kind::All(nodes) } else { Kind::Any(nodes) })
    }

    /// An expression with at least this precedence.
    fn binary(&mut self, strength: u8) -> Result<Node, ExpressionError> {
        let mut left = self.unary()?;
        while let Some((operator, stronger)) = operator(&self.next.1) {
            if stronger < strength {
                break;
            }
            let (offset, _) = self.advance()?;
            let right = self.nested(|parser| parser.binary(stronger + 1))?;
            left = node(offset, Kind::Binary(operator, Box::new([left, right])))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, ExpressionError> {
        let offset = self.next.0;
        if self.take("!")? {
            let inner = self.nested(Self::unary)?;
            return node(offset, Kind::Not(Box::new(inner)));
        }
        if self.take("-")? {
            let inner = self.nested(Self::unary)?;
            return node(offset, Kind::Negative(Box::new(inner)));
        }
        let mut inner = self.primary()?;
        loop {
            let offset = self.next.0;
            if self.take(".")? {
                inner = self.member(inner)?;
            } else if self.take("[")? {
                let at = self.nested(Self::expression)?;
                self.demand("]")?;
                inner = node(offset, Kind::Element(Box::new(inner), Box::new(at)))?;
            } else {
                return Ok(inner);
            }
        }
    }

    /// A field, or a method call.
    fn member(&mut self, of: Node) -> Result<Node, ExpressionError> {
        let (offset, name) = match self.advance()? {
            (offset, Lexeme::Name(name)) if name != "in" => (offset, name),
            (offset, token) => return fault(offset, format!("{} is not a field", shown(&token))),
        };
        if !self.take("(")? {
            return node(offset, Kind::Field(Box::new(of), name));
        }
        let operator = match name.as_str() {
            "size" => {
                self.demand(")")?;
                return node(offset, Kind::Size(Box::new(of)));
            }
            "startsWith" => Operator::StartsWith,
            "endsWith" => Operator::EndsWith,
            "contains" => Operator::Contains,
            other => return unknown_function(offset, other),
        };
        let with = self.nested(Self::expression)?;
        self.demand(")")?;
        node(offset, Kind::Binary(operator, Box::new([of, with])))
    }

    fn primary(&mut self) -> Result<Node, ExpressionError> {
        let (offset, token) = self.advance()?;
        let kind = match token {
            Lexeme::Integer(number) => Kind::Integer(number),
            Lexeme::Double(number) => Kind::Double(number),
            Lexeme::Text(text) => Kind::Text(text),
            Lexeme::Sign("(") => {
                let inner = self.nested(Self::expression)?;
                self.demand(")")?;
                return Ok(inner);
            }
            Lexeme::Sign("[") => Kind::List(self.elements()?),
            Lexeme::Name(name) => return self.named(offset, &name),
            Lexeme::Sign("{") => return fault(offset, "maps cannot be written here"),
            token @ (Lexeme::Sign(_) | Lexeme::End) => {
                return fault(offset, format!("a value was expected, not {}", shown(&token)));
            }
        };
        node(offset, kind)
    }

    fn elements(&mut self) -> Result<Vec<Node>, ExpressionError> {
        let mut nodes = Vec::new();
        while !self.take("]")? {
            nodes.push(self.nested(Self::expression)?);
            if !self.take(",")? {
                self.demand("]")?;
                break;
            }
        }
        Ok(nodes)
    }

    fn named(&mut self, offset: usize, name: &str) -> Result<Node, ExpressionError> {
        if self.is_next("(") {
            return self.function(offset, name);
        }
        let kind = match name {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            name => match self.variables.iter().find(|(known, _)| *known == name) {
                Some((_, variable)) => Kind::Variable(*variable),
                None => {
                    let known: Vec<_> = self.variables.iter().map(|(known, _)| *known).collect();
                    let known = known.join(", ");
                    return fault(offset, format!("there is no variable `{name}`; use {known}"));
                }
            },
        };
        node(offset, kind)
    }

    fn function(&mut self, offset: usize, name: &str) -> Result<Node, ExpressionError> {
        if !matches!(name, "has" | "size") {
            return unknown_function(offset, name);
        }
        self.demand("(")?;
        let inner = self.nested(Self::expression)?;
        self.demand(")")?;
        if name == "size" {
            return node(offset, Kind::Size(Box::new(inner)));
        }
        if !matches!(inner.kind, Kind::Field(..) | Kind::Element(..)) {
            return fault(
                inner.offset,
                "`has` needs a field or an element, as in `has(state.plan)`",
            );
        }
        node(offset, Kind::Has(Box::new(inner)))
    }
}

fn unknown_function(offset: usize, name: &str) -> Result<Node, ExpressionError> {
    let reason = match name {
        "all" | "exists" | "exists_one" | "map" | "filter" => {
            format!("`{name}` is left out, since its work has no bound; a schema can say it")
        }
        "matches" => "`matches` is left out; a schema with `pattern` can say it".into(),
        other => {
            format!("there is no function `{other}`; use has, size, startsWith, endsWith, contains")
        }
    };
    fault(offset, reason)
}

fn operator(token: &Lexeme) -> Option<(Operator, u8)> {
    let sign = match token {
        Lexeme::Sign(sign) => sign,
        Lexeme::Name(name) if name == "in" => "in",
        Lexeme::Integer(_)
        | Lexeme::Double(_)
        | Lexeme::Text(_)
        | Lexeme::Name(_)
        | Lexeme::End => {
            return None;
        }
    };
    Some(match sign {
        "==" => (Operator::Equal, RELATION),
        "!=" => (Operator::Unequal, RELATION),
        "<" => (Operator::Less, RELATION),
        "<=" => (Operator::LessOrEqual, RELATION),
        ">" => (Operator::Greater, RELATION),
        ">=" => (Operator::GreaterOrEqual, RELATION),
        "in" => (Operator::In, RELATION),
        "+" => (Operator::Plus, 4),
        "-" => (Operator::Minus, 4),
        "*" => (Operator::Times, 5),
        "/" => (Operator::Divided, 5),
        "%" => (Operator::Modulo, 5),
        _ => return None,
    })
}

/// Builds a node, unless it is too deep.
fn node(offset: usize, kind: Kind) -> Result<Node, ExpressionError> {
    let depth = 1 + kind.parts().map(|part| part.depth).max().unwrap_or(0);
    if depth > limits::EXPRESSION_DEPTH_MAX {
        return too_deep(offset);
    }
    Ok(Node { offset, depth, kind })
}

impl Kind {
    fn parts(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        match self {
            Self::Null
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::Double(_)
            | Self::Text(_)
            | Self::Variable(_) => Box::new(std::iter::empty()),
            Self::List(nodes) | Self::All(nodes) | Self::Any(nodes) => Box::new(nodes.iter()),
            Self::Field(inner, _)
            | Self::Has(inner)
            | Self::Size(inner)
            | Self::Not(inner)
            | Self::Negative(inner) => Box::new(std::iter::once(&**inner)),
            Self::Element(of, at) => Box::new([&**of, &**at].into_iter()),
            Self::Choice(nodes) => Box::new(nodes.iter()),
            Self::Binary(_, nodes) => Box::new(nodes.iter()),
        }
    }
}

impl Node {
    /// Whether the result may be a boolean, as far as can be determined statically.
    fn can_be_bool(&self) -> bool {
        match &self.kind {
            Kind::Null
            | Kind::Integer(_)
            | Kind::Double(_)
            | Kind::Text(_)
            | Kind::List(_)
            | Kind::Size(_)
            | Kind::Variable(_)
            | Kind::Negative(_) => false,
            Kind::Bool(_)
            | Kind::Field(..)
            | Kind::Element(..)
            | Kind::Has(_)
            | Kind::Not(_)
            | Kind::All(_)
            | Kind::Any(_) => true,
            Kind::Choice(nodes) => nodes[1].can_be_bool() && nodes[2].can_be_bool(),
            Kind::Binary(operator, _) => !matches!(
                operator,
                Operator::Plus
                    | Operator::Minus
                    | Operator::Times
                    | Operator::Divided
                    | Operator::Modulo
            ),
        }
    }
}
