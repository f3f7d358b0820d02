"""Lines of a block that come back without their block are not stored again."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import Warden

ALLERGY = "Ana is allergic to peanuts and walnuts."
BOILER = "The boiler was serviced by Herr Maier in March."


def said(warden: Warden, text: str, role: str = "assistant", **who: Any) -> list[str]:
    """What is stored of a message."""
    me = warden.scope(user="ana", thread="t2", **who)
    me.observe([{"role": role, "content": text}])
    return [turn.text for turn in warden.scope(user="ana").find({"thread_id": "t2"})]


@pytest.fixture
def known(warden: Warden) -> Warden:
    """A store that holds a fact, and a turn of another thread."""
    warden.scope(user="ana").remember(ALLERGY, category="preferences")
    warden.scope(user="ana", thread="t1").observe([{"role": "user", "content": BOILER}])
    return warden


@pytest.mark.parametrize("role", ["assistant", "user"])
@pytest.mark.parametrize(
    "line",
    [
        f"Summary: {ALLERGY}",
        f"   Summary: {ALLERGY}",
        f"I recall: {ALLERGY}",
        "I recall: Ana is allergic to peanuts and walnuts",
        f"- I recall: {BOILER}",
        f"2. Summary: {BOILER}",
        f"- 23 Nov 2026: {BOILER}",
        f"Summary: {ALLERGY}\nSummary: {BOILER}",
        f"Ben: {BOILER}",  # a block names whoever spoke
        f"Van der Berg: {BOILER}",
        f"- ana maria: {BOILER}",
    ],
)
def test_a_line_with_the_words_of_a_memory_is_not_stored(known: Warden, role: str, line: str) -> None:
    assert said(known, line, role) == []
    assert said(known, f"{line}\n\nSo no walnut cake.", role) == ["So no walnut cake."]


@pytest.mark.parametrize(
    "line",
    [
        "Summary: Tom is allergic to milk.",
        "I recall: Ana is not allergic to peanuts and walnuts.",
        "- 23 Nov 2026: The boiler was serviced again.",
        f"Does she know? {ALLERGY}",
        f"guess what: {BOILER}",
    ],
)
def test_other_words_stay_as_they_were_said(known: Warden, line: str) -> None:
    assert said(known, line) == [line]


def test_an_agent_learns_nothing_of_what_it_may_not_read(known: Warden) -> None:
    planner = known.scope(user="ana", thread="t3", agent="planner")
    assert "preferences" not in (known.settings.categories.readable("planner", None) or ())
    (result,) = planner.observe([{"role": "assistant", "content": f"Summary: {ALLERGY}"}]).results
    assert result.outcome == "created"
