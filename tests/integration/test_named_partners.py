"""Questions by name in a chat of two people: the bar lets through what was said of them, and no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope

FILES = resources.files("memwarden.surfaces.cli.demo")
HISTORY = json.loads(FILES.joinpath("history.json").read_text(encoding="utf-8"))
ASKED = json.loads(FILES.joinpath("questions.json").read_text(encoding="utf-8"))
# What two other people would be asked, in whose chat the answer stands; here the names are those of the demo.
NEVER_SAID = [
    "Which instrument did Ines learn at the conservatory?",
    "What did Tomas name his sailing boat?",
    "How did Ines do in the half marathon in Lyon?",
    "What did Tomas paint for the charity auction?",
    "Which university is Ines applying to for her counselling degree?",
    "Where did Tomas adopt his guinea pigs?",
    "What role did Ines get in the school play?",
    "What video game tournament did Tomas win?",
    "Which novel is Ines writing the screenplay of?",
    "What did Tomas say about his knee surgery?",
]


@pytest.fixture(scope="module", params=["auto", "wordllama", "minilm"])
def chat(request: pytest.FixtureRequest) -> Iterator[BoundScope]:
    """The demo's chat of two partners, observed."""
    if request.param != "wordllama":
        pytest.importorskip("onnxruntime")
    with Warden.open("memory://", {"embedder": request.param}) as warden:
        for session in HISTORY["sessions"]:
            warden.scope(user="demo", thread=session["thread"]).observe(session["messages"])
        me = warden.scope(user="demo", thread="asking")
        for _ in range(3):
            me.query("Who is this?")  # each waits for vectors, for ten seconds at most
        yield me


def test_what_was_said_of_the_partners_reaches_the_default_bar(chat: BoundScope) -> None:
    right = 0
    for item in ASKED:
        if item["expect"]:
            block = chat.context([{"role": "user", "content": item["question"]}])
            right += any(source in item["expect"] for shown in block.items for source in shown.sources)
    assert right >= 10  # of 12; a table of words does not bring "live" to a street


def test_what_was_never_said_of_them_stays_below_it(chat: BoundScope) -> None:
    got = [question for question in NEVER_SAID if chat.context([{"role": "user", "content": question}])]
    assert len(got) <= 4, got


def test_the_words_of_a_date_refuse_no_question_where_its_days_match(chat: BoundScope) -> None:
    plain = chat.query("Which language classes did Tomas start?")
    dated = chat.query("Which language classes did Tomas start in April 2026?")
    other = chat.query("Which language classes did Tomas start in November 2025?")
    assert "s10-15" in [source for item in dated.items for source in item.sources]
    assert dated.confidence >= plain.confidence - 0.1
    assert other.confidence < dated.confidence - 0.1


def test_a_query_tells_the_chance_of_so_many_items_and_is_decided_by_that_of_a_block(chat: BoundScope) -> None:
    asked = "Which language classes did Tomas start?"
    whole = chat.context([{"role": "user", "content": asked}]).confidence
    told = [chat.query(asked, top_k=items).confidence for items in (1, 3, 20)]
    assert told == pytest.approx([0.525 * whole, 0.7875 * whole, whole])
    assert chat.query(asked, threshold=whole - 0.01).items
    assert not chat.query(asked, threshold=whole + 0.01).items


def test_of_what_is_not_asked_by_name_few_items_tell_less(chat: BoundScope) -> None:
    asked = "What is growing on the balcony?"
    whole = chat.context([{"role": "user", "content": asked}], threshold=0.0).confidence
    told = [chat.query(asked, top_k=items).confidence for items in (1, 3, 5, 20, 50)]
    assert told == pytest.approx([11 / 30 * whole, 0.66 * whole, 11 / 14 * whole, whole, whole])


def test_no_single_memory_claims_more_than_it_can_hold(chat: BoundScope) -> None:
    long = " ".join(item["question"] for item in ASKED[:6])
    for asked in (ASKED[0]["question"], long):
        items = chat.context([{"role": "user", "content": asked}], 4_000, threshold=0.0).items
        scores = [item.score for item in items]
        assert max(scores) <= 0.27  # however much speaks for an answer
    # What seldom helps is shown where there is room, what hardly ever does is not.
    blocks = [chat.context([{"role": "user", "content": item["question"]}], 4_000) for item in ASKED]
    assert 0.001 <= min(item.score for block in blocks for item in block.items) < 0.01
