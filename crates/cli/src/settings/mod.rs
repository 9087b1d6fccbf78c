//! The settings of the client and the server, and where they come from.
//!
//! | in order of precedence | |
//! |---|---|
//! | option | `--url` |
//! | environment variable | `BATON_URL` |
//! | configuration file | `url = "…"` in `~/.config/baton/config.toml`, or in the file given |
//! | default | `http://127.0.0.1:4747` |
//!
//! 1. A file given by name must exist; the default file may be missing.
//! 2. An unknown key is an error: a misspelt setting must not be ignored silently.
//! 3. An empty variable counts as unset, because that is how shells unset one for one command.
//! 4. Every setting is in one table, [`keys`], and precedence is decided in one place, [`Sources`].

pub(crate) mod keys;

mod file;
mod peers;
mod quotas;
mod server;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Serialize;

use crate::arguments::Globals;
use crate::failure::{Failure, Fault};
use crate::output::Mode;
use file::File;
use keys::{Key, ValueType};

pub(crate) use server::{ServerOptions, ServerSettings, is_database};

/// The source of default values.
const DEFAULT: &str = "default";

/// The effective settings.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The URL of the server, or those of several with commas between them.
    pub(crate) url: String,
    /// None if not set: the command then chooses one.
    pub(crate) workspace: Option<String>,
    pub(crate) agent: String,
    pub(crate) token: Option<String>,
    /// The CA certificates; those of the system if not set.
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) quiet: bool,
    /// For commands with more options.
    pub(crate) sources: Sources,
    /// Why the file is invalid, for commands that report it themselves.
    pub(crate) fault: Option<String>,
}

/// The configuration file, and the settings resolved so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    file: File,
    /// The settings resolved so far, in order.
    chosen: Vec<Chosen>,
}

/// A setting, its value and its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Chosen {
    pub(crate) key: Cow<'static, str>,
    pub(crate) value: String,
    pub(crate) from: String,
}

/// A setting as it is printed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Shown<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: Option<&'a str>,
    pub(crate) from: Option<&'a str>,
}

impl<'a> Shown<'a> {
    fn of(chosen: &'a Chosen) -> Self {
        // An empty list is not a value that people can see.
        let value = Some(chosen.value.as_str()).filter(|value| !value.is_empty());
        Self { key: &chosen.key, value, from: Some(&chosen.from) }
    }

    /// The setting with a dash for what it does not have.
    pub(crate) fn dashed(&self) -> Self {
        let dashed = |text: Option<&'a str>| Some(text.unwrap_or("-"));
        Self { key: self.key, value: dashed(self.value), from: dashed(self.from) }
    }
}

impl Settings {
    /// Resolves the settings; `globals` has the options.
    pub(crate) fn of(globals: &Globals) -> Result<Self, Failure> {
        let named = globals.config.as_deref().filter(|path| !path.as_os_str().is_empty());
        let file = match (named, default_file()) {
            (Some(path), _) => Self::file(path)?,
            (None, Some(path)) => File::read(&path)?.unwrap_or_default(),
            (None, None) => File::default(),
        };
        Self::combined(globals, Sources { file, chosen: Vec::new() })
    }

    /// The URLs of the servers, which share their data if there are several.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &str> {
        self.url.split(',').map(str::trim)
    }

    /// The settings without the file, which is invalid.
    pub(crate) fn without_file(globals: &Globals, fault: String) -> Result<Self, Failure> {
        let settings = Self::combined(globals, Sources::default())?;
        Ok(Self { fault: Some(fault), ..settings })
    }

    /// The settings with this file instead of any other.
    pub(crate) fn with_file(globals: &Globals, path: &Path) -> Result<Self, Failure> {
        Self::combined(globals, Sources { file: Self::file(path)?, chosen: Vec::new() })
    }

    fn file(path: &Path) -> Result<File, Failure> {
        let reason = "no such file".to_owned();
        let missing = || Fault::Settings { path: path.to_owned(), reason, is_missing: true };
        Ok(File::read(path)?.ok_or_else(missing)?)
    }

    fn combined(globals: &Globals, mut sources: Sources) -> Result<Self, Failure> {
        let needed = |text: Option<String>| text.expect("it has a default");
        let url = needed(sources.choose(&keys::URL, globals.url.as_deref())?);
        let workspace = sources.choose(&keys::WORKSPACE, globals.workspace.as_deref())?;
        let agent = needed(sources.choose(&keys::AGENT, globals.agent.as_deref())?);
        let token = sources.choose(&keys::TOKEN, globals.access_token.as_deref())?;
        let ca_file = sources.choose(&keys::CA_FILE, globals.ca_file.as_deref())?;
        let mode = globals.format().and_then(|mode| mode.to_possible_value());
        let mode = mode.as_ref().map(PossibleValue::get_name);
        let mode = sources.choose(&keys::OUTPUT, mode)?;
        let mode = mode.and_then(|mode| Mode::from_str(&mode, false).ok());
        Ok(Self {
            url,
            workspace,
            agent,
            token,
            ca_file: ca_file.map(PathBuf::from),
            idempotency_key: globals.idempotency_key.clone(),
            mode: mode.unwrap_or_else(Mode::usual),
            quiet: globals.quiet,
            sources,
            fault: None,
        })
    }
}

