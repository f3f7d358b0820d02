"""Values that are over: asked for, they come back with their end; a stored line finds itself first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from memwarden import Warden, clock

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def later() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="u", thread="first")
        now = clock.now()
        for days, text in (
            (300, "I live in Ghent."),
            (200, "My favourite colour is ochre."),
            (40, "I live in Namur."),
            (30, "My favourite colour is teal."),
            (20, "I keep bees."),
        ):
            me.remember(text, created_at=now - timedelta(days=days))
        yield warden.scope(user="u", thread="later")


@pytest.mark.parametrize(
    ("question", "was", "current"),
    [
        ("What was my favourite colour before?", "ochre", "teal"),
        ("What was my old favourite colour?", "ochre", "teal"),
        ("Where did I live before?", "Ghent", "Namur"),
        ("Where did I use to live?", "Ghent", "Namur"),
    ],
)
def test_a_question_about_the_past_gets_the_past(later: Any, question: str, was: str, current: str) -> None:
    found = later.query(question)
    assert was in found.items[0].text
    assert f"{was}. (until " in found.text
    assert f"{current}. (until " not in found.text
    assert f"{was}. (until " in later.context(question).text


@pytest.mark.parametrize(
    ("question", "was"), [("What is my favourite colour?", "ochre"), ("Where do I live?", "Ghent")]
)
def test_a_question_of_today_does_not(later: Any, question: str, was: str) -> None:
    assert was not in later.query(question).text
    assert was not in later.context(question).text


def test_stored_words_find_themselves_first() -> None:
    said = [
        "I met Ragna for lunch at the zoo.",
        "Ragna works at the zoo now.",
        "Lunch with Ragna was good, she told me about the zoo.",
        "We had lunch at the zoo with Ragna and the kids.",
        "Ragna left the zoo, she works at the harbour.",
    ]
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="u", thread="first")
        for text in said:
            me.observe([{"role": "user", "content": text}])
        later = warden.scope(user="u", thread="later")
        assert [later.query(text).items[0].memory.text for text in said] == said


def test_among_few_memories_the_best_stands_first_however_old() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="u", thread="first")
        for text in (
            "We moved into a flat in Ghent in March.",
            "Dr. Pauwels is my dentist.",
            "I work as a nurse at the Sint-Jan.",
            "Tom is my brother-in-law.",
            "I play the cello.",
        ):
            me.observe([{"role": "user", "content": text}])
        later = warden.scope(user="u", thread="later")
        asked = {"Where do I live?": "Ghent", "Who is my dentist?": "Pauwels", "What is my job?": "nurse"}
        assert {
            question: word in later.query(question).items[0].text for question, word in asked.items()
        } == dict.fromkeys(asked, True)


@pytest.mark.parametrize(
    ("said", "asked", "found"),
    [
        (
            (
                "I'm allergic to nuts, all of them as far as anyone knows.",
                "The tram was late again.",
                "I went to the allergy clinic and the results came: it is only hazelnuts.",
            ),
            "What did the allergy clinic find out?",
            "only hazelnuts",
        ),
        (
            (
                "Ich bin gegen Nüsse allergisch, gegen alle, soweit man weiß.",
                "Die Bahn kam wieder zu spät.",
                "Ich war in der Allergieambulanz, das Ergebnis ist da: es sind nur Haselnüsse.",
            ),
            "Was hat die Allergieambulanz herausgefunden?",
            "nur Haselnüsse",
        ),
    ],
)
def test_a_question_about_a_past_event_finds_it_and_not_what_held_before(
    said: tuple[str, ...], asked: str, found: str
) -> None:
    with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 60}) as warden:
        me = warden.scope(user="ana", thread="talk")
        for month, text in enumerate(said, 1):
            me.observe({"role": "user", "content": text, "created_at": f"2026-{month:02}-05T10:00:00+00:00"})
        assert found in me.query(asked).items[0].text
