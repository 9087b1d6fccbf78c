//! The settings of `baton serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use baton::Extents;
use baton_server::Quotas;
use baton_server::access::{Issuer, KeyFile};
use baton_server::journal::{Form, Level};
#[cfg(feature = "otel")]
use baton_server::{Otel, OtelError};
use baton_tls::Identity;
use clap::Args;

use super::{Sources, keys};
use crate::failure::{Failure, Fault};

/// What may be said after `baton serve`. None of it has a default here: a file may say it, too.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServingOptions {
    /// Where to listen; only loopback, unless --tokens is given [default: 127.0.0.1:4747]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Where the data is; the folder is created if it is not there [default: ./.baton]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<String>,
    /// Keep the bytes of artifacts in a bucket; docs/artifacts.md has all that the address may say
    #[cfg_attr(not(feature = "s3"), arg(skip))]
    #[cfg_attr(feature = "s3", arg(long, value_name = "s3://BUCKET/PREFIX"))]
    pub(crate) artifacts: Option<String>,
    /// Demand a token of everyone; if there is none yet, one of an admin is made and printed
    #[arg(long)]
    pub(crate) tokens: bool,
    /// Take tokens of an issuer, too: its public key in PEM, or a secret that is shared with it
    #[arg(long, value_name = "FILE")]
    pub(crate) jwt_key: Option<String>,
    /// The same, with a set of keys (JWKS)
    #[arg(long, value_name = "FILE")]
    pub(crate) jwt_jwks: Option<String>,
    /// Who that issuer is: `iss` of its tokens
    #[arg(long, value_name = "NAME")]
    pub(crate) jwt_issuer: Option<String>,
    /// Whom its tokens must be for: `aud`
    #[arg(long, value_name = "NAME")]
    pub(crate) jwt_audience: Option<String>,
    /// Speak TLS, with this chain of certificates in PEM, the server's own first
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<String>,
    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<String>,
    /// Another name by which the server may be called; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Connections at a time [default: 16384]
    #[arg(long, value_name = "COUNT")]
    pub(crate) connections_max: Option<String>,
    /// Call the webhooks of reactions, at public addresses only
    #[arg(long)]
    pub(crate) webhooks: bool,
    /// Call webhooks also at private, loopback and link-local addresses
    #[arg(long)]
    pub(crate) webhooks_private: bool,
    /// Refuse writes while less than this is free on the disk; 0 for never [default: 64]
    #[arg(long, value_name = "MIB")]
    pub(crate) disk_free_mib_min: Option<String>,
    /// What is written to stderr: off, error, warn, info or debug, which is a line for everything
    /// that is asked [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// As text for people, or as json for programs [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<String>,
    /// What takes longer than this is written down as slow [default: 500]
    #[arg(long, value_name = "MS")]
    pub(crate) log_slow_ms: Option<String>,
    /// Send spans to a collector of OpenTelemetry, over HTTP; in builds with the feature otel
    #[arg(long, value_name = "URL")]
    pub(crate) otel_endpoint: Option<String>,
    /// Headers for the collector, as NAME=VALUE,NAME=VALUE; better in the environment or the file
    #[arg(long, value_name = "HEADERS")]
    pub(crate) otel_headers: Option<String>,
}

/// How to serve, after all sources were asked.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) listen: SocketAddr,
    pub(crate) data: PathBuf,
    #[cfg_attr(not(feature = "s3"), expect(dead_code, reason = "only a bucket is told of it"))]
    pub(crate) artifacts: Option<String>,
    pub(crate) tokens: bool,
    /// Where the certificate is, and its key.
    tls: Option<(PathBuf, PathBuf)>,
    /// Where the keys of an issuer are, its name, and the audience.
    jwt: Option<(KeyFile, String, String)>,
    pub(crate) hosts: Vec<String>,
    pub(crate) connections_max: usize,
    pub(crate) webhooks: bool,
    pub(crate) webhooks_private: bool,
    pub(crate) disk_free_bytes_min: u64,
    pub(crate) quotas: Quotas,
    pub(crate) extents: Extents,
    pub(crate) log_level: Level,
    pub(crate) log_form: Form,
    pub(crate) log_slow: Duration,
    /// Where a collector is, and what it is to be told of us.
    otel: Option<(String, Option<String>)>,
}

