//! Where the server is, which workspace, who acts, how to print, and how to serve.
//!
//! | strongest first | |
//! |---|---|
//! | an option | `--url` |
//! | the environment | `BATON_URL` |
//! | the file | `url = "…"` in `~/.config/baton/config.toml`, or the file that is named |
//! | the default | `http://127.0.0.1:4747` |
//!
//! 1. A file that was named must be there; the usual one may be missing.
//! 2. A key that nobody knows is refused by its name: a misspelt setting must not be silent.
//! 3. An empty variable is as good as none, because that is how shells unset one for one command.
//! 4. Every setting is in one table, [`keys`], and all sources are asked in one place, [`Sources`].

pub(crate) mod keys;

mod file;
mod quotas;
mod serving;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Serialize;

use crate::arguments::Globals;
use crate::failure::{Failure, Fault};
use crate::output::Mode;
use file::File;
use keys::Key;

pub(crate) use serving::{Serving, ServingOptions};

/// Who says what nobody says.
const DEFAULT: &str = "default";

/// Settings after all sources were asked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) url: String,
    /// None if nobody said which: it is for the command to choose then.
    pub(crate) workspace: Option<String>,
    pub(crate) agent: String,
    pub(crate) token: Option<String>,
    /// The authorities to believe; those of the system if nobody said which.
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) quiet: bool,
    /// For those who have more options.
    pub(crate) sources: Sources,
    /// Why the file could not be used, for those who can say so in their own way.
    pub(crate) fault: Option<String>,
}

/// Where a value comes from, besides an option.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    file: File,
    /// What was chosen so far, in order.
    chosen: Vec<Chosen>,
}

/// A setting, what it is, and who said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Chosen {
    pub(crate) key: Cow<'static, str>,
    pub(crate) value: String,
    pub(crate) from: String,
}

impl Settings {
    /// Options come from `globals`; the rest is looked up.
    pub(crate) fn of(globals: &Globals) -> Result<Self, Failure> {
        let named = globals.config.as_deref().filter(|path| !path.as_os_str().is_empty());
        let file = match (named, usual_file()) {
            (Some(path), _) => Self::file(path)?,
            (None, Some(path)) => File::read(&path)?.unwrap_or_default(),
            (None, None) => File::default(),
        };
        Self::combined(globals, Sources { file, chosen: Vec::new() })
    }

    /// Settings without a file, because of what is wrong with it.
    pub(crate) fn despite(globals: &Globals, fault: String) -> Result<Self, Failure> {
        let settings = Self::combined(globals, Sources::default())?;
        Ok(Self { fault: Some(fault), ..settings })
    }

    /// Settings with this file instead of any other.
    pub(crate) fn with_file(globals: &Globals, path: &Path) -> Result<Self, Failure> {
        Self::combined(globals, Sources { file: Self::file(path)?, chosen: Vec::new() })
    }

    fn file(path: &Path) -> Result<File, Failure> {
        let reason = "there is no such file".to_owned();
        let missing = || Fault::Settings { path: path.to_owned(), reason };
        Ok(File::read(path)?.ok_or_else(missing)?)
    }

    fn combined(globals: &Globals, mut sources: Sources) -> Result<Self, Failure> {
        let needed = |text: Option<String>| text.expect("it has a default");
        let url = needed(sources.choose(&keys::URL, globals.url.as_deref())?);
        let workspace = sources.choose(&keys::WORKSPACE, globals.workspace.as_deref())?;
        let agent = needed(sources.choose(&keys::AGENT, globals.agent.as_deref())?);
        let token = sources.choose(&keys::TOKEN, globals.access_token.as_deref())?;
        let ca_file = sources.choose(&keys::CA_FILE, globals.ca_file.as_deref())?;
        let mode = globals.output.and_then(|mode| mode.to_possible_value());
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
    /// What a setting is, and where that was said: the one place where precedence is decided.
    pub(crate) fn choose(
        &mut self,
        key: &'static Key,
        option: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let variable = std::env::var(key.variable).ok();
        let (value, from) = self.pick(key, option, variable.as_deref());
        let Some(value) = value else { return Ok(None) };
        if let Some(fault) = key.form.fault(&value) {
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
        let is_said = |text: &&str| !text.is_empty();
        let by_option = option.filter(is_said).map(|text| (text, key.option.to_owned()));
        let by_variable = variable.filter(is_said).map(|text| (text, key.variable.to_owned()));
        let place = || self.file.path.as_ref().map(|path| path.display().to_string());
        let by_file = self.file.get(key).map(|text| (text, place().unwrap_or_default()));
        let by_default = key.default.map(|text| (text, DEFAULT.to_owned()));
        let chosen = by_option.or(by_variable).or(by_file).or(by_default);
        let (text, from) = chosen.unzip();
        (text.map(str::to_owned), from.unwrap_or_default())
    }

    /// The quotas, which are in the file alone.
    pub(crate) fn quotas(&mut self) -> quotas::Said {
        let from = self.file.path.as_ref().map(|path| path.display().to_string());
        self.chosen.retain(|before| !before.key.starts_with("quota"));
        self.chosen.extend(self.file.quotas().chosen(&from.unwrap_or_default()));
        self.file.quotas().clone()
    }

    /// Everything that was chosen.
    pub(crate) fn chosen(&self) -> &[Chosen] {
        &self.chosen
    }

    /// Whether somebody has said what a setting is.
    pub(crate) fn is_said(&self, key: &Key) -> bool {
        self.chosen.iter().any(|chosen| chosen.key == key.name && chosen.from != DEFAULT)
    }

    /// The file, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.path.as_deref()
    }
}

fn usual_file() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(".config/baton/config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_source_wins_and_an_empty_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "agent = 'file'").unwrap();
        let file = File::read(&path).unwrap().unwrap();
        let sources = Sources { file, chosen: Vec::new() };
        let pick = |option, variable| {
            let (value, from) = sources.pick(&keys::AGENT, option, variable);
            (value.unwrap(), from)
        };
        let told = |value: &str, from: &str| (value.to_owned(), from.to_owned());
        assert_eq!(pick(Some("a"), Some("b")), told("a", "--agent"));
        assert_eq!(pick(None, Some("b")), told("b", "BATON_AGENT"));
        assert_eq!(pick(Some(""), Some("")), told("file", &path.display().to_string()));
        let (value, from) = sources.pick(&keys::URL, None, None);
        assert_eq!((value.as_deref(), from.as_str()), (keys::URL.default, "default"));
        assert_eq!(sources.pick(&keys::TOKEN, None, None).0, None);
    }
}
