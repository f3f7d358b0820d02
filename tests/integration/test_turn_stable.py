"""Cache-stable turns on real stores: over restarts and processes, and what is forgotten leaves at once (F6)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.conversation.prompt_cache import PrefixMeter
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import NotFound

STABLE = ChatSettings(
    use_memory=True,
    memory_injection_mode="cache_stable",
    memory_extraction_mode="on_save",
    memory_search_threshold=0.2,
    max_memory_context=1,
)
NORTH = "The northern gate is unguarded at dawn."
GUILD = "The merchant guild gives supplies in exchange for escorts."
ALE = "The innkeeper waters down the ale."
GATE, SUPPLIES, INN = "Which gate is unguarded at dawn?", "Who gives us supplies?", "Is the innkeeper's ale any good?"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Warden]:
    with Warden.open(f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}) as opened:
        yield opened


def filled(warden: Warden) -> list[str]:
    """Three memories; their ids."""
    written = warden.scope(user="hero").remember([NORTH, GUILD, ALE])
    return [str(result.id) for result in written.results]


def asked(warden: Warden, history: list[dict[str, Any]], text: str, settings: ChatSettings = STABLE, **who: Any) -> Any:
    """One turn; the history then holds the question and an answer. Returns the request."""
    history.append(user(text))
    with warden.scope(**({"user": "hero", "thread": "quest"} | who)).turn(history, settings) as turn:
        turn.record_response("Noted.")
        assert turn.failures == ()
    history.append(assistant("Noted."))
    return turn.request


def memories_in(content: str) -> list[str]:
    return [item for item in (NORTH, GUILD, ALE) if item in content]


def held(request: Sequence[Any]) -> list[list[str]]:
    return [memories_in(item["content"]) for item in request]


def test_what_stands_in_a_prompt_stays_there(warden: Warden) -> None:
    filled(warden)
    history = [{"role": "system", "content": "Be brief."}]
    given = json.dumps(history)
    first = asked(warden, history, GATE)
    assert held(first) == [[NORTH], []]
    assert first[0]["content"].startswith("Be brief.\n\n<memories>\n")
    second = asked(warden, history, SUPPLIES)
    assert second[:2] == first
    assert held(second) == [[NORTH], [], [], [GUILD]]
    assert second[3]["content"].endswith(f"</memories>\n\n{SUPPLIES}")
    third = asked(warden, history, "And which gate was it that is unguarded at dawn?")
    assert third[:4] == second
    assert held(third) == [[NORTH], [], [], [GUILD], [], []]
    assert json.dumps(history[:1]) == given


def test_it_survives_a_restart_and_is_one_for_several_processes(tmp_path: Path) -> None:
    url, config = f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}
    history: list[dict[str, Any]] = []
    with Warden.open(url, config) as warden:
        filled(warden)
        asked(warden, history, GATE)
        second = asked(warden, history, SUPPLIES)
    with Warden.open(url, config) as warden, Warden.open(url, config) as other:
        third = asked(warden, history, "Thanks.")
        assert third[:4] == second
        fourth = asked(other, history, INN)
        assert fourth[:6] == third
        assert asked(warden, history, "Thanks again.")[:8] == fourth


def test_nothing_is_written_when_nothing_changes(warden: Warden) -> None:
    filled(warden)
    history: list[dict[str, Any]] = []
    asked(warden, history, GATE)
    me = warden.scope(user="hero")
    before = [entry for entry in me.journal.history(limit=1000) if entry.memory_id.startswith("in-prompt:")]
    asked(warden, history, "Thanks.")
    asked(warden, history, "Which gate was unguarded at dawn again?")
    after = [entry for entry in me.journal.history(limit=1000) if entry.memory_id.startswith("in-prompt:")]
    assert len(before) == len(after) == 1


@pytest.mark.parametrize("text", [GATE, SUPPLIES], ids=["snapshot", "delta"])
@pytest.mark.parametrize("how", ["forget", "update", "expire"])
def test_what_is_forgotten_or_changed_leaves_at_once(warden: Warden, text: str, how: str) -> None:
    north, guild, _ = filled(warden)
    history: list[dict[str, Any]] = []
    asked(warden, history, GATE)
    second = asked(warden, history, SUPPLIES)
    assert held(second) == [[NORTH], [], [], [GUILD]]
    memory_id, words = (north, NORTH) if text == GATE else (guild, GUILD)
    me = warden.scope(user="hero")
    if how == "forget":
        me.forget([memory_id])
    elif how == "update":
        me.update(memory_id, text="Nobody knows it any more.")
    else:
        me.update(memory_id, valid_to="2026-01-01T00:00:00Z", valid_from="2025-01-01T00:00:00Z")
    third = asked(warden, history, INN)
    assert words not in json.dumps(third)
    assert ALE in json.dumps(third)
    if text == SUPPLIES:
        assert third[:3] == second[:3]  # what stood before it stays


def test_refresh_makes_it_anew(warden: Warden) -> None:
    filled(warden)
    history: list[dict[str, Any]] = []
    asked(warden, history, GATE)
    asked(warden, history, SUPPLIES)
    history.append(user(INN))
    me = warden.scope(user="hero", thread="quest")
    with me.turn(history, STABLE) as turn:
        assert held(turn.request) == [[NORTH], [], [], [GUILD], [], [ALE]]
        me.remember("The innkeeper's ale is good on Sundays.")
        turn.refresh()
        assert held(turn.request) == [[], [], [], [], [], []]
        assert "good on Sundays" in turn.messages[0]["content"]
        turn.record_response("On Sundays.")
    history.append(assistant("On Sundays."))
    assert asked(warden, history, "Thanks.")[:6] == turn.request


def test_refresh_in_another_mode_searches_again(warden: Warden) -> None:
    me = warden.scope(user="hero", thread="quest")
    with me.turn([user(GATE)], replace(STABLE, memory_injection_mode="system_append")) as turn:
        assert turn.request == [user(GATE)]
        me.remember(NORTH)
        turn.refresh()
        assert held(turn.request) == [[NORTH], []]
        turn.record_response("The northern one.")
    with me.turn([user(GATE)], ChatSettings()) as off:
        off.refresh()
        assert off.request == [user(GATE)]


def test_a_history_that_keeps_what_was_put_in_is_no_other_conversation(warden: Warden) -> None:
    filled(warden)
    history: list[dict[str, Any]] = []
    asked(warden, history, GATE)
    second = asked(warden, history, SUPPLIES)
    kept = [*second, assistant("Noted."), user("Thanks.")]
    with warden.scope(user="hero", thread="quest").turn(kept, STABLE) as turn:
        turn.record_response("You are welcome.")
    assert turn.request[:4] == second
    assert held(turn.request) == [[NORTH], [], [], [GUILD], [], []]


@pytest.mark.parametrize("mode", ["system_append", "context_message", "user_prefix"])
def test_blocks_do_not_pile_up_in_a_history_that_keeps_them(warden: Warden, mode: str) -> None:
    filled(warden)
    settings = replace(STABLE, memory_injection_mode=mode, memory_context_prefix="Of old:", memory_context_suffix="")
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for text in (GATE, SUPPLIES, INN):
        messages = asked(warden, messages, text, settings)
        assert json.dumps(messages).count("<memories>") == 1
        assert [memory for item in held(messages) for memory in item] == {GATE: [NORTH], SUPPLIES: [GUILD], INN: [ALE]}[
            text
        ]
        messages.append(assistant("Noted."))


def test_each_thread_and_each_agent_has_its_own(warden: Warden) -> None:
    filled(warden)
    asked(warden, [], GATE)
    assert held(asked(warden, [], SUPPLIES, thread="other")) == [[GUILD], []]
    assert held(asked(warden, [], INN, agent="supervisor")) == [[ALE], []]
    assert held(asked(warden, [], GATE)) == [[NORTH], []]


async def test_turns_of_one_message_at_once_give_one_prompt(tmp_path: Path) -> None:
    url, config = f"sqlite:///{tmp_path}/m.db", {"embedder": "none"}
    async with AsyncWarden.open(url, config) as first, AsyncWarden.open(url, config) as second:
        await first.scope(user="hero").remember([NORTH, GUILD, ALE])

        async def ask(warden: AsyncWarden, history: list[dict[str, Any]], key: str) -> Any:
            turn = warden.scope(user="hero", thread="quest").turn(history, STABLE, key=key)
            async with turn:
                assert turn.failures == ()
            return turn.request

        history = [user(GATE)]
        made = await asyncio.gather(*(ask(item, history, "k1") for item in (first, second) * 3))
        assert all(item == made[0] for item in made)
        history += [assistant("Noted."), user(SUPPLIES)]
        made = await asyncio.gather(*(ask(item, history, "k2") for item in (first, second) * 3))
        assert all(item == made[0] for item in made)
        assert held(made[0]) == [[NORTH], [], [], [GUILD]]


def test_the_arguments_of_a_call_to_anthropic(warden: Warden) -> None:
    filled(warden)
    meter, messages = PrefixMeter(), list[dict[str, Any]]()
    for text in (GATE, SUPPLIES, INN):
        messages.append(user(text))
        request = {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": messages}
        with warden.scope(user="hero", thread="quest").turn(request, STABLE) as turn:
            turn.record_response("Noted.")
        share = meter.add(turn.request)
        messages.append(assistant("Noted."))
    assert share.of_last == 1
    assert memories_in(turn.request["system"]) == [NORTH]
    assert held(turn.request["messages"]) == [[], [], [GUILD], [], [ALE]]


def test_no_other_agent_reads_what_stands_in_a_prompt() -> None:
    """Not even one that may read state; and what was forgotten is in no earlier content of the record."""
    categories = {
        "categories": {"custom": [{"name": name, "context": "rag"} for name in ("health", "activity", "state")]},
        "allowlists": {"nurse": ["health", "activity"], "cook": ["activity", "state"]},
    }
    with Warden.open("memory://", {"embedder": "none", "categories": categories}) as warden:
        (ill,) = warden.scope(user="hero").remember("Rosa has asthma and wheezes.", category="health").results
        history: list[dict[str, Any]] = []
        assert "wheezes" in str(asked(warden, history, "Does Rosa have asthma?", agent="nurse"))
        records = [item.id for item in warden.scope(user="hero").find({"channel": "state"})]
        assert len(records) == 1
        cook = warden.scope(user="hero", agent="cook", thread="quest")
        assert [item.id for item in cook.find() if item.id == records[0]] == []
        assert "wheezes" not in str(cook.journal.history(limit=1000))
        with pytest.raises(NotFound):
            cook.get(records[0])
        assert records[0] not in str(warden.scope(user="hero", thread="new").journal.delta(0))
        me = warden.scope(user="hero")
        assert ill.id is not None
        me.forget(ill.id)
        assert "wheezes" not in str(asked(warden, history[:0], "And now?", agent="nurse"))
        assert "wheezes" not in str([me.get(records[0]), me.journal.history(records[0])])
