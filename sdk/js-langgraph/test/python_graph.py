"""The graph of `python.test.mjs` in Python, which does what the lines of its input say.

A line is a list: the name of a function below and its arguments. The answer is a line of JSON.
"""

import json
import logging
import operator
import sys
import traceback
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime, timezone
from typing import Annotated, Any, TypedDict
from uuid import UUID

import baton
from baton.langgraph import BatonSaver, BatonStore
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt


@dataclass
class Point:
    x: int
    y: int


VALUES = {
    "set": {1, 2},
    "bytes": b"\x00\xff",
    "when": datetime(2026, 11, 18, tzinfo=timezone.utc),
    "id": UUID("12345678123456781234567812345678"),
    "point": Point(1, 2),
    "pair": (1, "two"),
    "numbers": [0, -1, 127, 128, -33, 70_000, -70_000, 2**40, -(2**40), 1.5, True, None],
    "by_number": {1: "one"},
    "nested": {"ä": [{"deep": {"er"}}] * 20},
    "text": "é😀" * 40,
    "looks_like": {"lc": 3, "lg_name": "Send"},
}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]
    values: Any


def write(state: State) -> State:
    call = {"name": "search", "args": {"q": "leases"}, "id": "call-1"}
    message = AIMessage("found", id="m-2", tool_calls=[call])
    return {"log": ["written in Python"], "messages": [message]}


def review(state: State) -> State:
    return {"log": [f"{interrupt({'log': state['log']})} in Python"]}


def each(part: dict[str, Any]) -> State:
    return {"log": [f"{part['part']} in Python"]}


def send(state: State) -> list[Send]:
    return [Send("each", {"part": part}) for part in ("a", "b")]


class Graph:
    def __init__(self, url: str, workspace: str) -> None:
        self._client = baton.connect(url, workspace=workspace, agent="python")
        self._saver = BatonSaver(self._client)
        builder = StateGraph(State)
        for name, node in {"write": write, "review": review, "each": each}.items():
            builder.add_node(name, node)
        builder.add_edge(START, "write")
        builder.add_edge("write", "review")
        builder.add_conditional_edges("review", send, ["each"])
        self._graph = builder.compile(checkpointer=self._saver, interrupt_before=["each"])

    def begin(self, thread: str, values: Any = None) -> Any:
        message = HumanMessage("find", id="m-1", additional_kwargs={"tone": "kind"})
        given = VALUES if values is None else values
        return self._run({"log": [], "messages": [message], "values": given}, thread)

    def resume(self, thread: str, answer: str) -> Any:
        return self._run(Command(resume=answer), thread)

    def go_on(self, thread: str) -> Any:
        return self._run(None, thread)

    def state(self, thread: str) -> Any:
        found = self._graph.get_state(config(thread))
        return {
            "values": found.values,
            "next": found.next,
            "interrupts": [it.value for it in found.interrupts],
        }

    def history(self, thread: str) -> Any:
        found = self._graph.get_state_history(config(thread))
        return [[it.next, it.values.get("log"), it.metadata["source"]] for it in found]

    def threads(self) -> Any:
        return sorted({it.config["configurable"]["thread_id"] for it in self._saver.list(None)})

    def kinds(self, thread: str) -> Any:
        values = self._graph.get_state(config(thread)).values["values"]
        return {name: type(it).__name__ for name, it in values.items()}

    def delete(self, thread: str) -> Any:
        self._saver.delete_thread(thread)

    def remember(self, key: str, value: Any) -> Any:
        store = BatonStore(self._client)
        store.put(("memories",), key, value)
        return sorted(it.key for it in store.search(("memories",)))

    def _run(self, given: Any, thread: str) -> Any:
        self._graph.invoke(given, config(thread))
        return self.state(thread)


def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def shown(value: Any) -> Any:
    """A value without a form in JSON."""
    if isinstance(value, BaseMessage):
        fields = {"type": value.type, "text": value.content, "id": value.id}
        return {
            **fields,
            "calls": getattr(value, "tool_calls", []),
            "more": value.additional_kwargs,
        }
    if isinstance(value, (set, bytes)):
        return sorted(value)
    return asdict(value) if is_dataclass(value) else str(value)


# LangGraph warns of classes that it does not know, such as `Point`.
logging.disable(logging.WARNING)
graph = Graph(*sys.argv[1:])
for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = {"result": getattr(graph, name)(*arguments)}
    except Exception:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer, default=shown), flush=True)
