//! What was asked for on the command line.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

/// What to do.
pub(crate) enum Mode {
    /// Measure the kernel.
    Kernel(Options),
    /// Measure the server against its peers.
    Peers(Options),
    /// Be the process that is measured, or killed. Only the benchmark itself asks for this.
    Part(Part),
}

/// How to measure.
pub(crate) struct Options {
    pub(crate) turn: Duration,
    pub(crate) turns: usize,
    pub(crate) keys: usize,
    pub(crate) only: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) json: Option<PathBuf>,
    /// The server's program, when it is not the one built beside this.
    pub(crate) baton: Option<PathBuf>,
    /// Names of servers that are left out.
    pub(crate) without: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Benchmark {
    Kernel,
    Peers,
}

/// One process of a load that needs several.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// Of keys, or whatever the part counts.
    pub(crate) number: usize,
}

impl Options {
    /// Understands the arguments, or says what is wrong with them.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Mode, String> {
        let mut arguments = arguments;
        match arguments.next().as_deref() {
            Some("kernel") => Self::parse_for(Benchmark::Kernel, arguments).map(Mode::Kernel),
            Some("peers") => Self::parse_for(Benchmark::Peers, arguments).map(Mode::Peers),
            Some("part") => parse_part(arguments).map(Mode::Part),
            Some(other) => {
                Err(format!("`{other}` is not a benchmark; there are `kernel` and `peers`"))
            }
            None => Err("name a benchmark: there are `kernel` and `peers`".to_owned()),
        }
    }

    fn parse_for(
        benchmark: Benchmark,
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, String> {
        let is_peers = benchmark == Benchmark::Peers;
        let mut options = Self {
            turn: Duration::from_secs(1),
            turns: 5,
            keys: 1_000_000,
            only: None,
            folder: std::env::temp_dir(),
            json: None,
            baton: None,
            without: Vec::new(),
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            match name.as_str() {
                "--seconds" => {
                    let seconds: f64 = number(&name, &value)?;
                    options.turn = Duration::try_from_secs_f64(seconds)
                        .map_err(|error| format!("`{name} {value}`: {error}"))?;
                }
                "--turns" => options.turns = number::<usize>(&name, &value)?.max(1),
                "--keys" if !is_peers => {
                    options.keys = number::<usize>(&name, &value)?.max(20_000);
                }
                "--only" => options.only = Some(value),
                "--folder" => options.folder = value.into(),
                "--json" => options.json = Some(value.into()),
                "--baton" if is_peers => options.baton = Some(value.into()),
                "--without" if is_peers => options.without = servers(&value)?,
                _ => return Err(format!("`{name}` is not an option")),
            }
        }
        Ok(options)
    }

    /// Whether a load of this name was asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|word| name.contains(word.as_str()))
    }

    /// Whether this server takes part.
    pub(crate) fn includes(&self, server: &str) -> bool {
        !self.without.iter().any(|name| name == server)
    }
}

fn servers(names: &str) -> Result<Vec<String>, String> {
    let known = crate::peers::SERVERS;
    if let Some(name) = names.split(',').find(|name| !known.contains(name)) {
        return Err(format!("`{name}` is not a server; there are {}", known.join(", ")));
    }
    Ok(names.split(',').map(str::to_owned).collect())
}

fn parse_part(mut arguments: impl Iterator<Item = String>) -> Result<Part, String> {
    let mut next = |what: &str| arguments.next().ok_or_else(|| format!("a part needs a {what}"));
    let (name, folder, count) = (next("name")?, next("folder")?, next("number")?);
    Ok(Part { name, folder: folder.into(), number: number("part", &count)? })
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{name}` needs a number, not `{value}`"))
}
