"""Both ways to the signals of words give the same numbers to the last bit, in any namespace."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest

from memwarden import AsyncWarden
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.question import QueryWord, find_rows, idf, sum_by_table, sum_by_word, word_signals
from memwarden.testing import get_runtime
from memwarden.text.tokenizer import index_ids
from memwarden_bench import sentences


async def view_of(turns: int, facts: int, forgotten: int, seed: int) -> NamespaceView:
    """A namespace of threads, statements without a thread, and memories that were forgotten."""
    chance = random.Random(seed)
    made = sentences.turns(turns, seed)
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        ids: list[str] = []
        for number in range(turns):
            batch = list(islice(made, chance.randint(1, 7)))
            if batch:
                written = await warden.scope(user="ana", thread=f"t{number}").observe(batch)
                ids += [str(result.id) for result in written.results if result.id]
        me = warden.scope(user="ana")
        if facts:
            stated = await me.remember([f"Mara sails boat number {number}." for number in range(facts)])
            ids += [str(result.id) for result in stated.results]
        await me.query("boat")
        for item in chance.sample(ids, forgotten):
            await me.forget(item)

        return (await get_runtime(warden).services.indexes.current(me.who.namespace)).view


@pytest.mark.parametrize(
    ("turns", "facts", "forgotten"), [(1, 0, 0), (0, 3, 0), (40, 0, 0), (40, 5, 0), (60, 5, 20), (300, 10, 30)]
)
async def test_the_two_ways_agree(turns: int, facts: int, forgotten: int) -> None:
    compared = 0
    for seed in range(3):
        view = await view_of(turns, facts, forgotten, seed)
        for text in [
            *sentences.questions(20, seed),
            "Who sails boat number 2?",
            "What about Oslo, the canoe and Mara?",
        ]:
            found = [view.postings(term) for term in dict.fromkeys(index_ids(text))]
            words = [QueryWord(idf(view.alive_count, len(rows), 0.001), rows, tf) for rows, tf in found if len(rows)]
            if words:
                compared += 1
                for item, other in zip(sum_by_table(words, view), sum_by_word(words, view), strict=True):
                    assert item.dtype == other.dtype == np.float32
                    assert np.array_equal(item, other)
    assert compared


async def test_a_word_that_nobody_said_lowers_what_is_heard_and_nothing_else() -> None:
    view = await view_of(40, 0, 0, 0)
    (term,) = index_ids("Oslo")
    known = word_signals([term], [0.001], view, find_rows([term], view))
    with_unknown = word_signals([term, 1], [0.001, 0.001], view, find_rows([term, 1], view))
    assert np.array_equal(known.turn, with_unknown.turn)
    assert np.array_equal(known.pair, with_unknown.pair)
    said = known.heard > 0
    assert said.any()
    assert (with_unknown.heard[said] < known.heard[said]).all()


async def test_a_question_of_unknown_words_finds_nothing() -> None:
    view = await view_of(5, 0, 0, 0)
    assert not any(signal.any() for signal in word_signals([1, 2], [0.001, 0.001], view, find_rows([1, 2], view)))
