"""The estimate of tokens beside the counts of two vocabularies.

``token_counts.jsonl`` has two lines of a block in eleven languages, with the counts of o200k (npm's gpt-tokenizer 4.0)
and Llama 3 (npm's llama3-tokenizer-js 1.2).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memwarden.text.tokenizer import estimate

COUNTED = [json.loads(line) for line in (Path(__file__).parent / "token_counts.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("counted", COUNTED, ids=lambda counted: counted["language"])
def test_no_language_takes_much_more_than_the_estimate(counted: dict[str, Any]) -> None:
    assert max(counted["o200k"], counted["llama3"]) <= 1.4 * estimate(counted["text"])


@pytest.mark.parametrize(
    "counted",
    [counted for counted in COUNTED if counted["language"] not in ("ar", "hi", "ru")],
    ids=lambda counted: counted["language"],
)
def test_a_budget_holds_about_as_much_in_most_scripts(counted: dict[str, Any]) -> None:
    assert estimate(counted["text"]) <= 1.25 * min(counted["o200k"], counted["llama3"])


@pytest.mark.parametrize("text", ["", "a", "ab", "abcd", "é", "茶", "\ud800", "🙂"])
def test_only_an_empty_text_takes_nothing(text: str) -> None:
    assert bool(estimate(text)) == bool(text)
