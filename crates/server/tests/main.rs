//! The interfaces from the outside: a server in this process, and real sockets.
//!
//! | file            | the question                                                            |
//! |-----------------|-------------------------------------------------------------------------|
//! | `commands`      | does every operation work by name, alone and in a list?                 |
//! | `resources`     | and as an HTTP resource?                                                |
//! | `plain_requests` | and as one that takes the shortest way? |
//! | `events`        | does a watch over HTTP deliver everything once?                         |
//! | `frames`        | does a WebSocket do all of it, in both sub-protocols?                   |
//! | `watches`       | and many watches on one?                                                |
//! | `waits`         | do waiting calls block no others, and end with their callers?           |
//! | `bad_requests`  | is every malformed request answered, without effect on others?          |
//! | `bad_frames`    | and every malformed frame?                                              |
//! | `a2a`           | are tasks what the A2A protocol says? (a feature)               |
//! | `grpc`          | and are they the same in gRPC? (a feature)                              |
//! | `mcp`           | is every malformed request of MCP refused, and none left over?          |
//! | `peers`         | are tasks done by agents of other systems, and none lost? (a feature)   |
//! | `access`        | does every caller get what its token allows, and nothing else?          |
//! | `secure`        | does all of it work with TLS, and nothing without?                      |
//! | `attack`        | can any of it be bypassed?                                              |
//! | `jwt`           | and every caller with a JWT?                                            |
//! | `quotas`        | can every caller use its quota, and no more?                            |
//! | `fairness`      | is a workspace unaffected by another one's flood?                       |
//! | `server_log`    | are the important events logged, and no secret?                         |
//! | `documents`     | is the documentation served, and can a shell show every answer?         |
//! | `dashboard`     | is the page served, and can it do what its token allows? (a feature)    |
//! | `origins`       | can a page from another origin use the server?                          |
//! | `slow_peers`    | are peers disconnected that are too slow, read nothing, or vanish?      |
//! | `limits`        | is there a limit to what one caller, and all of them, may use?          |
//! | `cluster`       | do servers that share the data answer as one?                          |
//! | `shards`        | do the engines of one server answer as one, each on its thread?         |
//! | `joining`       | and before they know of each other?                                     |
//! | `drained`       | can an operator empty one of them?                                      |
//! | `unreachable`   | and if one cannot be reached, or another program is at its address?     |
//! | `lying_peers`   | and if one of them says what is not true?                               |
//! | `elsewhere`     | is every answer that of the owner, whichever server is asked?           |
//! | `forks`         | is a fork in another shard what one in the same shard is?               |
//! | `shutdown`      | does a server end without losing acknowledged writes?                   |
//! | `failing_disk`  | is a failure below reported correctly?                                  |
//! | `webhooks`      | are webhooks called when they should be, and only then?                 |
//! | `otel`          | does everything that ends become a span, and is none lost? (a feature)   |
//! | `mutated`       | do the fuzz targets hold for some thousand inputs?                      |
//!
//! The clients are written by hand on plain sockets, since a well-behaved client cannot misbehave.

#[cfg(feature = "a2a")]
mod a2a;
mod access;
mod attack;
mod bad_frames;
mod bad_requests;
mod callers;
mod cluster;
mod commands;
mod contents;
#[cfg(feature = "ui")]
mod dashboard;
mod documents;
mod drained;
mod elsewhere;
mod events;
mod failing_disk;
mod fairness;
mod forks;
mod frames;
#[cfg(feature = "a2a")]
mod grpc;
mod harness;
mod joining;
mod jwt;
mod limits;
mod lying_peers;
#[cfg(feature = "mcp")]
mod mcp;
mod messages;
mod metrics;
mod mutated;
mod origins;
#[cfg(feature = "otel")]
mod otel;
#[cfg(feature = "a2a")]
mod peers;
mod plain_requests;
mod quotas;
mod resources;
mod secure;
mod server_log;
mod shards;
mod shutdown;
mod slow_peers;
mod unreachable;
mod waits;
mod watches;
mod webhooks;
