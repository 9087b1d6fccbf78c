//! Deadlocks: cycles in the wait-for graph.

use std::collections::{BTreeMap, BTreeSet};

/// A waiter, what it waits for, and the holder.
type Link<A, L> = (A, L, A);

/// The cycles of the wait-for graph, each reported once, starting with its least member. At least
/// one is found for every agent that is in one; agents that merely wait for a cycle are not
/// included.
pub(crate) fn find_cycles<A: Clone + Ord, L: Clone>(
    links: Vec<Link<A, L>>,
) -> Vec<Vec<Link<A, L>>> {
    let mut following: BTreeMap<A, Vec<Link<A, L>>> = BTreeMap::new();
    for link in links {
        following.entry(link.0.clone()).or_default().push(link);
    }
    let mut finished = BTreeSet::new();
    let mut found = Vec::new();
    for start in following.keys() {
        walk(&following, start, &mut finished, &mut found);
    }
    found
}

/// Follows links from one member, depth first, without recursion: chains may be long.
fn walk<A: Clone + Ord, L: Clone>(
    following: &BTreeMap<A, Vec<Link<A, L>>>,
    start: &A,
    finished: &mut BTreeSet<A>,
    found: &mut Vec<Vec<Link<A, L>>>,
) {
    if finished.contains(start) {
        return;
    }
    let mut path: Vec<Link<A, L>> = Vec::new();
    // For every member of the path, how many of its links have been followed.
    let mut open: Vec<(A, usize)> = vec![(start.clone(), 0)];
    while let Some((member, followed)) = open.last_mut() {
        let links = following.get(member).map_or(&[][..], Vec::as_slice);
        let Some(link) = links.get(*followed) else {
            finished.insert(member.clone());
            open.pop();
            path.pop();
            continue;
        };
        *followed += 1;
        let next = &link.2;
        if let Some(first) = open.iter().position(|(there, _)| there == next) {
            let mut cycle = path[first..].to_vec();
            cycle.push(link.clone());
            found.push(from_least(cycle));
        } else if !finished.contains(next) {
            path.push(link.clone());
            open.push((next.clone(), 0));
        }
    }
}

fn from_least<A: Clone + Ord, L: Clone>(mut cycle: Vec<Link<A, L>>) -> Vec<Link<A, L>> {
    let least = cycle.iter().enumerate().min_by_key(|(_, link)| &link.0);
    let least = least.map_or(0, |(index, _)| index);
    cycle.rotate_left(least);
    cycle
}

#[cfg(test)]
mod tests {
    use super::find_cycles;

    #[test]
    fn finds_cycles_and_only_cycles() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("a>b b>c", &[]),
            ("a>a", &["a"]),
            ("b>a a>b", &["ab"]),
            ("x>a a>b b>c c>a", &["abc"]),
            ("a>b b>a c>d d>c d>a", &["ab", "cd"]),
            ("a>b a>c b>d c>d", &[]),
        ];
        for (links, expected) in table {
            let links = links.split_whitespace().map(|link| (&link[..1], link, &link[2..]));
            let found = find_cycles(links.collect());
            let found: Vec<String> =
                found.iter().map(|cycle| cycle.iter().map(|link| link.0).collect()).collect();
            assert_eq!(found, *expected);
        }
    }
}
