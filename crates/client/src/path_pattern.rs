//! Patterns of file paths, and whether two of them can match the same file.
//!
//! | pattern | means |
//! |---|---|
//! | `src/auth` | that file, or everything below that folder |
//! | `src/*.rs` | the Rust files in `src` itself |
//! | `src/**` | everything below `src` |
//! | `a?c` | `?` is one character |
//!
//! Brackets and braces are ordinary characters, since file names contain them.

use baton_core::names::NameError;

/// The maximum size of a pattern: with its prefix it must fit into the name of a lock.
const BYTES_MAX: usize = 240;
/// Any number of folders.
const FOLDERS: &str = "**";

/// A pattern of file paths, relative to the root of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(String);

impl PathPattern {
    /// Reads a pattern. `./` before it is ignored, and a `/` after it means everything below.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let refuse = |reason: &str| {
            let given = text.chars().take(80).flat_map(char::escape_default).collect();
            NameError { what: "path pattern", given, reason: reason.to_owned() }
        };
        let trimmed = text.trim_start_matches("./").trim_end_matches('/');
        if trimmed.is_empty() || trimmed.len() > BYTES_MAX {
            return Err(refuse("it must have 1 to 240 bytes"));
        }
        if trimmed.starts_with('/') || trimmed.chars().any(char::is_control) {
            return Err(refuse("it must be relative to the root of the repository"));
        }
        if trimmed.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
            return Err(refuse("`.`, `..` and empty parts are not allowed"));
        }
        let below = if text.ends_with('/') { "/**" } else { "" };
        Ok(Self(format!("{trimmed}{below}")))
    }

    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether some path matches both patterns.
    pub fn overlaps(&self, other: &Self) -> bool {
        meet(&self.parts(), &other.parts(), |part| *part == FOLDERS, |a, b| part_meets(a, b))
    }

    /// The parts; without a wildcard at the end it may be a folder, whose content is meant too.
    fn parts(&self) -> Vec<&str> {
        let mut parts: Vec<&str> = self.0.split('/').collect();
        if !parts.last().is_some_and(|last| last.contains(['*', '?'])) {
            parts.push(FOLDERS);
        }
        parts
    }
}

fn part_meets(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    meet(&a, &b, |sign| *sign == '*', |a, b| a == b || *a == '?' || *b == '?')
}

/// Whether two sequences with wildcards have a common instance. `is_many` recognises the wildcard
/// that means any number of items. It takes time in proportion to the product of the lengths.
fn meet<T>(
    a: &[T],
    b: &[T],
    is_many: impl Fn(&T) -> bool,
    is_same: impl Fn(&T, &T) -> bool,
) -> bool {
    // meets[i][j]: whether a[i..] and b[j..] have one.
    let mut meets = vec![vec![false; b.len() + 1]; a.len() + 1];
    for i in (0..=a.len()).rev() {
        for j in (0..=b.len()).rev() {
            meets[i][j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(one), _) if is_many(one) => {
                    meets[i + 1][j] || (j < b.len() && meets[i][j + 1])
                }
                (_, Some(one)) if is_many(one) => {
                    meets[i][j + 1] || (i < a.len() && meets[i + 1][j])
                }
                (Some(one), Some(other)) => is_same(one, other) && meets[i + 1][j + 1],
                (Some(_), None) | (None, Some(_)) => false,
            };
        }
    }
    meets[0][0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_overlap_if_a_path_matches_both() {
        let overlap = |a: &str, b: &str| {
            let (a, b) = (PathPattern::parse(a).unwrap(), PathPattern::parse(b).unwrap());
            assert_eq!(a.overlaps(&b), b.overlaps(&a), "{a:?} {b:?}");
            a.overlaps(&b)
        };
        for (a, b) in [
            ("src/auth/**", "src/auth/login.rs"),
            ("src/**", "src/auth/**"),
            ("src/auth", "src/auth/login.rs"),
            ("src/", "src/a.rs"),
            ("./src/a.rs", "src/a.rs"),
            ("src/*.rs", "src/a*"),
            ("**/*.md", "docs/**"),
            ("a/**/b/**/c", "a/x/b/c"),
            ("**", "anything"),
            ("pages/[id].tsx", "pages/*"),
        ] {
            assert!(overlap(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("src/auth/**", "src/authors/x.rs"),
            ("src/*.rs", "src/deep/a.rs"),
            ("src/*.rs", "src/*.md"),
            ("docs/**", "src/**"),
            ("a?c", "ac"),
            ("pages/[id].tsx", "pages/i.tsx"),
        ] {
            assert!(!overlap(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_pattern_stays_within_the_repository() {
        for text in ["", "/", "/etc/passwd", "../x", "a//b", "a/./b", "a\nb", &"x".repeat(241)] {
            assert!(PathPattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn many_wildcards_take_no_longer_than_their_product() {
        let hostile = PathPattern::parse(&"**/".repeat(70)).unwrap();
        let stars = PathPattern::parse(&"*a".repeat(100)).unwrap();
        assert!(hostile.overlaps(&stars));
    }
}
