//! The configuration file and its errors.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use baton_core::nearest::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Key, ValueType};
use super::quotas::{QuotaSettings, Scope};
use crate::failure::{Failure, Fault};
use crate::output::plain;

/// The table of settings for `baton serve`.
const TABLE: &str = "serve";
/// The table of settings for spans.
const OTEL: &str = "otel";
/// The table of quotas, and the one in it that has a table for each workspace.
const QUOTA: &str = "quota";
const QUOTA_WORKSPACE: &str = "quota.workspace";

/// A configuration file.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    /// The path; none if there is no file.
    pub(crate) path: Option<PathBuf>,
    contents: Contents,
}

/// The settings in a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub(crate) keys: BTreeMap<&'static str, String>,
    pub(crate) quotas: QuotaSettings,
}

impl File {
    /// The value of a setting.
    pub(crate) fn get(&self, key: &Key) -> Option<&str> {
        self.contents.keys.get(key.name).map(String::as_str)
    }

    /// The quotas.
    pub(crate) fn quotas(&self) -> &QuotaSettings {
        &self.contents.quotas
    }

    /// Reads a file; none if it does not exist.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let refuse =
            |reason: String| Fault::Settings { path: path.to_owned(), reason, is_missing: false };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refuse(error.to_string()).into()),
        };
        let contents = parse(&text).map_err(|faults| {
            let lines: Vec<String> = faults.iter().map(|fault| plain(fault)).collect();
            refuse(lines.join("\n"))
        })?;
        Ok(Some(Self { path: Some(path.to_owned()), contents }))
    }
}

/// Parses a file, or returns all errors in it.
pub(crate) fn parse(text: &str) -> Result<Contents, Vec<String>> {
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        // The parser's message may have several lines.
        vec![format!("line {}: {}", line(text, place), error.message().replace('\n', " "))]
    })?;
    let mut parser = Parser { text, contents: Contents::default(), faults: Vec::new() };
    parser.table("", document.get_ref());
    if parser.faults.is_empty() {
        return Ok(parser.contents);
    }
    parser.faults.sort();
    Err(parser.faults.into_iter().map(|(line, what)| format!("line {line}: {what}")).collect())
}

fn line(text: &str, place: usize) -> usize {
    1 + text.get(..place).unwrap_or_default().matches('\n').count()
}

struct Parser<'a> {
    text: &'a str,
    contents: Contents,
    /// The line and what is wrong with it.
    faults: Vec<(usize, String)>,
}

impl Parser<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let full = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if full == TABLE => self.table("serve.", inner),
                DeValue::Table(inner) if full == OTEL => self.table("otel.", inner),
                DeValue::Table(inner) if full == QUOTA => self.quota(QUOTA, inner),
                _ => match keys::all().find(|key| key.name == full) {
                    Some(key) => self.value(key, value),
                    None => self.fault(name.span().start, &unknown(&full)),
                },
            }
        }
    }

    /// Reads a table of quotas and its subtables.
    fn quota(&mut self, table: &str, inner: &DeTable<'_>) {
        for (name, value) in inner {
            let (place, full) = (value.span().start, format!("{table}.{}", name.get_ref()));
            let noted = match value.get_ref() {
                DeValue::Table(inner) => {
                    self.quota(&full, inner);
                    Ok(())
                }
                DeValue::Integer(count) => Scope::of(table).and_then(|scope| {
                    self.contents.quotas.note(&scope, name.get_ref(), &count.to_string())
                }),
                _ => Err(format!("`{full}` must be a whole number")),
            };
            if let Err(what) = noted {
                self.fault(place, &what);
            }
        }
        let is_known = table == QUOTA_WORKSPACE || Scope::of(table).is_ok();
        if !is_known && inner.is_empty() {
            self.fault(0, &format!("unknown key `{table}`"));
        }
    }

    fn value(&mut self, key: &'static Key, value: &Spanned<DeValue<'_>>) {
        let place = value.span().start;
        let said = match (value.get_ref(), key.value_type) {
            (
                DeValue::String(text),
                ValueType::Text | ValueType::Urls | ValueType::Address | ValueType::Choice(_),
            ) => Some(text.to_string()),
            (DeValue::Boolean(flag), ValueType::Flag) => Some(flag.to_string()),
            (DeValue::Integer(number), ValueType::Count { .. }) => Some(number.to_string()),
            (DeValue::Array(items), ValueType::Names) => {
                let names = items.iter().map(|item| match item.get_ref() {
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                });
                names.collect::<Option<Vec<_>>>().map(|names| names.join(","))
            }
            _ => None,
        };
        match said {
            None => {
                let what = format!("`{}` must be {}", key.name, key.value_type.words());
                self.fault(place, &what);
            }
            Some(text) => match key.value_type.fault(&text) {
                Some(fault) => self.fault(place, &format!("`{}`: {fault}", key.name)),
                None => drop(self.contents.keys.insert(key.name, text)),
            },
        }
    }

    fn fault(&mut self, place: usize, what: &str) {
        self.faults.push((line(self.text, place), what.to_owned()));
    }
}

