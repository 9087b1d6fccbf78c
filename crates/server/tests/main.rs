//! The doors as callers see them: a server in this process, and real sockets.
//!
//! | file            | the question                                                            |
//! |-----------------|-------------------------------------------------------------------------|
//! | `commands`      | does every operation work by name, alone and in company?                |
//! | `resources`     | and in HTTP's own manner?                                               |
//! | `events`        | does a watch over HTTP tell everything once?                            |
//! | `frames`        | does a WebSocket do all of it, in both sub-protocols?                   |
//! | `watches`       | and many watches on one?                                                |
//! | `waits`         | do calls that wait hold up nobody, and does nobody wait for the gone?    |
//! | `bad_requests`  | is every malformed request answered, and nobody else disturbed?         |
//! | `bad_frames`    | and every malformed frame?                                              |
//! | `access`        | does everyone get what their token is for, and nothing else?            |
//! | `secure`        | is all of it there behind TLS, and nothing without?                     |
//! | `attack`        | is there a way around any of it?                                        |
//! | `jwt`           | and those for whom an issuer vouches?                                   |
//! | `quotas`        | does everyone take what they may, and nobody more?                      |
//! | `fairness`      | does nobody wait for another workspace's flood?                         |
//! | `server_log`    | is what matters written down, and no secret?                            |
//! | `origins`       | can a page from elsewhere come in?                                      |
//! | `slow_peers`    | are those left who take too long, read nothing, or vanish?              |
//! | `limits`        | is there an end to what one caller, and all of them, may have?          |
//! | `shutdown`      | does a server end without losing what it acknowledged?                  |
//! | `failing_disk`  | is a failure below told as what it is?                                  |
//! | `webhooks`      | are strangers called when they should be, and only then?               |
//! | `otel`          | does everything that ends become a span, and is none lost? (a feature)   |
//! | `mutated`       | do the fuzz targets hold for some thousand inputs?                      |
//!
//! Callers are written by hand on plain sockets, since no well-behaved client can misbehave.

mod access;
mod attack;
mod bad_frames;
mod bad_requests;
mod callers;
mod commands;
mod contents;
mod events;
mod failing_disk;
mod fairness;
mod frames;
mod harness;
mod jwt;
mod limits;
mod messages;
mod metrics;
mod mutated;
mod origins;
#[cfg(feature = "otel")]
mod otel;
mod quotas;
mod resources;
mod secure;
mod server_log;
mod shutdown;
mod slow_peers;
mod waits;
mod watches;
mod webhooks;
