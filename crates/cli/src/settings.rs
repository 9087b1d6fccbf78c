//! Where the server is, which workspace, who acts, and how to print.
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

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::arguments::Globals;
use crate::failure::{Failure, Fault};
use crate::output::Mode;

/// Settings after all sources were asked.
#[derive(Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) url: String,
    /// None if nobody said which: it is for the command to choose then.
    pub(crate) workspace: Option<String>,
    pub(crate) agent: String,
    pub(crate) token: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) quiet: bool,
}

/// What the file may say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    url: Option<String>,
    workspace: Option<String>,
    agent: Option<String>,
    token: Option<String>,
    output: Option<Mode>,
}

impl Settings {
    /// Options and environment come from `globals`; the rest is looked up.
    pub(crate) fn of(globals: &Globals) -> Result<Self, Failure> {
        let named = globals.config.as_deref().filter(|path| !path.as_os_str().is_empty());
        let file = match (named, usual_file()) {
            (Some(path), _) => File::read(path)?.ok_or_else(|| missing(path))?,
            (None, Some(path)) => File::read(&path)?.unwrap_or_default(),
            (None, None) => File::default(),
        };
        Ok(Self::combined(globals, file))
    }

    fn combined(globals: &Globals, file: File) -> Self {
        let said = |said: &Option<String>| said.clone().filter(|text| !text.is_empty());
        let choose = |by: &Option<String>, file: Option<String>, default: &str| {
            said(by).or(file).unwrap_or_else(|| default.to_owned())
        };
        Self {
            url: choose(&globals.url, file.url, "http://127.0.0.1:4747"),
            workspace: said(&globals.workspace).or(file.workspace),
            agent: choose(&globals.agent, file.agent, "cli"),
            token: said(&globals.access_token).or(file.token),
            idempotency_key: globals.idempotency_key.clone(),
            mode: globals.output.or(file.output).unwrap_or_else(Mode::usual),
            quiet: globals.quiet,
        }
    }
}

fn usual_file() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(".config/baton/config.toml"))
}

fn missing(path: &Path) -> Failure {
    let reason = "there is no such file".to_owned();
    Fault::Settings { path: path.to_owned(), reason }.into()
}

impl File {
    /// None if there is no file.
    fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let refuse = |reason: String| Fault::Settings { path: path.to_owned(), reason };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refuse(error.to_string()).into()),
        };
        let file = toml::from_str(&text).map_err(|error| {
            // What the parser says goes over several lines and quotes the file.
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            refuse(format!("line {line}: {}", error.message().replace('\n', " ")))
        })?;
        Ok(Some(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_beats_the_file_and_the_file_beats_the_default() {
        let globals = Globals { url: Some("http://a".to_owned()), ..Globals::default() };
        let text = "url = 'http://b'\nagent = 'ada'\noutput = 'yaml'";
        let settings = Settings::combined(&globals, toml::from_str(text).unwrap());
        assert_eq!((&*settings.url, &*settings.agent), ("http://a", "ada"));
        assert_eq!((settings.workspace, settings.mode), (None, Mode::Yaml));
    }

    #[test]
    fn an_empty_variable_is_none() {
        let globals = Globals { workspace: Some(String::new()), ..Globals::default() };
        let file = File { workspace: Some("research".to_owned()), ..File::default() };
        assert_eq!(Settings::combined(&globals, file).workspace.as_deref(), Some("research"));
    }
}
