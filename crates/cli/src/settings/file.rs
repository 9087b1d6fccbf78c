//! The file of settings: what it says, and everything that is wrong with it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Form, Key};
use crate::failure::{Failure, Fault};

/// The table of settings for `baton serve`.
const TABLE: &str = "serve";

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    /// Where it is; none if there is none.
    pub(crate) path: Option<PathBuf>,
    said: BTreeMap<&'static str, String>,
}

impl File {
    /// What it says of a setting.
    pub(crate) fn get(&self, key: &Key) -> Option<&str> {
        self.said.get(key.name).map(String::as_str)
    }

    /// None if there is no file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let refuse = |reason: String| Fault::Settings { path: path.to_owned(), reason };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refuse(error.to_string()).into()),
        };
        let said = parse(&text).map_err(|faults| refuse(faults.join("; ")))?;
        Ok(Some(Self { path: Some(path.to_owned()), said }))
    }
}

/// What a text says, or everything that is wrong with it.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<&'static str, String>, Vec<String>> {
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        // What the parser says goes over several lines and quotes the file.
        vec![format!("line {}: {}", line(text, place), error.message().replace('\n', " "))]
    })?;
    let mut reading = Reading { text, said: BTreeMap::new(), faults: Vec::new() };
    reading.table("", document.get_ref());
    if reading.faults.is_empty() { Ok(reading.said) } else { Err(reading.faults) }
}

fn line(text: &str, place: usize) -> usize {
    1 + text.get(..place).unwrap_or_default().matches('\n').count()
}

struct Reading<'a> {
    text: &'a str,
    said: BTreeMap<&'static str, String>,
    faults: Vec<String>,
}

impl Reading<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let full = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if full == TABLE => self.table("serve.", inner),
                _ => match keys::all().find(|key| key.name == full) {
                    Some(key) => self.value(key, value),
                    None => self.fault(name.span().start, &unknown(&full)),
                },
            }
        }
    }

    fn value(&mut self, key: &'static Key, value: &Spanned<DeValue<'_>>) {
        let place = value.span().start;
        let said = match (value.get_ref(), key.form) {
            (DeValue::String(text), Form::Text | Form::Address | Form::Choice(_)) => {
                Some(text.to_string())
            }
            (DeValue::Boolean(flag), Form::Flag) => Some(flag.to_string()),
            (DeValue::Integer(number), Form::Count { .. }) => Some(number.to_string()),
            (DeValue::Array(items), Form::Names) => {
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
                let what = format!("`{}` must be {}", key.name, key.form.words());
                self.fault(place, &what);
            }
            Some(text) => match key.form.fault(&text) {
                Some(fault) => self.fault(place, &format!("`{}`: {fault}", key.name)),
                None => drop(self.said.insert(key.name, text)),
            },
        }
    }

    fn fault(&mut self, place: usize, what: &str) {
        self.faults.push(format!("line {}: {what}", line(self.text, place)));
    }
}

/// That a name is not known, and which one is most like it.
fn unknown(name: &str) -> String {
    let nearest = keys::all().map(|key| (distance(name, key.name), key.name)).min();
    match nearest.filter(|(distance, known)| *distance <= (known.len() / 3).max(2)) {
        Some((_, known)) => format!("unknown key `{name}`; is `{known}` meant?"),
        None => format!("unknown key `{name}`"),
    }
}

/// How many letters have to be added, removed or changed to get from one to the other.
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
    fn everything_that_is_wrong_is_said_with_its_line() {
        let text = "url = 7\nagnet = 'ada'\n[serve]\nlisen = 'x'\nlisten = 'x'\ntokens = 'yes'\n\
                    connections_max = 0\nhosts = ['a', 1]\nquite_another = 1\n[other]\n";
        let faults = parse(text).unwrap_err();
        let expected = [
            "line 1: `url` must be a text",
            "line 2: unknown key `agnet`; is `agent` meant?",
            "line 10: unknown key `other`",
            "line 4: unknown key `serve.lisen`; is `serve.listen` meant?",
            "line 5: `serve.listen`: `x` is no address and port, such as 127.0.0.1:4747",
            "line 6: `serve.tokens` must be true or false",
            "line 7: `serve.connections_max`: `0` is no number from 1 to 1000000",
            "line 8: `serve.hosts` must be a list of texts",
            "line 9: unknown key `serve.quite_another`",
        ];
        for line in expected {
            assert!(faults.iter().any(|fault| fault == line), "{line}: {faults:#?}");
        }
        assert_eq!(faults.len(), expected.len());
        assert!(parse("url = ").unwrap_err()[0].starts_with("line 1: "));
    }

    #[test]
    fn what_is_right_is_read() {
        let text = "agent = 'ada'\nserve.tokens = true\nserve.hosts = ['a', 'b']\n";
        let said = parse(text).unwrap();
        assert_eq!(said["agent"], "ada");
        assert_eq!((said["serve.tokens"].as_str(), said["serve.hosts"].as_str()), ("true", "a,b"));
    }

    #[test]
    fn distances_count_letters() {
        assert_eq!(
            [distance("", "abc"), distance("abc", "abc"), distance("kitten", "sitting")],
            [3, 0, 3]
        );
    }
}
