//! Everything that is printed goes through here, because only this knows the form.
//!
//! | form | one thing | many | a stream |
//! |---|---|---|---|
//! | `table` | a line for each field, or a sentence | a table | a line for each |
//! | `json` | an object over several lines | a list | an object per line |
//! | `jsonl` | an object on one line | an object per line | an object per line |
//! | `yaml` | a document | a list | a document for each |
//!
//! 1. stdout gets data and nothing else; [`note`](Output::note) and errors go to stderr.
//! 2. Values are printed as the bytes that were written, never re-encoded, except as YAML.
//! 3. Colour is for terminals, unless `NO_COLOR` is set.
//! 4. What others wrote cannot drive the terminal: control characters are escaped in tables.

mod fields;
mod table;
mod yaml;

use std::fs::File;
use std::io::{BufReader, IsTerminal, Stdout, Write};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub(crate) use fields::Fields;
pub(crate) use table::plain;

use crate::failure::Failure;
use crate::progress::{Counted, Progress, Unit};

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Table,
    Json,
    Jsonl,
    Yaml,
}

impl Mode {
    /// A table for people, JSON for programs.
    pub(crate) fn usual() -> Self {
        if std::io::stdout().is_terminal() { Self::Table } else { Self::Json }
    }

    /// What a command line asks for that cannot be understood otherwise.
    pub(crate) fn asked_for(words: impl IntoIterator<Item = String>) -> Self {
        let words: Vec<String> = words.into_iter().collect();
        let glued = |word: &String| {
            let form = word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o"));
            form.map(|form| form.trim_start_matches('=').to_owned())
        };
        let mut forms = words.iter().enumerate().filter_map(|(place, word)| match &**word {
            "-o" | "--output" => words.get(place + 1).cloned(),
            _ => glued(word),
        });
        let form = forms.find_map(|form| Self::from_str(&form, false).ok());
        form.unwrap_or_else(Self::usual)
    }
}

/// A colour, on terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Magenta,
    Cyan,
}

/// Where data goes, and in which form.
pub(crate) struct Output<W = Stdout> {
    out: W,
    mode: Mode,
    quiet: bool,
    /// How wide a line of a table may be; without a terminal there is no limit.
    columns_max: Option<usize>,
    is_coloured: bool,
}

impl Output {
    /// The usual place.
    pub(crate) fn to_stdout(mode: Mode, quiet: bool) -> Self {
        let out = std::io::stdout();
        let is_terminal = out.is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|text| !text.is_empty());
        let size = rustix::termios::tcgetwinsize(&out).ok().filter(|_| is_terminal);
        let columns_max = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        Self { out, mode, quiet, columns_max, is_coloured: is_terminal && !no_colour }
    }
}

impl<W: Write> Output<W> {
    /// One thing, with all its fields.
    pub(crate) fn one<T: Serialize>(&mut self, thing: &T) -> Result<(), Failure> {
        self.show(thing, |output| table::record(&Fields::of(thing), output.columns_max))
    }

    /// One thing, for which a sentence is enough for people.
    pub(crate) fn said<T: Serialize>(&mut self, thing: &T, sentence: &str) -> Result<(), Failure> {
        self.show(thing, |_| format!("{}\n", plain(sentence)))
    }

    /// One thing, with a text of its own for people. The text ends with a line end.
    pub(crate) fn show<T: Serialize>(
        &mut self,
        thing: &T,
        text: impl FnOnce(&Self) -> String,
    ) -> Result<(), Failure> {
        let text = match self.mode {
            Mode::Table => text(self),
            Mode::Json => format!("{}\n", pretty(thing)),
            Mode::Jsonl => format!("{}\n", compact(thing)),
            Mode::Yaml => yaml::document(&compact(thing)),
        };
        self.bytes(text.as_bytes())
    }

    /// Many things of one kind; people see these fields of each.
    pub(crate) fn many<T: Serialize>(
        &mut self,
        things: &[T],
        columns: &[&str],
    ) -> Result<(), Failure> {
        self.many_as(things, |output| output.table(things, columns))
    }

