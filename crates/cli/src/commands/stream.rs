//! `baton stream`: ordered streams of frames.

use std::io::BufRead;

use baton_core::Json;
use baton_core::stream::{Frames, Status};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::Source;
use crate::output::{Output, plain};

const AFTER_HELP: &str = "\
Examples:
  baton stream create answer
  baton stream tail answer                           in one terminal
  baton stream send answer to ken                    in another
  model | baton stream send answer --lines           send each line of text as a frame
  baton stream close answer
  baton stream read answer --from 100 --limit 10

Every frame has an offset. Readers resume from an offset and wait at the end of the stream. A stream
keeps a bounded number of frames and drops the oldest first.";

/// How long one long poll waits.
const WAIT_MS: u64 = 30_000;
/// Maximum number of lines sent in one request.
const LINES_MAX: usize = 1_000;

/// Append to and read ordered streams
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Stream {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(Create),
    Send(Send),
    Read(Read),
    /// Follow a stream until it is closed
    Tail {
        /// Stream name
        stream: String,
        /// Start at this offset [default: the oldest frame]
        #[arg(long, value_name = "OFFSET")]
        from: Option<u64>,
    },
    /// Close a stream
    Close {
        /// Stream name
        stream: String,
        /// Reason
        #[arg(long)]
        reason: Option<String>,
    },
    /// Delete a stream and its frames
    Delete {
        /// Stream name
        stream: String,
    },
    /// Show a stream
    Get {
        /// Stream name
        stream: String,
    },
    /// List streams
    Ls,
}

/// Create a stream
#[derive(Args)]
struct Create {
    /// Name
    stream: String,
    /// Keep no frames; deliver them to watchers of streams/NAME only
    #[arg(long)]
    live: bool,
    /// Maximum number of frames to keep
    #[arg(long, value_name = "COUNT")]
    frames_max: Option<u64>,
    /// Maximum number of bytes to keep
    #[arg(long, value_name = "BYTES")]
    bytes_max: Option<u64>,
}

/// Send frames
#[derive(Args)]
struct Send {
    /// Stream name
    stream: String,
    /// Frames: JSON or text, @FILE, or - for stdin
    #[arg(required_unless_present = "lines")]
    frames: Vec<Source>,
    /// Send each line of stdin as a text frame
    #[arg(long, conflicts_with = "frames")]
    lines: bool,
}

/// Read frames
#[derive(Args)]
struct Read {
    /// Stream name
    stream: String,
    /// Start at this offset [default: the oldest frame]
    #[arg(long, value_name = "OFFSET")]
    from: Option<u64>,
    /// Maximum number of frames
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

const COLUMNS: [&str; 6] = ["stream", "status", "first", "next", "bytes", "updated_at"];

impl Stream {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Create(create) => create.run(context, output).await,
            Verb::Send(send) => send.run(context, output).await,
            Verb::Read(Read { stream, from, limit }) => {
                let streams = context.workspace().await?.streams();
                let mut reading = streams.receive(&stream);
                if let Some(from) = from {
                    reading = reading.from(from);
                }
                if let Some(limit) = limit {
                    reading = reading.limit(limit);
                }
                let found = reading.await?;
                output.list(("frames", found.frames.len()), &found, |output| {
                    output.table(&found.frames, &["offset", "data"])
                })
            }
            Verb::Tail { stream, from } => tail(context, &stream, from, output).await,
            Verb::Close { stream, reason } => {
                let streams = context.workspace().await?.streams();
                let found = streams.close(&stream, reason.as_deref()).await?;
                output.said(&found, &format!("stream {stream} closed at offset {}", found.next))
            }
            Verb::Delete { stream } => {
                let found = context.workspace().await?.streams().delete(&stream).await?;
                output.said(&found, &format!("stream {stream} deleted"))
            }
            Verb::Get { stream } => {
                output.one(&context.workspace().await?.streams().get(&stream).await?)
            }
            Verb::Ls => output.many(
                "streams",
                &context.workspace().await?.streams().list().await?,
                &COLUMNS,
            ),
        }
    }
}

impl Create {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let mut creating = context.workspace().await?.streams().create(&self.stream);
        if self.live {
            creating = creating.live();
        }
        if let Some(count) = self.frames_max {
            creating = creating.frames_max(count);
        }
        if let Some(bytes) = self.bytes_max {
            creating = creating.bytes_max(bytes);
        }
        let found = creating.await?;
        output.said(&found, &format!("stream {} created", self.stream))
    }
}

impl Send {
    async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let streams = context.workplace().await?.streams();
        if !self.lines {
            let frames: Result<Vec<Json>, Failure> =
                self.frames.iter().map(Source::json_or_text).collect();
            let sent = streams.send_all(&self.stream, &frames?).await?;
            return output.said(&sent, &format!("sent; the next offset is {}", sent.next));
        }
        let (sender, mut lines) = tokio::sync::mpsc::channel::<String>(LINES_MAX);
        // A blocking read of stdin cannot be cancelled, so it has its own thread.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        let mut batch = Vec::new();
        while lines.recv_many(&mut batch, LINES_MAX).await > 0 {
            streams.send_all(&self.stream, &batch).await?;
            batch.clear();
        }
        Ok(())
    }
}

async fn tail(
    context: &Context,
    stream: &str,
    from: Option<u64>,
    output: &mut Output,
) -> Result<(), Failure> {
    let streams = context.workplace().await?.streams();
    let mut from = from;
    loop {
        let mut reading = streams.receive(stream).wait_ms(WAIT_MS).limit(LINES_MAX as u64);
        if let Some(from) = from {
            reading = reading.from(from);
        }
        let Frames { frames, next, status, .. } = reading.await?;
        for frame in &frames {
            output.next(frame, |_| plain(frame.data.as_str()))?;
        }
        if status == Status::Closed {
            return Ok(());
        }
        from = Some(next);
    }
}
