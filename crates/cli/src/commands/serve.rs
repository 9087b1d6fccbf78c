//! `baton serve`: the server, in the foreground.

use std::future::pending;
use std::io;

use baton::{Baton, Options};
#[cfg(feature = "s3")]
use baton::{Error, clock::SystemClock};
use baton_core::access::Grant;
#[cfg(feature = "s3")]
use baton_log::file::{FileLog, Options as FileOptions};
#[cfg(feature = "s3")]
use baton_s3::{BadPlace, Bucket, Divided, Place};
use baton_server::access::{Issuer, Tokens, Wanted};
use baton_server::{Quota, Server, Settings, Webhooks};
use baton_tls::Identity;
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::context::Context;
use crate::failure::Failure;
#[cfg(feature = "s3")]
use crate::failure::Fault;
use crate::output::Output;
use crate::settings::{Serving, ServingOptions, keys};

mod voice;

use voice::Voice;

const AFTER_HELP: &str = "\
Examples:
  baton serve                                    data in ./.baton, address 127.0.0.1:4747
  baton serve --data /var/lib/baton              data elsewhere
  baton serve --tokens --listen 0.0.0.0:4747     for others: everyone shows a token
  baton serve --tls-cert chain.pem --tls-key key.pem    TLS; SIGHUP reads both again
  baton serve --jwt-jwks keys.json --jwt-issuer https://login.example --jwt-audience baton
                                                 take tokens of an issuer (docs/access.md)
  baton serve --otel-endpoint http://127.0.0.1:4318     spans for a collector of OpenTelemetry
  baton serve --log-format json                  what happens, a line of JSON for each
  baton --config /etc/baton.toml serve           settings from a file, under [serve]
  baton serve --listen 127.0.0.1:0               any free port; the banner on stderr says which

It ends with ctrl-c or SIGTERM. Whatever was acknowledged is durable, also after kill -9.";

/// Start a server: durable data in a folder, over HTTP and WebSocket
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Serve {
    #[command(flatten)]
    options: ServingOptions,
}

impl Serve {
    pub(crate) async fn run(self, context: &Context, output: &Output) -> Result<(), Failure> {
        let serving = Serving::of(&self.options, &mut context.sources())?;
        allow_many_files();
        let ending = Ending::listen()?;
        let tls = serving.identity()?;
        let jwt = serving.issuer()?;
        let webhooks = webhooks(&serving, context)?;
        #[cfg(feature = "otel")]
        let otel = serving.otel()?;
        #[cfg(not(feature = "otel"))]
        serving.no_otel()?;
        let renewing = Renewing::listen(tls.clone(), jwt.clone())?;
        let voice = Voice::of(&serving, output)?;
        let is_secure = tls.is_some();
        let demands = serving.tokens || jwt.is_some();
        let baton = open(&serving).await?;
        let settings = Settings {
            listen: serving.listen,
            tokens: serving.tokens,
            jwt,
            tls,
            hosts: serving.hosts,
            connections_max: serving.connections_max,
            quotas: serving.quotas,
            journal: voice.journal.clone(),
            slow: serving.log_slow,
            webhooks,
            #[cfg(feature = "otel")]
            otel,
            ..Settings::default()
        };
        // Before anybody is served: whoever demands tokens must be able to show one.
        let first = if serving.tokens { first_token(&baton).await? } else { None };
        let server = Server::bind(baton.clone(), settings).await?;
        if let Some(token) = first {
            voice.first_token(&token);
        }
        let scheme = if is_secure { "https" } else { "http" };
        let url = format!("{scheme}://{}", server.address());
        voice.began(&baton.description(), &url, demands);
        drop(baton);
        tokio::select! {
            () = server.run(ending.told()) => {}
            () = renew(renewing, &voice) => {}
        }
        voice.ended();
        Ok(())
    }
}

/// How webhooks are called, if they are. Whom a server believes when it calls is said by the same
/// setting as whom every other command believes.
fn webhooks(serving: &Serving, context: &Context) -> Result<Option<Webhooks>, Failure> {
    if !serving.webhooks {
        return Ok(None);
    }
    let ca_file = context.settings().ca_file.as_deref();
    Ok(Some(Webhooks::new(serving.webhooks_private, ca_file)?))
}

fn options(serving: &Serving) -> Options {
    Options {
        disk_free_bytes_min: serving.disk_free_bytes_min,
        extents: serving.extents.clone(),
        ..Options::default()
    }
}