impl Sources {
    /// Resolves a setting: the one place where precedence is decided.
    pub(crate) fn choose(
        &mut self,
        key: &'static Key,
        option: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let variable = std::env::var(key.variable).ok();
        let (value, from) = self.pick(key, option, variable.as_deref());
        let Some(value) = value else { return Ok(None) };
        // The client rejects an invalid URL itself, with a code of its own.
        let fault = match key.value_type {
            ValueType::Urls => None,
            value_type => value_type.fault(&value),
        };
        if let Some(fault) = fault {
            return Err(Fault::Usage { reason: format!("{from}: {fault}") }.into());
        }
        let shown = if key.is_secret { "(not shown)".to_owned() } else { value.clone() };
        self.chosen.retain(|before| before.key != key.name);
        self.chosen.push(Chosen { key: key.name.into(), value: shown, from });
        Ok(Some(value))
    }

    fn pick(
        &self,
        key: &'static Key,
        option: Option<&str>,
        variable: Option<&str>,
    ) -> (Option<String>, String) {
        let is_set = |text: &&str| !text.is_empty();
        let by_option = option.filter(is_set).map(|text| (text, key.option.to_owned()));
        let by_variable = variable.filter(is_set).map(|text| (text, key.variable.to_owned()));
        let place = || self.file.path.as_ref().map(|path| path.display().to_string());
        let by_file = self.file.get(key).map(|text| (text, place().unwrap_or_default()));
        let by_default = key.default.map(|text| (text, DEFAULT.to_owned()));
        let chosen = by_option.or(by_variable).or(by_file).or(by_default);
        let (text, from) = chosen.unzip();
        (text.map(str::to_owned), from.unwrap_or_default())
    }

    /// The quotas, which only the file can set.
    pub(crate) fn quotas(&mut self) -> quotas::QuotaSettings {
        let from = self.file.path.as_ref().map(|path| path.display().to_string());
        self.chosen.retain(|before| !before.key.starts_with("quota"));
        self.chosen.extend(self.file.quotas().chosen(&from.unwrap_or_default()));
        self.file.quotas().clone()
    }

    /// All resolved settings.
    pub(crate) fn chosen(&self) -> &[Chosen] {
        &self.chosen
    }

    /// All settings; those that are not set have no value and no source.
    pub(crate) fn all(&self) -> Vec<Shown<'_>> {
        let of = |key: &str| self.chosen.iter().find(|chosen| chosen.key == key);
        let keys = keys::all().map(|key| match of(key.name) {
            Some(chosen) => Shown::of(chosen),
            None => Shown { key: key.name, value: None, from: None },
        });
        let is_key = |name: &str| keys::all().any(|key| key.name == name);
        let others = self.chosen.iter().filter(|chosen| !is_key(&chosen.key)).map(Shown::of);
        keys.chain(others).collect()
    }

    /// Whether a setting has another source than its default.
    pub(crate) fn is_explicit(&self, key: &Key) -> bool {
        self.chosen.iter().any(|chosen| chosen.key == key.name && chosen.from != DEFAULT)
    }

    /// The configuration file, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.path.as_deref()
    }
}

fn default_file() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(".config/baton/config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_respected_and_empty_values_count_as_unset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "agent = 'file'").unwrap();
        let file = File::read(&path).unwrap().unwrap();
        let sources = Sources { file, chosen: Vec::new() };
        let pick = |option, variable| {
            let (value, from) = sources.pick(&keys::AGENT, option, variable);
            (value.unwrap(), from)
        };
        let expected = |value: &str, from: &str| (value.to_owned(), from.to_owned());
        assert_eq!(pick(Some("a"), Some("b")), expected("a", "--agent"));
        assert_eq!(pick(None, Some("b")), expected("b", "BATON_AGENT"));
        assert_eq!(pick(Some(""), Some("")), expected("file", &path.display().to_string()));
        let (value, from) = sources.pick(&keys::URL, None, None);
        assert_eq!((value.as_deref(), from.as_str()), (keys::URL.default, "default"));
        assert_eq!(sources.pick(&keys::TOKEN, None, None).0, None);
    }
}