    /// A table for people, with these fields of each.
    pub(crate) fn table<T: Serialize>(&self, things: &[T], columns: &[&str]) -> String {
        let rows: Vec<Fields> = things.iter().map(Fields::of).collect();
        table::table(&rows, columns, self.columns_max)
    }

    /// Many things of one kind, with a text of its own for people.
    pub(crate) fn many_as<T: Serialize>(
        &mut self,
        things: &[T],
        text: impl FnOnce(&Self) -> String,
    ) -> Result<(), Failure> {
        match self.mode {
            Mode::Table => {
                let text = text(self);
                self.bytes(text.as_bytes())
            }
            Mode::Jsonl => {
                let lines: Vec<String> = things.iter().map(|thing| compact(thing) + "\n").collect();
                self.bytes(lines.concat().as_bytes())
            }
            Mode::Json | Mode::Yaml => self.one(&things),
        }
    }

    /// The next thing of a stream, which is seen at once.
    pub(crate) fn next<T: Serialize>(
        &mut self,
        thing: &T,
        text: impl FnOnce(&Self) -> String,
    ) -> Result<(), Failure> {
        match self.mode {
            Mode::Table => {
                let line = format!("{}\n", self.fitted(&text(self)));
                self.bytes(line.as_bytes())
            }
            Mode::Json | Mode::Jsonl => self.bytes(format!("{}\n", compact(thing)).as_bytes()),
            Mode::Yaml => {
                let document = format!("---\n{}", yaml::document(&compact(thing)));
                self.bytes(document.as_bytes())
            }
        }
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.out.write_all(bytes).and_then(|()| self.out.flush());
        Ok(written?)
    }

    /// Something worth knowing that is not data. Only people are told.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet && self.mode == Mode::Table {
            say(text);
        }
    }

    /// A line that shows how far something has come. Only people are shown it.
    pub(crate) fn progress(&self, what: &'static str, unit: Unit, total: Option<u64>) -> Progress {
        Progress::begin(!self.quiet && self.mode == Mode::Table, what, unit, total)
    }

    /// A file that is read from its beginning to its end, with such a line.
    pub(crate) fn reading(&self, what: &'static str, file: File) -> BufReader<Counted<File>> {
        let bytes = file.metadata().ok().map(|metadata| metadata.len());
        BufReader::new(self.progress(what, Unit::Bytes, bytes).counting(file))
    }

    /// How many things to show if nobody said: people see the first, programs get all.
    pub(crate) fn enough(&self, for_people: usize) -> usize {
        if self.mode == Mode::Table { for_people } else { usize::MAX }
    }

    /// Whether nothing but errors is wanted on stderr.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether colours are wanted.
    pub(crate) fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// The text in a colour, if this is a terminal.
    pub(crate) fn coloured(&self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Bold => 1,
            Colour::Dim => 2,
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Magenta => 35,
            Colour::Cyan => 36,
        };
        if self.is_coloured { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// The text, as far as there is room for it after so many characters.
    pub(crate) fn cut(&self, text: &str, used: usize) -> String {
        match self.columns_max {
            Some(columns_max) => table::cut(text, columns_max.saturating_sub(used).max(1)),
            None => text.to_owned(),
        }
    }

    /// The line, as far as the terminal is wide.
    fn fitted(&self, line: &str) -> String {
        // Colours take no room, so a line that has some is wider than it looks. It is not cut.
        match self.columns_max {
            Some(columns_max) if !line.contains('\u{1b}') => table::cut(line, columns_max),
            _ => line.to_owned(),
        }
    }
}

/// Tells the person at the terminal. Whether anyone listens is not our business.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end_matches('\n'));
}

fn pretty<T: Serialize>(thing: &T) -> String {
    serde_json::to_string_pretty(thing).expect("what is shown can be encoded")
}

fn compact<T: Serialize>(thing: &T) -> String {
    serde_json::to_string(thing).expect("what is shown can be encoded")
}

#[cfg(test)]
mod tests;
