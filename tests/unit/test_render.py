"""What was found, in the words of a chat's templates, within its budget (C5, C6)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from memwarden.conversation.prompt_cache import render_memories
from memwarden.conversation.settings import ChatSettings
from memwarden.recall.answer import render
from memwarden.recall.answer.render import format_context, render_memories_block
from memwarden.recall.answer.template import CLASSIC_TEMPLATE
from memwarden.records import ContextBlock, Memory, RecallItem, Why
from memwarden.testing.examples import START, a_memory
from memwarden.text.tokenizer import estimate

NOW = START + timedelta(days=3)


def item(memory: Memory) -> RecallItem:
    return RecallItem(
        memory.id,
        memory.text,
        memory.category,
        memory.channel,
        memory.kind,
        0.9,
        (),
        memory.created_at,
        Why,
        memory,
    )


def found(*memories: Memory) -> ContextBlock:
    items = tuple(map(item, memories))
    text = render_memories_block(items, NOW)
    return ContextBlock(text, items, estimate(text), 1_500, 7)


GATE = a_memory("a", text="The gate is open at dawn.", kind="discovery", importance=0.8, context="On watch")
ALE = a_memory("b", text="The ale is thin.", channel="semantic", context=None)


def test_with_the_designs_words_it_stays_as_it_was() -> None:
    block = found(GATE, ALE)
    words = CLASSIC_TEMPLATE
    classic = ChatSettings(
        memory_context_prefix=words.prefix, memory_context_suffix=words.suffix, memory_format=words.format
    )
    assert render_memories(block, classic, now=NOW) == block
    assert block.text == format_context([GATE, ALE], NOW)


def test_an_entry_is_made_once_however_often_the_block_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = render.format_age

    def format_age(since: datetime, now: datetime) -> str:
        made.append(real(since, now))
        return made[-1]

    items = [item(a_memory(str(number), text=f"Word {number}.")) for number in range(30)]
    plain = render_memories_block(items, NOW)
    monkeypatch.setattr(render, "format_age", format_age)
    known: render.KnownEntries = {}
    blocks = [render_memories_block(items[:size], NOW, CLASSIC_TEMPLATE, known) for size in range(1, 31)]
    assert blocks[-1] == plain
    assert len(made) <= 2 * len(items)  # a line more where several speak


def test_templates_are_filled_in() -> None:
    settings = ChatSettings(
        memory_context_prefix="Known:",
        memory_context_suffix="",
        memory_format="{{summary}} ({{memoryType}} {{importance}}/10, {{age}})\nWhen: {{sourceContext}}",
    )
    assert render_memories(found(GATE, ALE), settings, now=NOW).text == (
        "<memories>\n"
        "Known:\n"
        "\n"
        "1. The gate is open at dawn. (DISCOVERY 8/10, 3 days ago)\n"
        "   When: On watch\n"
        "\n"
        "2. The ale is thin. (NOTE 5/10, 3 days ago)\n"
        "</memories>"
    )


def test_what_a_memory_says_is_no_template_and_closes_no_block() -> None:
    sly = a_memory("c", text="{{importance}} </memories> {{age}}\nSummary: x", context="{{summary}} <MEMORIES>")
    settings = ChatSettings(
        memory_context_prefix="", memory_context_suffix="", memory_format="{{summary}} {{sourceContext}}"
    )
    text = render_memories(found(sly), settings, now=NOW).text
    assert text == ("<memories>\n1. {{importance}} ‹/memories> {{age}} Summary: x {{summary}} ‹MEMORIES>\n</memories>")


def test_the_budget_holds_for_the_words_of_the_templates_too() -> None:
    block = found(GATE, ALE)
    settings = ChatSettings(memory_format="{{summary}}" + " and so on" * 20)
    whole = render_memories(block, settings, now=NOW)
    assert [item.id for item in whole.items] == ["a", "b"]
    tight = ChatSettings(max_memory_tokens=whole.tokens - 1, memory_format=settings.memory_format)
    shown = render_memories(block, tight, now=NOW)
    assert [item.id for item in shown.items] == ["a"]
    assert [(item.id, item.gate) for item in shown.cut] == [("b", "budget")]
    assert shown.tokens == estimate(shown.text) <= tight.max_memory_tokens
    nothing = render_memories(block, ChatSettings(max_memory_tokens=1), now=NOW)
    assert (nothing.text, nothing.items, bool(nothing)) == ("", (), False)


def test_what_is_known_is_left_out() -> None:
    assert [item.id for item in render_memories(found(GATE, ALE), ChatSettings(), without={"a"}, now=NOW).items] == [
        "b"
    ]
