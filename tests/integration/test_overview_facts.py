"""A remembered fact has a label and its own day in an overview, which shows the newest home only."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memwarden import Warden

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
LAST_YEAR = datetime(2025, 3, 1, tzinfo=UTC)


def show(said: str, fact: str, valid_from: datetime | None) -> list[str]:
    """Lines of an overview after a turn of January 2026 and a remembered fact."""
    with Warden.open("memory://") as warden:
        scope: Any = warden.scope(user="nora", thread="t")
        scope.observe([{"role": "user", "content": said, "created_at": "2026-01-03T10:00:00Z"}])
        scope.remember(fact, **({"valid_from": valid_from} if valid_from else {}))
        return [str(line) for line in scope.overview().text.splitlines()]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I live in Leeds.", "I live in Sheffield."),
        ("Ich wohne in Kiel.", "Ich wohne in Bremen."),
        ("Vivo en Sevilla.", "Vivo en Cádiz."),
        ("J'habite à Lyon avec ma femme.", "J'habite à Nantes."),
        ("仙台に住んでいます。", "東京に住んでいます。"),
    ],
)
def test_the_newest_home_is_shown_with_its_day(said: str, fact: str) -> None:
    assert show(said, fact, MARCH) == [f"- home: {fact} (Mar 2026)"]
    assert show(said, fact, LAST_YEAR) == [f"- home: {said} (Jan 2026)"]


@pytest.mark.parametrize(
    ("said", "fact", "shown"),
    [
        ("I'm allergic to nuts.", "I'm allergic to eggs.", ["health: I'm allergic to eggs. (Mar 2026)"]),
        ("I live in Leeds.", "My mum lives in Sheffield.", ["family: My mum lives in Sheffield. (Mar 2026)"]),
        ("I'm a nurse.", "I work at St Mary's.", ["work: I work at St Mary's. (Mar 2026)"]),
        ("I live with two cats.", "I live in Leeds.", ["home: I live in Leeds. (Mar 2026)"]),
        ("I live in Leeds.", "Ana lives in Vienna.", ["Ana lives in Vienna. (Mar 2026)"]),
        ("Ich wohne in Kiel.", "Meine Mutter wohnt in Bremen.", ["family: Meine Mutter wohnt in Bremen. (Mar 2026)"]),
        ("仙台に住んでいます。", "母は東京に住んでいます。", ["family: 母は東京に住んでいます。 (Mar 2026)"]),
    ],
)
def test_a_fact_about_something_else_leaves_a_turn(said: str, fact: str, shown: list[str]) -> None:
    lines = show(said, fact, MARCH)
    assert lines[0] == f"- {shown[0]}"
    assert len(lines) == 2
    assert said in lines[1]


def test_a_turn_that_says_so_ends_the_line_of_an_earlier_fact() -> None:
    with Warden.open("memory://") as warden:
        scope: Any = warden.scope(user="nora", thread="t")
        scope.remember("I work at Barclays.")
        scope.observe([{"role": "user", "content": "My brother left Barclays last week."}])
        assert "Barclays" in scope.overview().text
        scope.observe([{"role": "user", "content": "I left Barclays last week."}])
        assert not scope.overview()
