//! Results of expressions, and that none can do harm.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Expression, ExpressionError, Operand, Variable, Variables, run};
use crate::limits;

/// All variables of an expression.
struct Known {
    task: Value,
    state: Value,
    receiver: Value,
}

impl Variables for Known {
    fn value(&self, variable: Variable) -> Operand<'_> {
        match variable {
            Variable::Task => Operand::from(&self.task),
            Variable::TaskType => Operand::text(Some("code:fix")),
            Variable::From => Operand::text(Some("ada")),
            Variable::To => Operand::text(Some("bob")),
            Variable::Capability | Variable::Reason | Variable::Event => Operand::text(None),
            Variable::State => Operand::from(&self.state),
            Variable::Hops => Operand::Integer(2),
            Variable::Receiver => Operand::from(&self.receiver),
        }
    }
}

fn known() -> Known {
    Known {
        task: json!({"priority": 5, "tags": ["a", "b"], "ratio": 0.5}),
        state: json!({
            "plan": {"steps": [1, 2, {"x": null}], "owner": "ada"},
            "shared/plan": "ship",
            "done": true,
            "nothing": null,
            "large": 18_446_744_073_709_551_615_u64,
            "small": i64::MIN,
            "name": "größe",
        }),
        receiver: json!({"active": true, "capabilities": ["review", "write"]}),
    }
}

fn answer(source: &str) -> Result<bool, ExpressionError> {
    Expression::compile(source)?.holds(&known())
}

#[track_caller]
fn holds(sources: &[&str]) {
    for source in sources {
        assert_eq!(answer(source), Ok(true), "{source}");
    }
}

/// Each expression, and the error it ends with.
#[track_caller]
fn fails(cases: &[(&str, &str)]) {
    for (source, error) in cases {
        let found = answer(source).map_err(|error| error.to_string());
        assert_eq!(found, Err((*error).to_owned()), "{source}");
    }
}

#[test]
fn values_are_found_by_name_and_place() {
    holds(&[
        "state.done",
        "state.plan.steps[1] == 2",
        "state['plan'][\"owner\"] == from",
        "state[\"shared/plan\"] == 'ship'",
        "state.plan.steps[2].x == null",
        "task_type == 'code:fix' && to == 'bob' && hops == 2",
        "capability == null && reason == null",
        "receiver.active && 'review' in receiver.capabilities",
        "[1, [2, 'x']][1][1] == 'x'",
        "[1, 2,] == [1, 2]",
        "state . done // and nothing else\n",
    ]);
    fails(&[
        ("state.missing", "at byte 6: there is no `missing`"),
        ("state.plan.steps[3] == 1", "at byte 16: there is no element 3"),
        ("state.plan.steps[-1] == 1", "at byte 16: there is no element -1"),
        ("reason.text", "at byte 7: null has no fields and no elements"),
        ("state.done.x", "at byte 11: a text cannot be looked up in a boolean"),
        ("state.plan.steps.x", "at byte 17: a text cannot be looked up in a list"),
        ("state[1]", "at byte 5: a number cannot be looked up in an object"),
        ("task.priority", "at byte 5: the answer is a number, neither true nor false"),
    ]);
}

#[test]
fn has_is_false_wherever_the_path_ends() {
    holds(&[
        "has(state.plan.owner)",
        "has(state.nothing)",
        "has(state['shared/plan'])",
        "has(state.plan.steps[2])",
        "!has(state.plan.steps[3])",
        "!has(state.missing)",
        "!has(state.missing.deeper)",
        "!has(reason.text)",
        "'plan' in state && !('plans' in state)",
    ]);
    fails(&[
        ("has(state.done.x)", "at byte 15: a text cannot be looked up in a boolean"),
        ("has(state.plan[hops / 0])", "at byte 20: division by zero"),
        ("has(state)", "at byte 4: `has` needs a field or an element, as in `has(state.plan)`"),
    ]);
}

