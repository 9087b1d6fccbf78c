//! `baton serve`: the server, in the foreground.

use std::future::pending;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;
#[cfg(any(feature = "nats", feature = "postgres"))]
use std::sync::Arc;

use baton::{Baton, Options};
#[cfg(feature = "s3")]
use baton::{clock::SystemClock, error::Error};
use baton_core::access::Grant;
#[cfg(feature = "s3")]
use baton_log::file::{FileLog, Options as FileOptions};
#[cfg(feature = "s3")]
use baton_s3::{Bucket, LocationError, S3Location, SplitLog};
use baton_server::access::{Issuer, Tokens, Wanted};
use baton_server::{Server, Settings, Webhooks};
use baton_tls::Identity;
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::context::Context;
use crate::failure::Failure;
#[cfg(any(feature = "s3", not(any(feature = "nats", feature = "postgres"))))]
use crate::failure::Fault;
use crate::output::Output;
use crate::settings::{ServerOptions, ServerSettings, keys};

mod announcer;
#[cfg(any(feature = "nats", feature = "postgres"))]
pub(crate) mod database;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod drained;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod failovers;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod failures;
mod folder_shards;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod seen;
mod service_manager;
#[cfg(any(feature = "postgres", feature = "nats"))]
mod troubles;

use announcer::Announcer;
use folder_shards::FolderShards;

/// Addresses that are reserved for documents, so they are beyond every own network.
const ELSEWHERE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const ELSEWHERE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// The port of the service that discards what it receives.
const DISCARD_PORT: u16 = 9;

const AFTER_HELP: &str = "\
Examples:
  baton serve                                    data in ./.baton, listening on 127.0.0.1:4747
  baton serve --data /var/lib/baton              use another data folder
  baton serve --data /var/lib/baton --shards 4   divide a new folder among four threads
  baton serve --log postgres://baton@db/fleet    data in PostgreSQL; several servers share them
  baton serve --log nats://a,b,c                 the same in NATS JetStream, if it was built in
  baton serve --log postgres://baton@db/fleet --secrets-key-file key
                                                 encrypt secrets with a key that all of them share
  baton serve --tokens --listen 0.0.0.0:4747     accept remote clients, with access tokens
  baton serve --tls-cert chain.pem --tls-key key.pem    serve TLS; SIGHUP reloads both files
  baton serve --jwt-jwks keys.json --jwt-issuer https://login.example --jwt-audience baton
                                                 accept JWTs from an identity provider
  baton serve --otel-endpoint http://127.0.0.1:4318     export spans to an OpenTelemetry collector
  baton serve --a2a-peer reviewer=https://agents.example/reviewer
                                                 have tasks of `reviewer` done over A2A
  baton serve --log-format json                  log JSON lines
  baton --config /etc/baton.toml serve           read settings from the [serve] table of a file
  baton serve --listen 127.0.0.1:0               pick a free port; the banner on stderr shows it

The server stops on ctrl-c or SIGTERM. Acknowledged writes are durable, even after kill -9.
See docs/access.md for tokens and JWTs, and docs/operations.md for running in production.";

/// Start the server
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Serve {
    #[command(flatten)]
    options: ServerOptions,
}