#[cfg(not(feature = "s3"))]
async fn open(serving: &Serving) -> Result<Baton, Failure> {
    Ok(baton::open_with(&serving.data, options(serving)).await?)
}

/// The bucket is looked at first: who mistypes its name shall know before the first upload.
#[cfg(feature = "s3")]
async fn open(serving: &Serving) -> Result<Baton, Failure> {
    let options = options(serving);
    let Some(address) = &serving.artifacts else {
        return Ok(baton::open_with(&serving.data, options).await?);
    };
    let bad = |error: BadPlace| Fault::Usage { reason: format!("--artifacts: {error}") };
    let bucket = Bucket::open(&Place::parse(address).map_err(bad)?).map_err(bad)?;
    let folder = serving.data.clone();
    let opened = tokio::task::spawn_blocking(move || {
        bucket.look().map_err(Error::from)?;
        let log = FileLog::open(FileOptions::new(&folder))?;
        Baton::on(Divided::new(log, bucket), SystemClock::default(), options)
    });
    let closed = |_| Error::Closed;
    Ok(opened.await.map_err(closed)??)
}

/// A token for whoever starts a server that has none.
async fn first_token(baton: &Baton) -> Result<Option<String>, Failure> {
    let tokens = Tokens::of(baton)?;
    if !tokens.all().await?.is_empty() {
        return Ok(None);
    }
    let quota = Quota::default();
    let (name, grant) = ("first admin".to_owned(), Grant::admin());
    let wanted = Wanted { name, grant, ttl_ms: None, quota };
    Ok(Some(tokens.create(wanted).await?.token))
}

/// What to try stands there so that it works when it is pasted into another terminal.
fn banner(description: &str, url: &str, program: &str, shown: &str) -> String {
    let export = format!("  export BATON_URL={url}\n");
    let export = if keys::URL.default == Some(url) { "" } else { &export };
    format!(
        "baton {} is ready\n\n  data     {description}\n  address  {url}\n\n\
         Try, in another terminal:\n\n{export}  {program} state set plan '{{\"step\": 1}}'\n  \
         {program} watch --from 1\n  curl {shown}{url}/v1/default/state/shared/plan\n\n\
         Stop with ctrl-c.",
        env!("CARGO_PKG_VERSION")
    )
}

/// How to call this program again: by name if it was found by name, else by its whole path.
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

/// What asks the server to end. It is listened to before anyone can know that there is a server,
/// so that nobody's signal meets a program that does not expect it.
struct Ending {
    interrupt: Signal,
    terminate: Signal,
}

impl Ending {
    fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    async fn told(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// What asks the server to read its certificate and the keys of an issuer again: both are renewed
/// from time to time.
struct Renewing {
    hangup: Signal,
    identity: Option<Identity>,
    issuer: Option<Issuer>,
}

impl Renewing {
    /// None if there is nothing to read: the signal means what it always means then.
    fn listen(identity: Option<Identity>, issuer: Option<Issuer>) -> io::Result<Option<Self>> {
        if identity.is_none() && issuer.is_none() {
            return Ok(None);
        }
        Ok(Some(Self { hangup: signal(SignalKind::hangup())?, identity, issuer }))
    }
}

/// Reads again whenever it is asked to; does not end by itself.
async fn renew(renewing: Option<Renewing>, voice: &Voice) {
    let Some(Renewing { mut hangup, identity, issuer }) = renewing else {
        return pending().await;
    };
    while hangup.recv().await.is_some() {
        let papers = identity.as_ref().map(|identity| match identity.read_again() {
            Ok(()) => "the certificate was read again".to_owned(),
            Err(error) => format!("the certificate stays as it was: {error}"),
        });
        let keys = issuer.as_ref().map(|issuer| match issuer.read_again() {
            Ok(()) => "the keys of the issuer were read again".to_owned(),
            Err(error) => format!("the keys of the issuer stay as they were: {error}"),
        });
        if let Some(became) = papers {
            voice.renewed("certificate.renewed", &became);
        }
        if let Some(became) = keys {
            voice.renewed("keys.renewed", &became);
        }
    }
    pending::<()>().await;
}

/// Every connection is a file to the system, and the usual limit is a thousand.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = setrlimit(Resource::Nofile, wanted);
}
