//! Times relative to now: `3 min ago`, `in 5 min`.

use baton_core::Timestamp;

/// The time of what has existed from the start, such as the namespace `shared`.
pub(super) const UNKNOWN: Timestamp = Timestamp(0);

/// The time relative to now, in the largest unit that is at least one.
pub(super) fn relative(time: Timestamp, now: Timestamp) -> String {
    if time == UNKNOWN {
        return "-".to_owned();
    }
    let (past_ms, ahead_ms) = (now.since(time), time.since(now));
    match past_ms.max(ahead_ms) {
        0..1_000 => "now".to_owned(),
        _ if past_ms > 0 => format!("{} ago", span(past_ms)),
        _ => format!("in {}", rounded(ahead_ms)),
    }
}

/// To the nearest number of a unit: a lease of five minutes that has just begun has five left.
fn rounded(milliseconds: u64) -> String {
    let units = [(1_000, "s", 60), (60_000, "min", 60), (3_600_000, "h", 24)];
    let in_unit = |length_ms: u64| (milliseconds + length_ms / 2) / length_ms;
    let unit = units.into_iter().find(|(length_ms, _, most)| in_unit(*length_ms) < *most);
    let (length_ms, name, _) = unit.unwrap_or((86_400_000, "d", 0));
    format!("{} {name}", in_unit(length_ms))
}

fn span(milliseconds: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = units.into_iter().find(|(length_ms, _)| milliseconds >= *length_ms);
    let (length_ms, name) = unit.unwrap_or((1_000, "s"));
    format!("{} {name}", milliseconds / length_ms)
}

/// Whether a field with this name contains a time, which tables show relative to now. The time of
/// an event is shown as it is: events of one minute would all look the same.
pub(super) fn is_time(name: &str) -> bool {
    name.ends_with("_at") || matches!(name, "since" | "until" | "deadline" | "not_before")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_largest_unit() {
        let now = Timestamp(1_000_000_000);
        for (milliseconds, expected) in [
            (-172_800_000, "2 d ago"),
            (-3_700_000, "1 h ago"),
            (-180_000, "3 min ago"),
            (-1_999, "1 s ago"),
            (-999, "now"),
            (0, "now"),
            (999, "now"),
            (59_400, "in 59 s"),
            (59_999, "in 1 min"),
            (299_400, "in 5 min"),
            (300_000, "in 5 min"),
            (3_599_999, "in 1 h"),
            (86_399_000, "in 1 d"),
            (172_800_000, "in 2 d"),
        ] {
            let time = Timestamp(now.0.saturating_add_signed(milliseconds));
            assert_eq!(relative(time, now), expected);
        }
    }
}
