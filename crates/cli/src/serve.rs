//! `baton serve`: the server, in the foreground.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use baton_server::{Server, Settings};
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Serve a folder of durable data over HTTP and WebSocket
#[derive(Args)]
pub(crate) struct Serve {
    /// Where to listen; only loopback, as long as there are no tokens
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:4747",
        env = "BATON_LISTEN"
    )]
    listen: SocketAddr,
    /// Where the data is; the folder is created if it is not there
    #[arg(long, value_name = "FOLDER", default_value = "./.baton", env = "BATON_DATA")]
    data: PathBuf,
    /// Another name by which the server may be called; may be given several times
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Connections at a time
    #[arg(long, value_name = "COUNT", default_value_t = Settings::default().connections_max)]
    connections_max: usize,
}

impl Serve {
    pub(crate) fn run(self) -> ExitCode {
        allow_many_files();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return fail(&format!("cannot start: {error}"), "free some memory"),
        };
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> ExitCode {
        let baton = match baton::open(&self.data).await {
            Ok(baton) => baton,
            Err(error) => {
                let what = format!("cannot open the data in {}: {error}", self.data.display());
                return fail(&what, error.hint());
            }
        };
        let settings = Settings {
            listen: self.listen,
            hosts: self.host,
            connections_max: self.connections_max,
            ..Settings::default()
        };
        let server = match Server::bind(baton.clone(), settings).await {
            Ok(server) => server,
            Err(error) => return fail(&error.to_string(), error.hint()),
        };
        banner(&baton.description(), server.address());
        drop(baton);
        server.run(told_to_end()).await;
        let _ = writeln!(std::io::stderr(), "baton has ended; everything acknowledged is durable");
        ExitCode::SUCCESS
    }
}

fn banner(description: &str, address: SocketAddr) {
    let mut out = std::io::stderr();
    let _ = writeln!(
        out,
        "baton {} is ready\n\n  data     {description}\n  address  http://{address}\n\n\
         Try, in another terminal:\n\n  baton state set plan '{{\"step\": 1}}'\n  baton watch\n  \
         curl http://{address}/v1/default/state/shared/plan\n\nStop with ctrl-c.",
        env!("CARGO_PKG_VERSION")
    );
}

async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// Every connection is a file to the system, and the usual limit is a thousand.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = setrlimit(Resource::Nofile, wanted);
}

fn fail(what: &str, hint: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "error: {what}\n  what to do: {hint}");
    ExitCode::FAILURE
}
