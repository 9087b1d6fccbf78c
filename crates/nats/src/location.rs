//! `nats://user@host,host,host?prefix=baton`, parsed and checked.

use std::path::{Path, PathBuf};

use async_nats::ServerAddr;
use baton_tls::{TlsError, Trust};
use percent_encoding::percent_decode_str;
use thiserror::Error;

/// The prefix of streams and subjects if the address names none.
const PREFIX: &str = "baton";
/// Names of streams become folders.
const PREFIX_BYTES_MAX: usize = 40;
const PORT: u16 = 4222;
/// The port at which a server of NATS usually shows its settings.
const MONITOR_PORT: u16 = 8222;

/// Why an address cannot be used.
#[derive(Debug, Error)]
pub enum LocationError {
    /// It is not an address of servers.
    #[error("it is not an address such as nats://user@host,host,host: {0}")]
    Address(String),
    /// A parameter is unknown, or has a value that it cannot have.
    #[error(
        "`{0}` is not possible after `?`: there are prefix (a-z, 0-9, _ and -), replicas (1, 3 or \
         5), durability (synced or replicated), monitor (host:port,…) and tls (require or disable)"
    )]
    Parameter(String),
    /// The authorities that the connection shall trust cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The file with the credentials cannot be read.
    #[error("the credentials in `{path}` cannot be used: {reason}", path = path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// Secrets that are not in the address, so that they appear in no list of processes.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The password of the user that the address names.
    pub password: Option<String>,
    /// A file with a JWT and a key, as `nsc` writes it.
    pub credentials: Option<PathBuf>,
}

impl Secrets {
    /// The values of `NATS_PASSWORD` and `NATS_CREDS`.
    #[must_use]
    pub fn from_environment() -> Self {
        let credentials = std::env::var_os("NATS_CREDS").map(PathBuf::from);
        Self { password: std::env::var("NATS_PASSWORD").ok(), credentials }
    }
}

/// How this program authenticates.
#[derive(Clone)]
pub(crate) enum Login {
    Anonymous,
    Token(String),
    Password(String, String),
    Credentials(String),
}

/// The durability that NATS servers must reach before they acknowledge a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Each of the replicas has written it to its disk.
    Synced,
    /// Each of the replicas has it.
    Replicated,
}

/// The addresses of the servers of NATS, and how to reach them.
#[derive(Clone)]
pub struct NatsLocation {
    pub(crate) servers: Vec<ServerAddr>,
    pub(crate) login: Login,
    pub(crate) prefix: String,
    /// None if it is as many as the servers allow, at most three.
    pub(crate) replicas: Option<u32>,
    pub(crate) durability: Durability,
    pub(crate) monitors: Vec<String>,
    pub(crate) trust: Option<Trust>,
    description: String,
}

impl std::fmt::Debug for NatsLocation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.description)
    }
}

impl NatsLocation {
    /// Parses an address. The file has the certificate authorities, otherwise those of the system
    /// count.
    pub fn parse(
        address: &str,
        secrets: &Secrets,
        ca_file: Option<&Path>,
    ) -> Result<Self, LocationError> {
        let odd = |reason: &str| LocationError::Address(reason.to_owned());
        let rest = address.strip_prefix("nats://").ok_or_else(|| odd("it begins otherwise"))?;
        let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let mut names = Vec::new();
        let mut servers = Vec::new();
        for host in hosts.split(',') {
            let (name, port) = host_and_port(host).ok_or_else(|| odd("a host cannot be parsed"))?;
            // The error of the parser may quote the address.
            let server = format!("nats://{name}:{port}").parse();
            servers.push(server.map_err(|_| odd("a host cannot be parsed"))?);
            names.push(name);
        }
        let mut parameters = Parameters::new(&names);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            parameters.set(parameter)?;
        }
        let is_local = names.iter().all(|name| is_local(name));
        let is_secure = parameters.tls.unwrap_or(!is_local);
        let trust = if is_secure { Some(Trust::of(ca_file)?) } else { None };
        let Parameters { prefix, replicas, durability, monitors, .. } = parameters;
        let description = format!("nats://{hosts}, prefix {prefix}");
        let login = login(user, secrets)?;
        Ok(Self { servers, login, prefix, replicas, durability, monitors, trust, description })
    }

    /// Its location, without the password.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }
}

/// The parameters after the question mark.
struct Parameters {
    prefix: String,
    replicas: Option<u32>,
    durability: Durability,
    monitors: Vec<String>,
    tls: Option<bool>,
}

impl Parameters {
    fn new(hosts: &[&str]) -> Self {
        Self {
            prefix: PREFIX.to_owned(),
            replicas: None,
            durability: Durability::Synced,
            monitors: hosts.iter().map(|host| format!("{host}:{MONITOR_PORT}")).collect(),
            tls: None,
        }
    }

