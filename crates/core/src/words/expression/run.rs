//! The interpreter: every step is counted, so that the time is bounded.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::value::{Operand, number_order, rounded};
use super::{BYTES_PER_STEP, ExpressionError, Kind, Node, Operator, Variables};

/// Whether an expression holds; if it cannot be evaluated within this many steps, why. And how many
/// it took.
pub(super) fn holds(
    root: &Node,
    variables: &impl Variables,
    steps_max: usize,
) -> (Result<bool, ExpressionError>, usize) {
    let mut run = Run { variables, steps_max, steps_left: steps_max };
    let found = run.value(root).and_then(|value| match value {
        Operand::Bool(answer) => Ok(answer),
        other => none(root, format!("the answer is {}, neither true nor false", other.word())),
    });
    let found = found.map_err(|failure| match failure {
        Failure::NoAnswer(error) | Failure::OutOfSteps(error) => error,
    });
    (found, steps_max - run.steps_left)
}

/// Why there is no value.
enum Failure {
    /// Another operand may still decide.
    NoAnswer(ExpressionError),
    /// Evaluation must stop.
    OutOfSteps(ExpressionError),
}

type Found<T> = Result<T, Failure>;

fn none<T>(node: &Node, reason: impl Into<String>) -> Found<T> {
    Err(Failure::NoAnswer(ExpressionError { offset: node.offset, reason: reason.into() }))
}

struct Run<'a, V> {
    variables: &'a V,
    steps_max: usize,
    steps_left: usize,
}

