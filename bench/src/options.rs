//! What was asked for on the command line.

use std::path::PathBuf;
use std::time::Duration;

/// What to do.
pub(crate) enum Mode {
    /// Measure the kernel.
    Kernel(Options),
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
            Some("kernel") => Self::parse_kernel(arguments).map(Mode::Kernel),
            Some("part") => parse_part(arguments).map(Mode::Part),
            Some(other) => Err(format!("`{other}` is not a benchmark; there is `kernel`")),
            None => Err("name a benchmark: there is `kernel`".to_owned()),
        }
    }

    fn parse_kernel(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            turn: Duration::from_secs(1),
            turns: 5,
            keys: 1_000_000,
            only: None,
            folder: std::env::temp_dir(),
            json: None,
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
                "--keys" => options.keys = number::<usize>(&name, &value)?.max(20_000),
                "--only" => options.only = Some(value),
                "--folder" => options.folder = value.into(),
                "--json" => options.json = Some(value.into()),
                _ => return Err(format!("`{name}` is not an option")),
            }
        }
        Ok(options)
    }
}

fn parse_part(mut arguments: impl Iterator<Item = String>) -> Result<Part, String> {
    let mut next = |what: &str| arguments.next().ok_or_else(|| format!("a part needs a {what}"));
    let (name, folder, count) = (next("name")?, next("folder")?, next("number")?);
    Ok(Part { name, folder: folder.into(), number: number("part", &count)? })
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{name}` needs a number, not `{value}`"))
}
