//! The settings of `baton serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use baton::Extents;
#[cfg(any(feature = "nats", feature = "postgres"))]
use baton::error::Error;
#[cfg(any(feature = "nats", feature = "postgres"))]
use baton_cluster::SecretsKey;
use baton_server::Quotas;
use baton_server::access::{Issuer, KeyFile};
use baton_server::server_log::{Form, Level};
#[cfg(feature = "otel")]
use baton_server::{Otel, OtelError};
use baton_tls::Identity;
use clap::Args;

use super::peers::{PeerOptions, PeerSettings};
use super::{Sources, keys};
use crate::failure::{Failure, Fault};

/// The options of `baton serve`. Defaults are not set here, since the file takes precedence over
/// them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerOptions {
    /// Address to listen on; must be loopback unless tokens are required [default: 127.0.0.1:4747]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Data folder; created if it does not exist [default: ./.baton]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<String>,
    /// Keep all data in a Postgres database or in NATS, not in the folder; see docs/postgres.md and
    /// docs/nats.md. Prefer the environment or the file for a password: arguments are visible in
    /// the process list
    #[arg(long, value_name = "URL")]
    pub(crate) log: Option<String>,
    /// URL at which other servers of the same database reach this one [default: the address it
    /// listens on]
    #[arg(long, value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// Shards of a new data folder, each with a thread of its own, or of a new database schema, to
    /// be divided among servers; cannot be changed later [default: 1 for a folder, 16 for a schema]
    #[arg(long, value_name = "COUNT")]
    pub(crate) shards: Option<String>,
    /// Encrypt secrets in the database with the key in this file: 64 hexadecimal digits, the same
    /// for all servers; without it, secrets are refused there
    #[arg(long, value_name = "FILE")]
    pub(crate) secrets_key_file: Option<String>,
    /// Store the content of artifacts in an S3 bucket; see docs/artifacts.md for the URL
    #[cfg_attr(not(feature = "s3"), arg(skip))]
    #[cfg_attr(feature = "s3", arg(long, value_name = "s3://BUCKET/PREFIX"))]
    pub(crate) artifacts: Option<String>,
    /// Require access tokens; on first start, an admin token is created and printed
    #[arg(long)]
    pub(crate) tokens: bool,
    /// Also accept JWTs; the issuer's public key (PEM), or a shared secret
    #[arg(long, value_name = "FILE")]
    pub(crate) jwt_key: Option<String>,
    /// Also accept JWTs; the issuer's key set (JWKS)
    #[arg(long, value_name = "FILE")]
    pub(crate) jwt_jwks: Option<String>,
    /// Expected issuer (`iss`) of JWTs
    #[arg(long, value_name = "NAME")]
    pub(crate) jwt_issuer: Option<String>,
    /// Expected audience (`aud`) of JWTs
    #[arg(long, value_name = "NAME")]
    pub(crate) jwt_audience: Option<String>,
    /// Serve TLS with this certificate chain (PEM, server certificate first)
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<String>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<String>,
    /// Host name that clients may use; without tokens in addition to loopback names, with tokens
    /// the only ones; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Maximum number of concurrent connections [default: 16384]
    #[arg(long, value_name = "COUNT")]
    pub(crate) connections_max: Option<String>,
    /// Stop once no connection has been open for this long; 0 means never [default: 0]
    #[arg(long, value_name = "MS")]
    pub(crate) exit_idle_ms: Option<String>,
    /// Enable webhooks of reactions, to public addresses only
    #[arg(long)]
    pub(crate) webhooks: bool,
    /// Also allow webhooks to private, loopback and link-local addresses
    #[arg(long)]
    pub(crate) webhooks_private: bool,
    #[command(flatten)]
    pub(crate) peers: PeerOptions,
    /// Reject writes while less than this much disk space is free; 0 disables the check [default:
    /// 64]
    #[arg(long, value_name = "MIB")]
    pub(crate) disk_free_mib_min: Option<String>,
    /// Log level: off, error, warn, info, or debug, which logs every request [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Log format: text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<String>,
    /// Log requests that take longer than this as slow [default: 500]
    #[arg(long, value_name = "MS")]
    pub(crate) log_slow_ms: Option<String>,
    /// Export spans to this OpenTelemetry collector over HTTP
    #[arg(long, value_name = "URL")]
    pub(crate) otel_endpoint: Option<String>,
    /// Headers for the collector, as NAME=VALUE,NAME=VALUE. Prefer the environment or the file:
    /// arguments are visible in the process list
    #[arg(long, value_name = "HEADERS")]
    pub(crate) otel_headers: Option<String>,
}