impl<'a, V: Variables> Run<'a, V> {
    fn spend(&mut self, node: &Node, steps: usize) -> Found<()> {
        match self.steps_left.checked_sub(steps) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => {
                self.steps_left = 0;
                let reason = format!("it takes more than {} steps", self.steps_max);
                Err(Failure::OutOfSteps(ExpressionError { offset: node.offset, reason }))
            }
        }
    }

    fn spend_on_bytes(&mut self, node: &Node, bytes: usize) -> Found<()> {
        self.spend(node, bytes / BYTES_PER_STEP)
    }

    fn value(&mut self, node: &'a Node) -> Found<Operand<'a>> {
        self.spend(node, 1)?;
        match &node.kind {
            Kind::Null => Ok(Operand::Null),
            Kind::Bool(flag) => Ok(Operand::Bool(*flag)),
            Kind::Integer(number) => Ok(Operand::Integer(*number)),
            Kind::Double(number) => Ok(Operand::Double(*number)),
            Kind::Text(text) => Ok(Operand::Text(text.as_str().into())),
            Kind::List(nodes) => {
                let elements = nodes.iter().map(|node| self.value(node));
                Ok(Operand::List(elements.collect::<Found<_>>()?))
            }
            Kind::Variable(variable) => Ok(self.variables.value(*variable)),
            Kind::Field(..) | Kind::Element(..) => match self.place(node)? {
                Ok(value) => Ok(value),
                Err(missing) => Err(Failure::NoAnswer(missing)),
            },
            Kind::Has(inner) => Ok(Operand::Bool(self.place(inner)?.is_ok())),
            Kind::Size(inner) => self.size(node, inner),
            Kind::Not(inner) => match self.value(inner)? {
                Operand::Bool(flag) => Ok(Operand::Bool(!flag)),
                other => none(node, format!("`!` needs a boolean, not {}", other.word())),
            },
            Kind::Negative(inner) => match self.value(inner)? {
                Operand::Integer(number) => integer(node, number.checked_neg()),
                Operand::Double(number) => Ok(Operand::Double(-number)),
                other => none(node, format!("`-` needs a number, not {}", other.word())),
            },
            Kind::All(nodes) => self.conditions(nodes, false),
            Kind::Any(nodes) => self.conditions(nodes, true),
            Kind::Choice(nodes) => {
                let [condition, one, other] = &**nodes;
                match self.value(condition)? {
                    Operand::Bool(flag) => self.value(if flag { one } else { other }),
                    other => none(node, format!("`?` needs a boolean, not {}", other.word())),
                }
            }
            Kind::Binary(operator, nodes) => {
                let (left, right) = (self.value(&nodes[0])?, self.value(&nodes[1])?);
                self.binary(node, *operator, &left, &right)
            }
        }
    }

    /// `&&` and `||`: one deciding operand is enough, whether or not the others can be evaluated.
    fn conditions(&mut self, nodes: &'a [Node], decisive: bool) -> Found<Operand<'a>> {
        let mut without_answer = None;
        for node in nodes {
            let found = self.value(node).and_then(|value| match value {
                Operand::Bool(flag) => Ok(flag),
                other => none(node, format!("a boolean is needed, not {}", other.word())),
            });
            match found {
                Ok(flag) if flag == decisive => return Ok(Operand::Bool(decisive)),
                Ok(_) => {}
                Err(Failure::NoAnswer(error)) => without_answer = without_answer.or(Some(error)),
                Err(failure @ Failure::OutOfSteps(_)) => return Err(failure),
            }
        }
        without_answer.map_or(Ok(Operand::Bool(!decisive)), |error| Err(Failure::NoAnswer(error)))
    }

    /// The value at a path, or where the path ends. Any other error on the way does not count as
    /// absence.
    fn place(&mut self, node: &'a Node) -> Found<Result<Operand<'a>, ExpressionError>> {
        let (Kind::Field(of, _) | Kind::Element(of, _)) = &node.kind else {
            return self.value(node).map(Ok);
        };
        self.spend(node, 1)?;
        let of = match self.place(of)? {
            Ok(of) => of,
            Err(missing) => return Ok(Err(missing)),
        };
        let missing = |reason: String| Ok(Err(ExpressionError { offset: node.offset, reason }));
        let key = match &node.kind {
            Kind::Field(_, name) => Operand::Text(name.as_str().into()),
            Kind::Element(_, at) => self.value(at)?,
            _ => Operand::Null,
        };
        match (&of, &key) {
            (Operand::Object(fields), Operand::Text(name)) => match fields.get(name.as_ref()) {
                Some(value) => Ok(Ok(value.into())),
                None => missing(format!("there is no `{name}`")),
            },
            (Operand::Null, _) => missing("null has no fields and no elements".into()),
            (_, Operand::Integer(at)) if of.elements().is_some() => {
                let element = usize::try_from(*at).ok().and_then(|at| of.element(at));
                match element {
                    Some(value) => Ok(Ok(value)),
                    None => missing(format!("there is no element {at}")),
                }
            }
            (of, key) => none(node, format!("{} cannot be looked up in {}", key.word(), of.word())),
        }
    }

    fn size(&mut self, node: &Node, inner: &'a Node) -> Found<Operand<'a>> {
        let size = match self.value(inner)? {
            Operand::Text(text) => {
                self.spend_on_bytes(node, text.len())?;
                text.chars().count()
            }
            Operand::Object(fields) => fields.len(),
            other => match other.elements() {
                Some(count) => count,
                None => return none(node, format!("{} has no size", other.word())),
            },
        };
        Ok(Operand::Integer(size as i128))
    }

    fn binary(
        &mut self,
        node: &Node,
        operator: Operator,
        left: &Operand<'a>,
        right: &Operand<'a>,
    ) -> Found<Operand<'a>> {
        match operator {
            Operator::Equal => self.same(node, left, right).map(Operand::Bool),
            Operator::Unequal => self.same(node, left, right).map(|same| Operand::Bool(!same)),
            Operator::Less => self.compare(node, left, right, &[Ordering::Less]),
            Operator::LessOrEqual => {
                self.compare(node, left, right, &[Ordering::Less, Ordering::Equal])
            }
            Operator::Greater => self.compare(node, left, right, &[Ordering::Greater]),
            Operator::GreaterOrEqual => {
                self.compare(node, left, right, &[Ordering::Greater, Ordering::Equal])
            }
            Operator::In => self.is_in(node, left, right),
            Operator::Plus => self.plus(node, left, right),
            Operator::Minus | Operator::Times | Operator::Divided | Operator::Modulo => {
                calculate(node, operator, left, right)
            }
            Operator::StartsWith | Operator::EndsWith | Operator::Contains => {
                self.text_test(node, operator, left, right)
            }
        }
    }

    /// Whether two values are equal. Values of different types never are.
    fn same(&mut self, node: &Node, left: &Operand<'_>, right: &Operand<'_>) -> Found<bool> {
        self.spend(node, 1)?;
        match (left, right) {
            (Operand::Null, Operand::Null) => Ok(true),
            (Operand::Bool(left), Operand::Bool(right)) => Ok(left == right),
            (Operand::Text(left), Operand::Text(right)) => {
                self.spend_on_bytes(node, left.len().min(right.len()))?;
                Ok(left == right)
            }
            (Operand::Object(left), Operand::Object(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (name, value) in *left {
                    self.spend_on_bytes(node, name.len())?;
                    let Some(other) = right.get(name) else { return Ok(false) };
                    if !self.same(node, &value.into(), &other.into())? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (left, right) => match (left.elements(), right.elements()) {
                (Some(count), Some(other)) if count == other => {
                    for at in 0..count {
                        let (Some(left), Some(right)) = (left.element(at), right.element(at))
                        else {
                            return Ok(false);
                        };
                        if !self.same(node, &left, &right)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                }
                _ => Ok(number_order(left, right) == Some(Ordering::Equal)),
            },
        }
    }

    fn compare(
        &mut self,
        node: &Node,
        left: &Operand<'a>,
        right: &Operand<'a>,
        wanted: &[Ordering],
    ) -> Found<Operand<'a>> {
        let order = match (left, right) {
            (Operand::Text(left), Operand::Text(right)) => {
                self.spend_on_bytes(node, left.len().min(right.len()))?;
                Some(left.cmp(right))
            }
            (Operand::Bool(left), Operand::Bool(right)) => Some(left.cmp(right)),
            (left, right) if rounded(left).is_some() && rounded(right).is_some() => {
                number_order(left, right)
            }
            (left, right) => {
                let (left, right) = (left.word(), right.word());
                return none(node, format!("{left} and {right} have no order"));
            }
        };
        Ok(Operand::Bool(order.is_some_and(|order| wanted.contains(&order))))
    }

    fn is_in(
        &mut self,
        node: &Node,
        left: &Operand<'a>,
        right: &Operand<'a>,
    ) -> Found<Operand<'a>> {
        match (left, right) {
            (Operand::Text(name), Operand::Object(fields)) => {
                Ok(Operand::Bool(fields.contains_key(name.as_ref())))
            }
            (left, right) => {
                let Some(count) = right.elements() else {
                    let (left, right) = (left.word(), right.word());
                    return none(node, format!("{left} cannot be in {right}"));
                };
                for at in 0..count {
                    if let Some(element) = right.element(at)
                        && self.same(node, left, &element)?
                    {
                        return Ok(Operand::Bool(true));
                    }
                }
                Ok(Operand::Bool(false))
            }
        }
    }

    fn plus(&mut self, node: &Node, left: &Operand<'a>, right: &Operand<'a>) -> Found<Operand<'a>> {
        match (left, right) {
            (Operand::Text(left), Operand::Text(right)) => {
                self.spend_on_bytes(node, left.len() + right.len())?;
                Ok(Operand::Text(Cow::Owned(format!("{left}{right}"))))
            }
            (one, other) => match (one.elements(), other.elements()) {
                (Some(first), Some(second)) => {
                    self.spend(node, first + second)?;
                    let elements = (0..first).filter_map(|at| left.element(at));
                    let more = (0..second).filter_map(|at| right.element(at));
                    Ok(Operand::List(elements.chain(more).collect()))
                }
                _ => calculate(node, Operator::Plus, left, right),
            },
        }
    }

    fn text_test(
        &mut self,
        node: &Node,
        operator: Operator,
        left: &Operand<'a>,
        right: &Operand<'a>,
    ) -> Found<Operand<'a>> {
        let (Operand::Text(text), Operand::Text(part)) = (left, right) else {
            let (left, right) = (left.word(), right.word());
            return none(node, format!("two texts are needed, not {left} and {right}"));
        };
        self.spend_on_bytes(node, text.len() + part.len())?;
        let part = part.as_ref();
        Ok(Operand::Bool(match operator {
            Operator::StartsWith => text.starts_with(part),
            Operator::EndsWith => text.ends_with(part),
            _ => text.contains(part),
        }))
    }
}

/// An integer, if it is one and JSON can represent it.
fn integer<'a>(node: &Node, number: Option<i128>) -> Found<Operand<'a>> {
    let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
    match number.filter(|number| range.contains(number)) {
        Some(number) => Ok(Operand::Integer(number)),
        None => none(node, "the number is out of range"),
    }
}

fn calculate<'a>(
    node: &Node,
    operator: Operator,
    left: &Operand<'_>,
    right: &Operand<'_>,
) -> Found<Operand<'a>> {
    if let (Operand::Integer(left), Operand::Integer(right)) = (left, right) {
        let is_division = matches!(operator, Operator::Divided | Operator::Modulo);
        if is_division && *right == 0 {
            return none(node, "division by zero");
        }
        return integer(
            node,
            match operator {
                Operator::Plus => left.checked_add(*right),
                Operator::Minus => left.checked_sub(*right),
                Operator::Times => left.checked_mul(*right),
                Operator::Divided => left.checked_div(*right),
                _ => left.checked_rem(*right),
            },
        );
    }
    let (Some(one), Some(other)) = (rounded(left), rounded(right)) else {
        let (left, right) = (left.word(), right.word());
        return none(node, format!("{left} and {right} cannot be calculated with"));
    };
    match operator {
        Operator::Plus => Ok(Operand::Double(one + other)),
        Operator::Minus => Ok(Operand::Double(one - other)),
        Operator::Times => Ok(Operand::Double(one * other)),
        Operator::Divided => Ok(Operand::Double(one / other)),
        _ => none(node, "`%` needs whole numbers"),
    }
}
