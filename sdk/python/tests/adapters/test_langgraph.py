"""`BatonSaver` and `BatonStore` with LangGraph itself."""

from __future__ import annotations

import asyncio
import base64
import operator
import re
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

import baton
from baton._baton import Baton
from baton.langgraph import BatonSaver, BatonStore
from baton.langgraph._keys import Place, place_of, task_of, thread_of
from conftest import Server, StartServer

CAPABILITIES = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_conformance_suite_passes(shared_server: Server, is_async: bool) -> None:
    @checkpointer_test(name="BatonSaver")
    async def saver() -> AsyncIterator[BatonSaver]:
        workspace = uuid4().hex
        if is_async:
            async with baton.connect_async(shared_server.url, workspace=workspace) as b:
                yield BatonSaver(b)
        else:
            with baton.connect(shared_server.url, workspace=workspace) as b:
                yield BatonSaver(b)

    report = await validate(saver)
    results = report.to_dict()["results"]
    passed = {name: results[name]["tests_passed"] for name in CAPABILITIES}
    assert passed == CAPABILITIES, report.to_dict()
    assert sum(passed.values()) == 81


class Article(TypedDict):
    draft: str
    log: Annotated[list[str], operator.add]


def article(**options: Any) -> Any:
    def write(_: Article) -> dict[str, Any]:
        return {"draft": "v1", "log": ["written"]}

    def review(state: Article) -> dict[str, Any]:
        return {"log": [f"reviewed: {interrupt({'draft': state['draft']})}"]}

    graph: Any = StateGraph(Article)
    graph.add_node("write", write)
    graph.add_node("review", review)
    graph.add_edge(START, "write")
    graph.add_edge("write", "review")
    graph.add_edge("review", END)
    return graph.compile(**options)


def thread(name: str = "t", **names: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name, **names}}


def test_an_interrupted_graph_is_continued_after_the_server_was_killed(
    start_server: StartServer,
) -> None:
    server = start_server()
    config = thread("article/7 ä")
    with baton.connect(server.url) as b:
        interrupted = article(checkpointer=BatonSaver(b)).invoke({"log": ["begun"]}, config)
        assert interrupted["__interrupt__"][0].value == {"draft": "v1"}
    server.kill()
    server.start()
    with baton.connect(server.url) as b:
        graph = article(checkpointer=BatonSaver(b))
        assert graph.get_state(config).next == ("review",)
        done = graph.invoke(Command(resume="approved"), config)
        assert done["log"] == ["begun", "written", "reviewed: approved"]
        history = [state.next for state in graph.get_state_history(config)]
        assert history == [(), ("review",), ("write",), ("__start__",)]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_graph_runs_with_asyncio(
    shared_server: Server, workspace: str, is_async: bool
) -> None:
    async def run(saver: BatonSaver) -> None:
        graph = article(checkpointer=saver)
        await graph.ainvoke({"log": []}, thread())
        done = await graph.ainvoke(Command(resume="yes"), thread())
        assert done["log"] == ["written", "reviewed: yes"]
        steps = [state.next async for state in graph.aget_state_history(thread())]
        assert steps == [(), ("review",), ("write",), ("__start__",)]

    if is_async:
        async with baton.connect_async(shared_server.url, workspace=workspace) as b:
            await run(BatonSaver(b))
    else:
        with baton.connect(shared_server.url, workspace=workspace) as b:
            await run(BatonSaver(b))


def test_a_thread_is_forked_as_with_the_saver_in_memory(b: baton.Baton) -> None:
    outcomes: list[Any] = []
    for saver in (BatonSaver(b), InMemorySaver()):
        graph = article(checkpointer=saver)
        graph.invoke({"log": []}, thread())
        earlier = graph.get_state(thread()).config
        graph.invoke(Command(resume="no"), thread())
        again = graph.invoke(Command(resume="yes"), earlier)
        fork = graph.update_state(earlier, {"draft": "v2"})
        forked = graph.get_state(fork)
        steps = [(it.next, it.values.get("draft")) for it in graph.get_state_history(thread())]
        outcomes.append((again["log"], forked.values["draft"], forked.next, steps))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1] == "v2"


