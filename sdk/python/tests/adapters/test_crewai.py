"""`baton.crewai` with CrewAI itself."""

from __future__ import annotations

import os

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from pathlib import Path
from typing import Any

import pytest
from crewai.flow.async_feedback.types import PendingFeedbackContext
from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist
from crewai.flow.persistence.base import FlowPersistence
from crewai.flow.persistence.sqlite import SQLiteFlowPersistence
from crewai.state.provider.core import BaseProvider
from pydantic import BaseModel

import baton
from baton.crewai import BatonCheckpointProvider, BatonFlowPersistence, checkpoint_config
from conftest import StartServer


@pytest.fixture(autouse=True)
def no_thread_is_left_behind() -> None:
    """CrewAI keeps threads for its events until the process ends."""


class State(BaseModel):
    id: str = ""
    log: list[str] = []


def contract(persistence: FlowPersistence) -> list[Any]:
    """The results of a persistence, for a comparison."""
    out: list[Any] = [persistence.load_state("a/1")]
    persistence.save_state("a/1", "first", {"id": "a/1", "log": ["1"]})
    persistence.save_state("a/1", "second", State(id="a/1", log=["1", "é" * 600_000]))
    persistence.save_state("b", "first", {"id": "b"})
    out += [persistence.load_state("a/1"), persistence.load_state("b")]
    out.append(persistence.load_pending_feedback("a/1"))
    context = PendingFeedbackContext(
        flow_id="a/1",
        flow_class="tests.Flow",
        method_name="review",
        method_output={"title": "Draft"},
        message="Please review.",
        emit=["approved", "rejected"],
        llm="scripted",
    )
    persistence.save_pending_feedback("a/1", context, State(id="a/1", log=["paused"]))
    out += [persistence.load_state("a/1"), persistence.load_pending_feedback("a/1")]
    persistence.clear_pending_feedback("a/1")
    persistence.clear_pending_feedback("a/1")
    out += [persistence.load_pending_feedback("a/1"), persistence.load_state("a/1")]
    found = out[5]
    out[5] = (found[0], found[1].to_dict() | {"requested_at": None})
    return out


def test_states_are_as_those_in_sqlite(b: baton.Baton, tmp_path: Path) -> None:
    theirs = contract(SQLiteFlowPersistence(str(tmp_path / "flows.db")))
    assert contract(BatonFlowPersistence(b)) == theirs


def flow(b: baton.Baton, is_down: bool = False) -> Any:
    @persist(BatonFlowPersistence(b))
    class Article(Flow[State]):
        @start()
        def write(self) -> None:
            self.state.log.append("written")

        @listen(write)
        def publish(self) -> None:
            if is_down:
                raise ConnectionError("the site is down")
            self.state.log.append("published")

    return Article()


def test_a_flow_continues_with_its_state_after_the_server_was_killed(
    start_server: StartServer,
) -> None:
    server = start_server()
    with baton.connect(server.url) as b:
        broken = flow(b, is_down=True)
        with pytest.raises(ConnectionError):
            broken.kickoff()
        id = broken.state.id
    server.kill()
    server.start()
    with baton.connect(server.url) as b:
        again = flow(b)
        again.kickoff(inputs={"id": id})
        assert again.state.id == id
        assert again.state.log == ["written", "written", "published"]
        assert BatonFlowPersistence(b).load_state(id) == {"id": id, "log": again.state.log}


def lineage(provider: BaseProvider, location: str) -> list[Any]:
    out: list[Any] = []
    first = provider.checkpoint('{"n":1}', location)
    second = provider.checkpoint('{"n":2}', location, parent_id=provider.extract_id(first))
    provider.checkpoint('{"n":3}', location, parent_id=provider.extract_id(first), branch="try")
    third = provider.checkpoint('{"n":4}', location)
    out += [provider.from_checkpoint(it) for it in (first, second, third)]
    out.append(provider.extract_id(first) != provider.extract_id(second))
    out.append(provider.prune(location, 2))
    out.append(provider.prune(location, 2))
    out += [provider.from_checkpoint(it) for it in (second, third)]
    with pytest.raises(ValueError):  # noqa: PT011
        provider.from_checkpoint(first)
    out.append(provider.prune(location, 0, branch="try"))
    return out


def test_checkpoints_have_parents_and_branches(b: baton.Baton) -> None:
    provider = BatonCheckpointProvider(b)
    one, two, four = '{"n":1}', '{"n":2}', '{"n":4}'
    expected = [one, two, four, True, 1, 0, two, four, 1]
    assert lineage(provider, "crew/7 #a") == expected
    assert provider.branches("crew/7 #a") == ["main"]


def test_a_flow_writes_checkpoints(b: baton.Baton) -> None:
    config = checkpoint_config(b, "articles", on_events=["method_execution_finished"])
    made = flow(b)
    made.checkpoint = config
    made.kickoff()
    places = [it.key for it in b.state.namespace("crewai").list(prefix="c/articles/").entries]
    assert len(places) >= 2
    data = BatonCheckpointProvider(b).from_checkpoint(f"articles#{places[-1].rpartition('/')[2]}")
    assert "published" in data


async def test_large_checkpoints_are_stored(b: baton.Baton) -> None:
    provider = BatonCheckpointProvider(b)
    data = '"' + "x" * 1_500_000 + '"'
    place = await provider.acheckpoint(data, "crew")
    assert await provider.afrom_checkpoint(place) == data
    assert provider.prune("crew", 0) == 1
    assert b.state.namespace("crewai").list().entries == []
