"""What a person gets back of an everyday history, where ``MEMWARDEN_DATA`` says; without it nothing is measured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from memwarden_bench import everyday
from memwarden_bench.everyday import CONTEXT, MANY, PLAIN_BM25, QUERY
from memwarden_bench.measure import FOREIGN, read_sources, run_peer, run_variant
from memwarden_bench.metrics import Reliability
from memwarden_bench.peers import Bm25s
from memwarden_bench.replay import Variant

# A figure that claims to be a chance may be off by this on average.
MAX_MEAN_GAP = 0.08
DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
HISTORY = DATA / "everyday" / "coloc.json"


@pytest.mark.skipif(not HISTORY.is_file(), reason="the histories are not part of the project; set MEMWARDEN_DATA")
def test_a_history_is_answered_better_than_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "auto")
    histories, _ = everyday.read_files([HISTORY])
    results = everyday.measure(histories, peers=False)
    found = {row.way: row.figures for row in everyday.sum_up(results.texts) if row.by == "all"}
    block = found[CONTEXT]
    assert block.right.questions == 44
    assert block.right.mean > max(0.42, found[PLAIN_BM25].right.mean)
    assert block.stale <= 0.32  # 6 of 19 questions
    assert block.off_topic == 1.0
    assert found[MANY].right.mean > max(0.42, found[PLAIN_BM25].right.mean)  # in as many tokens
    assert results.excluded == {}
    # Of a thousand items of a single history; over all histories the gaps are about half of these.
    assert results.reliability["scores of items, context"].mean_gap <= 0.07
    assert results.reliability["scores of items, query"].mean_gap <= 0.1


@pytest.mark.slow
@pytest.mark.skipif(not HISTORY.is_file(), reason="the histories are not part of the project; set MEMWARDEN_DATA")
def test_blocks_are_right_and_scores_are_chances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all histories, and over chats with as many questions of other chats in these partners' names."""
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "auto")
    histories, _ = everyday.read_files(sorted((DATA / "everyday").glob("*.json")))
    results = everyday.measure(histories, peers=False)
    rows = everyday.sum_up(results.texts)
    found = {row.way: row.figures for row in rows if row.by == "all"}
    assert found[CONTEXT].right.mean >= 0.70
    assert found[QUERY].right.mean >= 0.33
    assert found[MANY].right.mean >= 0.53
    for way in (CONTEXT, QUERY, MANY):
        assert found[way].off_topic >= 0.80
        assert found[way].auc >= 0.70
    assert found[CONTEXT].stale <= 0.15
    by_language = {row.group: row.figures.right.mean for row in rows if row.way == CONTEXT and row.by == "language"}
    assert by_language.pop("en") >= 0.70
    assert min(by_language.values()) >= 0.50
    by_history = {(row.way, row.group): row.figures.right.mean for row in rows if row.by == "history"}
    assert all(by_history[CONTEXT, item.id] > by_history[PLAIN_BM25, item.id] for item in histories)
    (chats,) = run_variant(read_sources([DATA / "locomo" / "locomo_dev.json"]), Variant("auto", {"embedder": "auto"}))
    assert chats.turn["R@10"].mean >= 0.78
    assert chats.blocks["turns, 500 tokens"].mean >= 0.70
    assert chats.blocks["turns, 1,000 tokens"].mean >= 0.80
    assert chats.abstention[FOREIGN].auc >= 0.85
    assert chats.abstention[FOREIGN].recall_at_90 >= 0.60
    dated, others = (chats.gate[name].mean for name in ("of those with a date", "of those without"))
    assert abs(dated - others) <= 0.05
    _check_scores(results.reliability)


def _check_scores(reliability: Mapping[str, Reliability]) -> None:
    """Check the scores of items. Confidence is about the store, and these figures count what an answer holds."""
    for name, found in reliability.items():
        if name.startswith("scores"):
            assert found.mean_gap <= MAX_MEAN_GAP, name


@pytest.mark.slow
@pytest.mark.skipif(not HISTORY.is_file(), reason="the histories are not part of the project; set MEMWARDEN_DATA")
def test_without_onnxruntime_about_half_is_right() -> None:
    histories, _ = everyday.read_files(sorted((DATA / "everyday").glob("*.json")))
    results = everyday.measure(histories, peers=False, settings={"embedder": "wordllama+multilingual"})
    (block,) = [row.figures for row in everyday.sum_up(results.texts) if (row.way, row.by) == (CONTEXT, "all")]
    assert block.right.mean >= 0.48


@pytest.mark.slow
@pytest.mark.skipif(not HISTORY.is_file(), reason="the conversations are not part of the project; set MEMWARDEN_DATA")
def test_sessions_of_projects_are_found() -> None:
    sources = read_sources(sorted((DATA / "realmem").glob("*_dialogues_256k.json")))
    ours = run_variant(sources, Variant("auto", {"embedder": "auto"}))[-1]
    theirs = run_peer(sources, Bm25s.name)[-1]
    assert (ours.label, theirs.label) == ("all RealMem", "all RealMem")
    assert ours.session["R@5"].mean >= 0.63
    assert ours.abstention[FOREIGN].recall_at_90 >= 0.59
    _check_scores(ours.reliability)
    for budget in ("sessions, 500 tokens", "sessions, 1,000 tokens"):
        assert ours.blocks[budget].mean >= theirs.blocks[budget].mean
