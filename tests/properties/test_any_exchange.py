"""Whatever is said: nothing is raised, and what is kept keeps to its promises."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from memwarden.remember.extract.model import find_faults
from memwarden.remember.extract.rules.exchange import extract_exchange

MAX_ITEMS_PER_TURN = 3
MAX_STATEMENT_CHARACTERS = 280

SAID = datetime(2026, 5, 6, 18, 30, tzinfo=UTC)

# Pieces of sentences that have the frames' forms, so that many of the made texts are kept.
WHO = st.sampled_from(
    ["I", "I'm", "I've", "We", "My sister", "my dog Rex", "We're", "My husband and I", "You", "It", "Our"]
)
DOES = st.sampled_from(
    [
        "live",
        "moved",
        "allergic",
        "a baker",
        "love",
        "decided on",
        "planning",
        "always run",
        "have two",
        "went",
        "am",
        "is",
    ]
)
WHAT = st.sampled_from(
    [
        "in Oslo",
        "to nuts yesterday",
        "jazz, but it is loud",
        "the trip on Friday",
        "kids and work",
        "because my mom said so",
        "last week with my kids",
        "every Monday at 5 p.m.",
        "myself",
        '"Perfect',
        "since 2019, which they like",
        "so we can't",
    ]
)
SENTENCE = st.tuples(WHO, DOES, WHAT, st.sampled_from([". ", "! ", "? ", "\n", "; ", " "])).map(
    lambda parts: " ".join(parts[:3]) + parts[3]
)
TEXT = st.one_of(st.text(max_size=300), st.lists(SENTENCE, max_size=12).map("".join))


@dataclass(frozen=True)
class Said:
    id: str
    text: str
    role: str | None
    name: str | None
    created_at: datetime | None = None


ROLES = st.sampled_from(["user", "assistant", "tool", None])
NAMES = st.one_of(st.none(), st.sampled_from(["Ines", "Tomas Berg", "李雷", " "]))
TURNS = st.lists(st.tuples(TEXT, ROLES, NAMES), max_size=4).map(
    lambda rows: [Said(f"t{number}", *row) for number, row in enumerate(rows)]
)


@given(turns=TURNS, two_person=st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_exchange_keeps_the_promises(turns: list[Said], two_person: bool) -> None:
    kept = extract_exchange(turns, two_person=two_person, said_at=SAID)
    items = [*kept.facts, *([kept.card] if kept.card else [])]
    given_ids = {turn.id for turn in turns}
    for item in items:
        assert 0 < len(item.text) <= MAX_STATEMENT_CHARACTERS
        assert find_faults(item.text) == ()
        assert item.sources
        assert set(item.sources) <= given_ids
        assert 0 <= item.importance <= 1
        assert item.valid_from.tzinfo is not None
    for turn in turns:
        own = [item for item in kept.facts if turn.id in item.sources]
        assert len(own) <= MAX_ITEMS_PER_TURN
        assert len({item.text for item in own}) == len(own)
    assert {item.tier for item in kept.facts} <= {"fact"}
    assert extract_exchange(turns, two_person=two_person, said_at=SAID) == kept
