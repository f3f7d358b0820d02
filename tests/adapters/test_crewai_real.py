"""Our callbacks in crews of CrewAI. Run by ``make adapters``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("crewai")

from crewai import LLM, Agent, Crew, Task
from pydantic import BaseModel

from memwarden import AsyncWarden, InvalidInput, MemwardenCrewCallbacks, NotKept, Warden
from memwarden.errors import StoreUnavailable
from upstream import Upstream

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"
MakeCrew = Callable[..., Any]


@pytest.fixture
def make_crew(upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeCrew:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))  # CrewAI keeps the outputs of the last kickoff there

    def make(memory: MemwardenCrewCallbacks, *, task: Any = None, **given: Any) -> Crew:
        model = LLM("openai/gpt-5-mini", api_key="none", base_url=f"{upstream.url}/v1", max_retries=0)
        agent = Agent(role="Assistant", goal="Be brief.", backstory="You are kind.", llm=model)
        description = "Answer: {message}\n{memories}"
        work = Task(description=description, expected_output="An answer.", agent=agent, **(task or {}))
        return Crew(
            agents=[agent],
            tasks=[work],
            before_kickoff_callbacks=[memory.before_kickoff],
            after_kickoff_callbacks=[memory.after_kickoff],
            **given,
        )

    return make


def turns_of(warden: Warden, user: str) -> list[tuple[str | None, str, str | None]]:
    turns = warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
    return [(turn.role, turn.text, turn.thread_id) for turn in turns]


def inputs_of(user: str, message: str, thread: str = "t") -> dict[str, str]:
    return {"message": message, "user_id": user, "thread_id": thread}


def test_the_first_session_is_in_the_prompt_of_the_third(
    tmp_path: Path, make_crew: MakeCrew, upstream: Upstream
) -> None:
    upstream.says("Noted.")
    for day, text in (("monday", FACT), ("tuesday", OTHER), ("friday", QUESTION)):
        with Warden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            crew = make_crew(MemwardenCrewCallbacks(warden, user_from="user_id"))
            assert crew.kickoff(inputs_of("ana", text, day)).raw == "Noted."
            crew.kickoff(inputs_of("bob", QUESTION, day))
            assert turns_of(warden, "ana")[-2:] == [("user", text, day), ("assistant", "Noted.", day)]
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert len(prompts) == 6
    assert all("Be brief." in prompt for prompt in prompts)
    assert FACT in prompts[4]
    assert "Known from earlier" not in prompts[0]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


async def test_kickoffs_for_many_users_at_once_are_kept_apart(make_crew: MakeCrew, upstream: Upstream) -> None:
    upstream.says("Noted.")
    users = [f"user{number}" for number in range(4)]
    said = [inputs_of(user, f"My code is {user}.", user) for user in users]
    with Warden.open("memory://", config=CONFIG) as warden:
        crew = make_crew(MemwardenCrewCallbacks(warden, user_from="user_id"))
        await asyncio.to_thread(crew.kickoff_for_each, said)
        await crew.kickoff_for_each_async(said)
        await crew.akickoff_for_each(said)
        for user in users:
            expected = [("user", f"My code is {user}.", user), ("assistant", "Noted.", user)]
            assert turns_of(warden, user) == expected * 3
    for prompt in map(str, upstream.prompts()):
        assert sum(user in prompt for user in users) == 1


async def test_a_stream_is_stored_and_an_async_warden_serves_threads(make_crew: MakeCrew, upstream: Upstream) -> None:
    upstream.says("No peanuts for you, Ana.", letters=3)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        scope = warden.scope(user="ana", thread="t")
        crew = make_crew(MemwardenCrewCallbacks(scope, message_from="question"), stream=True)
        crew.tasks[0].description = "Answer: {question}\n{memories}"
        stream = await crew.kickoff_async({"question": FACT})
        pieces = [piece async for piece in stream]
        assert len(pieces) > 3
        turns = await scope.find({"channel": "turn"}, order_by="written", descending=False)
        assert [(turn.text, turn.thread_id) for turn in turns] == [(FACT, "t"), ("No peanuts for you, Ana.", "t")]
        with pytest.raises(asyncio.InvalidStateError, match="AsyncWarden"):
            MemwardenCrewCallbacks(scope).before_kickoff({"message": FACT})


def test_a_failed_kickoff_keeps_what_the_user_said(make_crew: MakeCrew, upstream: Upstream) -> None:
    upstream.fails(500)
    with Warden.open("memory://", config=CONFIG) as warden:
        crew = make_crew(MemwardenCrewCallbacks(warden.scope(user="ana", thread="t")))
        with pytest.raises(Exception, match="not now"):
            crew.kickoff({"message": FACT})
        assert turns_of(warden, "ana") == [("user", FACT, "t")]


def test_a_kickoff_names_its_message_and_user(make_crew: MakeCrew, upstream: Upstream) -> None:
    with Warden.open("memory://", config=CONFIG) as warden:
        crew = make_crew(MemwardenCrewCallbacks(warden, user_from="user_id"))
        with pytest.raises(InvalidInput, match="names no user"):
            crew.kickoff({"message": FACT})
        with pytest.raises(InvalidInput, match="have no message"):
            crew.kickoff({"user_id": "ana"})
        assert not upstream.prompts()
        with pytest.raises(InvalidInput, match="both callbacks"):
            MemwardenCrewCallbacks(warden).after_kickoff(None)


def test_a_crew_inside_of_a_tool_that_fails_leaves_the_answer_to_its_own_user(
    make_crew: MakeCrew, upstream: Upstream
) -> None:
    upstream.says("Noted.")
    with Warden.open("memory://", config=CONFIG) as warden:
        memory = MemwardenCrewCallbacks(warden, user_from="user_id")
        inner, outer = make_crew(memory), make_crew(memory)

        def fail(inputs: dict[str, Any]) -> dict[str, Any]:
            inner.before_kickoff_callbacks[1:] = [lambda _: 1 / 0]
            with pytest.raises(ZeroDivisionError):
                inner.kickoff(inputs_of("bob", OTHER))
            return inputs

        outer.before_kickoff_callbacks.append(fail)
        outer.kickoff(inputs_of("ana", FACT))
        assert turns_of(warden, "ana") == [("user", FACT, "t"), ("assistant", "Noted.", "t")]
        assert turns_of(warden, "bob") == [("user", OTHER, "t")]


class Verdict(BaseModel):
    safe: bool


def test_structured_answers_are_not_words(make_crew: MakeCrew, upstream: Upstream) -> None:
    upstream.says('{"safe": true}')
    with Warden.open("memory://", config=CONFIG) as warden:
        crew = make_crew(MemwardenCrewCallbacks(warden.scope(user="ana")), task={"output_json": Verdict})
        crew.kickoff({"message": FACT})
        assert [text for _, text, _ in turns_of(warden, "ana")] == [FACT]


def test_an_answer_that_cannot_be_stored_is_in_the_error(
    make_crew: MakeCrew, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.says("Noted.")
    with Warden.open("memory://", config=CONFIG) as warden:
        memory = MemwardenCrewCallbacks(warden.scope(user="ana"))
        crew = make_crew(memory)

        def lose(inputs: dict[str, Any]) -> dict[str, Any]:
            async def refuse(*_: Any, **__: Any) -> None:
                raise StoreUnavailable("the disk is full")

            monkeypatch.setattr("memwarden.api.scope.AsyncScope.observe", refuse)
            return inputs

        crew.before_kickoff_callbacks.append(lose)
        with pytest.raises(NotKept, match="the disk is full") as lost:
            crew.kickoff({"message": FACT})
        assert (lost.value.answer, lost.value.messages[0]["role"]) == ("Noted.", "assistant")
        assert [text for _, text, _ in turns_of(warden, "ana")] == [FACT]