/// The effective settings of the server.
#[derive(Debug)]
pub(crate) struct ServerSettings {
    pub(crate) listen: SocketAddr,
    pub(crate) data: PathBuf,
    /// The address of the database that has the data, if it is not the folder.
    pub(crate) log: Option<String>,
    pub(crate) advertise: Option<String>,
    /// The shards of a new folder or database.
    pub(crate) shards: Option<u32>,
    /// The file with the key for secrets in the database.
    pub(crate) secrets_key_file: Option<PathBuf>,
    pub(crate) artifacts: Option<String>,
    pub(crate) tokens: bool,
    /// The paths of the certificate and its key.
    tls: Option<(PathBuf, PathBuf)>,
    /// The file with the JWT keys, the issuer and the audience.
    jwt: Option<(KeyFile, String, String)>,
    pub(crate) hosts: Vec<String>,
    pub(crate) connections_max: usize,
    pub(crate) idle_max: Option<Duration>,
    pub(crate) webhooks: bool,
    pub(crate) webhooks_private: bool,
    pub(crate) peers: PeerSettings,
    pub(crate) disk_free_bytes_min: u64,
    pub(crate) quotas: Quotas,
    pub(crate) extents: Extents,
    pub(crate) log_level: Level,
    pub(crate) log_form: Form,
    pub(crate) log_slow: Duration,
    /// The endpoint of the collector, and headers for it.
    otel: Option<(String, Option<String>)>,
}

