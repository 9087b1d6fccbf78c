//! All output goes through here: tables, JSON, JSON lines and YAML.
//!
//! | format | one object | several objects | a stream |
//! |---|---|---|---|
//! | `table` | one line per field, or a sentence | a table | one line per object |
//! | `json` | an object over several lines | a list | one object per line |
//! | `jsonl` | an object on one line | one object per line | one object per line |
//! | `yaml` | a document | a list | one document per object |
//!
//! 1. stdout gets only data; [`note`](Output::note) and errors go to stderr.
//! 2. Values are printed byte for byte as they were written, never re-encoded, except as YAML.
//! 3. Colour is used on terminals only, and not if `NO_COLOR` is set.
//! 4. Tables are for people: ids are short, times relative, and an empty list is a sentence on
//!    stderr. The other formats have whole ids and exact times.
//! 5. Foreign text cannot control the terminal: control characters are escaped in tables.

mod fields;
mod ids;
mod relative;
mod table;
mod yaml;

use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, IsTerminal, Stdout, Write};

use baton::clock::{Clock, SystemClock};
use baton_core::Timestamp;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub(crate) use fields::Fields;
pub(crate) use ids::shortened;
pub(crate) use table::plain;

use crate::failure::Failure;
use crate::progress::{Counted, Progress, Unit};
use crate::settings::keys;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Table,
    Json,
    Jsonl,
    Yaml,
}

impl Mode {
    /// The default: a table on a terminal, otherwise JSON.
    pub(crate) fn usual() -> Self {
        if std::io::stdout().is_terminal() { Self::Table } else { Self::Json }
    }

    /// The format given on a command line that cannot be parsed otherwise.
    pub(crate) fn asked_for(words: impl IntoIterator<Item = String>) -> Self {
        let words: Vec<String> = words.into_iter().collect();
        let glued = |word: &String| {
            let form = word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o"));
            form.map(|form| form.trim_start_matches('=').to_owned())
        };
        let mut forms = words.iter().enumerate().filter_map(|(place, word)| match &**word {
            "-o" | "--output" => words.get(place + 1).cloned(),
            "--json" => Some("json".to_owned()),
            _ => glued(word),
        });
        let form = forms.find_map(|form| Self::from_str(&form, false).ok());
        form.unwrap_or_else(Self::of_environment)
    }

    /// The format if no option has chosen one and the configuration file is not known.
    pub(crate) fn of_environment() -> Self {
        let form = std::env::var(keys::OUTPUT.variable).ok();
        form.and_then(|form| Self::from_str(&form, false).ok()).unwrap_or_else(Self::usual)
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

/// The destination and format of data.
pub(crate) struct Output<W = Stdout> {
    out: W,
    mode: Mode,
    quiet: bool,
    /// Maximum width of a table; unlimited without a terminal.
    columns_max: Option<usize>,
    is_coloured: bool,
    /// Only this field is printed.
    field: Option<String>,
    /// Reads the current time, from which ages are computed: a command may have waited for long.
    now: fn() -> Timestamp,
    /// Whether a list was printed that has no objects.
    is_empty: bool,
}

impl Output {
    /// Output to stdout.
    pub(crate) fn to_stdout(mode: Mode, quiet: bool) -> Self {
        let out = std::io::stdout();
        let is_terminal = out.is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|text| !text.is_empty());
        let size = rustix::termios::tcgetwinsize(&out).ok().filter(|_| is_terminal);
        let columns_max = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        let is_coloured = is_terminal && !no_colour;
        let now = || SystemClock::default().now();
        Self { out, mode, quiet, columns_max, is_coloured, field: None, now, is_empty: false }
    }
}

impl<W: Write> Output<W> {
    /// Prints only this field of every object.
    pub(crate) fn only(&mut self, field: Option<String>) {
        self.field = field;
    }

    /// Prints one object with all its fields.
    pub(crate) fn one<T: Serialize>(&mut self, thing: &T) -> Result<(), Failure> {
        self.show(thing, |output| table::record(&Fields::of(thing), (output.now)()))
    }

    /// Prints one object; in a table format, the fields of another.
    pub(crate) fn one_as<T: Serialize, P: Serialize>(
        &mut self,
        thing: &T,
        for_people: &P,
    ) -> Result<(), Failure> {
        self.show(thing, |output| table::record(&Fields::of(for_people), (output.now)()))
    }

    /// Prints one object of several kinds; in a table format, its kind and the record inside.
    pub(crate) fn one_of<T: Serialize, R: Serialize>(
        &mut self,
        thing: &T,
        kind: &str,
        record: &R,
    ) -> Result<(), Failure> {
        let text = |output: &Self| table::record(&Fields::of(record), (output.now)());
        self.show(thing, |output| format!("{kind}\n{}", text(output)))
    }

    /// Prints one object; in a table format, this sentence instead.
    pub(crate) fn said<T: Serialize>(&mut self, thing: &T, sentence: &str) -> Result<(), Failure> {
        self.show(thing, |_| format!("{}\n", plain(&shortened(sentence))))
    }

    /// Prints one object; in a table format, this text instead, which ends with a newline.
    pub(crate) fn show<T: Serialize>(
        &mut self,
        thing: &T,
        text: impl FnOnce(&Self) -> String,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.field {
            let line = fields::at(&compact(thing), path)? + "\n";
            return self.bytes(line.as_bytes());
        }
        let text = match self.mode {
            Mode::Table => text(self),
            Mode::Json => format!("{}\n", pretty(thing)),
            Mode::Jsonl => format!("{}\n", compact(thing)),
            Mode::Yaml => yaml::document(&compact(thing)),
        };
        self.bytes(text.as_bytes())
    }

