"""`BatonSessionService` and `BatonArtifactService` with Google's ADK itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

import baton
from baton.adk import BatonArtifactService, BatonSessionService
from conftest import Server, StartServer


@pytest.fixture
async def client(shared_server: Server, workspace: str) -> AsyncIterator[baton.AsyncBaton]:
    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        yield b


class Scripted(BaseLlm):
    """A model that says what it is given."""

    answers: list[types.Part]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = self.answers.pop(0)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def scripted(*answers: str | types.Part) -> Scripted:
    parts = [types.Part(text=it) if isinstance(it, str) else it for it in answers]
    return Scripted(model="scripted", answers=parts)


def event(author: str = "agent", text: str = "", at: float | None = None, **delta: Any) -> Event:
    named = {name.replace("__", ":"): value for name, value in delta.items()}
    made = Event(
        author=author,
        invocation_id="i",
        content=types.Content(role="model", parts=[types.Part(text=text)]),
        actions=EventActions(state_delta=named),
    )
    if at is not None:
        made.timestamp = at
    return made


async def create(service: BaseSessionService, **fields: Any) -> Session:
    named: dict[str, Any] = {"app_name": "app", "user_id": "ada/1 ä", **fields}
    return await service.create_session(**named)


async def load(service: BaseSessionService, session: Session, **config: Any) -> Session:
    found = await service.get_session(
        app_name=session.app_name,
        user_id=session.user_id,
        session_id=session.id,
        config=GetSessionConfig(**config) if config else None,
    )
    assert found is not None
    return found


def texts(session: Session) -> list[str | None]:
    return [it.content.parts[0].text for it in session.events if it.content and it.content.parts]


async def contract(service: BaseSessionService) -> list[Any]:
    """The results of a service, for a comparison."""
    out: list[Any] = []
    given = {"app:theme": "dark", "user:name": "Ada", "plan": [1], "temp:x": 1}
    session = await create(service, state=given, session_id=" s/1 ")
    out.append((session.id, session.state))
    with pytest.raises(AlreadyExistsError):
        await create(service, session_id="s/1")
    await service.append_event(
        session, event(text="one", at=10, app__theme="light", plan=None, temp__t=2)
    )
    out.append((session.state.get("temp:t"), session.last_update_time))
    partial = event(text="part", plan="ignored")
    partial.partial = True
    await service.append_event(session, partial)
    for number in (20, 30, 40):
        await service.append_event(session, event(text=str(number), at=number, user__n=number))
    loaded = await load(service, session)
    out.append((loaded.state, texts(loaded), [it.actions.state_delta for it in loaded.events]))
    out.append(texts(await load(service, session, num_recent_events=2)))
    out.append(texts(await load(service, session, num_recent_events=0)))
    out.append(texts(await load(service, session, after_timestamp=20)))
    out.append(texts(await load(service, session, num_recent_events=3, after_timestamp=35)))
    other = await create(service, user_id="bob", session_id="s/1", state={"plan": "b"})
    out.append(other.state)
    await create(service, session_id="s2")
    for user in ("ada/1 ä", "bob", "nobody", None):
        listed = await service.list_sessions(app_name="app", user_id=user)
        found = sorted(listed.sessions, key=lambda it: (it.user_id, it.id))
        out.append([(it.user_id, it.id, it.state, it.events) for it in found])
    out.append(await service.get_user_state(app_name="app", user_id="ada/1 ä"))
    out.append(await service.get_user_state(app_name="app", user_id="nobody"))
    await service.delete_session(app_name="app", user_id="ada/1 ä", session_id="s/1")
    await service.delete_session(app_name="app", user_id="ada/1 ä", session_id="s/1")
    gone = await service.get_session(app_name="app", user_id="ada/1 ä", session_id="s/1")
    out.append(gone)
    again = await create(service, session_id="s/1")
    out.append((again.state, again.events))
    return out


async def test_sessions_are_as_those_in_memory(client: baton.AsyncBaton, b: baton.Baton) -> None:
    expected = await contract(InMemorySessionService())
    assert await contract(BatonSessionService(client)) == expected
    assert await contract(BatonSessionService(b.in_workspace("blocking-client"))) == expected


async def test_events_come_back_as_they_were(client: baton.AsyncBaton) -> None:
    service = BatonSessionService(client)
    session = await create(service)
    given = Event(
        author="agent",
        invocation_id="i",
        content=types.Content(
            role="model",
            parts=[
                types.Part(inline_data=types.Blob(data=bytes(range(256)), mime_type="image/png")),
                types.Part(function_call=types.FunctionCall(name="f", args={"a": [1, None]})),
                types.Part(text="x" * 300_000),
            ],
        ),
        actions=EventActions(
            artifact_delta={"f": 3},
            escalate=True,
            agent_state={"step": 1},
            end_of_agent=True,
            skip_summarization=True,
        ),
        long_running_tool_ids={"t"},
    )
    await service.append_event(session, given)
    (found,) = (await load(service, session)).events
    assert found == given


async def test_a_stale_session_is_refused_and_nothing_is_written(
    client: baton.AsyncBaton,
) -> None:
    service = BatonSessionService(client)
    session = await create(service)
    one, two = await load(service, session), await load(service, session)
    await service.append_event(one, event(text="one", plan="one"))
    with pytest.raises(StaleSessionError):
        await service.append_event(two, event(text="two", plan="two", user__name="two"))
    found = await load(service, session)
    assert (texts(found), found.state) == (["one"], {"plan": "one"})
    await service.append_event(one, event(text="three"))
    # A session that did not come from the service is judged by its time.
    unmarked = Session(id=session.id, app_name="app", user_id=session.user_id)
    with pytest.raises(StaleSessionError):
        await service.append_event(unmarked, event(text="four"))
    unmarked.last_update_time = one.last_update_time
    await service.append_event(unmarked, event(text="five"))
    assert texts(await load(service, session)) == ["one", "three", "five"]
    where = {"app_name": "app", "user_id": session.user_id, "session_id": session.id}
    await service.delete_session(**where)
    with pytest.raises(SessionNotFoundError):
        await service.append_event(one, event(text="six"))
    # One with the same name is another one, even if it has as many events.
    await create(service, session_id=session.id)
    again = await load(service, session)
    for number in range(3):
        await service.append_event(again, event(text=str(number)))
    with pytest.raises(StaleSessionError):
        await service.append_event(unmarked, event(text="seven"))


async def test_one_of_many_writers_wins_each_time(client: baton.AsyncBaton) -> None:
    service = BatonSessionService(client)
    session = await create(service, state={"n": 0})

    async def add(name: str) -> None:
        while True:
            mine = await load(service, session)
            try:
                await service.append_event(mine, event(text=name, n=mine.state["n"] + 1))
                return
            except StaleSessionError:
                pass

    await asyncio.gather(*(add(str(number)) for number in range(8)))
    found = await load(service, session)
    assert found.state["n"] == 8
    assert sorted(map(str, texts(found))) == [str(number) for number in range(8)]


async def test_an_append_is_one_request(b: baton.Baton, monkeypatch: pytest.MonkeyPatch) -> None:
    service = BatonSessionService(b)
    session = await create(service)
    made: list[str] = []
    execute = baton.Baton.execute

    def counting(self: baton.Baton, operation: Any, *arguments: Any, **how: Any) -> Any:
        made.append(operation.name)
        return execute(self, operation, *arguments, **how)

    monkeypatch.setattr(baton.Baton, "execute", counting)
    await service.append_event(session, event(text="1", app__a=1, user__b=2, c=3))
    assert made == ["transaction"]


async def test_the_state_is_where_every_client_finds_it(client: baton.AsyncBaton) -> None:
    service = BatonSessionService(client)
    session = await create(service, user_id="ada", session_id="s", state={"app:theme": "dark"})
    await service.append_event(session, event(user__name="Ada", plan={"step": 1}))
    values = {it.key: it.value for it in (await client.state.list(prefix="sessions/")).entries}
    assert values == {
        "sessions/app/app/theme": "dark",
        "sessions/user/app/ada/name": "Ada",
        "sessions/own/app/ada/s/plan": {"step": 1},
    }
    await client.state.set("sessions/app/app/theme", "light")
    assert (await load(service, session)).state["app:theme"] == "light"


# With the runner.


def team(answer: str = "It is in row 7.") -> LlmAgent:
    transfer = types.FunctionCall(name="transfer_to_agent", args={"agent_name": "librarian"})
    librarian = LlmAgent(
        name="librarian",
        description="Finds books.",
        model=scripted(answer, "Row 8."),
        output_key="place",
    )
    return LlmAgent(
        name="desk",
        model=scripted(types.Part(function_call=transfer)),
        sub_agents=[librarian],
    )


async def ask(runner: Runner, session: Session, text: str) -> list[Event]:
    message = types.Content(role="user", parts=[types.Part(text=text)])
    return [
        it
        async for it in runner.run_async(
            user_id=session.user_id, session_id=session.id, new_message=message
        )
    ]


async def test_a_transfer_is_a_hand_off_and_output_is_in_the_state(
    client: baton.AsyncBaton,
) -> None:
    service = BatonSessionService(client)
    runner = Runner(app_name="app", agent=team(), session_service=service)
    session = await create(service, user_id="ada", state={"user:card": 7})
    events = await ask(runner, session, "Where is the book?")
    assert events[-1].author == "librarian"
    found = await load(service, session)
    assert found.state == {"user:card": 7, "place": "It is in row 7."}
    (handoff,) = (await client.handoffs.list()).handoffs
    assert (handoff.from_, handoff.to, handoff.status) == ("desk", "librarian", "completed")
    assert handoff.raw["state"] == {"user:card": 7}
    assert handoff.raw["notes"]["session"] == session.id
    assert "Where is the book?" in json.dumps(handoff.raw["notes"]["seen"])
    assert handoff.raw["result"] == "It is in row 7."
    assert handoff.raw["changes"] == {"place": "It is in row 7."}


async def test_a_transfer_that_a_rule_refuses_is_not_stored(client: baton.AsyncBaton) -> None:
    await client.rules.add("card", {"required_keys": ["user:card"]})
    service = BatonSessionService(client)
    runner = Runner(app_name="app", agent=team(), session_service=service)
    session = await create(service, user_id="ada")
    with pytest.raises(baton.BatonError, match="user:card"):
        await ask(runner, session, "Where is the book?")
    found = await load(service, session)
    assert not any(it.actions.transfer_to_agent for it in found.events)


async def test_a_conversation_continues_after_the_server_was_killed(
    start_server: StartServer,
) -> None:
    server = start_server()
    agent = team()
    async with baton.connect_async(server.url) as b:
        service = BatonSessionService(b)
        session = await create(service, user_id="ada")
        await ask(Runner(app_name="app", agent=agent, session_service=service), session, "Where?")
    server.kill()
    server.start()
    async with baton.connect_async(server.url) as b:
        service = BatonSessionService(b)
        runner = Runner(app_name="app", agent=agent, session_service=service)
        # The agent that it was transferred to continues.
        events = await ask(runner, session, "And the other one?")
        assert [it.author for it in events] == ["librarian"]
        assert (await load(service, session)).state["place"] == "Row 8."


# Artifacts.


async def artifacts(service: Any) -> list[Any]:
    """The results of a service, for a comparison."""
    out: list[Any] = []
    where: dict[str, Any] = {"app_name": "app", "user_id": "ada", "session_id": "s"}
    blob = types.Part(inline_data=types.Blob(data=b"\0\1\2", mime_type="image/png"))
    out.append(await service.load_artifact(**where, filename="none"))
    out.append(await service.list_versions(**where, filename="none"))
    out.append(await service.save_artifact(**where, filename="a/b.png", artifact=blob))
    out.append(
        await service.save_artifact(
            **where,
            filename="a/b.png",
            artifact={"inlineData": {"data": "AAE=", "mimeType": "image/gif"}},
            custom_metadata={"k": 1},
        )
    )
    text = types.Part(text="a text é")
    out.append(await service.save_artifact(**where, filename="user:t.txt", artifact=text))
    link = types.Part(file_data=types.FileData(file_uri="gs://x/y", mime_type="text/html"))
    out.append(await service.save_artifact(**where, filename="link", artifact=link))
    for version in (None, 0, 1, 2, -1):
        out.append(await service.load_artifact(**where, filename="a/b.png", version=version))
    out.append(await service.load_artifact(**where, filename="link"))
    other = {**where, "session_id": "other"}
    out.append(await service.load_artifact(**other, filename="user:t.txt"))
    out.append(await service.load_artifact(**other, filename="a/b.png"))
    out.append(await service.list_artifact_keys(**where))
    out.append(await service.list_artifact_keys(app_name="app", user_id="ada"))
    out.append(await service.list_versions(**where, filename="a/b.png"))
    for it in await service.list_artifact_versions(**where, filename="a/b.png"):
        out.append((it.version, it.custom_metadata, it.mime_type))
    found = await service.get_artifact_version(**where, filename="user:t.txt")
    out.append((found.version, found.mime_type))
    with pytest.raises(InputValidationError):
        await service.save_artifact(app_name="app", user_id="ada", filename="f", artifact=text)
    with pytest.raises(InputValidationError):
        await service.save_artifact(**where, filename="f", artifact=types.Part())
    reference = types.FileData(
        file_uri="artifact://apps/app/users/ada/sessions/s/artifacts/link/versions/0"
    )
    await service.save_artifact(**where, filename="ref", artifact=types.Part(file_data=reference))
    out.append(await service.load_artifact(**where, filename="ref"))
    await service.delete_artifact(**where, filename="a/b.png")
    await service.delete_artifact(**where, filename="a/b.png")
    out.append(await service.list_artifact_keys(**where))
    return out


async def test_artifacts_are_as_those_in_memory(client: baton.AsyncBaton, b: baton.Baton) -> None:
    expected = await artifacts(InMemoryArtifactService())
    assert await artifacts(BatonArtifactService(client)) == expected
    assert await artifacts(BatonArtifactService(b.in_workspace("blocking-client"))) == expected


async def test_artifacts_saved_at_the_same_time_have_different_versions(
    client: baton.AsyncBaton,
) -> None:
    service = BatonArtifactService(client)
    where: dict[str, Any] = {"app_name": "app", "user_id": "ada", "session_id": "s"}
    where["filename"] = "f"
    versions = await asyncio.gather(
        *(service.save_artifact(**where, artifact=types.Part(text=str(n))) for n in range(6))
    )
    assert sorted(versions) == list(range(6))
    for number, version in enumerate(versions):
        found = await service.load_artifact(**where, version=version)
        assert found is not None
        assert found.text == str(number)


async def test_an_agent_saves_and_loads_artifacts(client: baton.AsyncBaton) -> None:
    async def draw(tool_context: Any) -> str:
        blob = types.Blob(data=b"picture" * 100_000, mime_type="image/png")
        version = await tool_context.save_artifact("p.png", types.Part(inline_data=blob))
        return f"version {version}"

    call = types.Part(function_call=types.FunctionCall(name="draw", args={}))
    agent = LlmAgent(name="artist", model=scripted(call, "Drawn."), tools=[draw])
    sessions, files = BatonSessionService(client), BatonArtifactService(client)
    runner = Runner(app_name="app", agent=agent, session_service=sessions, artifact_service=files)
    session = await create(sessions, user_id="ada")
    await ask(runner, session, "Draw.")
    part = await files.load_artifact(
        app_name="app", user_id="ada", session_id=session.id, filename="p.png"
    )
    assert part is not None
    assert part.inline_data is not None
    assert part.inline_data.data == b"picture" * 100_000
    (found,) = (await client.artifacts.list()).artifacts
    assert found.bytes == 700_000
