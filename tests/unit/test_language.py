"""The language of a text, which everything that asks for a language asks in the same place."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.text import tokenizer
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.flags import flags
from memwarden.text.language import is_english, is_latin, language_of, read_evidence
from memwarden.text.sentences import split_spans

ASKED = Path(__file__).parents[2] / "bench" / "data" / "asked"
DEMO = Path(__file__).parents[2] / "src" / "memwarden" / "surfaces" / "cli" / "demo" / "history.json"
KINDS = ("questions", "past_questions", "states", "changes", "ends", "others", "near", "implicit")


@cache
def asked_texts() -> dict[str, list[str]]:
    """The sentences and questions of the corpus by their language."""
    texts: dict[str, list[str]] = defaultdict(list)
    for name in ("home", "life", "work", "languages"):
        for line in (ASKED / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            texts[row["lang"]] += [text for kind in KINDS for text in row[kind]]
    return texts


@pytest.mark.parametrize(
    ("language", "share"), [("en", 0.97), ("de", 0.95), ("es", 0.95), ("fr", 0.95), ("ja", 0.95), ("zh", 0.95)]
)
def test_short_sentences_are_read_in_their_language(language: str, share: float) -> None:
    texts = asked_texts()[language]
    assert len(texts) > 500
    assert sum(language_of(text) == language for text in texts) / len(texts) >= share


def test_the_english_of_the_demo_stays_english() -> None:
    def contents(part: Any) -> list[str]:
        if isinstance(part, dict):
            return [text for key, value in part.items() for text in (
                [value] if key == "content" and isinstance(value, str) else contents(value))]  # fmt: skip
        return [text for item in part for text in contents(item)] if isinstance(part, list) else []

    texts = contents(json.loads(DEMO.read_text("utf-8")))
    others = [text for text in texts if not is_english(text)]
    assert len(texts) > 200
    assert len(others) <= 12, others  # her Spanish, his German and a Japanese greeting


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("¿Dónde vivo?", "es"), ("Wo wohne ich?", "de"), ("où j'habite ?", "fr"), ("Dove abito adesso?", "it"),
        ("Onde é que eu moro?", "pt"), ("Waar woon ik ook alweer?", "nl"), ("Var bor jag och min bror?", "sv"),
        ("lunes", "es"), ("Montag", "de"), ("vendredi", "fr"), ("月曜日", "ja"), ("星期一", "zh"), ("我住在哪里", "zh"),
        ("東京駅で会う", "ja"), ("저는 부산에 살아요", "ko"), ("Где я живу?", "ru"), ("Πού μένω;", "el"),
        ("Where do I live?", "en"), ("Don't wait", "en"), ("Paolo Rossi", "en"), ("oven door", "en"), ("", "en"),
        ("We had ラーメン and 寿司 at the place on the corner", "en"), ("LINEで送ってください", "ja"),
    ],
)  # fmt: skip
def test_a_few_words_tell_a_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_what_shows_no_language_is_in_the_expected_one() -> None:
    assert language_of("Kassel", "de") == "de"
    assert language_of("I live in Kassel with my brother", "de") == "en"
    assert read_evidence("Paolo Rossi").known() == ""
    assert read_evidence("Die Nutzerin wohnt in Lissabon, nicht weit vom Meer.").known() == "de"
    assert not is_latin("月曜日")
    assert is_latin("12:30 ✓")


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("¿Dónde vivo?", "Vivo en Leipzig."),
        ("lunes", "Juego al tenis los lunes."),
        ("月曜日", "月曜日はテニスをする。"),
        ("Wo wohne ich?", "Ich wohne in Fürth."),
        ("wohnen Fürth", "wohnen: Fürth"),
        ("horarios", "los horarios del gimnasio son de seis a diez"),
        ("Bücherregale?", "two Bücherregale for the hall"),
    ],
)
def test_a_word_finds_itself(question: str, statement: str) -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        others = [f"Nothing of the kind was said on the {number}th hill." for number in range(4, 12)]
        me.remember([*others, statement])
        (found, *_) = me.query(question, threshold=0.0).items
        assert found.memory.text == statement
        assert found.why.words


def test_a_word_is_held_in_whatever_language_it_was_read() -> None:
    """The same word has the stem of English in a text of names, and that of Spanish in a sentence."""
    spanish, english = tokenizer.terms("corriendo por el parque", "es"), tokenizer.terms("corriendo", "en")
    assert not set(spanish) & set(english)
    assert tokenizer.surface_id("corriendo") in tokenizer.index_ids("Estoy corriendo por el parque de mi ciudad")
    assert tokenizer.surface_id("corriendo") != tokenizer.term_id("corriendo")


HOSTILE = [
    *("a", "á", "ß", "'", "a'", "l'", "the ", "il y a ", "lunes ", "in May ", "the first ", "letzten ", "¿", "Mr. "),
    *("月", "月曜日", "あ", "か月", "가", "a\u0301", "\u200d", "\ufffc", "1", "1.", "1:"),
    *(". ", "。", "! ", "\n", "(", "...", "?!", "@a.", "http://", "x@y"),
]


@pytest.mark.parametrize("longest", [30_000, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize(
    "work",
    [
        language_of,
        tokenizer.index_ids,
        lambda text: list(split_spans(text)),
        flags,
        lambda text: spans_in(text, datetime(2024, 5, 1)),
    ],
    ids=["language", "tokenizer", "sentences", "flags", "dates"],
)
def test_hostile_repeats_take_time_in_proportion(work: Callable[[str], Any], piece: str, longest: int) -> None:
    """From 1,000 characters to many times as many: so many times the time, and not its square."""

    def seconds(characters: int) -> float:
        text = (piece * (characters // len(piece) + 1))[:characters]
        took = []
        for _ in range(2):
            began = time.process_time()
            work(text)
            took.append(time.process_time() - began)
        return min(took)

    shortest = max(seconds(1_000), 1e-3)  # below that other processes tell more than the length
    assert seconds(longest) < 6 * longest / 1_000 * shortest