impl ServerSettings {
    /// Resolves the settings from options, environment, file and defaults.
    pub(crate) fn of(options: &ServerOptions, sources: &mut Sources) -> Result<Self, Failure> {
        let checked = "resolved values are valid";
        let mut text = |key, option: Option<&str>| {
            Ok::<_, Failure>(sources.choose(key, option)?.unwrap_or_default())
        };
        let flag = |is_set: bool| is_set.then_some("true");
        let hosts = options.host.join(",");
        let listen = text(&keys::LISTEN, options.listen.as_deref())?;
        let data = text(&keys::DATA, options.data.as_deref())?;
        let log = text(&keys::LOG, options.log.as_deref())?;
        let advertise = text(&keys::ADVERTISE, options.advertise.as_deref())?;
        let shards = text(&keys::SHARDS, options.shards.as_deref())?;
        let secrets_key = text(&keys::SECRETS_KEY_FILE, options.secrets_key_file.as_deref())?;
        let artifacts = text(&keys::ARTIFACTS, options.artifacts.as_deref())?;
        let tokens = text(&keys::TOKENS, flag(options.tokens))?;
        let jwt_key = text(&keys::JWT_KEY, options.jwt_key.as_deref())?;
        let jwt_jwks = text(&keys::JWT_JWKS, options.jwt_jwks.as_deref())?;
        let jwt_issuer = text(&keys::JWT_ISSUER, options.jwt_issuer.as_deref())?;
        let jwt_audience = text(&keys::JWT_AUDIENCE, options.jwt_audience.as_deref())?;
        let jwt = issuer(jwt_key, jwt_jwks, jwt_issuer, jwt_audience)?;
        let tls_cert = text(&keys::TLS_CERT, options.tls_cert.as_deref())?;
        let tls = identity(tls_cert, text(&keys::TLS_KEY, options.tls_key.as_deref())?)?;
        let hosts = text(&keys::HOSTS, Some(&hosts))?;
        let connections_max = text(&keys::CONNECTIONS_MAX, options.connections_max.as_deref())?;
        let idle_ms = text(&keys::EXIT_IDLE_MS, options.exit_idle_ms.as_deref())?;
        let webhooks = text(&keys::WEBHOOKS, flag(options.webhooks))?;
        let private = text(&keys::WEBHOOKS_PRIVATE, flag(options.webhooks_private))?;
        let free = text(&keys::DISK_FREE_MIB_MIN, options.disk_free_mib_min.as_deref())?;
        let level = text(&keys::LOG_LEVEL, options.log_level.as_deref())?;
        let form = text(&keys::LOG_FORMAT, options.log_format.as_deref())?;
        let slow_ms = text(&keys::LOG_SLOW_MS, options.log_slow_ms.as_deref())?;
        let endpoint = text(&keys::OTEL_ENDPOINT, options.otel_endpoint.as_deref())?;
        let headers = text(&keys::OTEL_HEADERS, options.otel_headers.as_deref())?;
        let headers = Some(headers).filter(|headers| !headers.is_empty());
        if private == "true" && webhooks != "true" {
            let reason = "webhooks_private requires webhooks".to_owned();
            return Err(Fault::Usage { reason }.into());
        }
        let (quotas, extents) = sources.quotas().resolved();
        Ok(Self {
            listen: listen.parse().expect(checked),
            data: data.into(),
            log: Some(log).filter(|address| !address.is_empty()),
            advertise: Some(advertise).filter(|url| !url.is_empty()),
            shards: shards.parse().ok(),
            secrets_key_file: Some(secrets_key).filter(|it| !it.is_empty()).map(PathBuf::from),
            artifacts: Some(artifacts).filter(|address| !address.is_empty()),
            tokens: tokens.parse().expect(checked),
            tls,
            jwt,
            hosts: hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned).collect(),
            connections_max: connections_max.parse().expect(checked),
            idle_max: Some(Duration::from_millis(idle_ms.parse().expect(checked)))
                .filter(|idle_max| !idle_max.is_zero()),
            webhooks: webhooks.parse().expect(checked),
            webhooks_private: private.parse().expect(checked),
            peers: PeerSettings::of(&options.peers, sources)?,
            disk_free_bytes_min: free.parse::<u64>().expect(checked) << 20,
            quotas,
            extents,
            log_level: *Level::ALL.iter().find(|known| known.name() == level).expect(checked),
            log_form: if form == "json" { Form::Json } else { Form::Text },
            log_slow: Duration::from_millis(slow_ms.parse().expect(checked)),
            otel: (!endpoint.is_empty()).then_some((endpoint, headers)),
        })
    }

    /// Fails if what is configured cannot be combined with where the log is.
    pub(crate) fn check_log(&self) -> Result<(), Failure> {
        let usage = |reason: &str| Err(Fault::Usage { reason: reason.to_owned() }.into());
        if is_database(&self.data.to_string_lossy()) {
            return usage("--data is a folder; name a database with --log");
        }
        match &self.log {
            Some(log) if !is_database(log) => usage(
                "--log is the address of a database, postgres://user@host/database, or of NATS \
                     servers, nats://host,host,host",
            ),
            Some(_) if self.artifacts.is_some() => usage(
                "--artifacts cannot be combined with --log: a bucket does not know which \
                     server owns a workspace",
            ),
            None if self.advertise.is_some() => usage("--advertise requires --log"),
            None if self.secrets_key_file.is_some() => usage("--secrets-key-file requires --log"),
            Some(_) => self.check_advertise(),
            None => Ok(()),
        }
    }

    /// Fails if other servers certainly cannot reach this one at its URL: they would find out only
    /// when they forward a request.
    fn check_advertise(&self) -> Result<(), Failure> {
        let reason = match &self.advertise {
            Some(url) if !is_server_url(url) => format!(
                "--advertise is the URL at which other servers reach this one, such as \
                 http://a.internal:4747; `{url}` is none"
            ),
            None if self.listen.ip().is_unspecified() => format!(
                "with --log, a server that listens on {} needs --advertise: other servers cannot \
                 reach it at that address",
                self.listen.ip()
            ),
            Some(_) | None => return Ok(()),
        };
        Err(Fault::Usage { reason }.into())
    }

    /// The key for secrets in the database, if configured; reads its file.
    #[cfg(any(feature = "nats", feature = "postgres"))]
    pub(crate) fn secrets_key(&self) -> Result<Option<SecretsKey>, Failure> {
        let Some(file) = &self.secrets_key_file else { return Ok(None) };
        Ok(Some(SecretsKey::read(file).map_err(Error::from)?))
    }

    /// The TLS certificate, if configured; reads its files.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, Failure> {
        let Some((certificate, key)) = &self.tls else { return Ok(None) };
        Ok(Some(Identity::read(certificate, key)?))
    }

    /// The OpenTelemetry exporter, if configured.
    #[cfg(feature = "otel")]
    pub(crate) fn otel(&self) -> Result<Option<Otel>, Failure> {
        let Some((endpoint, headers)) = &self.otel else { return Ok(None) };
        let otel = Otel::new(endpoint, headers.as_deref());
        let bad = |error: OtelError| Fault::Usage { reason: error.to_string() };
        Ok(Some(otel.map_err(bad)?))
    }

    /// Fails if spans are configured and this build cannot export them.
    pub(crate) fn check_otel(&self) -> Result<(), Failure> {
        if cfg!(feature = "otel") || self.otel.is_none() {
            return Ok(());
        }
        Err(Fault::NotBuilt { what: "OpenTelemetry spans", feature: "otel" }.into())
    }

    /// The issuer of JWTs, if configured; reads its keys.
    pub(crate) fn issuer(&self) -> Result<Option<Issuer>, Failure> {
        let Some((file, name, audience)) = &self.jwt else { return Ok(None) };
        Ok(Some(Issuer::read(file.clone(), name, audience)?))
    }
}

