"""Which ranked keys a goal needs."""

from __future__ import annotations

from memwarden.agent.state import list_close
from memwarden.recall.answer.searches import RankedMemories


def close(*scores: float) -> int:
    return len(list_close(RankedMemories(1.0, [(f"state:{place}", score) for place, score in enumerate(scores)])))


def test_keys_about_as_likely_as_the_best_are_close() -> None:
    assert close(0.2, 0.17, 0.15, 0.1) == 2
    assert close(0.2) == 1


def test_unlikely_keys_are_not_close() -> None:
    assert close(0.059, 0.058) == 0
    assert close() == 0
