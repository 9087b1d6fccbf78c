//! What an artifact is made of besides its blob: the places that name it.
//!
//! ```text
//!   {"report": {"artifact": "sha256:3f0a…"}}      an entry, a task, a hand-off, a checkpoint, mail
//!                            └─ mention ──▶ Holder ──▶ References ──▶ counted by artifact
//! ```
//!
//! A string that is the id of an artifact, wherever it stands in a value, holds the artifact: it
//! does not go while the value is there. Looking for such strings costs one search through the text
//! and no parsing, because an id needs no escapes in JSON. A string that was written with escapes
//! although it needs none is not seen.
//!
//! Counting is generous, refusing is strict: a command is refused for an artifact that is not there
//! only if it says that it means one, by the name `artifact` before the id or in a list that is
//! called `artifacts`. Digests of other things look the same and are nobody's business here.

mod holder;
mod mention;
mod references;

pub use holder::Holder;
pub use mention::{Mention, in_list, is_any_in, mentioned, mentions};
pub use references::References;
