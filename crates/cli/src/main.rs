//! `baton`: the server, and everything it can do, from a shell.

mod serve;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The place where a fleet of AI agents works together
#[derive(Parser)]
#[command(name = "baton", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
}

fn main() -> std::process::ExitCode {
    match Arguments::parse().command {
        Command::Serve(serve) => serve.run(),
    }
}
