//! Pages of lists: how many results a query may ask for, and where the next page starts.

use crate::limits;
use crate::refusal::{OutOfRange, within};

/// The number of results on a page: the `limit` of a query, or the default.
pub fn limit(given: Option<u64>) -> Result<usize, OutOfRange> {
    let range = (1, limits::PAGE_MAX as u64);
    let limit = within("limit", given, limits::PAGE_DEFAULT as u64, range)?;
    Ok(usize::try_from(limit).expect("pages are small"))
}

/// The first results, and the cursor of the last one if there are more.
pub fn first<T, C>(
    mut found: impl Iterator<Item = T>,
    limit: usize,
    cursor: impl FnOnce(&T) -> C,
) -> (Vec<T>, Option<C>) {
    let results: Vec<T> = found.by_ref().take(limit).collect();
    let last = results.last().filter(|_| found.next().is_some());
    let next = last.map(cursor);
    (results, next)
}

/// The first results of a query that may select few of many candidates. It examines a bounded
/// number of them, so that a page may have fewer results than asked for and not be the last.
pub struct Selection<T, W> {
    /// All candidates, in the order of the pages.
    pub candidates: T,
    /// Whether the query selects a candidate.
    pub is_wanted: W,
    /// How many results the page may have.
    pub limit: usize,
}

impl<'a, T: 'a, I, W> Selection<I, W>
where
    I: Iterator<Item = &'a T>,
    W: Fn(&T) -> bool,
{
    /// The results, each with its size in bytes if that counts, and the cursor of the next page.
    pub fn first<S, C>(
        self,
        shown: impl Fn(&T) -> (S, usize),
        cursor: impl Fn(&T) -> C,
    ) -> (Vec<S>, Option<C>) {
        let (mut results, mut bytes, mut last) = (Vec::new(), 0, None);
        for (examined, candidate) in self.candidates.enumerate() {
            if (self.is_wanted)(candidate) {
                if results.len() == self.limit || bytes > limits::PAGE_BYTES_MAX {
                    return (results, last.map(cursor));
                }
                let (result, size) = shown(candidate);
                bytes += size;
                results.push(result);
                last = Some(candidate);
            }
            if examined == limits::TASKS_EXAMINED_MAX {
                return (results, Some(cursor(candidate)));
            }
        }
        (results, None)
    }
}

#[cfg(test)]
mod tests {
    use super::{Selection, first};
    use crate::limits;

    #[test]
    fn a_page_ends_with_a_cursor_only_if_there_are_more() {
        assert_eq!(first(1..=3, 2, |last| *last), (vec![1, 2], Some(2)));
        assert_eq!(first(1..=2, 2, |last| *last), (vec![1, 2], None));
        assert_eq!(first([].into_iter(), 2, |last: &u8| *last), (vec![], None));
    }

    #[test]
    fn a_selection_ends_at_its_limit_and_after_many_candidates() {
        let numbers: Vec<usize> = (0..limits::TASKS_EXAMINED_MAX + 10).collect();
        let page = |limit: usize, every: usize| {
            let is_wanted = move |number: &usize| number.is_multiple_of(every);
            Selection { candidates: numbers.iter(), is_wanted, limit }
                .first(|number| (*number, 0), |number| *number)
        };
        assert_eq!(page(2, 3), (vec![0, 3], Some(3)));
        let examined = limits::TASKS_EXAMINED_MAX;
        assert_eq!(page(4, examined - 5), (vec![0, examined - 5], Some(examined)));
        let few =
            Selection { candidates: numbers[..5].iter(), is_wanted: |_: &usize| true, limit: 5 };
        assert_eq!(few.first(|number| (*number, 0), |number| *number), (vec![0, 1, 2, 3, 4], None));
        let all =
            Selection { candidates: numbers[..5].iter(), is_wanted: |_: &usize| true, limit: 9 };
        let large = |number: &usize| (*number, limits::PAGE_BYTES_MAX);
        assert_eq!(all.first(large, |number| *number), (vec![0, 1], Some(1)));
    }
}