def test_subgraphs_and_parallel_tasks_are_as_with_the_saver_in_memory(b: baton.Baton) -> None:
    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    def node(name: str) -> Callable[[State], dict[str, Any]]:
        return lambda _: {"log": [name]}

    def ask(_: State) -> dict[str, Any]:
        return {"log": [interrupt("?")]}

    def compiled(saver: Any) -> Any:
        inner: Any = StateGraph(State)
        inner.add_node("ask", ask)
        inner.add_edge(START, "ask")
        outer: Any = StateGraph(State)
        for name in ("a", "b", "c"):
            outer.add_node(name, node(name))
            outer.add_edge(START, name)
            outer.add_edge(name, "inner")
        outer.add_node("inner", inner.compile())
        return outer.compile(checkpointer=saver)

    outcomes: list[Any] = []
    for saver in (BatonSaver(b), InMemorySaver()):
        graph = compiled(saver)
        graph.invoke({"log": []}, thread())
        paused = graph.get_state(thread(), subgraphs=True)
        done = graph.invoke(Command(resume="answer"), thread())
        outcomes.append((paused.next, paused.tasks[0].state.next, done))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][2]["log"][-1] == "answer"


# Delta channels.


def add_all(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(it for write in writes for it in write)]


class Lines(TypedDict):
    lines: Annotated[list[str], DeltaChannel(add_all, snapshot_frequency=3)]
    count: int


def counting(saver: Any) -> Any:
    def step(state: Lines) -> dict[str, Any]:
        count = state.get("count", 0) + 1
        return {"lines": [f"line {count}"], "count": count}

    graph: Any = StateGraph(Lines)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    return graph.compile(checkpointer=saver)


def run_steps(graph: Any, config: RunnableConfig, count: int) -> None:
    for number in range(count):
        named: RunnableConfig = {**config, "run_id": uuid4(), "metadata": {"number": number}}
        graph.invoke({"count": number}, named)


def test_delta_channels_are_as_with_the_saver_in_memory(b: baton.Baton) -> None:
    outcomes: list[Any] = []
    for saver in (BatonSaver(b), InMemorySaver()):
        graph = counting(saver)
        run_steps(graph, thread(), 5)
        history = [state.values for state in graph.get_state_history(thread())]
        states = graph.get_state_history(thread())
        earlier = next(it for it in states if it.values.get("count") == 3 and not it.next)
        graph.update_state(earlier.config, {"lines": ["forked"]})
        outcomes.append((history, graph.get_state(thread()).values))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][1]["lines"] == ["line 1", "line 2", "line 3", "forked"]


@pytest.mark.parametrize("steps", range(1, 8))
def test_pruning_and_copying_keep_delta_channels(b: baton.Baton, steps: int) -> None:
    saver = BatonSaver(b)
    graph = counting(saver)
    run_steps(graph, thread(), steps)
    expected = graph.get_state(thread()).values
    assert len(expected["lines"]) == steps
    saver.copy_thread("t", "copy")
    saver.prune(["t"])
    assert graph.get_state(thread()).values == expected
    assert graph.get_state(thread("copy")).values == expected
    run_steps(graph, thread(), 1)
    assert graph.get_state(thread()).values["lines"] == [*expected["lines"], "line 1"]


def test_a_run_of_which_a_delta_channel_is_made_is_not_deleted(b: baton.Baton) -> None:
    saver = BatonSaver(b)
    graph = counting(saver)
    first = uuid4()
    graph.invoke({"count": 0}, {**thread(), "run_id": first, "metadata": {"run_id": str(first)}})
    last = uuid4()
    graph.invoke({"count": 1}, {**thread(), "run_id": last, "metadata": {"run_id": str(last)}})
    before = graph.get_state(thread()).values
    with pytest.raises(ValueError, match="delta channels"):
        saver.delete_for_runs([str(first)])
    assert graph.get_state(thread()).values == before
    saver.delete_for_runs([str(last)])
    assert graph.get_state(thread()).values["lines"] == ["line 1"]
    saver.delete_for_runs([str(first), str(last)])
    assert list(saver.list(thread())) == []


# Values.


def checkpoint(**values: Any) -> Checkpoint:
    versions: dict[str, Any] = dict.fromkeys(values, 1)
    return {
        **empty_checkpoint(),
        "id": str(uuid6()),
        "channel_values": values,
        "channel_versions": versions,
    }


def keys_of(b: baton.Baton, prefix: str = "") -> list[str]:
    """The keys of large values."""
    page = b.state.namespace("langgraph").list(prefix=prefix, limit=1000)
    return [entry.key for entry in page.entries if "#" not in entry.key]


