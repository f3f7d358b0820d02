"""Storing what a model's answer lists as worth remembering (C8)."""

from __future__ import annotations

import pytest

from memwarden import Warden
from memwarden.errors import InvalidInput

ANSWER = """Sure! Here is what I would keep:
```json
{"memories": [
  {"content": "Ana is allergic to peanuts.", "summary": "Peanut allergy", "type": "DISCOVERY", "importance": 9,
   "tags": ["health", 3]},
  {"text": "Ana moved to Bergen.", "type": "gossip", "importance": "high"},
  "Ana's sister is called Ida.",
  {"summary": "no content"}, 7, "thanks"
]}
```
Anything else?"""


def test_an_answer_with_words_around_it_is_read(warden: Warden) -> None:
    me = warden.scope(user="ana")
    result = me.extract(ANSWER, category="profile", source="thread/t1")
    assert [item.outcome for item in result.results] == ["created", "created", "created", "rejected"]
    allergy, move, sister = (me.get(str(item.id)) for item in result.results[:3])
    assert (allergy.text, allergy.summary, allergy.kind) == (
        "Ana is allergic to peanuts.",
        "Peanut allergy",
        "discovery",
    )
    assert (allergy.importance, allergy.tags, allergy.category) == (0.9, ("health",), "profile")
    assert (move.kind, move.importance, move.source) == ("note", 0.5, "thread/t1")
    assert sister.text == "Ana's sister is called Ida."


@pytest.mark.parametrize("answer", ["Nothing to keep.", "[{'content': 'x'}", '{"facts": []}', '["a"', "{" * 100_000])
def test_an_answer_without_a_list_is_refused(warden: Warden, answer: str) -> None:
    me = warden.scope(user="ana")
    with pytest.raises(InvalidInput, match="no list of memories"):
        me.extract(answer)
    assert me.find() == []


def test_an_empty_list_stores_nothing(warden: Warden) -> None:
    assert warden.scope(user="ana").extract("[]").results == ()
