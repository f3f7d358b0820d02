"""Memories that are far less likely than the best one stay out of a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memwarden import Warden

SAID = (
    "Kubernetes runs the services of the shop. A pod takes requests of the region that it is in.",
    "The pipeline of tests runs on GitHub Actions, and secrets come from the vault of the company.",
    "Errors are values. A function returns them, and a handler turns them into a response.",
    "The shop now uses a queue for orders, which was changed in May. A worker takes each order once.",
)


@pytest.fixture(scope="module")
def me() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "auto", "vector_seconds": 60}) as warden:
        scope = warden.scope(user="ana")
        for text in SAID:
            scope.remember(text)
        yield scope


def test_only_memories_near_the_best_are_in_a_query(me: Any) -> None:
    found = me.query("Where do the services run?", top_k=4, explain=True)
    assert [item.memory.text for item in found.items] == [SAID[0]]
    assert {cut.gate for cut in found.cut} == {"threshold"}


def test_a_threshold_of_the_caller_holds_for_every_memory(me: Any) -> None:
    found = me.query("Where do the services run?", top_k=4, threshold=0.0)
    assert found.items[0].memory.text == SAID[0]
    assert len(found.items) == len(SAID)


def test_a_block_shows_more_than_a_query(me: Any) -> None:
    assert len(me.context("Where do the services run?").items) > 1


def test_a_longer_text_about_something_else_that_changed_passes_nothing(me: Any) -> None:
    for question in ("How are errors handled?", "Where do the services run?", "Where do secrets come from?"):
        (first, *_) = me.query(question, threshold=0.0).items
        assert first.memory.text != SAID[3]
