"""L3 of posts: of two persons who were named for one post, the one named later leads."""

from __future__ import annotations

from typing import Any

import pytest

from law_stores import told

FILLER = ["We had soup for lunch.", "Der Zug war pünktlich.", "Hoy llovió mucho.", "今日は雨でした。"]
NAMED_TWICE = [
    ("My landlord is Mr. Osei.", "Our new landlord is Ms. Fenn.", "Who is my landlord?"),
    (
        "Mein Zahnarzt heißt Dr. Brandl.",
        "Seit Mai bin ich bei einer neuen Zahnärztin, Dr. Kolb.",
        "Wer ist mein Zahnarzt?",
    ),
    (
        "Mi dentista es el doctor Rivas.",
        "Desde mayo tengo una dentista nueva, la doctora Peña.",
        "¿Quién es mi dentista?",
    ),
    (
        "Mon dentiste est le docteur Morin.",
        "Depuis mai j'ai une nouvelle dentiste, la docteure Fabre.",
        "Qui est mon dentiste ?",
    ),
    (
        "Il mio dentista è il dottor Neri.",
        "Da maggio ho una nuova dentista, la dottoressa Galli.",
        "Chi è il mio dentista?",
    ),
    ("我的牙医是李医生。", "五月起我换了新牙医，周医生。", "我的牙医是谁？"),
]


def first_text(me: Any, question: str) -> str:
    return str(me.query(question, top_k=3).items[0].memory.text)


@pytest.mark.parametrize(("earlier", "later", "question"), NAMED_TWICE)
def test_the_person_named_later_leads(earlier: str, later: str, question: str) -> None:
    with told([earlier, *FILLER, later]) as me:
        assert first_text(me, question) == later
