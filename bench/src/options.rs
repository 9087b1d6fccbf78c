//! The command-line options.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

const BENCHMARKS: &str = "`kernel`, `peers`, `deployed`, `cluster`, `work`, `talk`, `search`, \
    `soak`, `fairness` and `mcp`";

/// The benchmark to run.
pub(crate) enum Mode {
    /// Measure the kernel.
    Kernel(Options),
    /// Measure the server against its peers.
    Peers(Options),
    /// Measure the server as deployed against itself without tokens, quotas and the like.
    Deployed(Options),
    /// Measure servers on Postgres against one on its own disk.
    Cluster(Options),
    /// Measure tasks and locks against theirs.
    Work(Options),
    /// Measure messages, topics and streams against theirs.
    Talk(Options),
    /// Measure search.
    Search(Options),
    /// Run a server for a long time.
    Soak(Options),
    /// Measure the latency of a quiet tenant beside a noisy one.
    Fairness(Options),
    /// Measure calls of tools, and sessions.
    Mcp(Options),
    /// Run as a child process that is measured, or killed. Used only by the benchmark itself.
    Part(Part),
}

/// The options.
pub(crate) struct Options {
    pub(crate) turn: Duration,
    pub(crate) turns: usize,
    pub(crate) keys: usize,
    pub(crate) only: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) json: Option<PathBuf>,
    /// The program of the server, if it is not the one built beside this.
    pub(crate) baton: Option<PathBuf>,
    /// Servers that are left out.
    pub(crate) without: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Benchmark {
    Kernel,
    Peers,
    Deployed,
    Cluster,
    Work,
    Talk,
    Search,
    Soak,
    Fairness,
    Mcp,
}

impl Benchmark {
    /// Servers that can be left out.
    fn servers(self) -> &'static [&'static str] {
        match self {
            Self::Kernel
            | Self::Search
            | Self::Fairness
            | Self::Deployed
            | Self::Cluster
            | Self::Mcp => &[],
            Self::Peers => &crate::peers::SERVERS,
            Self::Work => &crate::work::SERVERS,
            Self::Talk => &crate::talk::SERVERS,
            Self::Soak => &crate::soak::SERVERS,
        }
    }

    /// The default duration of a measurement.
    fn turn(self) -> Duration {
        Duration::from_secs(if self == Self::Soak { crate::soak::SECONDS } else { 1 })
    }

    /// Whether it starts the program of the server.
    fn has_program(self) -> bool {
        match self {
            Self::Kernel | Self::Search => false,
            Self::Peers
            | Self::Deployed
            | Self::Cluster
            | Self::Work
            | Self::Talk
            | Self::Soak
            | Self::Fairness
            | Self::Mcp => true,
        }
    }

    /// Whether one of its loads has a million of something.
    fn has_many(self) -> bool {
        matches!(self, Self::Kernel | Self::Work | Self::Search)
    }
}

/// A child process of a load that needs several.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// The number of keys, or of whatever the load counts.
    pub(crate) number: usize,
}

impl Options {
    /// Parses the arguments.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Mode, String> {
        let mut arguments = arguments;
        match arguments.next().as_deref() {
            Some("kernel") => Self::parse_for(Benchmark::Kernel, arguments).map(Mode::Kernel),
            Some("peers") => Self::parse_for(Benchmark::Peers, arguments).map(Mode::Peers),
            Some("deployed") => Self::parse_for(Benchmark::Deployed, arguments).map(Mode::Deployed),
            Some("cluster") => Self::parse_for(Benchmark::Cluster, arguments).map(Mode::Cluster),
            Some("work") => Self::parse_for(Benchmark::Work, arguments).map(Mode::Work),
            Some("talk") => Self::parse_for(Benchmark::Talk, arguments).map(Mode::Talk),
            Some("search") => Self::parse_for(Benchmark::Search, arguments).map(Mode::Search),
            Some("soak") => Self::parse_for(Benchmark::Soak, arguments).map(Mode::Soak),
            Some("fairness") => Self::parse_for(Benchmark::Fairness, arguments).map(Mode::Fairness),
            Some("mcp") => Self::parse_for(Benchmark::Mcp, arguments).map(Mode::Mcp),
            Some("part") => parse_part(arguments).map(Mode::Part),
            Some(other) => Err(format!("`{other}` is not a benchmark; there are {BENCHMARKS}")),
            None => Err(format!("name a benchmark: there are {BENCHMARKS}")),
        }
    }

    fn parse_for(
        benchmark: Benchmark,
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, String> {
        let servers = benchmark.servers();
        let has_servers = !servers.is_empty();
        let has_program = benchmark.has_program();
        let mut options = Self {
            turn: benchmark.turn(),
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
                "--keys" if benchmark.has_many() => {
                    options.keys = number::<usize>(&name, &value)?.max(20_000);
                }
                "--only" => options.only = Some(value),
                "--folder" => options.folder = value.into(),
                "--json" => options.json = Some(value.into()),
                "--baton" if has_program => options.baton = Some(value.into()),
                "--without" if has_servers => options.without = names(&value, servers)?,
                _ => return Err(format!("`{name}` is not an option")),
            }
        }
        Ok(options)
    }

    /// Whether a load of this name was selected.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|word| name.contains(word.as_str()))
    }

    /// Whether this server is included.
    pub(crate) fn includes(&self, server: &str) -> bool {
        !self.without.iter().any(|name| name == server)
    }
}

fn names(names: &str, known: &[&str]) -> Result<Vec<String>, String> {
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