#[test]
fn numbers_are_compared_exactly_and_calculated_within_bounds() {
    holds(&[
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9",
        "7 / 2 == 3 && -7 / 2 == -3 && 7 % 3 == 1 && -7 % 3 == -1",
        "7.0 / 2 == 3.5 && 1 == 1.0 && 1 < 1.5 && 2.5 > 2",
        "10 - 3 - 2 == 5",
        "0x1F == 31 && 1.5e3 == 1500 && .5 == 0.5 && 1e-1 < 0.2",
        "state.large == 18446744073709551615",
        "state.large != 18446744073709551616.0 && state.large < 18446744073709551616.0",
        "state.small == -9223372036854775808",
        "task.ratio * task.priority == 2.5",
        "1.0 / 0 > 1e300 && -1.0 / 0 < state.small",
        "!(0.0 / 0 == 0.0 / 0) && !(0.0 / 0 < 1) && !(1 < 0.0 / 0)",
        "- - 1 == 1",
    ]);
    fails(&[
        ("state.large + 1 == 0", "at byte 12: the number is out of range"),
        ("state.small - 1 == 0", "at byte 12: the number is out of range"),
        ("state.large * state.large > 0", "at byte 12: the number is out of range"),
        ("-state.large < 0", "at byte 0: the number is out of range"),
        ("1 / 0 == 1", "at byte 2: division by zero"),
        ("1 % 0 == 1", "at byte 2: division by zero"),
        ("1.5 % 1 == 1", "at byte 4: `%` needs whole numbers"),
        ("1 + 'a' == 2", "at byte 2: a number and a text cannot be calculated with"),
        ("18446744073709551616 == 1", "at byte 0: the number is too large"),
        ("1e999 == 1", "at byte 0: the number is too large"),
        ("1a == 1", "at byte 1: a number must not go on with letters"),
        ("1e == 1", "at byte 2: an exponent needs digits"),
        ("0x == 1", "at byte 0: `0x` needs digits"),
    ]);
}

