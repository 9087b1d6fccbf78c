"""A graph of LangGraph waits for a person; another process continues it, and agents outside of the
graph see what happens.

python examples/python/frameworks/langgraph_review.py                        # its own folder
python examples/python/frameworks/langgraph_review.py http://127.0.0.1:4747  # a server
"""

from __future__ import annotations

import sys
import tempfile
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

import baton
from baton.langgraph import BatonSaver, BatonStore


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    verdict: str


def compiled(b: baton.Baton) -> Any:
    # A model that says what it is given, so that nothing is paid for.
    model = GenericFakeChatModel(messages=iter([AIMessage("Leases end by themselves.")]))

    def write(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def review(state: State) -> dict[str, Any]:
        verdict = interrupt({"draft": state["messages"][-1].content})
        get_store().put(("verdicts",), "leases", {"verdict": verdict})
        return {"verdict": verdict}

    graph: Any = StateGraph(State)
    graph.add_node("write", write)
    graph.add_node("review", review)
    graph.add_edge(START, "write")
    graph.add_edge("write", "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=BatonSaver(b), store=BatonStore(b))


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else None
    config = {"configurable": {"thread_id": f"article-{uuid4()}"}}
    with (
        tempfile.TemporaryDirectory() as folder,
        baton.connect(url) if url else baton.open(folder) as b,
    ):
        graph = compiled(b.as_agent("writer"))
        paused = graph.invoke({"messages": [HumanMessage("Write about leases.")]}, config)
        print("waits:", paused["__interrupt__"][0].value)

        # Another process would do the same: everything it needs is in Baton.
        graph = compiled(b.as_agent("editor"))
        done = graph.invoke(Command(resume="approved"), config)
        print("verdict:", done["verdict"])
        assert [it.content for it in done["messages"]][-1] == "Leases end by themselves."

        # Every step is a checkpoint of the workspace, with who saved it.
        saved = b.checkpoints.list().checkpoints
        assert {checkpoint.saved_by for checkpoint in saved} == {"writer", "editor"}
        found = BatonStore(b).get(("verdicts",), "leases")
        assert found is not None
        assert found.value == {"verdict": "approved"}


if __name__ == "__main__":
    main()
