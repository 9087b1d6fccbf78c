//! The requested part of a content, as in RFC 9110.

/// A part of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it: no range was requested, or none that can be served.
    Whole,
    /// The bytes from the first up to the last, exclusive.
    Within(u64, u64),
    /// A part beyond the content.
    Nothing,
}

/// The part that a header requests. A request for several parts is answered with the whole.
pub(super) fn part(header: Option<&str>, length: u64) -> Part {
    let Some(range) = header.and_then(|text| text.trim().strip_prefix("bytes=")) else {
        return Part::Whole;
    };
    let Some((first, last)) = range.trim().split_once('-') else { return Part::Whole };
    match (first.trim(), last.trim()) {
        ("", last) => match last.parse::<u64>() {
            Ok(0) => Part::Nothing,
            Ok(_) if length == 0 => Part::Nothing,
            Ok(count) => Part::Within(length.saturating_sub(count), length),
            Err(_) => Part::Whole,
        },
        (first, last) => {
            let last = if last.is_empty() { Ok(u64::MAX) } else { last.parse::<u64>() };
            match (first.parse::<u64>(), last) {
                (Ok(first), Ok(last)) if first > last => Part::Whole,
                (Ok(first), Ok(_)) if first >= length => Part::Nothing,
                (Ok(first), Ok(last)) => Part::Within(first, last.saturating_add(1).min(length)),
                (Err(_), _) | (_, Err(_)) => Part::Whole,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_the_standard_says() {
        let cases = [
            (None, Part::Whole),
            (Some("bytes=0-4"), Part::Within(0, 5)),
            (Some("bytes=0-99"), Part::Within(0, 10)),
            (Some("bytes=4-"), Part::Within(4, 10)),
            (Some("bytes=-3"), Part::Within(7, 10)),
            (Some("bytes=-99"), Part::Within(0, 10)),
            (Some("bytes=9-9"), Part::Within(9, 10)),
            (Some("bytes=10-"), Part::Nothing),
            (Some("bytes=-0"), Part::Nothing),
            (Some("bytes=5-4"), Part::Whole),
            (Some("bytes=0-1,4-5"), Part::Whole),
            (Some("bytes=x-"), Part::Whole),
            (Some("bytes="), Part::Whole),
            (Some("lines=1-2"), Part::Whole),
            (Some("bytes=0-18446744073709551615"), Part::Within(0, 10)),
        ];
        for (header, expected) in cases {
            assert_eq!(part(header, 10), expected, "{header:?}");
        }
        assert_eq!(part(Some("bytes=-1"), 0), Part::Nothing);
        assert_eq!(part(Some("bytes=0-"), 0), Part::Nothing);
    }
}
