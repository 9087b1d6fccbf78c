//! The closest match of a misspelled word.

/// Longer texts are no misspelled words, and would take long to compare.
const BYTES_MAX: usize = 100;

/// More wrong letters than this make another word.
const DISTANCE_MAX: usize = 2;

/// The known word that is closest to the given one; none if no word is close.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > BYTES_MAX {
        return None;
    }
    let near = known.into_iter().map(|known| (distance(given, known), known)).min();
    let is_close =
        |distance: usize, known: &str| distance <= DISTANCE_MAX && distance < known.len();
    near.filter(|(distance, known)| is_close(*distance, known)).map(|(_, known)| known)
}

/// The Levenshtein distance.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (index, left) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, right) in other.chars().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_close_word_is_suggested() {
        let known = ["task.create", "task.list", "state.set", "a"];
        assert_eq!(nearest("task.creat", known), Some("task.create"));
        assert_eq!(nearest("tasks.list", known), Some("task.list"));
        assert_eq!(nearest("lock.acquire", known), None);
        assert_eq!(nearest("state.fly", known), None);
        assert_eq!(nearest("x", known), None);
        let of = |pairs: [(&str, &str); 3]| pairs.map(|(one, other)| distance(one, other));
        assert_eq!(of([("", "abc"), ("abc", "abc"), ("kitten", "sitting")]), [3, 0, 3]);
    }
}
