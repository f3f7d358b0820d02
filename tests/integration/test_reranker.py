"""A reranker orders the candidates and cannot break an answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import ModelUnavailable
from memwarden.recall import default_order

BEES = [f"Ana keeps bees, hive number {number}." for number in range(30)]


class ByNumber:
    def __init__(self) -> None:
        self.read: list[int] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read.append(len(texts))
        return [float(text.rstrip(".").split()[-1]) for text in texts]


def found(reranker: Any, **arguments: Any) -> list[str]:
    with Warden.open("memory://", config={"embedder": "none"}, reranker=reranker) as warden:
        me = warden.scope(user="ana")
        me.remember(BEES)
        result = me.query("Which hive of bees does Ana keep?", top_k=3, **arguments)
        scores = [item.score for item in result.items]
        assert scores == sorted(scores, reverse=True)
        return [item.memory.text for item in result.items]


def test_it_orders_candidates_from_below_the_wanted_number() -> None:
    reranker = ByNumber()
    assert found(reranker) == [BEES[29], BEES[28], BEES[27]]
    assert reranker.read == [30]


def test_it_never_sees_what_the_bar_or_a_filter_keeps_out() -> None:
    reranker = ByNumber()
    assert found(reranker, filters={"tags": ["none"]}) == []
    assert reranker.read == []


class Broken:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def score(self, query: str, texts: Sequence[str]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer", [[], [1.0], None, "abc", [float("nan")] * 30, ModelUnavailable("down"), KeyError("x"), ["high"] * 30]
)
def test_a_broken_one_leaves_the_order(answer: Any) -> None:
    assert found(Broken(answer)) == found(None)


def test_a_late_one_leaves_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    class Late:
        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            over.wait(30)
            return [float(number) for number in range(len(texts))]

    monkeypatch.setattr(default_order, "RERANK_TIMEOUT", 0.05)
    assert found(Late()) == found(None)
    over.set()
