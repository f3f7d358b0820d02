"""The rules that say whether an answer used a memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memwarden.conversation.turn import judge_uses
from memwarden.records import Memory, Namespace, RecallItem, Why

MAX_CHARACTERS = 8_000

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def item(text: str) -> RecallItem:
    memory = Memory("m", Namespace("default", "user/ana"), text, NOW, NOW)
    return RecallItem("m", text, "activity", "semantic", "note", 0.9, (), NOW, Why, memory)


@pytest.mark.parametrize(
    ("memory", "said", "answer", "used"),
    [
        ("Mia is allergic to peanuts.", "What snacks can she take?", "Rice cakes, no peanuts please.", True),
        ("Mia is allergic to peanuts.", "What snacks can she take?", "Rice cakes and apples.", False),
        ("Mia is allergic to peanuts.", "Mia is allergic to peanuts. Snacks?", "No peanuts.", False),
        ("Bo, Ida and Tom set the harbour walk for Tuesday.", "What is planned?", "The harbour walk, I think.", True),
        ("Bo, Ida and Tom set the harbour walk for Tuesday.", "What is planned?", "A walk by the river.", False),
        ("The code of the bike lock is 4471.", "What is the code of my bike lock?", "It is 4471.", True),
        ("The code of the bike lock is 4471.", "What is the code of my bike lock?", "I do not know your code.", False),
        ("Ana wohnt in Lissabon.", "Wo wohnt Ana?", "In Lissabon.", True),
        ("杏奈は京都に住んでいます。", "杏奈はどこに住んでいますか。", "京都です。", True),
        ("Thanks!", "What snacks?", "Thanks!", False),
    ],
)  # fmt: skip
def test_an_answer_uses_a_memory(memory: str, said: str, answer: str, used: bool) -> None:
    (entry,) = judge_uses([item(memory)], [said], answer)
    assert entry.used is used, entry
    assert 0 <= entry.share <= 1


def test_memories_are_judged_each_by_itself_in_their_order() -> None:
    found = judge_uses(
        [item("Ana keeps bees."), item("Bo rides a red Peugeot.")], ["Who has what?"], "Bo has the Peugeot."
    )
    assert [(item.item.text, item.used) for item in found] == [
        ("Ana keeps bees.", False),
        ("Bo rides a red Peugeot.", True),
    ]
    assert judge_uses([], ["Who?"], "Bo.") == []


def test_long_texts_are_looked_at_in_part() -> None:
    def share(said: str, answer: str) -> Any:
        return judge_uses([item("The lantern hangs over the anvil.")], [said], answer)[0].share

    filler = "word " * MAX_CHARACTERS
    assert share("What?", filler + "The lantern, the anvil.") == 0.0
    assert share("What? The lantern hangs over the anvil. " + filler, "The lantern, the anvil.") > 0.0
