//! End-to-end tests of the program: real processes, sockets and files.
//!
//! | file | tests |
//! |---|---|
//! | `a2a` | agents of other systems: `baton a2a`, and servers that hand tasks to each other |
//! | `stories` | every command, as a table and as JSON lines, with golden files |
//! | `refusals` | exit codes and error messages |
//! | `serving` | startup, startup errors, shutdown; the commands in the banner work |
//! | `secure` | TLS, from invalid files to a reloaded certificate |
//! | `settings` | the precedence of option, environment, file and default |
//! | `offline` | `baton log` on valid and damaged data |
//! | `backups` | backup and restore |
//! | `coding_agents` | reservations, the hook, the brief and instructions for coding agents |
//! | `completion` | bash completion offers live names |
//! | `copies` | two servers that were apart: `baton workspace sync` |
//! | `demo` | `baton demo` |
//! | `deployment` | the files that deploy the program |
//! | `documents` | every shell command in the documents and help topics |
//! | `doctor` | `baton doctor` |
//! | `interrupts` | signals while a command reads stdin, waits or measures |
//! | `locks` | `baton lock run` |
//! | `mcp` | the Model Context Protocol, by a client over stdio and HTTP |
//! | `mcp_frames` | the same frame by frame, with bad input |
//! | `shards` | a data folder that is divided among several engines |
//! | `tasks` | `baton task work` |
//! | `surviving` | a watch survives `kill -9` of the server without gaps or duplicates |
//! | `tokens` | access tokens and JWTs |
//! | `workers` | every task is completed once, even if processes are stopped or killed |
//!
//! No test waits for a fixed time: each waits for the output or exit that makes the next step
//! possible.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

mod a2a;
mod backups;
mod coding_agents;
mod completion;
mod copies;
mod demo;
mod deployment;
mod doctor;
mod documents;
mod interrupts;
mod locks;
mod mcp;
mod mcp_frames;
mod offline;
mod process;
mod refusals;
mod secure;
mod serving;
mod settings;
mod shards;
mod stories;
mod surviving;
mod tasks;
mod tokens;
mod workers;