impl Serve {
    pub(crate) async fn run(self, context: &Context, output: &Output) -> Result<(), Failure> {
        let serving = ServerSettings::of(&self.options, &mut context.sources())?;
        allow_many_files();
        let signals = StopSignals::listen()?;
        let tls = serving.identity()?;
        let jwt = serving.issuer()?;
        let webhooks = webhooks(&serving, context)?;
        let a2a_peers = serving.peers.read(context.settings().ca_file.as_deref())?;
        serving.check_otel()?;
        #[cfg(feature = "otel")]
        let otel = serving.otel()?;
        let reload = Reload::listen(tls.clone(), jwt.clone())?;
        let announcer = Announcer::of(&serving, output)?;
        serving.check_log()?;
        #[cfg(any(feature = "nats", feature = "postgres"))]
        let key = serving.secrets_key()?;
        let engines = if serving.log.is_some() { None } else { Some(open(&serving).await?) };
        let options = options(&serving);
        let settings = Settings {
            listen: serving.listen,
            tokens: serving.tokens,
            jwt,
            tls,
            hosts: serving.hosts,
            connections_max: serving.connections_max,
            idle_max: serving.idle_max,
            quotas: serving.quotas,
            server_log: announcer.server_log.clone(),
            slow: serving.log_slow,
            webhooks,
            a2a_peers,
            #[cfg(feature = "otel")]
            otel,
            ..Settings::default()
        };
        let Some(engines) = engines else {
            let (log, advertise) = (serving.log.unwrap_or_default(), serving.advertise);
            let ca_file = context.settings().ca_file.as_deref();
            let place = LogLocation {
                log: &log,
                advertise,
                shards: serving.shards,
                ca_file,
                #[cfg(any(feature = "nats", feature = "postgres"))]
                key,
            };
            return serve_database(place, options, settings, &announcer, (signals, reload)).await;
        };
        tokio::select! {
            ended = engines.serve(settings, &announcer, signals) => ended?,
            () = reload_on_hangup(reload, &announcer) => {}
        }
        announcer.ended();
        Ok(())
    }
}

/// The engines that have the data of a folder.
enum Engines {
    One(Baton),
    Shards(FolderShards),
}

impl Engines {
    /// Serves until a signal.
    async fn serve(
        self,
        settings: Settings,
        announcer: &Announcer,
        mut signals: StopSignals,
    ) -> Result<(), Failure> {
        let baton = match self {
            Self::One(baton) => baton,
            Self::Shards(shards) => return shards.serve(settings, announcer, signals).await,
        };
        // Before the server listens, so that a server with tokens always has at least one.
        let first = if settings.tokens { first_token(&baton).await? } else { None };
        let scheme = Scheme::of(&settings);
        let server = Server::bind(baton.clone(), settings).await?;
        if let Some(token) = first {
            announcer.first_token(&token);
        }
        let url = scheme.url(server.address());
        announcer.began(&baton.description(), &url, scheme.demands_tokens);
        drop(baton);
        server.run(async move { signals.received().await }).await;
        Ok(())
    }
}

/// How clients reach a server.
struct Scheme {
    name: &'static str,
    hosts: Vec<String>,
    demands_tokens: bool,
}

impl Scheme {
    fn of(settings: &Settings) -> Self {
        Self {
            name: if settings.tls.is_some() { "https" } else { "http" },
            hosts: settings.hosts.clone(),
            demands_tokens: settings.tokens || settings.jwt.is_some(),
        }
    }

    fn url(&self, listen: SocketAddr) -> String {
        format!("{}://{}", self.name, reachable(listen, &self.hosts))
    }
}

/// A log in a database.
#[cfg_attr(
    not(any(feature = "nats", feature = "postgres")),
    expect(dead_code, reason = "used only with a database")
)]
struct LogLocation<'a> {
    log: &'a str,
    advertise: Option<String>,
    shards: Option<u32>,
    ca_file: Option<&'a Path>,
    #[cfg(any(feature = "nats", feature = "postgres"))]
    key: Option<baton_cluster::SecretsKey>,
}

#[cfg(any(feature = "nats", feature = "postgres"))]
async fn serve_database(
    place: LogLocation<'_>,
    options: Options,
    settings: Settings,
    announcer: &Announcer,
    (signals, reload): (StopSignals, Option<Reload>),
) -> Result<(), Failure> {
    let location = database::location(place.log, place.ca_file)?;
    let server = database::DatabaseServer {
        location,
        advertise: place.advertise,
        shards: place.shards,
        ca_file: place.ca_file.map(Path::to_owned),
        key: place.key.map(Arc::new),
        options,
        settings,
    };
    tokio::select! {
        ended = server.run(announcer, signals) => ended,
        () = reload_on_hangup(reload, announcer) => Ok(()),
    }
}

