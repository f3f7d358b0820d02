"""Sentences in six languages, written before the rules read them: those that say what lasts are quoted, others not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memwarden.recall.answer import overview
from memwarden.recall.answer.overview import choose_lines
from memwarden.records import Channel, Memory, Namespace
from memwarden.statements.lasting import LastingWords, find_lasting

SENTENCES = Path(__file__).with_name("fresh") / "lasting.jsonl"
IN_FORCE = SENTENCES.with_name("in_force.jsonl")
BEFORE_QUESTIONS = SENTENCES.with_name("before_questions.jsonl")
LATER = SENTENCES.with_name("lasting_later.jsonl")
SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)


# In English "I hate", "I always", "I drive a", "I take _ every" and "I collect" began too many sentences of a day.
BARS = {"en": 0.7}
ANN = Namespace("default", "user/ann")


def read_sentences(path: Path = SENTENCES, *, lasts: bool) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["lasts"] is lasts]


def quote(*texts: str) -> list[str]:
    turns = [
        Memory(
            id=str(place), namespace=ANN, text=text, created_at=SAID_AT.replace(day=5 + place),
            updated_at=SAID_AT, channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return [line.words for line in choose_lines(turns, SAID_AT.replace(month=6), None)]


def test_most_sentences_that_last_are_quoted_in_each_language() -> None:
    sentences = read_sentences(lasts=True)
    assert len(sentences) == 199
    quoted = [line["language"] for line in sentences if quote(line["text"])]
    for language in ("de", "en", "es", "fr", "ja", "zh"):
        assert quoted.count(language) >= BARS.get(language, 0.8) * sum(
            line["language"] == language for line in sentences
        ), language


def test_wishes_jokes_others_and_the_past_are_not_quoted() -> None:
    sentences = read_sentences(lasts=False)
    assert len(sentences) == 165
    assert [line["text"] for line in sentences if quote(line["text"])] == []


def test_most_of_what_is_in_force_is_quoted_in_each_language() -> None:
    sentences = read_sentences(IN_FORCE, lasts=True)
    assert len(sentences) == 130
    quoted = [line["language"] for line in sentences if quote(line["text"])]
    for language in ("de", "en", "es", "fr", "ja", "zh"):
        assert quoted.count(language) >= 0.6 * sum(line["language"] == language for line in sentences), language


def test_a_statement_before_a_question_is_quoted() -> None:
    sentences = read_sentences(BEFORE_QUESTIONS, lasts=True)
    assert len(sentences) == 46
    assert sum(bool(quote(line["text"])) for line in sentences) >= 41
    assert quote("I'm allergic to sesame, what can I order?") == ["I'm allergic to sesame"]


def test_questions_and_conditions_are_not_quoted() -> None:
    sentences = read_sentences(BEFORE_QUESTIONS, lasts=False)
    assert len(sentences) == 46
    assert [line["text"] for line in sentences if quote(line["text"])] == []


def test_moments_jokes_and_others_are_not_in_force() -> None:
    sentences = read_sentences(IN_FORCE, lasts=False)
    assert len(sentences) == 143
    assert [line["text"] for line in sentences if quote(line["text"])] == []


@pytest.mark.parametrize("kind", ["both", "kept", "ended", "newest", "none"])
def test_later_sentences_leave_what_is_true(kind: str) -> None:
    rows = [row for row in map(json.loads, LATER.read_text(encoding="utf-8").splitlines()) if row["kind"] == kind]
    assert len(rows) >= 5
    assert [(row["texts"], shown) for row in rows if (shown := quote(*row["texts"])) != row["quoted"]] == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I'm allergic to walnuts", "the tests are back: I'm not allergic to walnuts"),
        ("ich nehme Ramipril 5 mg morgens", "Ramipril weg, ich nehm jetz Candesartan 8 mg"),
        ("My boss is called Henrike", "my boss is called Ansgar, Henrike moved to Kiel"),
        ("Vivimos en la calle Olmo", "nos hemos mudado a Jaén"),
        ("I'm allergic to nuts", "back from the allergy clinic: it's ONLY hazelnuts"),
        ("j'ai un chat qui s'appelle Pistache", "Pistache est mort hier"),
    ],
)
def test_a_later_sentence_takes_back_an_earlier(earlier: str, later: str) -> None:
    assert quote(earlier) == [earlier]
    assert earlier not in quote(earlier, later)


def test_other_sentences_take_nothing_back() -> None:
    allergy = "I'm allergic to walnuts"
    assert allergy in quote(allergy, "the cake at Ida's was changed to plum", "we sold the table", "I love hazelnuts")


def test_a_habit_may_name_its_weekday_and_no_date() -> None:
    assert quote("I play the cello every Tuesday") != []
    assert quote("I volunteer at the shelter on 4 June") == []


def test_a_long_text_costs_a_bounded_time() -> None:
    assert len(find_lasting("I live in Oslo. " * 5_000, SAID_AT)) <= 130


def test_many_sentences_are_compared_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def compare(_: LastingWords, later: LastingWords) -> bool:
        compared.append(later.text)
        return False

    monkeypatch.setattr(overview, "MAX_SENTENCES", 20)
    monkeypatch.setattr(overview, "is_replaced_by", compare)
    texts = [f"I'm allergic to {first}{second}nuts" for first in "abcde" for second in "fghij"]
    assert len(quote(*texts)) == 20
    assert len(compared) == 20 * 19 / 2
