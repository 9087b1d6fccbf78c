"""`BatonSession`, `RunStates` and `HandoffRecorder` with the OpenAI Agents SDK itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from agents import (
    Agent,
    HandoffInputData,
    RunConfig,
    Runner,
    RunState,
    Session,
    SQLiteSession,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.items import TResponseInputItem
from agents.testing import ScriptedModel, assistant_message, function_call

import baton
from baton.openai_agents import BatonSession, HandoffRecorder, RunStates
from conftest import Server, StartServer

set_tracing_disabled(True)


@pytest.fixture
async def client(shared_server: Server, workspace: str) -> AsyncIterator[baton.AsyncBaton]:
    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        yield b


def item(text: str) -> TResponseInputItem:
    return {"role": "user", "content": text}


def texts(items: list[TResponseInputItem]) -> list[Any]:
    return [cast("dict[str, Any]", it).get("content") for it in items]


# Conversations.


async def test_a_session_is_as_the_one_of_the_sdk(client: baton.AsyncBaton) -> None:
    ours: Session = BatonSession("a/b ä", client)
    theirs: Session = SQLiteSession("s")
    assert isinstance(ours, Session)
    outcomes: list[list[Any]] = [[], []]
    for session, out in zip((ours, theirs), outcomes, strict=True):
        out.append(await session.get_items())
        out.append(await session.pop_item())
        await session.add_items([])
        await session.add_items([item("1"), item("2"), item("3")])
        await session.add_items([item("4"), {"type": "reasoning", "id": "r", "summary": []}])
        out.append(await session.get_items())
        out.append(await session.get_items(2))
        out.append(await session.get_items(0))
        out.append(await session.get_items(100))
        out.append(await session.pop_item())
        out.append(await session.pop_item())
        await session.add_items([item("5")])
        out.append(await session.get_items())
        await session.clear_session()
        out.append(await session.get_items())
        await session.add_items([item("6")])
        out.append(await session.get_items())
    assert outcomes[0] == outcomes[1]
    await BatonSession("other", client).add_items([item("x")])
    assert texts(await ours.get_items()) == ["6"]


async def test_a_session_works_with_a_blocking_client(b: baton.Baton) -> None:
    session = BatonSession("s", b)
    await session.add_items([item(str(at)) for at in range(1100)])
    assert texts(await BatonSession("s", b).get_items()) == [str(at) for at in range(1100)]
    assert texts(await session.get_items(250)) == [str(at) for at in range(850, 1100)]
    await session.clear_session()
    assert b.state.namespace("openai-agents").list(prefix="s/s/i/").entries == []


async def test_large_items_are_stored(client: baton.AsyncBaton) -> None:
    session = BatonSession("s", client)
    images = [item(f"{at}" + "é" * 700_000) for at in range(4)]
    await session.add_items([item("small"), *images])
    assert await BatonSession("s", client).get_items() == [item("small"), *images]
    assert await session.pop_item() == images[-1]
    await session.clear_session()
    keys = (await client.state.namespace("openai-agents").list(prefix="s/s/")).entries
    assert len(keys) <= 10


async def test_items_of_several_writers_stay_together(client: baton.AsyncBaton) -> None:
    async def write(name: str) -> None:
        session = BatonSession("s", client)
        for number in range(10):
            await session.add_items([item(f"{name}{number}a"), item(f"{name}{number}b")])

    await asyncio.gather(*map(write, "xyz"))
    found = texts(await BatonSession("s", client).get_items())
    assert len(found) == 60
    for first, second in zip(found[::2], found[1::2], strict=True):
        assert (first[:-1], first[-1], second[-1]) == (second[:-1], "a", "b")
    for name in "xyz":
        assert [it for it in found if it[0] == name] == [
            f"{name}{number}{part}" for number in range(10) for part in "ab"
        ]


async def test_an_item_that_another_has_added_is_not_popped(client: baton.AsyncBaton) -> None:
    ours, theirs = BatonSession("s", client), BatonSession("s", client)
    await ours.add_items([item("ours")])
    await theirs.add_items([item("theirs")])
    with pytest.raises(baton.Conflict, match="read it again"):
        await ours.pop_item()
    assert texts(await ours.get_items()) == ["ours", "theirs"]
    assert await ours.pop_item() == item("theirs")
    # An object that has seen nothing takes what is there.
    assert await BatonSession("s", client).pop_item() == item("ours")


async def test_an_exclusive_session_does_not_mix_two_runs(client: baton.AsyncBaton) -> None:
    ours = BatonSession("s", client, exclusive=True)
    await ours.get_items()
    await BatonSession("s", client).add_items([item("theirs")])
    with pytest.raises(baton.Conflict) as refused:
        await ours.add_items([item("ours")])
    assert refused.value.code == "client.session_changed"
    await ours.get_items()
    await ours.add_items([item("ours")])
    assert texts(await ours.get_items()) == ["theirs", "ours"]


async def test_a_conversation_continues_after_the_server_was_killed(
    start_server: StartServer,
) -> None:
    server = start_server()
    model = ScriptedModel([[assistant_message("Hello Ada.")], [assistant_message("You are Ada.")]])
    agent = Agent(name="Assistant", model=model)
    async with baton.connect_async(server.url) as b:
        await Runner.run(agent, "I am Ada.", session=BatonSession("c", b))
    server.kill()
    server.start()
    async with baton.connect_async(server.url) as b:
        result = await Runner.run(agent, "Who am I?", session=BatonSession("c", b))
    assert result.final_output == "You are Ada."
    assert model.last_call is not None
    assert "I am Ada." in json.dumps(model.last_call.input, default=str)


# Interrupted runs.


def publisher(model: ScriptedModel, published: list[str]) -> Agent[Any]:
    @function_tool(needs_approval=True)
    def publish(title: str) -> str:
        published.append(title)
        return "published"

    return Agent(name="Publisher", model=model, tools=[publish])


def asks(number: int) -> list[Any]:
    return [function_call("publish", {"title": f"t{number}"}, call_id=f"call-{number}")]


async def interrupted(runs: RunStates, agent: Agent[Any]) -> str:
    result = await Runner.run(agent, "Publish it.")
    assert len(result.interruptions) == 1
    return await runs.save(result.to_state())


def approved(state: RunState[Any, Any]) -> RunState[Any, Any]:
    for interruption in state.get_interruptions():
        state.approve(interruption)
    return state


async def test_only_one_continues_a_stored_run(
    client: baton.AsyncBaton, shared_server: Server, workspace: str
) -> None:
    published: list[str] = []
    model = ScriptedModel([asks(1), [assistant_message("done")]])
    agent = publisher(model, published)
    run = await interrupted(RunStates(client), agent)
    assert await RunStates(client).pending() == [run]
    async with baton.connect_async(shared_server.url, workspace=workspace) as other:
        async with RunStates(client).resume(run, agent) as resumed:
            with pytest.raises(baton.Conflict, match="holds it"):
                async with RunStates(other).resume(run, agent):
                    pass
            assert await RunStates(other).pending() == []
            resumed.result = await Runner.run(agent, approved(resumed.state))
        assert published == ["t1"]
        with pytest.raises(baton.BatonError):
            async with RunStates(other).resume(run, agent):
                pass
        assert (await other.tasks.get(run)).result == "done"
    left = (await client.state.namespace("openai-agents").list(prefix="r/")).entries
    assert left == []


async def test_a_run_can_be_interrupted_again_or_fail(client: baton.AsyncBaton) -> None:
    published: list[str] = []
    model = ScriptedModel([asks(1), asks(2), [assistant_message("done")]])
    agent = publisher(model, published)
    runs = RunStates(client)
    run = await interrupted(runs, agent)
    with pytest.raises(RuntimeError, match="the model is down"):
        async with runs.resume(run, agent):
            raise RuntimeError("the model is down")
    async with runs.resume(run, agent) as resumed:
        resumed.result = await Runner.run(agent, approved(resumed.state))
    assert published == ["t1"]
    assert await runs.pending() == [run]
    async with runs.resume(run, agent) as resumed:
        resumed.result = await Runner.run(agent, approved(resumed.state))
    assert published == ["t1", "t2"]
    assert (await client.tasks.get(run)).result == "done"


async def test_a_run_whose_process_dies_is_continued_by_another(
    client: baton.AsyncBaton, shared_server: Server, workspace: str
) -> None:
    published: list[str] = []
    agent = publisher(ScriptedModel([asks(1), [assistant_message("done")]]), published)
    run = await interrupted(RunStates(client), agent)
    dying = await baton.connect_async(shared_server.url, workspace=workspace)
    block = RunStates(dying).resume(run, agent, lease=1)
    await block.__aenter__()
    await dying.close()
    async with RunStates(client).resume(run, agent, wait=60) as resumed:
        resumed.result = await Runner.run(agent, approved(resumed.state))
    assert published == ["t1"]
    with pytest.raises(BaseException):  # noqa: B017, PT011
        await block.__aexit__(None, None, None)


# Hand-offs.


async def test_hand_offs_are_recorded_with_what_the_receiver_saw(client: baton.AsyncBaton) -> None:
    writer = Agent(
        name="Writer",
        instructions="Write.",
        model=ScriptedModel(
            [[function_call("transfer_to_copy_editor", {}, call_id="c2")]],
        ),
    )
    editor = Agent(
        name="Copy editor",
        instructions="Edit.",
        model=ScriptedModel([[assistant_message("edited")]]),
    )
    writer.handoffs = [editor]

    def only_the_question(data: HandoffInputData) -> HandoffInputData:
        return data.clone(input_history="Only this.", pre_handoff_items=(), new_items=())

    triage = Agent(
        name="Triage",
        model=ScriptedModel([[function_call("transfer_to_writer", {}, call_id="c1")]]),
        handoffs=[handoff(writer, input_filter=only_the_question)],
    )
    recorder = HandoffRecorder(client, notes={"conversation": "7"})
    result = await Runner.run(
        triage, "A secret, and a question.", context={"customer": "ada"}, hooks=recorder
    )
    assert result.final_output == "edited"
    first, second = (await client.handoffs.list()).handoffs
    assert (first.from_, first.to, first.status) == ("Triage", "Writer", "completed")
    assert first.raw["state"] == {"customer": "ada"}
    assert first.raw["notes"]["conversation"] == "7"
    seen = first.raw["notes"]["seen"]
    assert seen["instructions"] == "Write."
    assert "Only this." in json.dumps(seen["input"])
    assert "secret" not in json.dumps(seen)
    assert first.raw["result"] == {"handed_over_to": "Copy editor"}
    assert (second.from_, second.to, second.status) == ("Writer", "Copy-editor", "completed")
    assert second.raw["result"] == "edited"
    assert "transfer_to_copy_editor" in json.dumps(second.raw["notes"]["seen"])


async def test_a_rule_of_the_workspace_stops_a_hand_off(client: baton.AsyncBaton) -> None:
    await client.rules.add("customer-known", {"required_keys": ["customer"]})
    expert = Agent(name="Expert", model=ScriptedModel([[assistant_message("answer")]]))
    triage = Agent(
        name="Triage",
        model=ScriptedModel([[function_call("transfer_to_expert", {}, call_id="c1")]] * 2),
        handoffs=[expert],
    )
    with pytest.raises(baton.BatonError, match="customer"):
        await Runner.run(triage, "Hi", context={}, hooks=HandoffRecorder(client))
    config = RunConfig(workflow_name="w")
    hooks = HandoffRecorder(client)
    context = {"customer": "ada"}
    done = await Runner.run(triage, "Hi", context=context, hooks=hooks, run_config=config)
    assert done.final_output == "answer"


async def test_a_long_conversation_becomes_an_artifact(b: baton.Baton) -> None:
    expert = Agent(name="Expert", model=ScriptedModel([[assistant_message("answer")]]))
    triage = Agent(
        name="Triage",
        model=ScriptedModel([[function_call("transfer_to_expert", {}, call_id="c1")]]),
        handoffs=[expert],
    )
    await Runner.run(triage, "long " * 50_000, hooks=HandoffRecorder(b))
    (recorded,) = b.handoffs.list().handoffs
    artifact = recorded.raw["notes"]["seen"]["artifact"]
    assert b"long long" in b.artifacts.read(artifact)
