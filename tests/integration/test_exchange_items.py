"""A question and its reply are a single item: "Braga." alone says little, and a question without its reply too."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import Warden

ADVICE = "Two weeks without running, then calf raises on a step every day."
SAID = (
    ("assistant", "Where are you flying to?"),
    ("user", "Braga."),
    ("user", "My shins hurt, both of them, always after the run. What can I do?"),
    ("assistant", ADVICE),
    ("user", "The tram was late, so I read."),
    ("user", "Otis the dog needs a bath."),
)


def talk(warden: Any) -> Any:
    me = warden.scope(user="ana", thread="talk")
    me.observe(
        [
            {"role": role, "content": text, "id": f"m{at}", "created_at": f"2026-01-05T10:{at:02}:00+00:00"}
            for at, (role, text) in enumerate(SAID)
        ]
    )
    return warden.scope(user="ana", thread="later")


def item_with(items: Any, words: str) -> Any:
    (found,) = [item for item in items if words in item.text]
    return found


@pytest.fixture
def warden(embedded_url: str) -> Any:
    with Warden.open(embedded_url, {"embedder": "auto", "vector_seconds": 60}) as opened:
        yield opened


def test_a_reply_is_shown_with_its_question(warden: Any) -> None:
    me = talk(warden)
    for items in (me.query("What helps when my shins hurt?").items, me.context("What helps when my shins hurt?").items):
        item = item_with(items, "My shins hurt")
        assert item.text.endswith(f"What can I do? — assistant: {ADVICE}")
        assert item.sources == ("m2", "m3")
        assert item.partner.text == ADVICE
        # The reply is shown once.
        assert sum(ADVICE in each.text for each in items) == 1


def test_a_short_reply_names_its_question(warden: Any) -> None:
    item = talk(warden).query("Where is my flight to?").items[0]
    assert item.text.endswith("Braga. (assistant: Where are you flying to?)")
    assert (item.memory.text, item.partner.text) == ("Braga.", "Where are you flying to?")
    assert item.sources == ("m1", "m0")


def test_a_forgotten_reply_is_in_no_item(warden: Any) -> None:
    me = talk(warden)
    partner = item_with(me.query("What helps when my shins hurt?").items, "My shins hurt").partner
    me.forget(partner.id)
    item = item_with(me.query("What helps when my shins hurt?").items, "My shins hurt")
    assert item.partner is None
    assert item.text.endswith("What can I do?")
    assert item.sources == ("m2",)


def test_what_was_shown_of_a_partner_is_told_when_it_is_forgotten(warden: Any) -> None:
    me = talk(warden)
    shown = item_with(me.context("What helps when my shins hurt?").items, "My shins hurt")
    me.forget(shown.partner.id)
    told = me.context("And what helps against the pain at night, then?").delta
    assert told is not None
    assert "what was known of 5 Jan 2026 holds no longer" in told.text


PLOT = (
    ("user", "Hallo, ich richte gerade meinen Schrebergarten ein, Parzelle 42 hinter der Kirche."),
    ("assistant", "Schön! Was möchtest du anbauen?"),
    ("user", "Tomaten, Stangenbohnen und eine Reihe Dahlien für meine Frau Karin."),
    ("assistant", "Wie groß ist die Parzelle?"),
    ("user", "5 mal 12 Meter. Der Boden ist schwerer Lehm."),
    ("assistant", "Arbeite vor dem Pflanzen viel Kompost ein."),
    ("user", "Der Verein will 85 Euro im Jahr, fällig am ersten April."),
    ("user", "Bernd von Parzelle 41 leiht mir seine Fräse, aber nur unter der Woche."),
)


def test_a_question_that_was_asked_before_has_its_reply(warden: Any) -> None:
    me = warden.scope(user="karl", thread="talk")
    me.observe([{"role": role, "content": text} for role, text in PLOT])
    block = warden.scope(user="karl", thread="later").context("Wie groß ist die Parzelle?")
    assert "5 mal 12 Meter" in block.text


def test_a_long_reply_is_an_item_of_its_own(warden: Any) -> None:
    lecture = "Stretch both calves slowly and rest. " + " ".join(
        f"Step {number} is about muscle {number}." for number in range(20)
    )
    me = warden.scope(user="lea", thread="talk")
    me.observe(
        [
            {"role": "user", "content": "My shins hurt after the run. What can I do?"},
            {"role": "assistant", "content": lecture},
        ]
    )
    items = warden.scope(user="lea", thread="later").context("What helps when my shins hurt?").items
    assert [item.partner for item in items] == [None] * len(items)


def test_nobody_replies_to_himself_and_a_question_in_return_is_no_reply(warden: Any) -> None:
    me = warden.scope(user="ana", thread="talk")
    me.observe(
        [
            {"role": "user", "content": "My knee hurts after skiing. What can I do?"},
            {"role": "user", "content": "The skis are the old red ones from Otto."},
            {"role": "user", "content": "My elbow hurts after tennis. What can I do?"},
            {"role": "assistant", "content": "Since when does the elbow hurt?"},
        ]
    )
    later = warden.scope(user="ana", thread="later")
    for asked in ("What about my knee after skiing?", "What about my elbow after tennis?"):
        assert [item.partner for item in later.query(asked).items] == [None] * len(later.query(asked).items)
