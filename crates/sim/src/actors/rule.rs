//! An agent that adds rules for hand-offs.

use baton_core::rule::CheckSpec;
use baton_core::rule::{Add, Command as RuleCommand, On, Query as RuleQuery, Severity};
use baton_core::{Command, Pattern, Query, RuleName};

use crate::actors::inputs::Inputs;

/// An expression that cannot be parsed.
pub const UNREADABLE: &str = "nonsense";

/// Adds, replaces or removes one of a few rules. Some are invalid.
pub fn rule(inputs: &mut Inputs<'_>) -> Command {
    let name = name(inputs);
    if inputs.rng.once_in(3) {
        return RuleCommand::Remove { name }.into();
    }
    let pattern = |text: &str| Some(Pattern::parse(text).expect("a good pattern"));
    let on = match inputs.rng.below(3) {
        0 => On::default(),
        1 => On { from: pattern(inputs.agent.as_str()), ..On::default() },
        _ => On { task_type: pattern("a*"), to: pattern("a**"), ..On::default() },
    };
    let check = wanted(inputs);
    let severity = *inputs.rng.pick(&[Severity::Error, Severity::Warning]);
    let message = inputs.rng.once_in(3).then(|| format!("said by {}", inputs.agent));
    RuleCommand::Add(Box::new(Add { name, on, check, severity, message })).into()
}

/// A page of the rules, from the start or from some rule.
pub fn question(inputs: &mut Inputs<'_>) -> Query {
    let limit = inputs.rng.once_in(2).then_some(1);
    let cursor = inputs.rng.once_in(3).then(|| name(inputs));
    RuleQuery::List { limit, cursor }.into()
}

fn name(inputs: &mut Inputs<'_>) -> RuleName {
    let name = *inputs.rng.pick(&["alive", "far", "plan"]);
    RuleName::parse(name).expect("a good name")
}

fn wanted(inputs: &mut Inputs<'_>) -> CheckSpec {
    let number = inputs.rng.below(5);
    let mut check = CheckSpec::default();
    match inputs.rng.below(7) {
        0 => check.required_keys = Some(vec!["plan".to_owned(), format!("k{number}")]),
        1 => check.capability = Some(format!("c{number}")),
        2 => check.receiver_alive = Some(true),
        3 => check.state_bytes_max = Some(number * 100),
        4 => check.hops_max = Some(number),
        5 => check.expression = Some(format!("hops < {number} && !has(state.blocked)")),
        _ if inputs.rng.once_in(2) => check.expression = Some(UNREADABLE.to_owned()),
        _ => {}
    }
    check
}