#[cfg(not(any(feature = "nats", feature = "postgres")))]
async fn serve_database(
    _: LogLocation<'_>,
    _: Options,
    _: Settings,
    _: &Announcer,
    _: (StopSignals, Option<Reload>),
) -> Result<(), Failure> {
    Err(Fault::NotBuilt { what: "a log in PostgreSQL", feature: "postgres" }.into())
}

/// Webhook settings, if webhooks are enabled. Endpoints are verified with the same CA setting that
/// the other commands use.
fn webhooks(serving: &ServerSettings, context: &Context) -> Result<Option<Webhooks>, Failure> {
    if !serving.webhooks {
        return Ok(None);
    }
    let ca_file = context.settings().ca_file.as_deref();
    Ok(Some(Webhooks::new(serving.webhooks_private, ca_file)?))
}

fn options(serving: &ServerSettings) -> Options {
    Options {
        disk_free_bytes_min: serving.disk_free_bytes_min,
        extents: serving.extents.clone(),
        ..Options::default()
    }
}

async fn open(serving: &ServerSettings) -> Result<Engines, Failure> {
    match FolderShards::open(serving, options(serving)).await? {
        Some(shards) => Ok(Engines::Shards(shards)),
        None => Ok(Engines::One(open_one(serving).await?)),
    }
}

#[cfg(not(feature = "s3"))]
async fn open_one(serving: &ServerSettings) -> Result<Baton, Failure> {
    Ok(baton::open_with(&serving.data, options(serving)).await?)
}

/// Checks the bucket first, so that a mistyped name fails at startup and not at the first upload.
#[cfg(feature = "s3")]
async fn open_one(serving: &ServerSettings) -> Result<Baton, Failure> {
    let options = options(serving);
    let Some(address) = &serving.artifacts else {
        return Ok(baton::open_with(&serving.data, options).await?);
    };
    let bad = |error: LocationError| Fault::Usage { reason: format!("--artifacts: {error}") };
    let bucket = Bucket::open(&S3Location::parse(address).map_err(bad)?).map_err(bad)?;
    let folder = serving.data.clone();
    let opened = tokio::task::spawn_blocking(move || {
        bucket.check_access().map_err(Error::from)?;
        let log = FileLog::open(FileOptions::new(&folder))?;
        Baton::on(SplitLog::new(log, bucket), SystemClock::default(), options)
    });
    let closed = |_| Error::Closed;
    Ok(opened.await.map_err(closed)??)
}

/// Creates an admin token if the server has no tokens yet.
async fn first_token(baton: &Baton) -> Result<Option<String>, Failure> {
    let tokens = Tokens::of(baton)?;
    if !tokens.all().await?.is_empty() {
        return Ok(None);
    }
    let (name, grant) = ("first admin".to_owned(), Grant::admin());
    let wanted = Wanted { name, grant, ttl_ms: None, quota: None };
    Ok(Some(tokens.create(wanted).await?.token))
}

