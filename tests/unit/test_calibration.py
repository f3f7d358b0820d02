"""Where a model has read what was said, a chance is judged anew; elsewhere nothing changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memwarden.recall.rank.calibration import chance_where_read, lift_scores, read_calibration, read_share

KIND = "minilm+multilingual:english"


def view_of(turns: int, facts: int, **changed: Any) -> Any:
    is_turn = np.arange(turns + facts) < turns
    return SimpleNamespace(
        **{
            "worded": ~is_turn,
            "turns": is_turn,
            "whole": None,
            "statements": object(),
            "size": turns + facts,
            **changed,
        }
    )


def question_of(similarity: list[float], when: str = "present") -> Any:
    reading = SimpleNamespace(when=when, implicit=0.0)
    memo = {"stated": np.zeros(1), "similarity": np.array(similarity, np.float32)}
    return SimpleNamespace(reading=reading, of_days=False, memo=memo)


def share(view: Any, kind: str = KIND, question: Any = None) -> float:
    size = len(view.turns)
    return read_share(question or question_of([]), view, np.ones(size, np.bool_), kind)


def test_how_far_a_model_has_read_is_told_by_its_facts() -> None:
    assert share(view_of(200, 40)) == 1.0
    assert share(view_of(400, 36)) == pytest.approx(0.5, abs=0.01)
    assert share(view_of(1000, 50)) == 0.0  # written rules make one fact of twenty turns


def test_nothing_is_judged_anew_without_facts_of_a_model() -> None:
    assert share(view_of(200, 40, worded=None)) == 0.0
    assert share(view_of(10, 10)) == 0.0  # of a few facts it is not known what they leave out
    assert share(view_of(200, 40, whole=object())) == 0.0
    assert share(view_of(200, 40, statements=None)) == 0.0
    assert share(view_of(200, 40), kind="wordllama+multilingual:english") == 0.0
    of_days = SimpleNamespace(reading=object(), of_days=True, memo={})
    assert share(view_of(200, 40), question=of_days) == 0.0


def test_the_line_falls_below_the_bar_where_no_fact_comes_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwarden.recall.rank.features.stated", lambda question, view: None)
    view, everything = view_of(2, 2), np.ones(4, np.bool_)
    signals = {"lead": np.full(4, 0.3, np.float32), "adapted": np.full(4, 0.3, np.float32)}

    def chance_of(fact: float, evidence: float, when: str = "present") -> float:
        question = question_of([0.9, 0.9, fact, 0.0], when)  # what a turn says does not count
        return chance_where_read(question, view, everything, signals, (evidence, 0.9))

    assert chance_of(0.1, 0.5) < 0.35
    assert chance_of(0.6, 0.5) > 0.35
    assert chance_of(0.1, 4.0) > 0.35  # other evidence may tell it
    assert chance_of(0.1, 0.5, "list") > 0.35  # no single fact holds a list
    chances = [chance_of(near, 0.5) for near in np.linspace(0, 1, 9)]
    assert chances == sorted(chances)


def test_the_stored_line_is_whole() -> None:
    line = read_calibration()
    wanted = {"constant", "evidence", "own", "near", "fact", "reason_or_list", "implicit"}
    assert set(line.weights) == wanted
    assert list(line.evidence) == sorted(line.evidence)
    assert list(line.chances) == sorted(line.chances)
    assert 0.35 in line.chances  # the bar
    assert 0 < line.chances[0] < 0.35 < line.chances[-1] < 1


def test_scores_keep_their_order_where_a_model_has_read() -> None:
    scores = np.array([0.001, 0.02, 0.1, 0.15, 0.27], np.float32)
    assert lift_scores(scores, 0.0) == pytest.approx(scores)
    lifted = lift_scores(scores, 1.0)
    assert lifted == pytest.approx([0.001, 0.02, 0.1, 0.194, 0.42], abs=0.01)
    assert (np.diff(lift_scores(scores, 0.5)) > 0).all()