    /// Prints several objects of one type; in a table format, these columns. `what` is their name
    /// in the plural, for an empty list.
    pub(crate) fn many<T: Serialize>(
        &mut self,
        what: &str,
        things: &[T],
        columns: &[&str],
    ) -> Result<(), Failure> {
        self.many_as(what, things, |output| output.table(things, columns))
    }

    /// Whether a list was printed that has no objects.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// A time relative to now, such as `in 5 min`.
    pub(crate) fn relative(&self, time: Timestamp) -> String {
        relative::relative(time, (self.now)())
    }

    /// When something expires, such as `in 5 min`.
    pub(crate) fn until(&self, time: Timestamp) -> String {
        match &*self.relative(time) {
            "now" => "within a second".to_owned(),
            relative => relative.to_owned(),
        }
    }

    /// A table with these columns.
    pub(crate) fn table<T: Serialize>(&self, things: &[T], columns: &[&str]) -> String {
        let rows: Vec<Fields> = things.iter().map(Fields::of).collect();
        table::table(&rows, columns, self.columns_max, (self.now)())
    }

    /// Prints several objects; in a table format, this text instead.
    pub(crate) fn many_as<T: Serialize>(
        &mut self,
        what: &str,
        things: &[T],
        text: impl FnOnce(&Self) -> String,
    ) -> Result<(), Failure> {
        if self.is_without(what, things.len()) {
            return Ok(());
        }
        if self.field.is_some() {
            return things.iter().try_for_each(|thing| self.one(thing));
        }
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

    /// Prints an object that has a list of this length; in a table format, this text instead.
    pub(crate) fn list<T: Serialize>(
        &mut self,
        (what, count): (&str, usize),
        thing: &T,
        text: impl FnOnce(&Self) -> String,
    ) -> Result<(), Failure> {
        if self.is_without(what, count) {
            return Ok(());
        }
        self.show(thing, text)
    }

    /// Whether a list is empty and there is nothing more to print: people get a sentence.
    fn is_without(&mut self, what: &str, count: usize) -> bool {
        self.is_empty = count == 0;
        let is_said = self.is_empty && self.mode == Mode::Table && self.field.is_none();
        if is_said {
            self.note(&format!("No {what}."));
        }
        is_said
    }

    /// Prints the next object of a stream immediately.
    pub(crate) fn next<T: Serialize>(
        &mut self,
        thing: &T,
        text: impl FnOnce(&Self) -> String,
    ) -> Result<(), Failure> {
        if self.field.is_some() {
            return self.one(thing);
        }
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

    /// Writes raw bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.out.write_all(bytes).and_then(|()| self.out.flush());
        Ok(written?)
    }

    /// Prints a note to stderr, only in the table format and without --quiet.
    pub(crate) fn note(&self, text: &str) {
        if self.has_notes() {
            say(text);
        }
    }

    /// Whether notes are printed.
    pub(crate) fn has_notes(&self) -> bool {
        !self.quiet && self.mode == Mode::Table
    }

    /// Ends a stream of which nothing was printed: people get a sentence.
    pub(crate) fn nothing(&mut self, what: &str) {
        self.is_without(what, 0);
    }

    /// A progress bar, only in the table format and without --quiet.
    pub(crate) fn progress(&self, what: &'static str, unit: Unit, total: Option<u64>) -> Progress {
        Progress::begin(self.has_notes(), what, unit, total)
    }

    /// A reader for a whole file, with a progress bar.
    pub(crate) fn reading(&self, what: &'static str, file: File) -> BufReader<Counted<File>> {
        let bytes = file.metadata().ok().map(|metadata| metadata.len());
        BufReader::new(self.progress(what, Unit::Bytes, bytes).counting(file))
    }

    /// The default number of objects: limited in a table, otherwise all.
    pub(crate) fn enough(&self, for_people: usize) -> usize {
        if self.mode == Mode::Table { for_people } else { usize::MAX }
    }

    /// Whether --quiet was given.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether to use colours.
    pub(crate) fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    /// The text in a colour, if colours are used.
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

    /// Truncates the text to the space left after `used` characters.
    pub(crate) fn cut(&self, text: &str, used: usize) -> String {
        match self.columns_max {
            Some(columns_max) => table::cut(text, columns_max.saturating_sub(used).max(1)),
            None => text.to_owned(),
        }
    }

    /// Truncates a line to the width of the terminal.
    fn fitted(&self, line: &str) -> String {
        // Escape sequences take no space, so a coloured line is not cut: its width is unknown.
        match self.columns_max {
            Some(columns_max) if !line.contains('\u{1b}') => table::cut(line, columns_max),
            _ => line.to_owned(),
        }
    }
}

/// A number of things: `1 record`, `2 records`.
pub(crate) fn counted(count: impl TryInto<u64> + Copy + Display, thing: &str) -> String {
    let end = if count.try_into().is_ok_and(|count| count == 1) { "" } else { "s" };
    format!("{count} {thing}{end}")
}

/// Prints a line to stderr. Errors are ignored: there is nowhere left to report them.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end_matches('\n'));
}

fn pretty<T: Serialize>(thing: &T) -> String {
    serde_json::to_string_pretty(thing).expect("output can be encoded")
}

fn compact<T: Serialize>(thing: &T) -> String {
    serde_json::to_string(thing).expect("output can be encoded")
}

#[cfg(test)]
mod tests;
