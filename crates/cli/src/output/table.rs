//! Tables. A cell is a field: strings without quotes, everything else as JSON.

use std::collections::BTreeSet;

use baton_core::Timestamp;
use baton_core::names::{is_made, long, short};

use super::fields::Fields;
use super::relative;

/// The space between columns.
const GAP: &str = "  ";

/// One line per field. Lines are not cut: this is where the whole value is looked for.
pub(super) fn record(fields: &Fields, now: Timestamp) -> String {
    let pairs = flattened(fields);
    let own = OwnIds::among(pairs.iter().map(|(_, value)| value.as_str()));
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, value) in &pairs {
        let text = match time_in(name, value) {
            Some(relative::UNKNOWN) => relative::relative(relative::UNKNOWN, now),
            Some(time) => format!("{} ({})", own.cell(value), relative::relative(time, now)),
            None => own.cell(value),
        };
        push(&mut out, &format!("{name:width$}{GAP}{text}"), None);
    }
    out
}

/// Objects that Baton makes, one line for each of their fields, named as `--field` names them.
fn flattened(fields: &Fields) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in fields.pairs() {
        let inner = match name {
            "lease" | "hold" | "progress" | "retention" | "origin" => Fields::parse(value),
            _ => Fields::default(),
        };
        let before = pairs.len();
        pairs.extend(
            inner.pairs().map(|(part, value)| (format!("{name}.{part}"), value.to_owned())),
        );
        if pairs.len() == before {
            pairs.push((name.to_owned(), value.to_owned()));
        }
    }
    pairs
}

/// A table with these columns. Empty columns except the first are omitted.
pub(super) fn table(
    rows: &[Fields],
    columns: &[&str],
    columns_max: Option<usize>,
    now: Timestamp,
) -> String {
    let filled = |name: &str| rows.iter().any(|row| !row.get(name).is_empty());
    let first = columns.first().copied().unwrap_or_default();
    let columns: Vec<&str> =
        columns.iter().copied().filter(|name| *name == first || filled(name)).collect();
    let heads = columns.iter().map(|name| name.to_uppercase().replace('_', " ")).collect();
    let values = rows.iter().flat_map(|row| columns.iter().map(|name| row.get(name)));
    let own = OwnIds::among(values);
    let shown = |name: &str, value: &str| match time_in(name, value) {
        Some(time) => relative::relative(time, now),
        None => own.cell(value),
    };
    let cells =
        rows.iter().map(|row| columns.iter().map(|name| shown(name, row.get(name))).collect());
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(cells).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for line in &lines {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = padded.collect::<Vec<_>>().join(GAP);
        push(&mut out, line.trim_end(), columns_max);
    }
    out
}

/// The time in a field whose name is that of a time.
fn time_in(name: &str, value: &str) -> Option<Timestamp> {
    let name = name.rsplit('.').next().unwrap_or(name);
    serde_json::from_str(value).ok().filter(|_| relative::is_time(name))
}

fn push(out: &mut String, line: &str, columns_max: Option<usize>) {
    match columns_max {
        Some(columns_max) => out.push_str(&cut(line, columns_max)),
        None => out.push_str(line),
    }
    out.push('\n');
}

/// Truncates a line, with an ellipsis.
pub(super) fn cut(line: &str, columns_max: usize) -> String {
    if line.chars().count() <= columns_max {
        return line.to_owned();
    }
    let kept = line.chars().take(columns_max.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// The chosen ids in a table that look like short ones, such as `t-7`. Beside them the id that is
/// short for is shown as it is.
struct OwnIds(BTreeSet<String>);

impl OwnIds {
    fn among<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let texts = values.filter_map(|value| serde_json::from_str::<String>(value).ok());
        Self(texts.filter(|text| long(text) != *text).collect())
    }

    fn short(&self, id: &str) -> String {
        let short = short(id);
        if self.0.contains(&short) { id.to_owned() } else { short }
    }

    fn cell(&self, value: &str) -> String {
        if let Ok(text) = serde_json::from_str::<String>(value) {
            return plain(&self.short(&text));
        }
        match serde_json::from_str::<Vec<String>>(value) {
            Ok(ids) if !ids.is_empty() && ids.iter().all(|id| is_made(id)) => {
                ids.iter().map(|id| self.short(id)).collect::<Vec<_>>().join(", ")
            }
            Ok(_) | Err(_) => plain(value),
        }
    }
}

/// The text on one line, with control characters escaped, and those that reorder or hide text.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\r' | '\t' => out.push(' '),
            sign if sign.is_control() || is_invisible(sign) => out.extend(sign.escape_default()),
            sign => out.push(sign),
        }
    }
    out
}

/// Characters that change the direction of text or have no width: with them a name could look like
/// another one.
fn is_invisible(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}