#[test]
fn texts_lists_and_the_rest_are_compared_by_meaning() {
    holds(&[
        "'a' < 'b' && 'a' + 'b' == 'ab' && false < true",
        "state.name.startsWith('gr') && state.name.endsWith('ße') && state.name.contains('öß')",
        "size(state.name) == 5 && state.name.size() == 5",
        "size(state.plan.steps) == 3 && size(state.plan) == 2 && size([]) == 0",
        "task.tags + ['c'] == ['a', 'b', 'c']",
        "state.plan == state.plan && state.plan != state",
        "1 != '1' && null != false && [] != null",
        "2 in state.plan.steps && !('2' in state.plan.steps)",
        r#""\u00f6\n\t\"\\" != r"\u00f6\n" && r'\d' == '\\d'"#,
    ]);
    fails(&[
        ("'a' < 1", "at byte 4: a text and a number have no order"),
        ("null <= null", "at byte 5: null and null have no order"),
        ("1 in 'text'", "at byte 2: a number cannot be in a text"),
        ("1 in state", "at byte 2: a number cannot be in an object"),
        ("size(1) == 1", "at byte 0: a number has no size"),
        ("to.contains(1)", "at byte 3: two texts are needed, not a text and a number"),
        ("'open", "at byte 0: the text does not end"),
        ("'two\nlines'", "at byte 0: the text does not end on its line"),
        (r"'\q' == to", r#"at byte 1: only \n \r \t \\ \" \' and \u are known"#),
        (r"'\ud800' == to", r"at byte 1: `\u` needs four digits of a character"),
        (r"'\u+0ff' == to", r"at byte 1: `\u` needs four digits of a character"),
    ]);
}

#[test]
fn conditions_need_only_one_that_decides() {
    holds(&[
        "state.missing || true",
        "true || state.missing",
        "!(state.missing && false)",
        "!(false && state.missing)",
        "true && !false || state.missing",
        "hops > 1 ? state.done : state.missing",
        "hops > 5 ? state.missing : hops > 1 ? true : false",
        "1 < 2 == true",
    ]);
    fails(&[
        ("state.missing || false", "at byte 6: there is no `missing`"),
        ("true && state.missing && true", "at byte 14: there is no `missing`"),
        ("hops && true", "at byte 0: a boolean is needed, not a number"),
        ("!hops", "at byte 0: `!` needs a boolean, not a number"),
        ("hops ? true : false", "at byte 5: `?` needs a boolean, not a number"),
    ]);
}

#[test]
fn invalid_expressions_are_refused_with_the_position() {
    fails(&[
        ("", "at byte 0: a value was expected, not the end"),
        ("  ", "at byte 2: a value was expected, not the end"),
        (
            "states.done",
            "at byte 0: there is no variable `states`; use task, task_type, from, to, capability, \
             state, hops, reason, receiver",
        ),
        ("state.done)", "at byte 10: `)` is too much"),
        ("state.done true", "at byte 11: `true` is too much"),
        ("(state.done", "at byte 11: `)` was expected, not the end"),
        ("state[1 == 2", "at byte 12: `]` was expected, not the end"),
        ("[1 2] == 1", "at byte 3: `]` was expected, not `2`"),
        ("state.1", "at byte 5: `0.1` is too much"),
        ("state.'a'", "at byte 6: a text is not a field"),
        ("state == {}", "at byte 9: maps cannot be written here"),
        ("true & false", "at byte 5: `&` means nothing here"),
        ("hops = 2", "at byte 5: `=` means nothing here"),
        ("true ? 1", "at byte 8: `:` was expected, not the end"),
        ("hops + 1", "at byte 5: it must be true or false, and this never is"),
        ("state", "at byte 0: it must be true or false, and this never is"),
        ("true ? 1 : false", "at byte 5: it must be true or false, and this never is"),
        (
            "now() > 1",
            "at byte 0: there is no function `now`; use has, size, startsWith, \
            endsWith, contains",
        ),
        (
            "task.tags.all(t, t == 'a')",
            "at byte 10: `all` is left out, since its work has no \
            bound; a schema can say it",
        ),
        ("to.matches('a')", "at byte 3: `matches` is left out; a schema with `pattern` can say it"),
    ]);
}

#[test]
fn long_and_deep_expressions_are_refused_when_compiled() {
    let long = format!("true{}", " ".repeat(limits::EXPRESSION_BYTES_MAX));
    let error = Expression::compile(&long).unwrap_err();
    assert_eq!(error.to_string(), "at byte 4096: an expression has at most 4096 bytes, got 4100");
    let most = limits::EXPRESSION_DEPTH_MAX;
    let deep = |open: &str, close: &str, depth: usize| {
        format!("{}true{}", open.repeat(depth), close.repeat(depth))
    };
    for (open, close, levels) in [("(", ")", most), ("!", "", most - 1)] {
        assert!(Expression::compile(&deep(open, close, levels)).is_ok(), "{open} {levels}");
        let error = Expression::compile(&deep(open, close, levels + 1)).unwrap_err();
        assert!(error.reason.contains("deeper than 32 levels"), "{error}");
    }
    for sources in [
        format!("state{}", ".a".repeat(most)),
        format!("state{}", "[0]".repeat(most)),
        format!("1{} == 1", "+1".repeat(most)),
        format!("{}1 == 1", "1-(".repeat(most)),
        format!("{}true", "true ? true : ".repeat(most + 1)),
        deep("[", "]", most + 1),
        deep("-", "", 2_000),
        deep("!(", "", 2_000),
        deep("has(state[", "", 400),
    ] {
        let error = Expression::compile(&sources).unwrap_err();
        assert!(error.reason.contains("deeper than 32 levels"), "{sources}: {error}");
    }
    let side_by_side = format!("true{}", " && true".repeat(500));
    assert_eq!(answer(&side_by_side), Ok(true), "side by side is not deep");
}

#[test]
fn an_expression_that_takes_too_long_has_no_answer() {
    let text = "x".repeat(super::BYTES_PER_STEP * limits::EXPRESSION_STEPS_MAX / 4);
    let numbers: Vec<usize> = (0..limits::EXPRESSION_STEPS_MAX / 4).collect();
    let state = json!({ "text": text, "numbers": numbers, "same": numbers });
    let known = Known { state, ..known() };
    let run = |source: &str| Expression::compile(source).unwrap().holds(&known);
    assert_eq!(run("state.text.contains('y')"), Ok(false), "one look at all of it");
    assert_eq!(run("-1 in state.numbers"), Ok(false));
    assert_eq!(run("state.numbers == state.same"), Ok(true));
    for source in [
        "size(state.text + state.text + state.text) > 0",
        "state.text.contains('y') || state.text.contains('y') || state.text.contains('y') || \
            state.text.contains('y') || state.text.contains('y')",
        "-1 in (state.numbers + state.numbers + state.numbers)",
        "[state, state, state, state, state] == [state, state, state, state, state]",
    ] {
        let error = run(source).unwrap_err();
        assert_eq!(error.reason, "it takes more than 20000 steps", "{source}");
    }
    // No deciding operand makes up for one that takes too many steps.
    let error = run("state.text + state.text + state.text == '' || true").unwrap_err();
    assert_eq!(error.reason, "it takes more than 20000 steps");
}

#[test]
fn an_expression_is_its_text() {
    let source = "state.done  ==  true";
    let expression = Expression::compile(source).unwrap();
    assert_eq!(serde_json::to_value(&expression).unwrap(), json!(source));
    assert_eq!(serde_json::from_value::<Expression>(json!(source)).unwrap(), expression);
    assert_ne!(Expression::compile("state.done == true").unwrap(), expression);
    let error = serde_json::from_value::<Expression>(json!("state.")).unwrap_err();
    assert_eq!(error.to_string(), "at byte 6: the end is not a field");
}

/// Words whose random sequences are often nearly valid.
const WORDS: [&str; 47] = [
    "state",
    "task",
    "to",
    "hops",
    "receiver",
    "reason",
    ".",
    ".plan",
    ".steps",
    "[",
    "]",
    "(",
    ")",
    "0",
    "1",
    "-1",
    "1.5",
    "'a'",
    "\"é\"",
    "r'\\'",
    "null",
    "true",
    "false",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    ">=",
    " in ",
    "&&",
    "||",
    "?",
    ":",
    ",",
    "has(",
    "size(",
    ".size()",
    ".contains(",
    "{",
    "\\",
    "\u{1f600}",
    "// x\n",
];

/// Any text is refused, or runs within its steps. Neither panics.
fn check_harmless(source: &str) {
    match Expression::compile(source) {
        Err(error) => assert!(error.offset <= source.len(), "{source}: {error}"),
        Ok(expression) => {
            let known = known();
            let first = expression.holds(&known);
            assert_eq!(first, expression.holds(&known), "{source}");
            for steps_max in [0, 1, 7] {
                if let (Err(error), _) = run::holds(&expression.0.root, &known, steps_max) {
                    assert!(error.offset <= source.len(), "{source}: {error}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_text_does_harm(source in "\\PC{0,60}") {
        check_harmless(&source);
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        check_harmless(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_words_do_harm(words in prop::collection::vec(0..WORDS.len(), 1..40)) {
        check_harmless(&words.into_iter().map(|word| WORDS[word]).collect::<String>());
    }

    /// Valid expressions with some letters changed, moved or duplicated.
    #[test]
    fn no_mutation_does_harm(
        which in 0_usize..4,
        edits in prop::collection::vec((0_usize..200, 0_usize..200, 0..WORDS.len()), 1..6),
    ) {
        let sources = [
            "has(state.plan) && state.plan.steps[0] + 1 == 2 || 'review' in receiver.capabilities",
            "task.priority * 1.5 >= 7 ? size(state.plan.steps) > 2 : !(to == 'bob')",
            "state['shared/plan'].startsWith(\"sh\\u0069\") && [1, 2.5, null] != task.tags",
            "-(hops % 3) - -0x1f < 1e3 / hops && state.large - 1 > 0 && r'\\' != reason",
        ];
        let mut letters: Vec<char> = sources[which].chars().collect();
        for (from, to, word) in edits {
            let (from, to) = (from % letters.len(), to % letters.len());
            match word % 4 {
                0 => letters.swap(from, to),
                1 if letters.len() > 1 => drop(letters.remove(from)),
                2 => drop(letters.splice(from..from, WORDS[word].chars())),
                _ => {
                    let part: Vec<char> = letters[from.min(to)..from.max(to)].to_vec();
                    letters.splice(to..to, part);
                }
            }
        }
        check_harmless(&letters.into_iter().collect::<String>());
    }
}
