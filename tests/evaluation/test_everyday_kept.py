"""What a person gets back of an everyday history, where ``MEMWARDEN_DATA`` says; without it nothing is measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memwarden_bench import everyday
from memwarden_bench.everyday import CONTEXT, PLAIN_BM25, QUERY

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
    assert block.stale <= 0.25  # 19 questions
    assert block.off_topic == 1.0
    assert found[QUERY].right.mean > found[PLAIN_BM25].right.mean
    assert results.excluded == {}
    # Of a thousand items of a single history; over all histories the gaps are about half of these.
    assert results.reliability["scores of items, context"].mean_gap <= 0.07
    assert results.reliability["scores of items, query"].mean_gap <= 0.1
