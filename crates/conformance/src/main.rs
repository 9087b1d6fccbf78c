//! A server for the conformance suite of the Model Context Protocol.
//!
//! The suite calls tools, resources and prompts by name, such as `test_simple_text`. They are added
//! here around the handler of the product: everything else, from the listener to the sessions, is
//! what `baton serve` runs, and so is every request that names no fixture.

mod content;
mod fixtures;
mod input;
mod legacy;
mod tools;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use baton_mcp::{HttpService, Mcp};
use baton_server::{Server, Settings};

use crate::fixtures::Fixtures;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("name a folder for the data")?;
    let baton = baton::open(std::path::Path::new(&folder)).await?;
    let settings = Settings {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        mcp_service: |resolver, request_bytes_max| {
            let changes = tokio::sync::broadcast::channel(16).0;
            let handler =
                move |toolset| Fixtures::new(Mcp::new(resolver.clone(), toolset), &changes);
            HttpService::with_handler(handler, request_bytes_max)
        },
        ..Settings::default()
    };
    let server = Server::bind(baton, settings).await?;
    writeln!(std::io::stderr(), "listening on http://{}", server.address())?;
    server.run(async { drop(tokio::signal::ctrl_c().await) }).await;
    Ok(())
}
