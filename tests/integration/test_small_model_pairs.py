"""A small model is asked about no pairs of statements."""

from __future__ import annotations

import json

import pytest

from memwarden import Warden
from memwarden.testing.scripted import ScriptedModel

PAIR = ("The choir meets in the town hall.", "The choir practises in the old church hall.")


@pytest.mark.parametrize(("size", "questions"), [("large", 1), ("small", 0)])
def test_pairs_that_no_rule_decides_are_asked_of_a_large_model_alone(size: str, questions: int) -> None:
    model = ScriptedModel(*[json.dumps({"relations": ["update"]})] * questions)
    with Warden.open("memory://", {"embedder": "auto", "chat_model_size": size}, chat_model=model) as warden:
        me = warden.scope(user="ana")
        outcomes = [me.remember(text).results[0].outcome for text in PAIR]
    assert len(model.asked) == questions
    assert outcomes == ["created", "superseded" if questions else "created"]
