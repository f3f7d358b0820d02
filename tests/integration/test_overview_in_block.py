"""The overview of a person as an item of the block: by a setting, within the budget, naming what it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from memwarden import ChatSettings, Warden
from memwarden.errors import InvalidInput
from memwarden.text.tokenizer import estimate

SAID = [
    ("I'm allergic to walnuts.", "2026-01-05"),
    ("I've been a vegetarian for ten years.", "2026-01-20"),
    ("The dentist put in a new filling today.", "2026-02-02"),
    ("I work as a tram driver.", "2026-02-20"),
]
COOK = [{"role": "user", "content": "What should I cook tonight?"}]


@pytest.fixture
def me() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="mies", thread="t")
        messages = [{"role": "user", "content": text, "created_at": day} for text, day in SAID]
        written = scope.observe(messages)
        scope.query("What am I allergic to?")  # waits until what was said is read
        scope.ids = [result.id for result in written.results]
        yield scope


def overview_of(block: Any) -> Any:
    (item,) = [item for item in block.items if item.id == "overview"]
    return item


def test_an_implicit_request_brings_allergies_and_diet(me: Any) -> None:
    block = me.context(COOK, overview_tokens=150)
    assert "walnuts" in block.text
    assert "vegetarian" in block.text
    item = overview_of(block)
    assert {me.ids[0], me.ids[1]} <= set(item.sources) <= set(me.ids)
    assert item.text in block.text
    assert block.tokens == estimate(block.text) <= 500
    assert estimate(item.text) <= 170


def test_without_the_setting_there_is_none(me: Any) -> None:
    assert "overview" not in {item.id for item in me.context(COOK).items}


def test_what_it_says_whole_is_not_said_again(me: Any) -> None:
    asked = [{"role": "user", "content": "What am I allergic to?"}]
    assert me.ids[0] in {item.id for item in me.context(asked).items}
    block = me.context(asked, overview_tokens=150)
    assert block.relevant
    assert block.text.count("walnuts") == 1
    assert "covered" in {cut.gate for cut in block.cut if cut.id == me.ids[0]}


def test_it_takes_at_most_its_share_of_the_budget(me: Any) -> None:
    block = me.context(COOK, budget_tokens=100, overview_tokens=1_000)
    assert block.tokens <= 100


def test_it_alone_makes_no_answer(me: Any) -> None:
    block = me.context([{"role": "user", "content": "How do the rings of Saturn stay in place?"}], overview_tokens=150)
    assert [item.id for item in block.items] == ["overview"]
    assert not block.relevant


def test_who_said_nothing_has_none(me: Any) -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        assert not warden.scope(user="nobody").context(COOK, overview_tokens=150)


@pytest.mark.parametrize("wrong", [-1, 1.5, "150", True])
def test_wrong_sizes_are_refused(me: Any, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="overview_tokens"):
        me.context(COOK, overview_tokens=wrong)


@pytest.mark.parametrize("mode", ["system_append", "cache_stable"])
def test_a_turn_puts_it_in_by_a_setting(me: Any, mode: str) -> None:
    settings = ChatSettings(use_memory=True, memory_injection_mode=mode, overview_tokens=150)
    other = me.turn(COOK, settings)
    with other as turn:
        assert "walnuts" in str(turn.messages)
        turn.record_response("Lentils, then.")
    assert turn.failures == ()
    with me.turn(COOK, replace(settings, overview_tokens=0)) as turn:
        turn.record_response("Lentils again.")
    assert "overview" not in {use.memory_id for use in me.usage.uses()}


def test_in_a_cache_stable_prompt_it_stays_until_what_it_rests_on_is_gone(me: Any) -> None:
    settings = ChatSettings(use_memory=True, memory_injection_mode="cache_stable", overview_tokens=150)
    history: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]

    def ask(text: str) -> list[dict[str, Any]]:
        history.append({"role": "user", "content": text})
        with me.turn(history, settings) as turn:
            turn.record_response("Noted.")
        history.append({"role": "assistant", "content": "Noted."})
        return list(turn.messages)

    first = ask(COOK[0]["content"])
    assert "walnuts" in first[0]["content"]
    second = ask("How do the rings of Saturn stay in place?")
    assert second[: len(first)] == first
    assert str(second).count("At a glance") == 1
    me.forget(me.ids[0])
    third = ask("Thanks.")
    assert "walnuts" not in str(third)
    assert "vegetarian" in str(third)
