"""What stands in a prompt stays where it was put, until a set point (F6)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwarden.conversation.formats import FORMATS
from memwarden.conversation.prompt_cache import (
    PromptLayout,
    decide_layout,
    delta_places,
    fingerprint,
    layout_from_json,
    layout_to_json,
    place_to_answer,
)
from memwarden.conversation.settings import ChatSettings
from memwarden.recall.answer.render import render_memories_block
from memwarden.records import ContextBlock, Memory, RecallItem, Why
from memwarden.testing.examples import START, a_memory
from memwarden.text.tokenizer import estimate

NOW = START + timedelta(days=3)
STABLE = ChatSettings(
    use_memory=True, memory_injection_mode="cache_stable", memory_context_suffix="Use these memories."
)
Said = list[dict[str, Any]]


def found(*names: str) -> ContextBlock:
    memories = [a_memory(name, text=f"Ana knows {name}.") for name in names]
    items = tuple(map(item, memories))
    text = render_memories_block(items, NOW)
    return ContextBlock(text, items, estimate(text), 500, 7)


def item(memory: Memory) -> RecallItem:
    kind, since = memory.kind, memory.created_at
    return RecallItem(memory.id, memory.text, memory.category, memory.channel, kind, 0.9, (), since, Why, memory)


def talk(*texts: str) -> Said:
    """User and assistant in turn, the user first."""
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]


def ids(stable: PromptLayout | None) -> tuple[list[str], list[list[str]]]:
    assert stable is not None
    return list(stable.snapshot.marks), [list(delta.marks) for delta in stable.deltas]


FIRST = talk("Hi.")
SECOND = talk("Hi.", "Hello.", "And b?")
THIRD = talk("Hi.", "Hello.", "And b?", "Yes, b.", "And c?")


def first() -> PromptLayout:
    stable = decide_layout(None, FIRST, found("a"), STABLE)
    assert stable is not None
    return stable


def second() -> PromptLayout:
    stable = decide_layout(first(), SECOND, found("b", "a"), STABLE)
    assert stable is not None
    return stable


def test_a_conversation_begins_with_a_snapshot() -> None:
    stable = first()
    assert ids(stable) == (["a"], [])
    assert stable.snapshot.text.startswith("<memories>\nKnown from earlier:\n")
    assert delta_places(stable, FIRST) == {}


def test_what_becomes_relevant_goes_before_the_message_and_stays_there() -> None:
    stable = second()
    assert ids(stable) == (["a"], [["b"]])
    assert stable.snapshot == first().snapshot
    delta = stable.deltas[0].text
    assert "Ana knows b." in delta
    assert "Ana knows a." not in delta
    assert "Use these memories" in stable.snapshot.text
    assert "Use these memories" not in delta
    assert delta_places(stable, SECOND) == {2: delta}
    third = decide_layout(stable, THIRD, found("a", "b"), STABLE)
    assert third == stable
    assert delta_places(stable, THIRD) == {2: delta}


def test_nothing_relevant_at_first_is_an_empty_snapshot_and_the_first_delta_has_all_the_words() -> None:
    empty = decide_layout(None, FIRST, found(), STABLE)
    assert empty is not None
    assert empty.snapshot.text == ""
    stable = decide_layout(empty, SECOND, found("b"), STABLE)
    assert ids(stable) == ([], [["b"]])
    assert stable is not None
    assert "Use these memories" in stable.deltas[0].text


def test_a_message_that_was_asked_before_gets_what_it_got_then() -> None:
    assert decide_layout(first(), FIRST, found("b"), STABLE) == first()
    assert decide_layout(second(), SECOND, found("c"), STABLE) == second()


def test_what_is_forgotten_leaves_the_snapshot_with_all_of_it() -> None:
    stable = decide_layout(second(), THIRD, found("c", "b"), STABLE, gone={"a"})
    assert ids(stable) == (["c", "b"], [])


def test_what_is_forgotten_leaves_a_delta_with_that_delta() -> None:
    stable = decide_layout(second(), THIRD, found("c"), STABLE, gone={"b"})
    assert ids(stable) == (["a"], [["c"]])


def test_what_changed_comes_back_in_its_new_words() -> None:
    stable = decide_layout(second(), THIRD, found("b"), STABLE, gone={"b"})
    assert ids(stable) == (["a"], [["b"]])
    assert stable is not None
    assert list(delta_places(stable, THIRD)) == [4]


def test_it_is_made_anew_when_asked() -> None:
    assert ids(decide_layout(second(), SECOND, found("c"), STABLE, renew=True)) == (["c"], [])


def test_it_is_made_anew_when_the_deltas_would_be_over_the_limit() -> None:
    size = second().deltas[0].tokens
    just = ChatSettings(use_memory=True, max_delta_tokens=size)
    under = ChatSettings(use_memory=True, max_delta_tokens=size - 1)
    assert ids(decide_layout(first(), SECOND, found("b"), just)) == (["a"], [["b"]])
    assert ids(decide_layout(first(), SECOND, found("b"), under)) == (["b"], [])


def test_another_conversation_in_the_thread_begins_anew() -> None:
    assert ids(decide_layout(second(), talk("Good day."), found("c"), STABLE)) == (["c"], [])


def test_a_message_that_was_edited_loses_what_came_after() -> None:
    edited = talk("Hi.", "Hello.", "And c?")
    stable = decide_layout(second(), edited, found("c"), STABLE)
    assert ids(stable) == (["a"], [["c"]])
    assert stable is not None
    assert delta_places(stable, edited) == {2: stable.deltas[0].text}


def test_a_window_that_slides_keeps_the_snapshot() -> None:
    stable = decide_layout(second(), THIRD[2:], found("c", "b"), STABLE)
    assert ids(stable) == (["a"], [["c", "b"]])


def test_a_tool_that_is_still_at_work_changes_nothing() -> None:
    working = [*SECOND, {"role": "assistant", "content": "I look it up."}]
    stable = decide_layout(first(), working, found("b"), STABLE)
    assert stable is not None
    assert delta_places(stable, working) == {2: stable.deltas[0].text}
    assert decide_layout(stable, [*working, {"role": "assistant", "content": "Still."}], found("c"), STABLE) == stable


def test_without_a_message_to_answer_there_is_nothing_to_do() -> None:
    assert place_to_answer([{"role": "assistant", "content": "Hi, I am Bo."}]) is None
    assert decide_layout(None, [{"role": "assistant", "content": "Hi, I am Bo."}], found("a"), STABLE) is None
    assert decide_layout(first(), [], found("a"), STABLE) is None


@pytest.mark.parametrize("change", [{"text": "x"}, {"summary": "x"}, {"context": "x"}, {"kind": "decision"}])
def test_a_memory_that_says_something_else_has_another_mark(change: dict[str, Any]) -> None:
    assert fingerprint(a_memory("a", **change)) != fingerprint(a_memory("a"))
    assert fingerprint(a_memory("a", pinned=True, importance=0.9, version=4)) == fingerprint(a_memory("a"))


def test_it_is_read_as_it_was_written() -> None:
    assert layout_from_json(json.loads(json.dumps(layout_to_json(second())))) == second()
    assert layout_from_json(layout_to_json(first())) == first()


REQUESTS: dict[str, Any] = {
    "openai_chat": lambda said: [{"role": "system", "content": "Be kind."}, *said],
    "plain": lambda said: list(said),
    "openai_responses": lambda said: {"instructions": "Be kind.", "input": list(said)},
    "anthropic": lambda said: {"system": "Be kind.", "messages": list(said)},
}


@pytest.mark.parametrize("name", list(FORMATS))
@settings(max_examples=40, deadline=None)
@given(
    relevant=st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=3, unique=True), min_size=2, max_size=8),
    words=st.lists(st.sampled_from(["yes", "no", "and then?"]), min_size=8, max_size=8),
)
def test_each_prompt_begins_with_all_of_the_last(name: str, relevant: list[list[str]], words: list[str]) -> None:
    """Also when the same words are said again and again."""
    form, stable, last, shown = FORMATS[name], None, "", set[str]()
    said: Said = []
    for names, text in zip(relevant, words, strict=False):
        said = [*said, {"role": "user", "content": text}]
        request = REQUESTS[name](said)
        stable = decide_layout(stable, form.read_turns(request), found(*names), STABLE)
        assert stable is not None
        shown |= set(names)
        assert set(stable.marks) == shown
        made = form.with_placed(request, stable.snapshot.text, delta_places(stable, said))
        text_of = json.dumps(made)
        assert text_of.count("Ana knows") == len(shown)
        messages = made if isinstance(made, list) else made.get("messages") or made["input"]
        early = [] if isinstance(made, list) else [made.get("system"), made.get("instructions")]
        prompt = json.dumps([*early, *messages])[:-1]
        assert prompt.startswith(last)
        last = prompt
        said = [*said, {"role": "assistant", "content": "Well."}]
