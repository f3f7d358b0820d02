"""What will be true later is marked, is no value of today, and leads where it is asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memwarden import Warden, clock

DAYS = timedelta(days=60)


def tell(warden: Warden, now: str, later: str, *, observed: bool) -> tuple[Any, str]:
    """State what holds, as a fact or a message, and what will hold. Returns the scope and the mark of the plan."""
    me: Any = warden.scope(user="ana", thread="t")
    began, begins = clock.now() - DAYS, clock.now() + DAYS
    if observed:
        me.observe([{"role": "user", "content": now, "created_at": began.isoformat()}])
    else:
        me.remember(now, valid_from=began)
    me.remember(later, valid_from=begins)
    return me, f"(from {begins.day} {begins:%b %Y})"


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("embedder", ["none", "auto"])
@pytest.mark.parametrize(
    ("now", "later", "asked"),
    [
        ("I work at Bosch.", "I work at Siemens.", "Where do I work?"),
        ("Ana's dentist is Dr. Keller.", "Ana's dentist is Dr. Brandt.", "Who is Ana's dentist?"),
        ("Ich arbeite bei Bosch.", "Ich arbeite bei Siemens.", "Wo arbeite ich?"),
        ("Trabajo en Renfe.", "Trabajo en Iberia.", "¿Dónde trabajo?"),
        ("Je travaille chez Renault.", "Je travaille chez Airbus.", "Où est-ce que je travaille ?"),
        ("My rent is 800 euros.", "My rent is 900 euros.", "How much is my rent?"),
    ],
)
def test_what_holds_leads_and_a_plan_has_its_day(
    embedder: str, now: str, later: str, asked: str, observed: bool
) -> None:
    with Warden.open("memory://", {"embedder": embedder}) as warden:
        me, mark = tell(warden, now, later, observed=observed)
        first, *others = (item.text for item in me.query(asked).items)
        assert now in first
        assert all(mark in text for text in others if later in text)
        block = me.context([{"role": "user", "content": asked}]).text
        assert f"{later} {mark}" in block or later not in block
        assert later not in [line.value for line in me.overview().lines]


def test_a_plan_leads_where_it_is_asked_for() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me, mark = tell(warden, "I live in Kiel.", "I start my job at Siemens in Bonn.", observed=False)
        for text in ("My sister Ana is a vet.", "I play the cello.", "I'm allergic to nuts.", "My car is a red Fiat."):
            me.remember(text)
        assert me.query("When do I start at Siemens?").items[0].text.endswith(f"Siemens in Bonn. {mark}")


def test_a_plan_is_a_value_of_the_day_on_which_it_begins() -> None:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        me: Any = warden.scope(user="ana")
        begun = clock.now() - timedelta(days=1)
        me.remember("I work at Siemens.", valid_from=begun)
        assert [line.value for line in me.overview().lines] == ["I work at Siemens."]
        assert me.query("Where do I work?").items[0].text == "[activity] I work at Siemens."


def test_a_plan_is_a_value_of_the_days_that_are_asked_about_and_an_appointment_is_known_today() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me, _ = tell(warden, "I work at Bosch.", "I work at Siemens.", observed=False)
        then = clock.now() + 2 * DAYS
        assert "Siemens" in me.query(f"Where will I work in {then:%B %Y}?").items[0].text
        day = clock.now() + DAYS
        me.remember("Dentist appointment at 9.", valid_from=day, expires_at=day + timedelta(days=1))
        assert "Dentist appointment at 9." in [line.value for line in me.overview().lines]


@pytest.mark.parametrize(
    ("earlier", "later", "question"),
    [
        ("My daughter Mia was born in Hull", "My daughter Ida was born in Leeds", "Where was my daughter Mia born?"),
        ("Meine Tochter Mia ist in Jena geboren", "Meine Tochter Ida ist in Gera geboren", "Wo ist Mia geboren?"),
        ("Mi hija Mia nació en Lugo", "Mi hija Ida nació en Vigo", "¿Dónde nació mi hija Mia?"),
        ("Ma fille Mia est née à Lyon", "Ma fille Ida est née à Nice", "Où est née ma fille Mia ?"),
    ],
)
def test_a_later_value_of_somebody_else_does_not_lead(earlier: str, later: str, question: str) -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="u")
        me.remember(earlier, valid_from="2020-03-01")
        me.remember(later, valid_from="2024-03-01")
        assert earlier in me.query(question).items[0].memory.text


@pytest.mark.parametrize(
    ("said", "remembered", "question"),
    [
        ("I live in Leeds.", "I live in Sheffield.", "Where do I live?"),
        ("Ich wohne in Kiel.", "Ich wohne in Jena.", "Wo wohne ich?"),
        ("Vivo en Lugo.", "Vivo en Vigo.", "¿Dónde vivo?"),
        ("J'habite à Nantes.", "J'habite à Brest.", "Où est-ce que j'habite ?"),
        ("My rent is 800 euros.", "My rent is 850 euros.", "how much is my rent?"),
    ],
)
@pytest.mark.parametrize("valid_from", [None, "2026-03-01"])
def test_a_remembered_value_leads_an_older_turn(
    said: str, remembered: str, question: str, valid_from: str | None
) -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        turn = {"role": "user", "content": said, "created_at": "2026-01-01T10:00:00+00:00"}
        warden.scope(user="u", thread="talk").observe([turn])
        me = warden.scope(user="u", thread="later")
        me.remember(remembered, valid_from=valid_from)
        assert me.query(question).items[0].memory.text == remembered
