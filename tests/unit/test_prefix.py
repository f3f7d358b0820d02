"""How much of a prompt is the beginning of the last one (F6)."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage

from memwarden.conversation.prompt_cache import PrefixMeter, PrefixShare, prompt_text

USER, ANSWER, NEXT = (
    {"role": "user", "content": "Where does Ana live?"},
    {"role": "assistant", "content": "In Porto."},
    {"role": "user", "content": "Since when?"},
)


def letters(text: str) -> int:
    return len(text)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([USER], [USER, ANSWER, NEXT]),
        ({"messages": [USER]}, {"messages": [USER, ANSWER, NEXT]}),
        ({"system": "Be kind.", "messages": [USER]}, {"messages": [USER, ANSWER, NEXT], "system": "Be kind."}),
        ({"input": [USER]}, {"input": [USER, ANSWER, NEXT]}),
        ({"input": USER["content"]}, {"input": [USER, ANSWER, NEXT]}),
        ({"instructions": "Be kind.", "input": [USER]}, {"instructions": "Be kind.", "input": [USER, ANSWER, NEXT]}),
        ([USER], [{"content": USER["content"], "role": "user"}, ANSWER]),
    ],
)
def test_a_conversation_that_goes_on_begins_with_all_of_the_last_prompt(first: Any, second: Any) -> None:
    meter = PrefixMeter(letters)
    assert meter.add(first) == PrefixShare(0, len(prompt_text(first)), 0)
    share = meter.add(second)
    assert share.of_last == 1
    assert share.of_this == len(prompt_text(first)) / len(prompt_text(second))
    assert meter.total == share


def test_what_changes_early_costs_all_that_follows() -> None:
    meter = PrefixMeter(letters)
    meter.add({"system": "Be kind. A", "messages": [USER, ANSWER]})
    share = meter.add({"system": "Be kind. B", "messages": [USER, ANSWER]})
    assert share.identical == prompt_text({"system": "Be kind. B"}).index("B", 15)
    assert 0 < share.of_this == share.of_last < 0.2
    tools = PrefixMeter(letters)
    tools.add({"messages": [USER], "tools": [{"name": "f"}]})
    assert tools.add({"messages": [USER], "tools": [{"name": "g"}]}).identical < 25


def test_the_total_is_of_all_prompts_that_had_one_before() -> None:
    meter = PrefixMeter(letters)
    assert meter.total == PrefixShare(0, 0, 0)
    assert (meter.total.of_this, meter.total.of_last) == (0.0, 0.0)
    shares = [meter.add(request) for request in ([USER], [USER, ANSWER, NEXT], [NEXT])]
    assert meter.total == PrefixShare(
        sum(share.identical for share in shares[1:]),
        sum(share.prompt for share in shares[1:]),
        sum(share.last for share in shares[1:]),
    )


def test_tokens_are_counted_and_an_sdks_objects_are_read() -> None:
    meter = PrefixMeter()
    share = meter.add([USER, ChatCompletionMessage(role="assistant", content="In Porto.")])
    assert share.prompt < len(prompt_text([USER, ANSWER]))
    assert meter.add([USER, ANSWER, NEXT]).of_last > 0.5
