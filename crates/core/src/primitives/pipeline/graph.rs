//! The order of stages, and whether it is valid.

use std::collections::{BTreeMap, BTreeSet};

use super::Design;
use crate::limits;
use crate::names::StageName;

/// Why stages are invalid.
#[derive(Debug)]
pub struct GraphFault {
    /// The invalid stage, if it is one.
    pub stage: Option<StageName>,
    /// The reason.
    pub reason: String,
}

/// Stages by number: the predecessors of each, and a topological order.
#[derive(Debug, PartialEq)]
pub struct Graph {
    /// The predecessors of each stage, in the order in which they were named.
    pub links: Vec<Vec<usize>>,
    /// All stages in topological order.
    pub order: Vec<usize>,
}

fn fault<T>(stage: Option<&StageName>, reason: impl Into<String>) -> Result<T, GraphFault> {
    Err(GraphFault { stage: stage.cloned(), reason: reason.into() })
}

/// Builds the graph of the stages.
pub fn link(stages: &[Design]) -> Result<Graph, GraphFault> {
    let max = limits::PIPELINE_STAGES_MAX;
    if stages.is_empty() {
        return fault(None, "there is none");
    }
    if stages.len() > max {
        return fault(None, format!("there are {}, at most {max} are allowed", stages.len()));
    }
    let mut numbers = BTreeMap::new();
    for (number, stage) in stages.iter().enumerate() {
        if numbers.insert(&stage.name, number).is_some() {
            return fault(Some(&stage.name), "two stages have this name");
        }
    }
    let mut links = Vec::with_capacity(stages.len());
    for (number, stage) in stages.iter().enumerate() {
        links.push(match &stage.after {
            None => number.checked_sub(1).into_iter().collect(),
            Some(names) => before(stage, names, &numbers)?,
        });
    }
    let order = order(&links);
    if order.len() < stages.len() {
        let ordered: BTreeSet<usize> = order.into_iter().collect();
        let stuck = (0..stages.len()).find(|number| !ordered.contains(number));
        let stage = stuck.map(|number| &stages[number].name);
        return fault(stage, "it would have to come after itself");
    }
    Ok(Graph { links, order })
}

fn before(
    stage: &Design,
    names: &[StageName],
    numbers: &BTreeMap<&StageName, usize>,
) -> Result<Vec<usize>, GraphFault> {
    let mut links = Vec::with_capacity(names.len());
    for name in names {
        let Some(number) = numbers.get(name) else {
            return fault(Some(&stage.name), format!("it follows `{name}`, which is not a stage"));
        };
        if links.contains(number) {
            return fault(Some(&stage.name), format!("it follows `{name}` twice"));
        }
        links.push(*number);
    }
    Ok(links)
}

/// A topological order: repeatedly takes the first stage whose predecessors were all taken. Stages
/// in a cycle, or after one, are missing.
fn order(links: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(links.len());
    let mut taken = vec![false; links.len()];
    let is_free = |number: usize, taken: &[bool]| {
        !taken[number] && links[number].iter().all(|before| taken[*before])
    };
    while let Some(number) = (0..links.len()).find(|number| is_free(*number, &taken)) {
        taken[number] = true;
        order.push(number);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(text: &str) -> Vec<Design> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn stages_come_after_one_another_unless_they_say_otherwise() {
        let chain = link(&stages(r#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#)).unwrap();
        assert_eq!(chain.links, [vec![], vec![0], vec![1]]);
        let fork = r#"[{"name":"d","after":["b","c"]},{"name":"a","after":[]},
            {"name":"b"},{"name":"c","after":["a"]}]"#;
        let fork = link(&stages(fork)).unwrap();
        assert_eq!(fork.links, [vec![2, 3], vec![], vec![1], vec![1]]);
        assert_eq!(fork.order, [1, 2, 3, 0]);
    }

    #[test]
    fn an_invalid_graph_is_refused_with_the_stage() {
        for (text, stage, reason) in [
            ("[]", None, "there is none"),
            (r#"[{"name":"a"},{"name":"a"}]"#, Some("a"), "two stages have this name"),
            (r#"[{"name":"a","after":["z"]}]"#, Some("a"), "it follows `z`, which is not a stage"),
            (r#"[{"name":"a"},{"name":"b","after":["a","a"]}]"#, Some("b"), "it follows `a` twice"),
            (r#"[{"name":"a","after":["a"]}]"#, Some("a"), "it would have to come after itself"),
            (
                r#"[{"name":"z"},{"name":"a","after":["b"]},{"name":"b"}]"#,
                Some("a"),
                "it would have to come after itself",
            ),
        ] {
            let fault = link(&stages(text)).unwrap_err();
            assert_eq!(fault.stage.as_ref().map(StageName::as_str), stage, "{text}");
            assert_eq!(fault.reason, reason, "{text}");
        }
    }

    #[test]
    fn there_are_not_too_many() {
        let names = |count| {
            let names = (0..count).map(|number| format!("s{number}"));
            names.map(|name| Design::new(StageName::parse(&name).unwrap())).collect::<Vec<_>>()
        };
        assert!(link(&names(limits::PIPELINE_STAGES_MAX)).is_ok());
        let fault = link(&names(limits::PIPELINE_STAGES_MAX + 1)).unwrap_err();
        assert_eq!(fault.reason, "there are 101, at most 100 are allowed");
    }
}
