"""The inbox as an iterator, topics and streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from . import _flow as flow
from . import types
from ._async_calls import InboxCalls as AsyncInboxCalls
from ._async_calls import MessagesCalls as AsyncMessagesCalls
from ._async_calls import StreamsCalls as AsyncStreamsCalls
from ._async_calls import TopicsCalls as AsyncTopicsCalls
from ._calls import InboxCalls, MessagesCalls, StreamsCalls, TopicsCalls
from ._flow import Call, Flow, waits
from ._omit import OMIT
from ._outcomes import UNSTORABLE, described
from ._watch import AsyncWatch, Watch
from .errors import Conflict, NotFound, Stale

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton


REDELIVER_MS = 600_000
"""After how long mail that is not acknowledged comes again: model calls take minutes."""

REPLIED = ("message.already_replied", "message.live_over")
"""A reply that is repeated gets one of these if the first one was executed. Nothing more is known
of a live request."""


def answering(message: types.Message, result: Any, error: BaseException | None) -> Call | None:
    """The call that says what came of a message."""
    if message.request is None:
        return None if error else Call("inbox.ack", {"messages": [message.id]})
    # The sender gets the answer, and the request itself is not needed again.
    about = {"request": message.id, "return": "minimal"}
    if error is not None:
        return Call("message.reply", {**about, "error": described(error)})
    return Call("message.reply", {**about, "body": result})


def answered(
    message: types.Message, result: Any, error: Exception | None
) -> Flow[Exception | None]:
    """Says what came of a message; returns the error, if it is one. If an answer cannot be stored,
    the sender gets the reason: otherwise it would wait for nothing."""
    call = answering(message, result, error)
    if call is None:
        return error
    try:
        yield call
    except UNSTORABLE as refusal:
        instead = answering(message, None, refusal)
        if instead is None:
            raise
        yield instead
        return refusal
    return error


def receiving_next(call: Call, redeliver_ms: int, wait_ms: int) -> Call:
    """A reply that also receives the next message, and is answered with that."""
    fields = {name: value for name, value in call.fields.items() if name != "return"}
    return Call(call.operation, {**fields, "redeliver_ms": redeliver_ms, "wait_ms": wait_ms})


def told_again(call: Call) -> Flow[None]:
    """Replies where it is not known whether an earlier call did."""
    try:
        yield call
    except (Conflict, Stale) as error:
        if error.code not in REPLIED:
            raise


def _next_of(raw: Any) -> types.Message | None:
    messages = raw["messages"]
    return types.Message(messages[0]) if messages else None


def _reply_fields(
    request: str, body: Any, error: Any, wait: float, redeliver_ms: int | None
) -> dict[str, Any]:
    fields: dict[str, Any] = {"request": request, "wait_ms": round(wait * 1000)}
    fields |= {"body": body} if error is OMIT else {"error": error}
    return fields if redeliver_ms is None else {**fields, "redeliver_ms": redeliver_ms}


class Messages(MessagesCalls):
    """Messages, requests and replies."""

    __slots__ = ()

    def reply_and_receive(
        self,
        request: str,
        body: Any = None,
        *,
        error: Any = OMIT,
        wait: float = 0,
        redeliver_ms: int | None = None,
    ) -> types.Message | None:
        """Answers a request and receives the next message in the same commit; none if none came
        within so many seconds."""
        fields = _reply_fields(request, body, error, wait, redeliver_ms)
        return _next_of(self._baton.call("message.reply", **fields))


class AsyncMessages(AsyncMessagesCalls):
    """Messages, requests and replies."""

    __slots__ = ()

    async def reply_and_receive(
        self,
        request: str,
        body: Any = None,
        *,
        error: Any = OMIT,
        wait: float = 0,
        redeliver_ms: int | None = None,
    ) -> types.Message | None:
        """Answers a request and receives the next message. See `Messages.reply_and_receive`."""
        fields = _reply_fields(request, body, error, wait, redeliver_ms)
        return _next_of(await self._baton.call("message.reply", **fields))


class _Mail:
    def __init__(self, message: types.Message) -> None:
        self.message = message

    @property
    def body(self) -> Any:
        """The body of the message."""
        return self.message.body

    @property
    def sender(self) -> str:
        """The agent that sent it."""
        return self.message.from_

    @property
    def is_request(self) -> bool:
        """Whether the sender waits for an answer."""
        return self.message.request is not None


class Mail(_Mail):
    """A message that was received. It comes again unless it is acknowledged or answered."""

    def __init__(self, baton: Baton, message: types.Message) -> None:
        super().__init__(message)
        self._baton = baton

    def ack(self) -> None:
        """It was handled, and must not come again."""
        self._baton.call("inbox.ack", agent=self._baton.agent, messages=[self.message.id])

    def reply(self, body: Any = None, *, error: Any = OMIT) -> None:
        """Answers a request, with a body or with an error."""
        given = {"body": body} if error is OMIT else {"error": error}
        self._baton.call_minimal("message.reply", request=self.message.id, **given)


class AsyncMail(_Mail):
    """A message that was received. It comes again unless it is acknowledged or answered."""

    def __init__(self, baton: AsyncBaton, message: types.Message) -> None:
        super().__init__(message)
        self._baton = baton

    async def ack(self) -> None:
        """It was handled, and must not come again."""
        await self._baton.call("inbox.ack", agent=self._baton.agent, messages=[self.message.id])

    async def reply(self, body: Any = None, *, error: Any = OMIT) -> None:
        """Answers a request, with a body or with an error."""
        given = {"body": body} if error is OMIT else {"error": error}
        await self._baton.call_minimal("message.reply", request=self.message.id, **given)


class Inbox(InboxCalls):
    """The inbox of the agent that acts."""

    __slots__ = ()

    def messages(self, wait: float | None = None) -> Iterator[Mail]:
        """Messages as they come, oldest first; ends when none comes for so many seconds."""
        while True:
            for chunk in waits(wait):
                received = self.receive(limit=1, wait_ms=chunk).messages
                if received:
                    break
            else:
                return
            for message in received:
                yield Mail(self._baton, message)


class AsyncInbox(AsyncInboxCalls):
    """The inbox of the agent that acts."""

    __slots__ = ()

    async def messages(self, wait: float | None = None) -> AsyncIterator[AsyncMail]:
        """Messages as they come, oldest first; ends when none comes for so many seconds."""
        while True:
            for chunk in waits(wait):
                received = (await self.receive(limit=1, wait_ms=chunk)).messages
                if received:
                    break
            else:
                return
            for message in received:
                yield AsyncMail(self._baton, message)


class Topics(TopicsCalls):
    """Topics: posts that any watcher can receive."""

    __slots__ = ()

    def subscribe(self, topic: str, *, start: int | None = None) -> Watch:
        """The posts of a topic, or of all topics that match a pattern."""
        return self._baton.watch(f"topics/{topic}", types=["topic.posted"], start=start)


class AsyncTopics(AsyncTopicsCalls):
    """Topics: posts that any watcher can receive."""

    __slots__ = ()

    async def subscribe(self, topic: str, *, start: int | None = None) -> AsyncWatch:
        """The posts of a topic, or of all topics that match a pattern."""
        return await self._baton.watch(f"topics/{topic}", types=["topic.posted"], start=start)


class StreamWriter:
    """Sends frames to a stream, which is closed when the block ends."""

    def __init__(self, baton: Baton, stream: str) -> None:
        self._baton = baton
        self.stream = stream

    def send(self, *frames: Any) -> types.Sent:
        """Sends frames, in order."""
        return types.Sent(self._baton.call("stream.send", stream=self.stream, frames=list(frames)))

    def __enter__(self) -> StreamWriter:
        self._baton.run(flow.ignoring(Call("stream.create", {"stream": self.stream}), Conflict))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        reason = {} if error is None else {"reason": f"{type(error).__name__}: {error}"}
        call = Call("stream.close", {"stream": self.stream, **reason})
        self._baton.run(flow.ignoring(call, NotFound))


class AsyncStreamWriter:
    """Sends frames to a stream, which is closed when the block ends."""

    def __init__(self, baton: AsyncBaton, stream: str) -> None:
        self._baton = baton
        self.stream = stream

    async def send(self, *frames: Any) -> types.Sent:
        """Sends frames, in order."""
        raw = await self._baton.call("stream.send", stream=self.stream, frames=list(frames))
        return types.Sent(raw)

    async def __aenter__(self) -> AsyncStreamWriter:
        call = Call("stream.create", {"stream": self.stream})
        await self._baton.run(flow.ignoring(call, Conflict))
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        reason = {} if error is None else {"reason": f"{type(error).__name__}: {error}"}
        call = Call("stream.close", {"stream": self.stream, **reason})
        await self._baton.run(flow.ignoring(call, NotFound))


class Streams(StreamsCalls):
    """Streams: frames with offsets."""

    __slots__ = ()

    def read(
        self, stream: str, *, start: int | None = None, wait: float | None = None
    ) -> Iterator[types.StreamFrame]:
        """Frames as they come, from an offset; ends with the stream, or when none comes for so many
        seconds."""
        offset = start
        while True:
            for chunk in waits(wait):
                frames = self.receive(stream, from_=offset, wait_ms=chunk)
                if frames.frames or frames.status == "closed":
                    break
            else:
                return
            offset = frames.next
            yield from frames.frames
            if frames.status == "closed" and not frames.frames:
                return

    def writer(self, stream: str) -> StreamWriter:
        """A context manager that creates a stream if it is absent, and closes it in the end."""
        return StreamWriter(self._baton, stream)


class AsyncStreams(AsyncStreamsCalls):
    """Streams: frames with offsets."""

    __slots__ = ()

    async def read(
        self, stream: str, *, start: int | None = None, wait: float | None = None
    ) -> AsyncIterator[types.StreamFrame]:
        """Frames as they come, from an offset; ends with the stream, or when none comes for so many
        seconds."""
        offset = start
        while True:
            for chunk in waits(wait):
                frames = await self.receive(stream, from_=offset, wait_ms=chunk)
                if frames.frames or frames.status == "closed":
                    break
            else:
                return
            offset = frames.next
            for frame in frames.frames:
                yield frame
            if frames.status == "closed" and not frames.frames:
                return

    def writer(self, stream: str) -> AsyncStreamWriter:
        """A context manager that creates a stream if it is absent, and closes it in the end."""
        return AsyncStreamWriter(self._baton, stream)