VALUES: list[Any] = [
    None,
    True,
    1.5,
    2**70,
    float("inf"),
    "é😀" * 200_000,
    bytes(range(256)) * 1000,
    {"lc": 2, "type": "constructor", "id": ["os", "system"]},
    {1: "one", (2, 3): {4}},
    [HumanMessage("hello"), AIMessage("hi")],
    "\ud800",
    {"a": [{"b": [None, "c"]}]},
]


def test_values_come_back_as_they_were(b: baton.Baton) -> None:
    saver = BatonSaver(b)
    values = {f"channel/{at} é": value for at, value in enumerate(VALUES) if value != "\ud800"}
    saved = saver.put(
        thread(), (given := checkpoint(**values)), {"step": 1}, given["channel_versions"]
    )
    found = saver.get_tuple(saved)
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    assert type(found.checkpoint["channel_values"]["channel/1 é"]) is bool
    saver.delete_thread("t")
    assert saver.get_tuple(saved) is None
    assert keys_of(b) == []
    assert b.checkpoints.list().checkpoints == []


def test_what_is_json_is_stored_as_json(b: baton.Baton) -> None:
    saver = BatonSaver(b)
    deep: Any = "deep"
    for _ in range(32):
        deep = [deep]
    values: dict[str, Any] = {
        'quoted "é😀"': ["\u2028", "\x00", "a\\b"],
        "numbers": [2**70, -(2**70), -0.0, 1e308, 5e-324, 0.1, 1.0, True],
        "": {"": {}, "langgraph": [None]},
        "deep": deep,
    }
    given = checkpoint(**values)
    first = saver.put(thread(), given, {"step": 1}, given["channel_versions"])
    larger: dict[str, Any] = {**values, "large": "x" * 1_500_000}
    given = checkpoint(**larger)
    second = saver.put(first, given, {"step": 2}, given["channel_versions"])
    given = checkpoint(**values, messages=[HumanMessage("hello", id="m")])
    third = saver.put(second, given, {"step": 3}, given["channel_versions"])
    for saved, wanted in ((first, values), (second, larger), (third, given["channel_values"])):
        found = saver.get_tuple(saved)
        assert found is not None
        assert repr(found.checkpoint["channel_values"]) == repr(
            {name: wanted[name] for name in found.checkpoint["channel_values"]}
        )
        assert found.checkpoint["channel_values"].keys() == wanted.keys()
    history = b.call("checkpoint.history", task="langgraph:t")["checkpoints"]
    forms = [(it.get("content_type"), type(it["state"]).__name__) for it in history]
    assert forms == [("langgraph.v1", "str"), (None, "dict"), (None, "dict")]
    assert history[-1]["state"]["values"]["deep"] == deep
    assert [it.metadata["step"] for it in saver.list(thread())] == [3, 2, 1]  # pyright: ignore[reportTypedDictNotRequiredAccess]


def test_checkpoints_of_others_are_left_alone(b: baton.Baton) -> None:
    saver = BatonSaver(b)
    for key, state in {"/9": {"step": 1}, "/8": "text", "/7": None}.items():
        b.call("checkpoint.save", task="langgraph:t", key=key, state=state)
    given = checkpoint(text="mine")
    saver.put(thread(), given, {"step": 1}, given["channel_versions"])
    assert len(list(saver.list(thread()))) == 1


def test_more_than_a_transaction_can_carry_is_stored(b: baton.Baton) -> None:
    saver = BatonSaver(b)
    values = {f"c{at}": str(at) * 2_400_000 for at in range(2)}
    given = checkpoint(**values)
    saved = saver.put(thread(), given, {}, given["channel_versions"])
    saver.put_writes(saved, [("big", "x" * 2_500_000), ("small", 1)], "task")
    # Another client repeats the write, which changes nothing.
    BatonSaver(b).put_writes(saved, [("big", "y" * 300_000), ("small", 2)], "task")
    found = saver.get_tuple(saved)
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    assert found.pending_writes == [("task", "big", "x" * 2_500_000), ("task", "small", 1)]
    saver.copy_thread("t", "u")
    saver.delete_thread("t")
    copied = saver.get_tuple(thread("u"))
    assert copied is not None
    assert copied.checkpoint["channel_values"] == values
    assert copied.pending_writes == found.pending_writes
    saver.delete_thread("u")
    assert keys_of(b) == []


