"""A history that comes in as a file of a chat gives the right answers that it gives when it was observed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memwarden
from memwarden_bench.everyday import CONTEXT, History, HistoryMessage, HistoryQuestion, HistoryThread
from memwarden_bench.imported import DIRECT, FORMATS, measure_formats

DEMO = Path(memwarden.__file__).parent / "surfaces/cli/demo"
ASKED_AT = datetime(2027, 1, 1, tzinfo=UTC)


def demo_history() -> History:
    """The shipped history, with the questions that were written for it."""
    told = json.loads((DEMO / "history.json").read_text("utf-8"))
    asked: list[dict[str, Any]] = json.loads((DEMO / "questions.json").read_text("utf-8"))
    threads = tuple(
        HistoryThread(session["thread"], tuple(_message(item) for item in session["messages"]))
        for session in told["sessions"]
    )
    questions = tuple(
        HistoryQuestion(
            id=f"q{number}", q=item["question"], type="fact", asked_at=ASKED_AT, evidence=tuple(item["expect"]),
            also=tuple(item.get("also", ())), stale=tuple(item.get("older", ())),
        )
        for number, item in enumerate(asked)
        if item["expect"]
    )  # fmt: skip
    return History(id="demo", threads=threads, questions=questions)


def _message(item: dict[str, Any]) -> HistoryMessage:
    at = datetime.fromisoformat(item["created_at"])
    return HistoryMessage(item["id"], item["role"], item["content"], at, item.get("name"))


def test_imported_chats_answer_like_observed_chats() -> None:
    forms = ("chatgpt", "whatsapp")
    found = measure_formats([demo_history()], forms, {"embedder": "wordllama"})
    assert found[DIRECT, CONTEXT] >= 0.5
    for form in forms:
        assert found[form, CONTEXT] >= found[DIRECT, CONTEXT] - 0.02, found


@pytest.mark.soak
def test_every_chat_format_answers_like_an_observed_history() -> None:
    found = measure_formats([demo_history()], list(FORMATS), {"embedder": "auto"})
    dated = [form for form in FORMATS if form != "labelled"]  # a log without times tells nothing of "last week"
    for form in dated:
        assert abs(found[form, CONTEXT] - found[DIRECT, CONTEXT]) <= 0.02, found
