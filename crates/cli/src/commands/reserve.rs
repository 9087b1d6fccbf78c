//! `baton reserve`: files by path pattern.

use std::path::Path;
use std::process::Command;

use baton_client::{PathPattern, Reservation, Reservations, Reserved};
use baton_core::{AgentId, Timestamp, Token};
use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Fault};
use crate::input::milliseconds;
use crate::output::{Output, counted};

const AFTER_HELP: &str = "\
Examples:
  baton reserve 'src/auth/**' --agent ada       reserve files for an hour, or extend that
  baton reserve docs/guide.md --ttl 10m         reserve one file
  baton reserve                                 list all reservations
  baton reserve --release 'src/auth/**'         release files; without a pattern, all of yours
  baton reserve --check src/auth/login.rs       exit with 4 if another agent has reserved it
  baton reserve --install-hook                  check staged files before each commit

In a pattern, * is part of a name, ** is any number of folders, and ? is one character. A path
without wildcards is that file, or everything below that folder. Patterns are relative to the root
of the repository. Overlapping patterns of another agent are refused.

A reservation is a lock named path:PATTERN: `baton lock ls` lists it, and it expires.";

/// The hook of earlier versions, which needed the program on the `PATH`.
const EARLIER_HOOK: &str = "\
#!/bin/sh
# Installed by `baton reserve --install-hook`: refuses to commit files that another agent reserved.
exec baton reserve --check --staged
";

/// The hook that is installed. Git is often started without the `PATH` of a shell.
const HOOK: &str = "\
#!/bin/sh
# Installed by `baton reserve --install-hook`: refuses to commit files that another agent reserved.
program=PROGRAM
[ -x \"$program\" ] || program=baton
exec \"$program\" reserve --check --staged
";

/// Reserve files for an agent, so that others do not edit them
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Reserve {
    /// Path patterns
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Time to live of the reservation unless it is extended
    #[arg(long, value_name = "DURATION", value_parser = milliseconds, default_value = "1h")]
    ttl: u64,
    /// Release reservations
    #[arg(long, conflicts_with_all = ["check", "staged", "install_hook"])]
    release: bool,
    /// Only check whether another agent has reserved the paths
    #[arg(long, conflicts_with = "install_hook")]
    check: bool,
    /// Check the files that are staged for the next commit
    #[arg(long, requires = "check")]
    staged: bool,
    /// Install a pre-commit hook in the Git repository
    #[arg(long)]
    install_hook: bool,
}

#[derive(Serialize)]
struct Released {
    released: Vec<String>,
}

impl Reserve {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        if self.install_hook {
            return install_hook(output);
        }
        let reservations = context.workplace().await?.reservations();
        if self.release {
            return self.release(&reservations, output).await;
        }
        if self.check {
            return self.check(&reservations, output).await;
        }
        if self.patterns.is_empty() {
            return listed(&reservations.list().await?, output);
        }
        let mut granted = Vec::new();
        for pattern in &self.patterns {
            match reservations.reserve(pattern, Some(self.ttl)).await? {
                Reserved::Granted(reservation) => granted.push(reservation),
                Reserved::Taken(taken) => {
                    // Those before it stay reserved.
                    if !granted.is_empty() {
                        listed(&granted, output)?;
                    }
                    return Err(refused(&taken));
                }
            }
        }
        listed(&granted, output)
    }

    async fn release(
        &self,
        reservations: &Reservations,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let mut released = Vec::new();
        if self.patterns.is_empty() {
            released = reservations.release(None).await?;
        }
        for pattern in &self.patterns {
            released.extend(reservations.release(Some(pattern)).await?);
        }
        let sentence = format!("{} released", counted(released.len(), "reservation"));
        output.said(&Released { released }, &sentence)
    }

    async fn check(&self, reservations: &Reservations, output: &mut Output) -> Result<(), Failure> {
        let mut paths = self.patterns.clone();
        if self.staged {
            paths.extend(staged()?);
        }
        let mut taken: Vec<Reservation> = Vec::new();
        for path in &paths {
            let bad = |error| Fault::Usage { reason: format!("{error}") };
            let pattern = PathPattern::parse(path).map_err(bad)?;
            for reservation in reservations.of_others(&pattern).await? {
                if !taken.contains(&reservation) {
                    taken.push(reservation);
                }
            }
        }
        if taken.is_empty() {
            output.note("no other agent has reserved these files");
            return Ok(());
        }
        Err(refused(&taken))
    }
}

/// A reservation as it is shown. The token is shown to the holder only.
#[derive(Serialize)]
struct Row<'a> {
    pattern: &'a str,
    holder: &'a AgentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<Token>,
    expires_at: Timestamp,
}

impl<'a> Row<'a> {
    fn of(reservation: &'a Reservation) -> Self {
        let Reservation { pattern, holder, token, expires_at } = reservation;
        let token = Some(*token).filter(|token| *token != Token::HIDDEN);
        Self { pattern, holder, token, expires_at: *expires_at }
    }
}

fn listed(reservations: &[Reservation], output: &mut Output) -> Result<(), Failure> {
    let rows: Vec<Row<'_>> = reservations.iter().map(Row::of).collect();
    output.many("reservations", &rows, &["pattern", "holder", "expires_at", "token"])
}

fn refused(taken: &[Reservation]) -> Failure {
    let each = taken.iter().map(|one| {
        let Reservation { pattern, holder, expires_at, .. } = one;
        format!("{holder} has reserved `{pattern}` until {expires_at}")
    });
    Fault::Reserved { by: each.collect::<Vec<_>>().join("; ") }.into()
}

fn git(arguments: &[&str]) -> Result<String, Failure> {
    let failed =
        |reason: String| Fault::Unreadable { given: "the Git repository".to_owned(), reason };
    let ran = Command::new("git").args(arguments).output();
    let ran = ran.map_err(|error| failed(error.to_string()))?;
    if !ran.status.success() {
        return Err(failed(String::from_utf8_lossy(&ran.stderr).trim().to_owned()).into());
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// The paths of staged changes, including deleted files and the former names of renamed ones.
fn staged() -> Result<Vec<String>, Failure> {
    let listed = git(&["diff", "--cached", "--name-only", "--no-renames", "-z"])?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}

fn install_hook(output: &Output) -> Result<(), Failure> {
    let path = git(&["rev-parse", "--git-path", "hooks/pre-commit"])?;
    let path = Path::new(path.trim_end_matches('\n'));
    let unwritable =
        |reason: String| Fault::Unwritable { given: path.display().to_string(), reason };
    let failed = |error: std::io::Error| unwritable(error.to_string());
    match std::fs::read_to_string(path) {
        Ok(text) if is_hook(&text) => write_hook(path).map_err(failed)?,
        Ok(_) => {
            let reason = "there is another hook: add `baton reserve --check --staged` to it";
            return Err(unwritable(reason.to_owned()).into());
        }
        Err(_) => write_hook(path).map_err(failed)?,
    }
    output.note(&format!("{} checks reservations before each commit", path.display()));
    Ok(())
}

/// Whether a hook is one that this command has written, for any path of the program.
fn is_hook(text: &str) -> bool {
    let (before, after) = HOOK.split_once("PROGRAM").unwrap_or((HOOK, ""));
    let path = text.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    text == EARLIER_HOOK || path.is_some_and(|path| !path.contains('\n'))
}

/// A text as one word of a shell.
fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn write_hook(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let program = std::env::current_exe()?.display().to_string();
    std::fs::write(path, HOOK.replacen("PROGRAM", &in_quotes(&program), 1))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}