/// The address that clients can use. A server that listens on all addresses is reached at its name;
/// otherwise at the address from which this machine would send.
fn reachable(listen: SocketAddr, hosts: &[String]) -> String {
    if !listen.ip().is_unspecified() {
        return listen.to_string();
    }
    let port = listen.port();
    if let Some(host) = hosts.first() {
        return format!("{host}:{port}");
    }
    // This sends nothing: it only chooses a route.
    let socket = UdpSocket::bind((listen.ip(), 0)).and_then(|socket| {
        let anywhere: IpAddr = match listen.ip() {
            IpAddr::V4(_) => ELSEWHERE_V4.into(),
            IpAddr::V6(_) => ELSEWHERE_V6.into(),
        };
        socket.connect((anywhere, DISCARD_PORT))?;
        socket.local_addr()
    });
    match socket {
        Ok(own) => SocketAddr::new(own.ip(), port).to_string(),
        Err(_) => format!("{}:{port}", host_name()),
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// The startup banner. Its commands work when pasted into another terminal.
fn banner(description: &str, url: &str, program: &str, shown: &str) -> String {
    let export = format!("  export BATON_URL={url}\n");
    let export = if keys::URL.default == Some(url) { "" } else { &export };
    // The address stays alone on its line: programs read it from there.
    let page = format!("  browser  {url}/\n");
    let page = if cfg!(feature = "ui") { &page } else { "" };
    format!(
        "baton {} is ready\n\n  data     {description}\n  address  {url}\n{page}\n\
         Try this in another terminal:\n\n{export}  {program} demo --rounds 9\n  \
         {program} state set plan '{{\"step\": 1}}'\n  \
         {program} watch --from 1\n  curl {shown}{url}/v1/default/state/shared/plan\n\n\
         Press ctrl-c to stop.",
        env!("CARGO_PKG_VERSION")
    )
}

/// How to run this program again: by name if it was found in PATH, otherwise by its full path.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let path = std::env::current_exe().ok().filter(|_| called.contains('/'));
    let path = path.map(|path| path.display().to_string());
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+".contains(sign);
    match path {
        Some(path) if path.chars().all(is_plain) => path,
        Some(path) => format!("'{}'", path.replace('\'', "'\\''")),
        None => "baton".to_owned(),
    }
}

/// The signals that stop the server. The handlers are installed before the server is announced, so
/// that an early signal is not lost.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        // A service manager that cannot be reached sees the end of the process.
        let _ = service_manager::notify(service_manager::STOPPING);
    }
}

/// SIGHUP, which reloads the TLS certificate and the JWT keys.
struct Reload {
    hangup: Signal,
    identity: Option<Identity>,
    issuer: Option<Issuer>,
}

impl Reload {
    /// None if there is nothing to reload and a terminal is attached: SIGHUP then means that it was
    /// closed, and ends the server. A service that is reloaded keeps running, whatever its settings
    /// are.
    fn listen(identity: Option<Identity>, issuer: Option<Issuer>) -> io::Result<Option<Self>> {
        let has_terminal = io::stdin().is_terminal() || io::stderr().is_terminal();
        if identity.is_none() && issuer.is_none() && has_terminal {
            return Ok(None);
        }
        Ok(Some(Self { hangup: signal(SignalKind::hangup())?, identity, issuer }))
    }
}

/// Reloads on every SIGHUP; never returns.
async fn reload_on_hangup(reload: Option<Reload>, announcer: &Announcer) {
    let Some(Reload { mut hangup, identity, issuer }) = reload else {
        return pending().await;
    };
    while hangup.recv().await.is_some() {
        if let Some(identity) = &identity {
            let events = ["certificate.renewed", "certificate.not_renewed"];
            announcer.reloaded("TLS certificate", events, identity.read_again());
        }
        if let Some(issuer) = &issuer {
            let events = ["keys.renewed", "keys.not_renewed"];
            announcer.reloaded("JWT keys", events, issuer.read_again());
        }
    }
    pending::<()>().await;
}

/// Raises the soft limit on open files: each connection is one, and the default is about 1,000.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = setrlimit(Resource::Nofile, wanted);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_has_an_address_that_clients_can_use() {
        let listen = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(reachable(listen("127.0.0.1:4747"), &[]), "127.0.0.1:4747");
        let hosts = ["baton.test".to_owned()];
        assert_eq!(reachable(listen("0.0.0.0:4747"), &hosts), "baton.test:4747");
        for all in ["0.0.0.0:4747", "[::]:4747"] {
            let shown = reachable(listen(all), &[]);
            assert!(shown.ends_with(":4747") && shown != all, "{shown}");
        }
    }
}