/// The error for an unknown key, with the closest match.
fn unknown(name: &str) -> String {
    match nearest(name, keys::all().map(|key| key.name)) {
        Some(known) => format!("unknown key `{name}`; did you mean `{known}`?"),
        None => format!("unknown key `{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_reported_with_their_lines() {
        let text = "url = 7\nagnet = 'ada'\n[serve]\nlisen = 'x'\nlisten = 'x'\ntokens = 'yes'\n\
                    connections_max = 0\nhosts = ['a', 1]\nquite_another = 1\n[other]\n";
        let faults = parse(text).unwrap_err();
        let expected = [
            "line 1: `url` must be a string",
            "line 2: unknown key `agnet`; did you mean `agent`?",
            "line 10: unknown key `other`",
            "line 4: unknown key `serve.lisen`; did you mean `serve.listen`?",
            "line 5: `serve.listen`: `x` is not an address and port, such as 127.0.0.1:4747",
            "line 6: `serve.tokens` must be true or false",
            "line 7: `serve.connections_max`: `0` is not a number from 1 to 1000000",
            "line 8: `serve.hosts` must be a list of strings",
            "line 9: unknown key `serve.quite_another`",
        ];
        for line in expected {
            assert!(faults.iter().any(|fault| fault == line), "{line}: {faults:#?}");
        }
        assert_eq!(faults.len(), expected.len());
        assert!(faults[0].starts_with("line 1:") && faults[8].starts_with("line 10:"), "in order");
        assert!(parse("url = ").unwrap_err()[0].starts_with("line 1: "));
        let faults = parse("url = 'http://a:1, ftp://x'").unwrap_err();
        assert_eq!(faults, ["line 1: `url`: `ftp://x` is not an http or https URL"]);
    }

    #[test]
    fn valid_settings_are_read() {
        let text = "agent = 'ada'\nserve.tokens = true\nserve.hosts = ['a', 'b']\n";
        let said = parse(text).unwrap().keys;
        assert_eq!(said["agent"], "ada");
        assert_eq!((said["serve.tokens"].as_str(), said["serve.hosts"].as_str()), ("true", "a,b"));
    }

    #[test]
    fn quotas_are_read_and_a_workspace_may_be_exempt() {
        let text = "[quota]\noperations_per_s = 10\nentries_max = 5\nhistory_bytes_max = 9\n\
                    [quota.workspace.big]\nhistory_bytes_max = 0\nentries_max = 0\n\
                    bytes_per_s = 7\n[quota.token]\nconnections_max = 3\n";
        let (quotas, extents) = parse(text).unwrap().quotas.resolved();
        let big = baton_core::WorkspaceName::parse("big").unwrap();
        assert_eq!(quotas.workspace.operations_per_s, Some(10));
        assert_eq!(quotas.workspaces[&big].operations_per_s, Some(10), "as for all");
        assert_eq!(quotas.workspaces[&big].bytes_per_s, Some(7));
        assert_eq!((quotas.token.connections_max, quotas.token.operations_per_s), (Some(3), None));
        assert_eq!(extents.usual.unwrap().entries_max, Some(5));
        assert_eq!(extents.named[&big].entries_max, None, "0 is no limit");
        assert_eq!((extents.history_bytes_max, extents.history_named[&big]), (Some(9), None));
        let (quotas, extents) = parse("").unwrap().quotas.resolved();
        assert!(quotas.workspace.is_none() && quotas.token.is_none());
        assert_eq!(extents.usual, Some(baton_core::StorageQuota::default()));
    }

    #[test]
    fn errors_in_quotas_are_reported_with_their_lines() {
        let text = "[quota]\noperations = 1\nentries_max = -1\nconnections_max = 1\n\
                    [quota.token]\nentries_max = 1\n[quota.workspace.'a b']\nentries_max = 1\n\
                    [quota.other]\nx = 1\n[quota.workspace.w]\nentries_max = 'many'\n";
        let faults = parse(text).unwrap_err();
        for begin in [
            "line 2: unknown key `quota.operations`; expected one of operations_per_s, bytes_per_s",
            "line 3: `quota.entries_max`: `-1` is not a number from 0 to ",
            "line 4: unknown key `quota.connections_max`",
            "line 6: unknown key `quota.token.entries_max`",
            "line 8: `quota.workspace.a b`: ",
            "line 10: unknown key `quota.other`",
            "line 12: `quota.workspace.w.entries_max` must be a whole number",
        ] {
            assert!(faults.iter().any(|fault| fault.starts_with(begin)), "{begin}: {faults:#?}");
        }
        assert_eq!(faults.len(), 7, "{faults:#?}");
    }
}
