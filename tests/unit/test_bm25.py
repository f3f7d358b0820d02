"""BM25 of words over passages, and what words say of the turns around them."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from memwarden.recall.index.encode import make_signals
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.question import Question, prepare_question
from memwarden.recall.rank.bm25 import MatchedWords, match_words
from memwarden.records import Head, Scan
from memwarden.stores.shared.decide import index_row
from memwarden.testing.examples import START, a_memory

TEXTS = ("Where did the ferry stop?", "In Bergen, the ferry stopped for an hour.", "Soup again.", "The ferry was late.")


def a_view(*texts: str) -> NamespaceView:
    rows = []
    for number, text in enumerate(texts):
        said = START + timedelta(minutes=number)
        (signals,) = make_signals([(text, said)], None)
        memory = a_memory(f"m{number}", text=text, thread_id="t", channel="turn", created_at=said)
        rows.append(index_row(number + 1, memory, signals))
    index = NamespaceIndex(3_600_000_000, None)
    index.follow(Scan(rows, Head(len(rows), 0), []))
    return index.view


def ask(text: str, view: NamespaceView) -> Question:
    return prepare_question(text, view, None, START)


def match(text: str, *texts: str) -> MatchedWords:
    view = a_view(*texts)
    return match_words(ask(text, view), view)


def test_a_score_is_a_share_of_the_question_and_rare_words_weigh_more() -> None:
    found = match("Bergen ferry", *TEXTS)
    rare, common = found.weights
    assert rare > common > 0
    assert found.holding == (1, 3)
    assert 1 > found.bm25[1] > found.bm25[3] >= found.bm25[0] > 0 == found.bm25[2]
    assert found.unseen(np.ones(4, np.bool_)) == 0
    assert found.unseen(np.array([True, False, True, True])) > 0.4  # no other turn says "Bergen"


def test_a_turn_covers_what_the_turns_around_it_say() -> None:
    found = match("Bergen soup", *TEXTS)
    assert found.own[0] == 0 < found.around[0] < found.around[1]
    assert found.around[2] == found.around[1] > found.own[2]


def test_a_word_that_no_turn_holds_is_unseen() -> None:
    found = match("Bergen zeppelin", *TEXTS)
    assert found.holding == (1, 0)
    assert 0.3 < found.unseen(np.ones(4, np.bool_)) < 0.7
    assert match("zeppelin", *TEXTS).bm25.tolist() == [0, 0, 0, 0]


def test_a_long_text_has_the_score_of_its_best_passage() -> None:
    filler = " ".join(f"Nothing happened on day {number} of the long journey." for number in range(40))
    long = f"{filler} The zeppelin landed in Bergen. {filler}"
    view = a_view("Hello there, friend.", long)
    found = match_words(ask("zeppelin Bergen", view), view)
    assert view.passages.starts[2] - view.passages.starts[1] > 3
    assert found.bm25[1] == found.passages[1:].max() > 0
    assert int(np.count_nonzero(found.passages)) == 1
