//! Circles in who waits for whom.

use std::collections::{BTreeMap, BTreeSet};

/// Somebody, what they wait for, and who has it.
type Link<A, L> = (A, L, A);

/// Circles in which everyone waits for the next, each told once, beginning with its least member.
/// One is found for everybody who is in any; those who merely wait for a circle are not.
pub(crate) fn circles<A: Clone + Ord, L: Clone>(links: Vec<Link<A, L>>) -> Vec<Vec<Link<A, L>>> {
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
    // For everyone on the path, how many of their links have been followed.
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
            let mut circle = path[first..].to_vec();
            circle.push(link.clone());
            found.push(from_least(circle));
        } else if !finished.contains(next) {
            path.push(link.clone());
            open.push((next.clone(), 0));
        }
    }
}

fn from_least<A: Clone + Ord, L: Clone>(mut circle: Vec<Link<A, L>>) -> Vec<Link<A, L>> {
    let least = circle.iter().enumerate().min_by_key(|(_, link)| &link.0);
    let least = least.map_or(0, |(index, _)| index);
    circle.rotate_left(least);
    circle
}

#[cfg(test)]
mod tests {
    use super::circles;

    #[test]
    fn finds_circles_and_only_circles() {
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
            let found = circles(links.collect());
            let found: Vec<String> =
                found.iter().map(|circle| circle.iter().map(|link| link.0).collect()).collect();
            assert_eq!(found, *expected);
        }
    }
}
