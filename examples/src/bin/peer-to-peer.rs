//! `cargo run -p baton-examples --bin peer-to-peer`

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_examples::main_of::<baton_examples::peer_to_peer::PeerToPeer>()
}
