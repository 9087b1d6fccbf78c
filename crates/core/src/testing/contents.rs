//! Artifacts and secrets as text, with abbreviated ids.

use std::fmt::Write;

use crate::artifact::{self, Artifact};
use crate::primitive::Event as _;
use crate::secret::{self, Secret};

/// The number of digits of an artifact's id, and of a place.
const DIGITS: usize = 64;
const PLACE: usize = 32;

/// Expands `@a` and `^7` to full ids.
pub(super) fn written_out(asked: &str) -> String {
    let mut written = String::new();
    let mut letters = asked.chars().peekable();
    let is_digit = |letter: &char| matches!(letter, '0'..='9' | 'a'..='f');
    while let Some(letter) = letters.next() {
        match (letter, letters.peek().copied().filter(is_digit)) {
            ('@', Some(digit)) => {
                write!(written, "sha256:{}", digit.to_string().repeat(DIGITS)).unwrap();
                letters.next();
            }
            ('^', Some(digit)) => {
                write!(written, "{digit:0>PLACE$}").unwrap();
                letters.next();
            }
            (letter, _) => written.push(letter),
        }
    }
    written
}

/// The inverse.
pub(super) fn shortened(rendered: &str) -> String {
    let mut short = rendered.to_owned();
    for digit in "0123456789abcdef".chars() {
        let id = format!("sha256:{}", digit.to_string().repeat(DIGITS));
        short = short.replace(&id, &format!("@{digit}"));
        short = short.replace(&format!("{digit:0>PLACE$}"), &format!("^{digit}"));
    }
    short
}

pub(super) fn rendered_artifact(event: &artifact::Event) -> String {
    let line = format!("{} {}", event.kind(), event.artifact());
    match event {
        artifact::Event::Put { place, bytes, media_type, name, keep_ms, .. } => {
            let place = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
            let name = name.as_ref().map_or(String::new(), |name| format!(" `{name}`"));
            format!("{line}{place} bytes={bytes} {media_type}{name} keep={keep_ms}")
        }
        artifact::Event::Deleted { .. } | artifact::Event::Expired { .. } => line,
    }
}

pub(super) fn shown_artifact(reply: &artifact::Reply) -> String {
    let one = |artifact: &Artifact| {
        let Artifact { artifact, bytes, references, holders, expires_at, .. } = artifact;
        let until = expires_at.map_or(String::new(), |moment| format!(" until {}", moment.0));
        format!("{artifact} bytes={bytes} held={references} [{}]{until}", holders.join(", "))
    };
    match reply {
        artifact::Reply::Put { artifact, known } => {
            format!("{}{}", one(artifact), if *known { " known" } else { "" })
        }
        artifact::Reply::Artifact(artifact) => one(artifact),
        artifact::Reply::Artifacts { artifacts, bytes, cursor } => {
            let names: Vec<&str> = artifacts.iter().map(|it| it.artifact.as_str()).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}] bytes={bytes}{next}", names.join(", "))
        }
    }
}

pub(super) fn rendered_secret(event: &secret::Event) -> String {
    let line = format!("{} {}", event.kind(), event.secret());
    match event {
        secret::Event::Put { bytes, name, expires_at, .. } => {
            let name = name.as_ref().map_or(String::new(), |name| format!(" `{name}`"));
            let until = expires_at.map_or(String::new(), |moment| format!(" until {}", moment.0));
            format!("{line} bytes={bytes}{name}{until}")
        }
        secret::Event::Revealed { .. }
        | secret::Event::Deleted { .. }
        | secret::Event::Expired { .. } => line,
    }
}

pub(super) fn shown_secret(reply: &secret::Reply) -> String {
    let one = |secret: &Secret| {
        let Secret { secret, bytes, reveals, revealed_to, .. } = secret;
        let to = revealed_to.as_ref().map_or(String::new(), |agent| format!(" to {agent}"));
        format!("{secret} bytes={bytes} reveals={reveals}{to}")
    };
    match reply {
        secret::Reply::Secret(secret) => one(secret),
        secret::Reply::Secrets { secrets, cursor } => {
            let names: Vec<&str> = secrets.iter().map(|it| it.secret.as_str()).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", names.join(", "))
        }
    }
}