def test_large_values_that_no_checkpoint_has_are_deleted(b: baton.Baton) -> None:
    saver = BatonSaver(b)
    config = thread()
    for version in (1, 2, 3):
        given = checkpoint(same="s" * 1_200_000, changing=str(version) * 1_200_000)
        given["channel_versions"]["changing"] = version
        changed: dict[str, Any] = {"changing": version} | ({"same": 1} if version == 1 else {})
        config = saver.put(config, given, {"run_id": f"r{version}"}, changed)
    assert len(keys_of(b, "v/")) == 4
    saver.delete_for_runs(["r1"])
    assert len(keys_of(b, "v/")) == 3
    saver.prune(["t"])
    assert len(keys_of(b, "v/")) == 2
    found = saver.get_tuple(thread())
    assert found is not None
    values = found.checkpoint["channel_values"]
    assert values == {"same": "s" * 1_200_000, "changing": "3" * 1_200_000}


def test_the_first_write_of_a_task_counts_and_the_last_error(b: baton.Baton) -> None:
    saver = BatonSaver(b)
    given = checkpoint()
    config = thread(checkpoint_ns="", checkpoint_id=given["id"])
    # Writes may arrive before their checkpoint.
    saver.put_writes(config, [("a", 1)], "task", "~2")
    saver.put_writes(config, [("a", 9), ("b", 2)], "task", "~2")
    saver.put_writes(config, [("__resume__", 1)], "task", "~2")
    saver.put_writes(config, [("__resume__", 2)], "task", "~2")
    saver.put_writes(config, [("c", 3)], "another", "~1")
    assert saver.get_tuple(config) is None
    saver.put(thread(checkpoint_ns=""), given, {}, {})
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes == [
        ("another", "c", 3),
        ("task", "__resume__", 2),
        ("task", "a", 1),
        ("task", "b", 2),
    ]


async def test_writes_at_the_same_time_are_all_kept(shared_server: Server, workspace: str) -> None:
    given = checkpoint()
    config = thread(checkpoint_ns="", checkpoint_id=given["id"])
    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        savers = [BatonSaver(b) for _ in range(8)]
        await savers[0].aput(thread(checkpoint_ns=""), given, {}, {})
        await asyncio.gather(
            *(it.aput_writes(config, [("x", 0)] * (at + 1), "t") for at, it in enumerate(savers))
        )
        found = await savers[0].aget_tuple(config)
    assert found is not None
    assert found.pending_writes == [("t", "x", 0)] * 8


async def test_a_thread_can_be_deleted_by_two_at_the_same_time(
    shared_server: Server, workspace: str
) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        config, savers = thread(), [BatonSaver(b), BatonSaver(b)]
        for _ in range(5):
            given = checkpoint(text="x" * 20_000)
            config = await savers[0].aput(config, given, {}, given["channel_versions"])
            await savers[0].aput_writes(config, [("text", 1)], "task")
        await asyncio.gather(*(saver.adelete_thread("t") for saver in savers))
        assert (await b.checkpoints.list()).checkpoints == []


