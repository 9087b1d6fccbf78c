//! The operations on streams.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "stream.create" -> "stream", Post "/streams" Body, Work:
        "Create a stream", {"stream": "answer-7", "frames_max": 10000};
    Command::Send = "stream.send" -> "sent", Post "/streams/{stream}/frames" Body, Work,
        side_effects(
            "Waiting readers are answered in the same commit. Frames beyond the limits of the \
             stream are dropped, oldest first."
        ):
        "Append frames to a stream", {"stream": "answer-7", "frames": ["to", "ken"]};
    Command::Receive = "stream.receive" -> "frames", Get "/streams/{stream}/frames" Query, Work,
        waits("wait_ms"):
        "Read frames, optionally waiting for more",
        {"stream": "answer-7", "from": 0, "limit": 100, "wait_ms": 30000};
    Command::Close = "stream.close" -> "stream", Post "/streams/{stream}/close" Body, Work,
        side_effects("Waiting readers are answered in the same commit."):
        "Close a stream", {"stream": "answer-7", "reason": "done"};
    Command::Delete = "stream.delete" -> "stream", Delete "/streams/{stream}" Query, Work,
        side_effects("Waiting readers are answered in the same commit."):
        "Delete a stream and its frames", {"stream": "answer-7"};
    Query::Get = "stream.get" -> "stream", Get "/streams/{stream}" Query, Read:
        "Get a stream", {"stream": "answer-7"};
    Query::List = "stream.list" -> "streams", Get "/streams" Query, Read:
        "List streams", {"limit": 10};
}
