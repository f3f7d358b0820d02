"""Newer texts that are close to the best ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memwarden.recall.index.columns import StatementTable
from memwarden.recall.rank.followers import raise_followers
from memwarden.statements.statement import PackedStatement, pack

ALL = np.ones(3, np.bool_)


def view_of(vectors: list[list[float]], created_at: list[int], mostly_short: float = 1.0) -> Any:
    rows = np.array(vectors, np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    passages = SimpleNamespace(second=rows, starts=np.arange(len(rows)))
    nothing, said = np.zeros(len(rows), np.bool_), np.array(created_at)
    return SimpleNamespace(
        passages=passages, created_at=said, since=said, mostly_short=mostly_short, statements=None,
        says_doubt=nothing, asks_question=nothing, from_person=np.ones(len(rows), np.float32),
    )  # fmt: skip


# The second text is close to the first, the third is about something else.
VECTORS = [[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]
TOTAL = np.array([6.0, 1.0, 2.0], np.float32)


def test_a_newer_close_text_comes_up_to_the_best_and_not_above_it() -> None:
    raised = raise_followers(view_of(VECTORS, [1, 2, 3]), TOTAL, ALL, 0.9)
    assert raised[0] == TOTAL[0]
    assert TOTAL[2] < raised[1] < TOTAL[0]
    assert raised[2] == TOTAL[2]


@pytest.mark.parametrize(
    ("view", "answer"),
    [
        (view_of(VECTORS, [2, 1, 3]), 0.9),  # the close text is older
        (view_of(VECTORS, [1, 2, 3]), 0.5),  # the answer may not be in the store
        (view_of(VECTORS, [1, 2, 3], 0.0), 0.9),  # the store holds long texts
    ],
)
def test_nothing_is_raised_where_it_may_not_replace_the_best(view: Any, answer: float) -> None:
    assert np.array_equal(raise_followers(view, TOTAL, ALL, answer), TOTAL)


def test_places_that_are_not_allowed_follow_nothing() -> None:
    allowed = np.array([True, False, True])
    assert raise_followers(view_of(VECTORS, [1, 2, 3]), TOTAL, allowed, 0.9)[1] == TOTAL[1]


def test_a_wish_follows_nothing() -> None:
    view = view_of(VECTORS, [1, 2, 3])
    view.says_doubt = np.array([False, True, False])
    assert np.array_equal(raise_followers(view, TOTAL, ALL, 0.9), TOTAL)


def stated_of(*subjects: str) -> bytes:
    """Return the stored statements of a text, one of each subject."""
    figures = ((1, 2, 3), (200, 30, 20), 255, 0, 255, 0, 0, 10, 0, None)
    return pack([PackedStatement(*figures, subject, bytes(256)) for subject in subjects])


def test_a_text_about_somebody_else_follows_nothing() -> None:
    view = view_of(VECTORS, [1, 2, 3])
    view.statements = StatementTable()
    view.statements.extend(0, [stated_of("self"), stated_of("name:ana+relation:sister", "name:tom")])
    view.statements.extend(2, [None])
    assert np.array_equal(raise_followers(view, TOTAL, ALL, 0.9), TOTAL)


def test_texts_are_apart_if_both_name_people_and_none_in_common() -> None:
    table = StatementTable()
    table.extend(0, [stated_of("self"), stated_of("name:ana+relation:sister", "name:tom"), None])
    table.extend(3, [stated_of("name:tom", "self"), stated_of("name:eva")])
    places = np.arange(5)
    apart = table.are_apart(places[:, None], places[None])
    pairs = {(one, other) for one, other in zip(*map(np.ndarray.tolist, np.nonzero(apart)), strict=True) if one < other}
    assert pairs == {(0, 1), (0, 4), (1, 4), (3, 4)}
    assert not table.are_apart(places[:0], places[:0]).size
