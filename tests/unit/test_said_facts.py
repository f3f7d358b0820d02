"""A fact of a model stands only on words that were said: its evidence, its names and its numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memwarden.records import Memory, Namespace
from memwarden.remember.extract.by_model import Refusal, TurnBatch, read_answer, trim_batch

AT = datetime(2026, 3, 4, 10, tzinfo=UTC)
SAID = "my sister Ottilie bought a boat in Lisbon for 2,500 euros, she sails it since monday"


def turn(name: str, text: str) -> Memory:
    return Memory(
        id=name, namespace=Namespace("default", "user/ana"), text=text, created_at=AT, updated_at=AT, role="user",
        name="Ana", sources=(name,),
    )  # fmt: skip


BATCH = TurnBatch((turn("m1", SAID),), before=(turn("m0", "Heron is the boat of Rosa"),))


def read(text: str, evidence: str = "") -> list[str]:
    """Return the texts that are kept of one fact, else why it is not."""
    fact = {"sources": ["m1"], "evidence": evidence, "text": text, "category": "", "importance": 5}
    found = read_answer({"facts": [fact], "summary": None}, BATCH)
    return [item.text for item in found.facts] or [item.reason for item in found.passed]


@pytest.mark.parametrize(
    "text",
    [
        "Ottilie, the sister of Ana, bought a boat in Lisbon.",
        "The boat of Ottilie cost 2500 euros.",
        "Ottilie has sailed the boat since 2 March 2026.",
        "Ottilie sails a boat that Rosa knows.",
    ],
)
def test_said_names_and_numbers_pass(text: str) -> None:
    assert read(text) == [text]


@pytest.mark.parametrize(
    "text",
    ["The sister of Ana, called Gerlinde, bought a boat.", "The boat of Ottilie cost 2,800 euros.",
     "Ottilie bought a boat in Porto."],
)  # fmt: skip
def test_other_names_and_numbers_do_not(text: str) -> None:
    assert read(text) == [Refusal.UNSAID_NAME]


@pytest.mark.parametrize(
    "evidence", ["", "bought a boat in LISBON", "my sister Ottilie ... sails it", "my sister Ottilie bought"]
)
def test_evidence_that_was_said_passes(evidence: str) -> None:
    text = "Ottilie bought a boat in Lisbon."
    assert read(text, evidence) == [text]


@pytest.mark.parametrize("evidence", ["bought a house in Lisbon", "Heron is the boat of Rosa"])
def test_evidence_of_no_source_does_not(evidence: str) -> None:
    assert read("Ottilie bought a boat in Lisbon.", evidence) == [Refusal.NO_EVIDENCE]


ASKED = TurnBatch(
    (
        turn("m1", "We talked about the boat. Who sails it on sunday? Is it insured?"),
        turn("m2", "Wer fährt mit nach Lissabon?"),
    )
)


def card_of(summary: str | None, *asked: dict[str, str]) -> str | None:
    """The card of an answer without facts."""
    card = read_answer({"facts": [], "summary": summary, "open": list(asked)}, ASKED).card
    return None if card is None else card.text


def test_open_questions_stand_on_the_card_and_never_become_facts() -> None:
    asked = [
        {"source": "m1", "evidence": "Who sails it on sunday?"},
        {"source": "m2", "evidence": "Wer fährt mit nach Lissabon?"},
    ]
    told = 'Ana talked about the boat. Open: "Who sails it on sunday?" Open: "Wer fährt mit nach Lissabon?"'
    assert card_of("Ana talked about the boat.", *asked) == told
    assert card_of(None, asked[0], asked[0]) == 'Open: "Who sails it on sunday?"'
    assert read_answer({"facts": [], "summary": None, "open": asked}, ASKED).facts == ()


@pytest.mark.parametrize(
    "question",
    [
        {"source": "m1", "evidence": "Who paints it on sunday?"},
        {"source": "m9", "evidence": "Is it insured?"},
        {"source": "m2", "evidence": "Is it insured?"},
        {"source": "m1", "evidence": " "},
    ],
)
def test_a_question_that_no_message_asks_is_left_out(question: dict[str, str]) -> None:
    assert card_of("Ana talked about the boat.", question) == "Ana talked about the boat."
    assert card_of(None, question) is None


def test_a_question_that_does_not_fit_is_left_out() -> None:
    long = "Ana talked about the boat and about its " + "very " * 45 + "long mast."
    assert card_of(long, {"source": "m1", "evidence": "Who sails it on sunday?"}) == long


def test_a_batch_ends_at_its_tokens_in_any_script() -> None:
    latin, signs = [turn(f"l{at}", "a" * 400) for at in range(9)], [turn(f"s{at}", "船" * 400) for at in range(9)]
    assert len(trim_batch(latin, 500)) == 4
    assert len(trim_batch(signs, 500)) == 1
    assert trim_batch([], 500) == []


def read_said(said: str, text: str) -> list[str]:
    """Return what is kept of a fact of a single message, else why it is not."""
    fact = {"sources": ["m1"], "evidence": "", "text": text, "category": "", "importance": 5}
    found = read_answer({"facts": [fact], "summary": None}, TurnBatch((turn("m1", said),)))
    return [item.text for item in found.facts] or [item.reason for item in found.passed]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("新しいペットシッターは毎月12日に来る", "ユーザーのペットシッターは2026年3月から毎月12日に来る。"),
        ("我的牙医换成了周医生，3月2号开始", "用户的牙医从2026年3月2日起换成了周医生。"),
        ("mes parents avaient une ferme a colmar", "Les parents de Ana avaient une ferme à Colmar, où Ana était née."),
        ("nuestro dentista está en la calle Les Coves", "El dentista de Ana está en la calle Les Coves."),
        ("the roof will cost 28k, payable in parts", "The roof of Ana costs 28,000, payable in parts."),
        ("choir is wed and sat now", "The choir of Ana meets on Wednesdays and Saturdays."),
        ("swimming is saturdays 9:30 from june, stage 5", "Ana swims on Saturdays at 9:30 from June 2026."),
        ("der Beitrag vom Verein ist 186 Euro", "Der Beitrag von Ana im Verein betrug 2026 186 Euro."),
    ],
)
def test_days_and_words_without_capitals_are_no_names(said: str, text: str) -> None:
    assert read_said(said, text) == [text]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("mes parents ont une ferme à colmar", "Les parents de Ana ont une ferme à Épinal."),
        ("毎月12日に来るシッターが見つかった", "シッターは毎月13日に来る。"),
        ("the roof will cost 28k", "The roof of Ana costs 38,000."),
        ("the roof costs 900, the door 150", "The roof of Ana costs 900150."),
    ],
)
def test_names_with_accents_and_other_numbers_are_unsaid(said: str, text: str) -> None:
    assert read_said(said, text) == [Refusal.UNSAID_NAME]