/// Whether it is the URL of a server: `http` or `https`, a host, perhaps a port, and nothing else.
fn is_server_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(authority) = rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest)) else {
        return false;
    };
    // The colons of an IPv6 address are in brackets.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let inner = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let is_host = match inner {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok_and(|it| !it.is_unspecified()),
        None => {
            let is_fitting = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !host.is_empty() && host != "0.0.0.0" && host.bytes().all(is_fitting)
        }
    };
    is_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// The files with the certificate and its key: both, or none.
fn identity(certificate: String, key: String) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    if certificate.is_empty() != key.is_empty() {
        let reason = "TLS requires both tls_cert and tls_key".to_owned();
        return Err(Fault::Usage { reason }.into());
    }
    Ok((!key.is_empty()).then(|| (certificate.into(), key.into())))
}

/// The file with the JWT keys, the issuer and the audience: all of them, or none.
fn issuer(
    key: String,
    set: String,
    name: String,
    audience: String,
) -> Result<Option<(KeyFile, String, String)>, Failure> {
    let usage = |reason: &str| Err(Fault::Usage { reason: reason.to_owned() }.into());
    let file = match (key.is_empty(), set.is_empty()) {
        (true, true) if name.is_empty() && audience.is_empty() => return Ok(None),
        (true, true) => return usage("jwt_issuer and jwt_audience require jwt_key or jwt_jwks"),
        (false, false) => return usage("jwt_key and jwt_jwks cannot be combined"),
        (false, true) => KeyFile::Key(key.into()),
        (true, false) => KeyFile::Set(set.into()),
    };
    if name.is_empty() || audience.is_empty() {
        return usage(
            "JWTs require jwt_issuer and jwt_audience, to reject tokens for other services",
        );
    }
    Ok(Some((file, name, audience)))
}

/// Whether a text is the address of a database.
pub(crate) fn is_database(text: &str) -> bool {
    ["postgres://", "postgresql://", "nats://"].iter().any(|scheme| text.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::is_server_url;

    #[test]
    fn the_url_of_a_server_needs_a_host() {
        for good in [
            "http://a.internal:4747",
            "https://a.internal",
            "http://127.0.0.1:4747/",
            "http://[::1]:4747",
            "https://[fd00::7]",
            "http://baton_1:80",
        ] {
            assert!(is_server_url(good), "{good}");
        }
        for bad in [
            "",
            "a.internal:4747",
            "ftp://a:1",
            "http://",
            "http://:4747",
            "http://a:0",
            "http://a:70000",
            "http://a:4747/v1",
            "http://a b:1",
            "http://user@a:1",
            "http://0.0.0.0:4747",
            "http://[::]:4747",
            "http://::1:4747",
        ] {
            assert!(!is_server_url(bad), "{bad}");
        }
    }
}
