"""L11: nothing plain is better: BM25 over passages, and each embedder alone, over the same texts."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from law_stores import DEFAULTS, each_store, texts_of, vocabulary
from memwarden import Warden
from memwarden.models.choice import make_embedder
from memwarden.settings import Settings
from memwarden.text.passages import read_passages
from memwarden.text.tokenizer import terms

SIZE, TOP = 30, 10
DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
HISTORIES = sorted((DATA / "everyday").glob("*.json"))
# Fields of a message that are observed.
KEPT = ("role", "name", "content", "created_at")
# BM25 with the constants of passages.
K1, B = 0.9, 0.4

Scores = Sequence[float] | npt.NDArray[np.float32]


def bm25(texts: Sequence[str]) -> Callable[[str], Scores]:
    """Return what scores each text by its best passage."""
    passages = [[Counter(terms(part)) for part in read_passages(text)] for text in texts]
    flat = [words for parts in passages for words in parts]
    mean = sum(words.total() for words in flat) / len(flat)
    held = Counter(term for words in flat for term in words)

    def score(words: Counter[str], asked: set[str]) -> float:
        length = K1 * (1 - B + B * words.total() / mean)
        return sum(
            math.log(1 + (len(flat) - held[term] + 0.5) / (held[term] + 0.5)) * words[term] / (words[term] + length)
            for term in asked
        )

    return lambda question: [max(score(words, set(terms(question))) for words in parts) for parts in passages]


def embedded(texts: Sequence[str], embedder: str) -> Callable[[str], Scores]:
    """Return what scores each text by its best passage's vector."""
    model = make_embedder(Settings(embedder=embedder), None)
    assert model is not None
    parts = [read_passages(text) for text in texts]
    owners = np.repeat(np.arange(len(parts)), [len(some) for some in parts])
    vectors = model.embed([part for some in parts for part in some])

    def score(question: str) -> Scores:
        best = np.full(len(parts), -1, np.float32)
        np.maximum.at(best, owners, vectors @ model.embed([question])[0])
        return best

    return score


def hits(texts: Sequence[str], scores: Scores, wanted: set[str]) -> float:
    best = sorted(range(len(texts)), key=lambda place: -scores[place])[:TOP]
    return len({texts[place] for place in best} & wanted) / len(wanted)


def check_not_below(ours: Sequence[float], plain: Sequence[float]) -> None:
    """Check that the mean is not below by more than the interval of the differences."""
    differences = [one - other for one, other in zip(ours, plain, strict=True)]
    mean = sum(differences) / len(differences)
    spread = math.sqrt(sum((one - mean) ** 2 for one in differences) / max(1, len(differences) - 1))
    assert mean >= -1.96 * spread / math.sqrt(len(differences)) - 1e-9, (sum(ours), sum(plain), len(ours))


@each_store
@pytest.mark.parametrize("plain", ["bm25", "wordllama", "multilingual"])
def test_l11_generated_stores(language: str, seed: int, plain: str, remembered: Callable[[Sequence[str]], Any]) -> None:
    notes = vocabulary(language).notes(seed, SIZE)
    texts = [note.text for note in notes]
    me, score = remembered(texts), bm25(texts) if plain == "bm25" else embedded(texts, plain)
    ours, others = [], []
    for note in notes[:12]:
        found = texts_of(me.query(note.question, top_k=TOP, threshold=0.0, budget_tokens=None))
        ours.append(float(note.text in found))
        others.append(hits(texts, score(note.question), {note.text}))
    check_not_below(ours, others)


@pytest.mark.soak
@pytest.mark.skipif(not HISTORIES, reason="the histories are not part of the project; set MEMWARDEN_DATA")
@pytest.mark.parametrize("plain", ["bm25", "wordllama", "minilm", "multilingual"])
def test_l11_labelled_histories(plain: str) -> None:
    ours: list[float] = []
    others: list[float] = []
    for path in HISTORIES:
        data = json.loads(path.read_text(encoding="utf-8"))
        messages = [message for thread in data["threads"] for message in thread["messages"]]
        texts = [message["content"] for message in messages]
        words = {message["id"]: message["content"] for message in messages}
        score = bm25(texts) if plain == "bm25" else embedded(texts, plain)
        last = max(datetime.fromisoformat(message["created_at"]) for message in messages)
        with Warden.open("memory://", config=DEFAULTS) as warden:
            for thread in data["threads"]:
                given = [{key: one[key] for key in KEPT if key in one} for one in thread["messages"]]
                warden.scope(user="ana", thread=thread["id"]).observe(given)
            me = warden.scope(user="ana", thread="now")
            for question in data["questions"]:
                wanted = {words[one] for one in question.get("evidence", [])}
                if not wanted or datetime.fromisoformat(question["asked_at"]) < last:
                    continue
                found = texts_of(me.query(question["q"], top_k=TOP, threshold=0.0, budget_tokens=None))
                ours.append(len(wanted & set(found)) / len(wanted))
                others.append(hits(texts, score(question["q"]), wanted))
    assert len(ours) > 100
    check_not_below(ours, others)