    fn set(&mut self, parameter: &str) -> Result<(), LocationError> {
        match parameter.split_once('=').unwrap_or((parameter, "")) {
            ("prefix", prefix) if is_plain(prefix) => prefix.clone_into(&mut self.prefix),
            ("replicas", "1") => self.replicas = Some(1),
            ("replicas", "3") => self.replicas = Some(3),
            ("replicas", "5") => self.replicas = Some(5),
            ("durability", "synced") => self.durability = Durability::Synced,
            ("durability", "replicated") => self.durability = Durability::Replicated,
            ("tls", "require") => self.tls = Some(true),
            ("tls", "disable") => self.tls = Some(false),
            ("monitor", list) if list.split(',').all(|one| host_and_port(one).is_some()) => {
                self.monitors = list.split(',').map(str::to_owned).collect();
            }
            _ => return Err(LocationError::Parameter(parameter.to_owned())),
        }
        Ok(())
    }
}

/// The host and the port of `host:port`, of which the port may be missing.
fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let end = if text.starts_with('[') { text.find(']')? + 1 } else { text.len() };
    let (host, port) = match text[end..].strip_prefix(':') {
        Some(port) => (&text[..end], Some(port)),
        None if end < text.len() => return None,
        None if text.starts_with('[') => (text, None),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-._:[]".contains(sign);
    let port = port.map_or(Some(PORT), |port| port.parse().ok())?;
    (!host.is_empty() && host.chars().all(is_sign)).then_some((host, port))
}

fn login(user: Option<&str>, secrets: &Secrets) -> Result<Login, LocationError> {
    if let Some(path) = &secrets.credentials {
        let bad = |reason: String| LocationError::Credentials { path: path.clone(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        // It is parsed here, so that a wrong file is noticed before anything is sent.
        let parsed = async_nats::ConnectOptions::with_credentials(&text);
        return match parsed {
            Ok(_) => Ok(Login::Credentials(text)),
            Err(_) => Err(bad("it has no JWT and key".to_owned())),
        };
    }
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Ok(match (user.map(|user| user.split_once(':').ok_or(user)), &secrets.password) {
        (None, _) => Login::Anonymous,
        (Some(Ok((user, _)) | Err(user)), Some(password)) => {
            Login::Password(decoded(user), password.clone())
        }
        (Some(Ok((user, password))), None) => Login::Password(decoded(user), decoded(password)),
        (Some(Err(token)), None) => Login::Token(decoded(token)),
    })
}

fn is_plain(name: &str) -> bool {
    let is_sign = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
    };
    (1..=PREFIX_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_sign)
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(address: &str) -> Result<NatsLocation, LocationError> {
        NatsLocation::parse(address, &Secrets::default(), None)
    }

    #[test]
    fn addresses_are_parsed_and_described_without_their_password() {
        let location = parse("nats://ada:sec%40ret@localhost:4223?prefix=team-a").unwrap();
        assert_eq!(location.description(), "nats://localhost:4223, prefix team-a");
        assert!(location.trust.is_none(), "loopback needs no encryption");
        assert!(matches!(&location.login, Login::Password(user, password)
            if user == "ada" && password == "sec@ret"));
        assert_eq!(location.monitors, ["localhost:8222"]);
        let several =
            parse("nats://a,b:1,[::1]/?tls=disable&replicas=3&durability=replicated").unwrap();
        assert_eq!(several.description(), "nats://a,b:1,[::1], prefix baton");
        assert_eq!((several.servers.len(), several.replicas), (3, Some(3)));
        assert_eq!(several.durability, Durability::Replicated);
        let secrets = Secrets { password: Some("hidden".to_owned()), credentials: None };
        let secret = NatsLocation::parse("nats://ada@localhost", &secrets, None).unwrap();
        assert!(matches!(&secret.login, Login::Password(_, password) if password == "hidden"));
    }

    #[test]
    fn bad_addresses_are_refused_without_their_password() {
        let cases = [
            ("http://localhost", "it begins otherwise"),
            ("nats://", "a host cannot be parsed"),
            ("nats://ada:secret@a:port", "a host cannot be parsed"),
            ("nats://ada:secret@a,,b", "a host cannot be parsed"),
            ("nats://localhost?prefix=Team", "`prefix=Team` is not possible"),
            ("nats://localhost?replicas=2", "`replicas=2` is not possible"),
            ("nats://localhost?unheard=of", "`unheard=of` is not possible"),
        ];
        for (address, reason) in cases {
            let error = parse(address).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("secret"), "{address}: {error}");
        }
    }
}
