"""How often a question is found between frames that nothing was fitted on.

The 72 frames were written by somebody who had not seen the rules or the phrases of the fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.recall.clauses import divide_message

WRITTEN = [
    json.loads(line) for line in (Path(__file__).parent / "fresh" / "frames.jsonl").read_text("utf-8").splitlines()
]


def bare(texts: tuple[str, ...]) -> str:
    return "".join(filter(str.isalnum, "".join(texts).casefold()))


@pytest.fixture(scope="module")
def encoder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


def recovered(written: dict[str, Any], encoder: MultilingualEmbedder) -> float:
    """Return the share of frames and questions of which the question alone is searched."""
    found = [
        bare(divide_message(f"{before}{question}{after}", encoder.embed)) == bare((question,))
        for before, after in written["frames"]
        for question in written["questions"]
    ]
    return sum(found) / len(found)


def test_most_questions_are_found_between_new_frames(encoder: MultilingualEmbedder) -> None:
    shares = {written["language"]: recovered(written, encoder) for written in WRITTEN}
    assert min(shares.values()) >= 0.5, shares
    assert sum(shares.values()) / len(shares) >= 0.68, shares  # with the phrases of 29 November .52
