"""Whose fact it is, and which value is the later one, in small stores by an author who had not seen the rules."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from memwarden import Warden

FRESH = Path(__file__).parent / "fresh"
BEGIN = datetime(2026, 11, 1, 9, tzinfo=UTC)
SETTINGS = {"embedder": "auto", "vector_seconds": "20"}  # a busy machine makes no vectors in a second


def read_stores(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def ask(store: Mapping[str, Any]) -> Iterator[tuple[str, bool, float]]:
    """Yield of each question its kind, whether the first item answers, and the confidence."""
    with Warden.open("memory://", SETTINGS) as warden:
        names: dict[str | None, str] = {}
        for day in sorted({message["day"] for message in store["messages"]}):
            said = [message for message in store["messages"] if message["day"] == day]
            at = BEGIN + timedelta(days=day - 1)
            told = warden.scope(user="u", thread=f"day {day}").observe([
                {"role": each["role"], "content": each["text"], "created_at": at + timedelta(minutes=number)}
                for number, each in enumerate(said)
            ])  # fmt: skip
            names |= {result.id: each["id"] for each, result in zip(said, told.results, strict=True)}
        for question in store["questions"]:
            answer = warden.scope(user="u", thread="asked").query(question["q"])
            first = {names.get(part) for item in answer.items[:1] for part in (item.id, *item.sources)}
            right = bool(first & {*question["gold"]}) and not first & {*question["stale"]}
            yield question["kind"], right, answer.confidence


def measure(stores: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float], float]:
    """Return the share of right first items by kind, and how well confidence tells what was never said."""
    right, known, never = defaultdict[str, list[bool]](list), list[float](), list[float]()
    for store in stores:
        for kind, first, confidence in ask(store):
            right[kind].append(first)
            (never if kind.startswith("never") else known).append(confidence)
    auc = mean((yes > no) + (yes == no) / 2 for yes in known for no in never)
    return {kind: mean(each) for kind, each in right.items() if not kind.startswith("never")}, auc


@pytest.mark.soak
def test_small_stores_tell_persons_and_values_apart() -> None:
    shares, auc = measure(read_stores(FRESH / "persons.jsonl"))
    # In most stores the old value of two still comes first.
    assert shares["own"] >= 0.66, shares  # before .64
    assert shares["other"] >= 0.75, shares
    assert shares["changed"] >= 0.27, shares  # before .21
    assert auc >= 0.67, auc  # before .62
