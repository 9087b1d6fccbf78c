//! `postgres://user@host,host/database?schema=baton`, parsed and checked.

use std::path::Path;
use std::time::Duration;

use baton_tls::{TlsError, Trust};
use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// The schema if the address names none.
const SCHEMA: &str = "baton";
/// The port if none is given.
const PORT: u16 = 5432;
/// The longest name that `PostgreSQL` does not cut.
const NAME_BYTES_MAX: usize = 63;
/// How long to wait for a connection to one host.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// How long sent bytes may be unacknowledged.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(2);
const KEEPALIVE: Duration = Duration::from_secs(1);
const KEEPALIVES: u32 = 3;

/// Why an address cannot be used.
#[derive(Debug, Error)]
pub enum LocationError {
    /// It is not an address of a database.
    #[error("it is not an address such as postgres://user@host/database: {0}")]
    Address(String),
    /// The schema has a name that would need quotation marks.
    #[error(
        "`{0}` is not a valid schema name: use up to 63 of a-z, 0-9 and _, and begin with a letter"
    )]
    Schema(String),
    /// The authorities that the connection shall trust cannot be read.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The address of a database, and how to reach it.
#[derive(Clone, Debug)]
pub struct PostgresLocation {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) trust: Option<Trust>,
    description: String,
}

impl PostgresLocation {
    /// Parses an address. The password may be given separately, so that it appears in no list of
    /// processes. The file has the certificate authorities, otherwise those of the system count.
    pub fn parse(
        address: &str,
        password: Option<&str>,
        ca_file: Option<&Path>,
    ) -> Result<Self, LocationError> {
        let (address, schema) = for_the_driver(address);
        let schema = schema.unwrap_or_else(|| SCHEMA.to_owned());
        if !is_plain(&schema) {
            return Err(LocationError::Schema(schema));
        }
        // The error of the parser may quote the address, and with it a password.
        let unreadable = |_| LocationError::Address("it cannot be parsed".to_owned());
        let mut config: Config = address.parse().map_err(unreadable)?;
        if config.get_hosts().is_empty() || config.get_dbname().is_none() {
            return Err(LocationError::Address("it names no host or no database".to_owned()));
        }
        if let Some(password) = password {
            config.password(password);
        }
        config
            .application_name(format!("baton {schema}"))
            .connect_timeout(CONNECT_MAX)
            .tcp_user_timeout(UNACKNOWLEDGED_MAX)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE)
            .keepalives_retries(KEEPALIVES)
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let trust = match config.get_ssl_mode() {
            SslMode::Disable => None,
            SslMode::Prefer if config.get_hosts().iter().all(is_local) => {
                config.ssl_mode(SslMode::Disable);
                None
            }
            // Encryption without a check of the certificate does not protect from a server that
            // impersonates the database.
            SslMode::Prefer | SslMode::Require | _ => {
                config.ssl_mode(SslMode::Require);
                Some(Trust::of(ca_file)?)
            }
        };
        let database = config.get_dbname().unwrap_or_default();
        let description = format!("postgres://{}/{database}, schema {schema}", hosts(&config));
        Ok(Self { config, schema, trust, description })
    }

    /// Whether an address belongs to this crate.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Its location, without the password.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }
}

/// The address as the driver parses it, and the parameter `schema`, which is ours. Certificates are
/// always verified with the name of the host, which others call `verify-full` and the driver does
/// not know.
fn for_the_driver(address: &str) -> (String, Option<String>) {
    let Some((before, query)) = address.split_once('?') else {
        return (address.to_owned(), None);
    };
    let mut schema = None;
    let mut others = Vec::new();
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some(("schema", name)) => schema = Some(name.to_owned()),
            Some(("sslmode", "verify-full")) => others.push("sslmode=require"),
            _ => others.push(parameter),
        }
    }
    let others = others.join("&");
    let separator = if others.is_empty() { "" } else { "?" };
    (format!("{before}{separator}{others}"), schema)
}

fn is_plain(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() <= NAME_BYTES_MAX
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
        && name.bytes().all(is_sign)
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        Host::Unix(_) => true,
    }
}

/// The hosts, each with its port if that is not the usual one.
fn hosts(config: &Config) -> String {
    // The driver keeps no port, one for all hosts, or one for each.
    let ports = config.get_ports().iter().cycle().chain([&PORT].into_iter().cycle());
    let named = config.get_hosts().iter().zip(ports).map(|(host, port)| match (host, *port) {
        (Host::Tcp(name), PORT) => name.clone(),
        (Host::Tcp(name), port) => format!("{name}:{port}"),
        (Host::Unix(path), _) => path.display().to_string(),
    });
    named.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_described_without_their_password() {
        let parse = |address| PostgresLocation::parse(address, Some("hidden"), None);
        let location = parse("postgres://ada:secret@localhost:5433/fleet?schema=team_a").unwrap();
        assert_eq!(location.schema, "team_a");
        assert_eq!(location.description(), "postgres://localhost:5433/fleet, schema team_a");
        assert!(location.trust.is_none(), "loopback needs no encryption");
        assert_eq!(location.config.get_password(), Some(&b"hidden"[..]));
        let several = parse("postgresql://a,b/fleet?sslmode=disable&schema=x").unwrap();
        assert_eq!(several.description(), "postgres://a,b/fleet, schema x");
        let ports = parse("postgresql://a:5432,b:6432/fleet?sslmode=disable&schema=x").unwrap();
        assert_eq!(ports.description(), "postgres://a,b:6432/fleet, schema x");
    }

    #[test]
    fn a_certificate_is_verified_even_of_this_machine_if_that_is_asked_for() {
        for mode in ["require", "verify-full"] {
            let address = format!("postgres://ada@localhost/fleet?sslmode={mode}&schema=x");
            let location = PostgresLocation::parse(&address, None, None).unwrap();
            assert_eq!(location.config.get_ssl_mode(), SslMode::Require);
            assert!(location.trust.is_some() && location.schema == "x", "{mode}");
        }
    }

    #[test]
    fn bad_addresses_are_refused_without_their_password() {
        let cases = [
            ("postgres://ada:secret@:bad:/x", "it cannot be parsed"),
            ("postgres://localhost", "names no host or no database"),
            ("postgres://localhost/db?schema=Team", "`Team` is not a valid schema name"),
            ("postgres://localhost/db?schema=1;drop", "is not a valid schema name"),
            ("postgres://localhost/db?unheard=of", "it cannot be parsed"),
        ];
        for (address, reason) in cases {
            let error = PostgresLocation::parse(address, None, None).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("secret"), "{address}: {error}");
        }
    }
}
