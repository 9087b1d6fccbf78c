//! Tables. A cell is a field: strings without quotes, everything else as JSON.

use super::fields::Fields;

/// The space between columns.
const GAP: &str = "  ";

/// One line per field.
pub(super) fn record(fields: &Fields, columns_max: Option<usize>) -> String {
    let names: Vec<&str> = fields.pairs().map(|(name, _)| name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, value) in fields.pairs() {
        push(&mut out, &format!("{name:width$}{GAP}{}", cell(value)), columns_max);
    }
    out
}

/// A table with these columns. Empty columns except the first are omitted.
pub(super) fn table(rows: &[Fields], columns: &[&str], columns_max: Option<usize>) -> String {
    let filled = |name: &str| rows.iter().any(|row| !row.get(name).is_empty());
    let first = columns.first().copied().unwrap_or_default();
    let columns: Vec<&str> =
        columns.iter().copied().filter(|name| *name == first || filled(name)).collect();
    let heads = columns.iter().map(|name| name.to_uppercase().replace('_', " ")).collect();
    let cells = rows.iter().map(|row| columns.iter().map(|name| cell(row.get(name))).collect());
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

fn cell(value: &str) -> String {
    let text = serde_json::from_str::<String>(value).ok();
    plain(&text.unwrap_or_else(|| value.to_owned()))
}

/// The text on one line, with control characters escaped.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\r' | '\t' => out.push(' '),
            sign if sign.is_control() => out.extend(sign.escape_default()),
            sign => out.push(sign),
        }
    }
    out
}
