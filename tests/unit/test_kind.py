"""What sort of statement a text is, by its words."""

from __future__ import annotations

import pytest

from memwarden.records import Kind
from memwarden.remember.ingest.messages import kind_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I learned that the gate is open at dawn.", Kind.DISCOVERY),
        ("We discovered a leak.", Kind.DISCOVERY),
        ("They DECIDED to rent.", Kind.DECISION),
        ("In the end we chose the blue one.", Kind.DECISION),
        ("The build failed on Friday.", Kind.ERROR_LESSON),
        ("We learned from the mistake.", Kind.ERROR_LESSON),
        ("I learned it after we decided.", Kind.DECISION),
        ("Ana always takes the stairs.", Kind.BEHAVIOR),
        ("It turned out well.", Kind.OUTCOME),
        ("I realised she was right.", Kind.INSIGHT),
        ("That means that we go.", Kind.INSIGHT),
        ("The unlearned lesson of a decidedly odd day.", Kind.NOTE),
        ("My van is green.", Kind.NOTE),
        ("", Kind.NOTE),
    ],
)
def test_signal_words_name_the_kind(text: str, kind: Kind) -> None:
    assert kind_of(text) == kind
