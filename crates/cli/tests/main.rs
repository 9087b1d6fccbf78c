//! The program as people and scripts use it: real processes, real sockets, real files.
//!
//! | file | promises |
//! |---|---|
//! | `stories` | every command, in words for people and for programs, as golden files |
//! | `refusals` | exit codes and three lines for everything that can go wrong |
//! | `serving` | starting, refusing to start, ending; the banner's lines work when pasted |
//! | `secure` | TLS, from a bad file to a renewed certificate |
//! | `settings` | option before environment before file before default |
//! | `offline` | `baton log` on sound and damaged data |
//! | `backups` | the whole server as one file, and a folder made of it |
//! | `completing` | what bash offers when tab is pressed is what there is |
//! | `demo` | what is acted out for newcomers happens as it is told |
//! | `documents` | every line for a shell in the documents and the pages of help does as it says |
//! | `doctor` | what commonly is wrong is seen |
//! | `locks` | a program runs while a lock is held, and no longer |
//! | `tasks` | a program runs for each task while its lease is kept |
//! | `surviving` | a watch outlives `kill -9` of the server, without gap or duplicate |
//! | `tokens` | everyone shows a token, and gets what it is for |
//! | `workers` | tasks are done once, whichever process is stopped or killed meanwhile |
//!
//! No story waits for the clock: each waits for the line or the end that makes the next step
//! possible.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

mod backups;
mod completing;
mod demo;
mod doctor;
mod documents;
mod locks;
mod offline;
mod process;
mod refusals;
mod secure;
mod serving;
mod settings;
mod stories;
mod surviving;
mod tasks;
mod tokens;
mod workers;
