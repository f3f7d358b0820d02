"""L4: limits only cut, and every surface answers alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from law_stores import each_store, vocabulary

SIZE = 30


@each_store
def test_l4_top_k_only_cuts(language: str, seed: int, remembered: Callable[[Sequence[str]], Any]) -> None:
    notes = vocabulary(language).notes(seed, SIZE)
    me = remembered([note.text for note in notes])
    for note in notes[:10]:
        lists = {most: me.query(note.question, top_k=most, threshold=0.0).items for most in (1, 3, 10)}
        ids = {most: [item.id for item in items] for most, items in lists.items()}
        assert ids[1] == ids[3][:1] == ids[10][:1]
        assert ids[3] == ids[10][:3]
        scores = [item.score for item in lists[10]]
        assert scores == sorted(scores, reverse=True)


@each_store
def test_l4_a_larger_budget_only_adds_items(
    language: str, seed: int, remembered: Callable[[Sequence[str]], Any]
) -> None:
    notes = vocabulary(language).notes(seed, SIZE)
    me = remembered([note.text for note in notes])
    for note in notes[:6]:
        blocks = [me.context(note.question, budget, threshold=0.0) for budget in (40, 80, 150, 400, 1_500)]
        queries = [me.query(note.question, top_k=10, threshold=0.0, budget_tokens=budget) for budget in (20, 60, 512)]
        for answers in (blocks, queries):
            ids = [{item.id for item in answer.items} for answer in answers]
            assert all(small <= large for small, large in pairwise(ids))
            assert all(answer.tokens <= (answer.budget_tokens or 0) for answer in answers)
            assert len(ids[-1]) > len(ids[0])


@each_store
def test_l4_a_block_shows_the_best_items_newest_first(
    language: str, seed: int, remembered: Callable[[Sequence[str]], Any]
) -> None:
    notes = vocabulary(language).notes(seed, SIZE)
    me = remembered([note.text for note in notes])
    for note in notes[:6]:
        items = me.context(note.question, 150, threshold=0.0).items
        assert [item.created_at for item in items] == sorted((item.created_at for item in items), reverse=True)
        best = me.query(note.question, top_k=len(items), threshold=0.0, budget_tokens=None).items
        assert {item.id for item in items} == {item.id for item in best}
