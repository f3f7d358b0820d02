"""Our session service beside ADK's own, and inside its runner. Run by ``make adapters``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types
from pydantic import Field

from memwarden import AsyncWarden, MemwardenSessionService
from memwarden.errors import InvalidInput

CONFIG = {"embedder": "none"}
KEYS = ("a", "b.c", "user:name", "app:theme", "temp:step", "user:%", "")
VALUES: tuple[Any, ...] = (None, 1, "text", [1, {"x": None}], {"y": True}, "\u0000 \U0001f600")


def an_event(chance: random.Random, step: int) -> Event:
    parts = [types.Part(text=f"Step {step} \u0000 \u00e4")]
    if chance.random() < 0.2:
        parts.append(types.Part(inline_data=types.Blob(data=b"\x00\xff", mime_type="image/png")))
    delta = {key: chance.choice(VALUES) for key in KEYS if chance.random() < 0.3}
    content = types.Content(role="user", parts=parts)
    return Event(
        id=f"e{step}", author="user", timestamp=1_700_000_000.5 + step, content=content,
        actions=EventActions(state_delta=delta), partial=chance.random() < 0.1,
    )  # fmt: skip


def shown(session: Session | None) -> Any:
    if session is None:
        return None
    return session.id, session.state, session.events, session.app_name, session.user_id


async def outcome(call: Any) -> Any:
    try:
        return await call
    except Exception as error:
        return type(error)


@pytest.mark.parametrize(("engine", "steps"), [("sqlite", 2_000), ("memory", 300), ("postgresql", 300)])
async def test_random_calls_are_answered_as_by_adks_own_service(engine_url: str, steps: int) -> None:
    chance = random.Random(steps)
    async with AsyncWarden.open(engine_url, config=CONFIG) as warden:
        ours, theirs = MemwardenSessionService(warden, observe=False), InMemorySessionService()
        for step in range(steps):
            place = {"app_name": chance.choice(("shop", "bank")), "user_id": chance.choice(("ana", "bob"))}
            named = place | {"session_id": chance.choice(("s", "s.t", " s%2Et ", "\u00e4"))}
            call = chance.choices(("append", "get", "create", "list", "delete", "user_state"), (6, 3, 1, 1, 0.3, 1))[0]
            if call == "append":
                event = an_event(chance, step if chance.random() < 0.9 else step - 1)
                answers = []
                for service in (ours, theirs):
                    session = await service.get_session(**named)
                    session = session or Session(
                        id=named["session_id"], app_name=place["app_name"], user_id=place["user_id"]
                    )
                    given = event.model_copy(deep=True)
                    answers.append((await outcome(service.append_event(session, given)), session.state, session.events))
                assert answers[0] == answers[1]
            elif call == "get":
                config = chance.choice(
                    (None, GetSessionConfig(num_recent_events=chance.randrange(4)),
                     GetSessionConfig(after_timestamp=1_700_000_000.5 + step - chance.randrange(60)),
                     GetSessionConfig(num_recent_events=9, after_timestamp=1_700_000_000.5 + step - 30))
                )  # fmt: skip
                assert shown(await ours.get_session(**named, config=config)) == shown(
                    await theirs.get_session(**named, config=config)
                )
            elif call == "create":
                state = {key: chance.choice(VALUES) for key in KEYS if chance.random() < 0.4}
                made = [await outcome(service.create_session(**named, state=state)) for service in (ours, theirs)]
                if made[1] is AlreadyExistsError:
                    assert made[0] is AlreadyExistsError
                else:
                    assert shown(made[0]) == shown(made[1])
            elif call == "list":
                found = [(await service.list_sessions(**place)).sessions for service in (ours, theirs)]
                assert {item.id: shown(item) for item in found[0]} == {item.id: shown(item) for item in found[1]}
            elif call == "delete":
                for service in (ours, theirs):
                    await service.delete_session(**named)
            else:
                assert await ours.get_user_state(**place) == await theirs.get_user_state(**place)


class EchoModel(BaseLlm):  # type: ignore[misc]
    """Stands in for a paid model: it keeps what it was given."""

    model: str = "echo"
    prompts: list[str] = Field(default_factory=list)

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.prompts.append(str(llm_request.contents))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=f"Heard {len(self.prompts)}.")]))


async def test_a_conversation_goes_on_in_another_process(tmp_path: Path) -> None:
    model = EchoModel()
    place: dict[str, Any] = {"app_name": "shop", "user_id": "ana", "session_id": "s"}
    for said in ("I am allergic to peanuts.", "And to almonds."):
        async with AsyncWarden.open(f"sqlite:///{tmp_path / 's.db'}", config=CONFIG) as warden:
            service = MemwardenSessionService(warden)
            if await service.get_session(**place) is None:
                await service.create_session(**place)
            agent = LlmAgent(name="helper", model=model)
            runner = Runner(agent=agent, app_name="shop", session_service=service)
            content = types.Content(role="user", parts=[types.Part(text=said)])
            async for _ in runner.run_async(user_id="ana", session_id="s", new_message=content):
                pass
    assert "peanuts" in model.prompts[1]
    assert "Heard 1." in model.prompts[1]
    async with AsyncWarden.open(f"sqlite:///{tmp_path / 's.db'}", config=CONFIG) as warden:
        turns = await warden.scope(tenant="shop", user="ana").find(order_by="written", descending=False)
        assert [turn.text for turn in turns] == [
            "I am allergic to peanuts.", "Heard 1.", "And to almonds.", "Heard 2.",
        ]  # fmt: skip
        assert (await MemwardenSessionService(warden).list_sessions(app_name="shop", user_id="bob")).sessions == []


async def test_a_deleted_session_takes_no_event_and_names_are_checked() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        service = MemwardenSessionService(warden)
        session = await service.create_session(app_name="shop", user_id="ana")
        await service.delete_session(app_name="shop", user_id="ana", session_id=session.id)
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session, Event(author="user"))
        with pytest.raises(InvalidInput, match="user_id"):
            await service.list_sessions(app_name="shop")
        with pytest.raises(InvalidInput):
            await service.create_session(app_name="", user_id="ana")