@pytest.fixture
def requests(b: baton.Baton, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that were requested."""
    made: list[str] = []
    execute = Baton.execute

    def counting(self: Baton, operation: Any, *arguments: Any, **how: Any) -> Any:
        made.append(operation.name)
        return execute(self, operation, *arguments, **how)

    monkeypatch.setattr(Baton, "execute", counting)
    return made


def test_each_operation_is_one_request(b: baton.Baton, requests: list[str]) -> None:
    saver = BatonSaver(b)
    given = checkpoint(messages=[HumanMessage("hello")], count=1)
    saved = saver.put(thread(), given, {"run_id": "r"}, given["channel_versions"])
    assert requests == ["checkpoint.save"]
    requests.clear()
    for _ in range(2):
        saver.put_writes(saved, [("a", 1), ("b", 2)], "task")
    assert requests == ["checkpoint.write"] * 2
    requests.clear()
    assert saver.get_tuple(thread()) is not None
    assert requests == ["checkpoint.history"]
    requests.clear()
    large = checkpoint(text="x" * 900_000)
    saver.put(saved, large, {}, large["channel_versions"])
    assert requests == ["checkpoint.save"]
    requests.clear()
    assert saver.get_tuple(thread()) is not None
    assert requests == ["checkpoint.history"]
    requests.clear()
    saver.copy_thread("t", "u")
    assert requests == ["state.list", "checkpoint.copy"]


def test_the_history_of_delta_channels_is_one_request(b: baton.Baton, requests: list[str]) -> None:
    saver = BatonSaver(b)
    run_steps(counting(saver), thread(), 4)
    requests.clear()
    found = saver.get_delta_channel_history(config=thread(), channels=["lines"])
    assert len(found["lines"]["writes"]) == 1
    assert len(requests) == 1


def test_nothing_is_readable_if_the_serialiser_encrypts(b: baton.Baton) -> None:
    class Cipher:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "xor", bytes(byte ^ 255 for byte in plaintext)

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            return bytes(byte ^ 255 for byte in ciphertext)

    saver = BatonSaver(b, serde=EncryptedSerializer(Cipher()))
    given = checkpoint(text="confidential")
    saved = saver.put(thread(), given, {}, given["channel_versions"])
    saver.put_writes(saved, [("text", "confidential")], "task")
    saved_there = b.call("checkpoint.history", task="langgraph:t")["checkpoints"][0]
    values = [saved_there["state"], *(write["value"] for write in saved_there["writes"])]
    assert len(values) == 2
    assert all(b"confidential" not in base64.b64decode(value) for value in values)
    found = saver.get_tuple(thread())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"text": "confidential"}


async def test_a_blocking_method_is_refused_in_the_loop_of_its_client(
    shared_server: Server, workspace: str
) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        saver = BatonSaver(b)
        with pytest.raises(baton.Invalid, match="await the asynchronous method"):
            saver.get_tuple(thread())
        assert await asyncio.to_thread(saver.get_tuple, thread()) is None


def test_names_of_threads_and_checkpoints_can_be_read_again() -> None:
    for name in ("t", "a/b ä:@", "x.y-z_1", ""):
        task = task_of("langgraph", name)
        assert re.fullmatch(r"[A-Za-z0-9._:@-]+", task)
        assert thread_of("langgraph", task) == name
    assert thread_of("langgraph", "other:t") is None
    place = Place("a/b", "x:1|y:2/é", "1f0/é")
    assert place_of("a/b", place.key) == place


def test_a_killed_process_loses_only_the_step_that_it_was_in(
    shared_server: Server, workspace: str, tmp_path: Path
) -> None:
    script = tmp_path / "graph.py"
    script.write_text(
        textwrap.dedent("""
        import operator, os, sys
        from typing import Annotated, TypedDict
        import baton
        from baton.langgraph import BatonSaver
        from langgraph.graph import START, StateGraph

        class State(TypedDict):
            log: Annotated[list[str], operator.add]

        def first(_):
            return {"log": ["first"]}

        def second(_):
            if "die" in sys.argv:
                os._exit(9)
            return {"log": ["second"]}

        url, workspace = sys.argv[1:3]
        with baton.connect(url, workspace=workspace) as b:
            graph = StateGraph(State).add_sequence([first, second]).add_edge(START, "first")
            graph = graph.compile(checkpointer=BatonSaver(b))
            config = {"configurable": {"thread_id": "t"}}
            given = {"log": ["begun"]} if "die" in sys.argv else None
            print(graph.invoke(given, config, durability="sync")["log"])
        """)
    )
    command = [sys.executable, str(script), shared_server.url, workspace]
    assert subprocess.run([*command, "die"]).returncode == 9
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "['begun', 'first', 'second']"


# The store.


def test_items_are_written_read_replaced_and_deleted(b: baton.Baton) -> None:
    store = BatonStore(b)
    store.put(("users", "ada"), "likes", {"food": "pizza"})
    first = store.get(("users", "ada"), "likes")
    assert first is not None
    assert (first.value, first.namespace, first.key) == (
        {"food": "pizza"},
        ("users", "ada"),
        "likes",
    )
    store.put(("users", "ada"), "likes", {"food": "soup"})
    second = store.get(("users", "ada"), "likes")
    assert second is not None
    assert second.value == {"food": "soup"}
    assert second.created_at == first.created_at
    assert second.updated_at >= first.updated_at
    store.delete(("users", "ada"), "likes")
    store.delete(("users", "ada"), "likes")
    assert store.get(("users", "ada"), "likes") is None


def test_a_search_is_hierarchical_filtered_and_paged(b: baton.Baton) -> None:
    store = BatonStore(b)
    for age in range(1, 6):
        store.put(("users", f"u{age}"), "about", {"age": age, "kind": {"of": "user"}})
    store.put(("users-of-old",), "about", {"name": "none"})

    def ages(**options: Any) -> list[int]:
        return [item.value["age"] for item in store.search(("users",), **options)]

    assert ages() == [1, 2, 3, 4, 5]
    assert ages(limit=2, offset=1) == [2, 3]
    assert ages(filter={"age": {"$gte": 2, "$lt": 4}}) == [2, 3]
    assert ages(filter={"age": {"$ne": 1, "$lte": 2}}) == [2]
    assert ages(filter={"kind": {"of": "user"}, "age": 5}) == [5]
    assert len(store.search(())) == 6
    assert [it.key for it in store.search((), filter={"age": {"$gt": 4}})] == ["about"]
    with pytest.raises(ValueError, match="embeddings"):
        store.search(("users",), query="who")
    with pytest.raises(ValueError, match=r"\$in"):
        store.search(("users",), filter={"age": {"$in": [1]}})


def test_namespaces_are_matched_cut_and_counted_once(b: baton.Baton) -> None:
    store = BatonStore(b)
    for namespace in [("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("z",)]:
        store.put(namespace, "k", {})
        store.put(namespace, "k2", {})
    assert store.list_namespaces(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "x")]
    assert store.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(prefix=("*", "b")) == [("a", "b", "c"), ("a", "b", "d")]
    assert store.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(limit=1, offset=3) == [("z",)]


def test_items_expire_and_reading_renews_them(b: baton.Baton, requests: list[str]) -> None:
    store = BatonStore(b, ttl={"default_ttl": 60, "refresh_on_read": True})
    store.put(("n",), "default", {})
    store.put(("n",), "short", {}, ttl=0.001)
    store.put(("n",), "forever", {}, ttl=None)

    def entry(key: str) -> dict[str, Any]:
        return b.state.namespace("langgraph").get(f"s/n//{key}").raw

    assert "expires_at" not in entry("forever")
    before = entry("default")
    item = store.get(("n",), "default")
    after = entry("default")
    assert after["version"] == before["version"] + 1
    assert after["expires_at"] >= before["expires_at"]
    assert item is not None
    renewed = store.get(("n",), "default", refresh_ttl=False)
    assert renewed is not None
    assert renewed.updated_at == item.updated_at
    assert entry("default")["version"] == after["version"]
    store.search(("n",))
    assert entry("default")["version"] == after["version"] + 1
    while store.get(("n",), "short", refresh_ttl=False) is not None:
        pass
    assert {it.key for it in store.search(("n",))} == {"default", "forever"}


def test_a_batch_reads_first_and_writes_all_or_nothing(b: baton.Baton) -> None:
    from langgraph.store.base import GetOp, PutOp

    store = BatonStore(b)
    store.put(("n",), "a", {"v": 1})
    results = store.batch(
        [
            PutOp(("n",), "a", {"v": 2}),
            GetOp(("n",), "a"),
            PutOp(("n",), "b", {"v": 3}),
            PutOp(("n",), "b", {"v": 4}),
            PutOp(("n",), "c", None),
        ]
    )
    read: Any = results[1]
    assert read.value == {"v": 1}
    assert [item.value["v"] for item in store.search(("n",))] == [2, 4]
    with pytest.raises(baton.NotJson):
        store.batch([PutOp(("n",), "a", {"v": 9}), PutOp(("n",), "d", {"v": object()})])
    assert [item.value["v"] for item in store.search(("n",))] == [2, 4]


async def test_a_graph_uses_the_store(shared_server: Server, workspace: str) -> None:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], operator.add]

    async def remember(_: State) -> dict[str, Any]:
        store = get_store()
        await store.aput(("memories",), "colour", {"is": "blue"})
        item = await store.aget(("memories",), "colour")
        assert item is not None
        return {"messages": [AIMessage(item.value["is"])]}

    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        store = BatonStore(b)
        builder: Any = StateGraph(State)
        builder.add_node("remember", remember)
        builder.add_edge(START, "remember")
        graph = builder.compile(checkpointer=BatonSaver(b), store=store)
        done = await graph.ainvoke({"messages": [HumanMessage("?")]}, thread())
        assert [message.content for message in done["messages"]] == ["?", "blue"]
        assert len(await store.asearch(("memories",))) == 1