impl Serving {
    /// Options, environment, file, defaults.
    pub(crate) fn of(options: &ServingOptions, sources: &mut Sources) -> Result<Self, Failure> {
        let checked = "what is chosen was checked";
        let mut text = |key, option: Option<&str>| {
            Ok::<_, Failure>(sources.choose(key, option)?.unwrap_or_default())
        };
        let raised = |flag: bool| flag.then_some("true");
        let hosts = options.host.join(",");
        let listen = text(&keys::LISTEN, options.listen.as_deref())?;
        let data = text(&keys::DATA, options.data.as_deref())?;
        let artifacts = text(&keys::ARTIFACTS, options.artifacts.as_deref())?;
        let tokens = text(&keys::TOKENS, raised(options.tokens))?;
        let jwt_key = text(&keys::JWT_KEY, options.jwt_key.as_deref())?;
        let jwt_jwks = text(&keys::JWT_JWKS, options.jwt_jwks.as_deref())?;
        let jwt_issuer = text(&keys::JWT_ISSUER, options.jwt_issuer.as_deref())?;
        let jwt_audience = text(&keys::JWT_AUDIENCE, options.jwt_audience.as_deref())?;
        let jwt = issuer(jwt_key, jwt_jwks, jwt_issuer, jwt_audience)?;
        let tls_cert = text(&keys::TLS_CERT, options.tls_cert.as_deref())?;
        let tls_key = text(&keys::TLS_KEY, options.tls_key.as_deref())?;
        let hosts = text(&keys::HOSTS, Some(&hosts))?;
        let connections_max = text(&keys::CONNECTIONS_MAX, options.connections_max.as_deref())?;
        let webhooks = text(&keys::WEBHOOKS, raised(options.webhooks))?;
        let private = text(&keys::WEBHOOKS_PRIVATE, raised(options.webhooks_private))?;
        let free = text(&keys::DISK_FREE_MIB_MIN, options.disk_free_mib_min.as_deref())?;
        let level = text(&keys::LOG_LEVEL, options.log_level.as_deref())?;
        let form = text(&keys::LOG_FORMAT, options.log_format.as_deref())?;
        let slow_ms = text(&keys::LOG_SLOW_MS, options.log_slow_ms.as_deref())?;
        let endpoint = text(&keys::OTEL_ENDPOINT, options.otel_endpoint.as_deref())?;
        let headers = text(&keys::OTEL_HEADERS, options.otel_headers.as_deref())?;
        let headers = Some(headers).filter(|headers| !headers.is_empty());
        if private == "true" && webhooks != "true" {
            let reason = "webhooks_private is nothing without webhooks".to_owned();
            return Err(Fault::Usage { reason }.into());
        }
        if tls_cert.is_empty() != tls_key.is_empty() {
            let reason = "TLS takes both, tls_cert and tls_key".to_owned();
            return Err(Fault::Usage { reason }.into());
        }
        let tls = (!tls_cert.is_empty()).then(|| (tls_cert.into(), tls_key.into()));
        let (quotas, extents) = sources.quotas().resolved();
        Ok(Self {
            listen: listen.parse().expect(checked),
            data: data.into(),
            artifacts: Some(artifacts).filter(|address| !address.is_empty()),
            tokens: tokens.parse().expect(checked),
            tls,
            jwt,
            hosts: hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned).collect(),
            connections_max: connections_max.parse().expect(checked),
            webhooks: webhooks.parse().expect(checked),
            webhooks_private: private.parse().expect(checked),
            disk_free_bytes_min: free.parse::<u64>().expect(checked) << 20,
            quotas,
            extents,
            log_level: *Level::ALL.iter().find(|known| known.name() == level).expect(checked),
            log_form: if form == "json" { Form::Json } else { Form::Text },
            log_slow: Duration::from_millis(slow_ms.parse().expect(checked)),
            otel: (!endpoint.is_empty()).then_some((endpoint, headers)),
        })
    }

    /// Who the server is to those who speak TLS with it, if it does; the files are read for that.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, Failure> {
        let Some((certificate, key)) = &self.tls else { return Ok(None) };
        Ok(Some(Identity::read(certificate, key)?))
    }

    /// Where spans are sent, if anywhere.
    #[cfg(feature = "otel")]
    pub(crate) fn otel(&self) -> Result<Option<Otel>, Failure> {
        let Some((endpoint, headers)) = &self.otel else { return Ok(None) };
        let otel = Otel::new(endpoint, headers.as_deref());
        let bad = |error: OtelError| Fault::Usage { reason: error.to_string() };
        Ok(Some(otel.map_err(bad)?))
    }

    /// Refuses to send spans, since this program cannot.
    #[cfg(not(feature = "otel"))]
    pub(crate) fn no_otel(&self) -> Result<(), Failure> {
        match &self.otel {
            Some(_) => {
                Err(Fault::NotBuilt { what: "spans for OpenTelemetry", feature: "otel" }.into())
            }
            None => Ok(()),
        }
    }

    /// Somebody else whose tokens are taken, if anybody; the keys are read for that.
    pub(crate) fn issuer(&self) -> Result<Option<Issuer>, Failure> {
        let Some((file, name, audience)) = &self.jwt else { return Ok(None) };
        Ok(Some(Issuer::read(file.clone(), name, audience)?))
    }
}

/// Where the keys of an issuer are, its name, and the audience: all of it, or nothing.
fn issuer(
    key: String,
    set: String,
    name: String,
    audience: String,
) -> Result<Option<(KeyFile, String, String)>, Failure> {
    let usage = |reason: &str| Err(Fault::Usage { reason: reason.to_owned() }.into());
    let file = match (key.is_empty(), set.is_empty()) {
        (true, true) if name.is_empty() && audience.is_empty() => return Ok(None),
        (true, true) => return usage("jwt_issuer and jwt_audience need jwt_key or jwt_jwks"),
        (false, false) => return usage("either jwt_key or jwt_jwks can be given"),
        (false, true) => KeyFile::Key(key.into()),
        (true, false) => KeyFile::Set(set.into()),
    };
    if name.is_empty() || audience.is_empty() {
        return usage(
            "jwt_issuer and jwt_audience must be given: a token for others is none for us",
        );
    }
    Ok(Some((file, name, audience)))
}
