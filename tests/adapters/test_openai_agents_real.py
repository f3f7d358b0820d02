"""Our session beside the Agents SDK's own, and inside its runner. Run by ``make adapters``."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.memory import Session, SessionSettings, SQLiteSession

from memwarden import AsyncScope, AsyncWarden, MemwardenSession

CONFIG = {"embedder": "none"}
ENTRIES: tuple[Any, ...] = (
    {"role": "user", "content": "I am allergic to peanuts. \u00e4 \U0001f600"},
    {"role": "user", "content": [{"type": "input_text", "text": "And this?"}, {"type": "input_image"}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "found \u0000"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "No peanuts."}]},
)


@pytest.mark.parametrize("seed", range(2))
async def test_random_calls_are_answered_as_by_the_sdks_sqlite_session(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with AsyncWarden.open(f"sqlite:///{tmp_path / 'ours.db'}", config=CONFIG) as warden:
        file = tmp_path / "theirs.db"
        pairs = [
            (SQLiteSession(name, file), MemwardenSession(name, warden, observe=False)) for name in ("a", "a.b", "b")
        ]
        for step in range(1_200):
            theirs, ours = chance.choice(pairs)
            call = chance.choices(("add", "get", "pop", "clear"), (6, 3, 3, 0.2))[0]
            if call == "add":
                entries = [{**chance.choice(ENTRIES), "step": step} for _ in range(chance.randrange(4))]
                await theirs.add_items(entries)
                await ours.add_items(entries)
            elif call == "get":
                limit = chance.choice((None, 0, 1, 2, 5, 100, -1))
                assert await ours.get_items(limit) == await theirs.get_items(limit)
            elif call == "pop":
                assert await ours.pop_item() == await theirs.pop_item()
            else:
                await theirs.clear_session()
                await ours.clear_session()
        for theirs, ours in pairs:
            assert await ours.get_items() == await theirs.get_items()
            theirs.close()


class EchoModel(Model):  # type: ignore[misc]
    """Stands in for a paid model: it keeps what it was given, and answers with a number."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> Any:
        from openai.types.responses import ResponseOutputMessage, ResponseOutputText

        self.prompts.append(f"{system_instructions}\n{input}")
        text = ResponseOutputText(type="output_text", text=f"Heard {len(self.prompts)}.", annotations=[])
        message = ResponseOutputMessage(
            id=f"m{len(self.prompts)}", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def run(model: EchoModel, scope: AsyncScope, thread: str, message: str) -> str:
    block = await scope.context(message)
    agent = Agent(name="helper", instructions=f"Be brief.\n{block.text}", model=model)
    session = MemwardenSession(thread, scope)
    config = RunConfig(tracing_disabled=True)
    return str((await Runner.run(agent, message, session=session, run_config=config)).final_output)


async def test_the_first_session_is_in_the_prompt_of_the_third(tmp_path: Path) -> None:
    url, model = f"sqlite:///{tmp_path / 'agent.db'}", EchoModel()
    for day, said in (
        ("monday", "I am allergic to peanuts."),
        ("tuesday", "My sister Maria lives in Lyon."),
        ("friday", "What am I allergic to?"),
    ):
        async with AsyncWarden.open(url, config=CONFIG) as warden:
            assert await run(model, warden.scope(user="ana"), day, said)
            await run(model, warden.scope(user="bob"), day, "Bob asks: what is Ana allergic to?")
    of_ana, of_bob = model.prompts[::2], model.prompts[1::2]
    assert "I am allergic to peanuts." in of_ana[2]
    assert not [prompt for prompt in of_bob if "peanuts" in prompt or "Lyon" in prompt]
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        session = MemwardenSession("monday", warden.scope(user="ana"))
        await run(model, warden.scope(user="ana"), "monday", "And almonds?")
        assert len(await session.get_items()) == 4
        assert "Heard 1." in model.prompts[-1]


async def test_it_is_a_session_of_the_sdk_with_its_settings() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        session = MemwardenSession("s", warden, session_settings=SessionSettings(limit=1))
        assert isinstance(session, Session)
        await session.add_items([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}])
        assert await session.get_items() == [{"role": "user", "content": "two"}]
