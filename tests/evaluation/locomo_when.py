"""Dates of LoCoMo's when-questions: resolve the gold turn's text on the day of its session, compare with the answer.

Evaluation only, run by hand: ``python tests/evaluation/locomo_when.py [--closed | --whole] [--misses]``.
The labels are in ``locomo_when.txt``; the data lies where ``MEMWARDEN_DATA`` says.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memwarden.text.dates.recognizer import spans_in
from memwarden.text.time_words import has_time_word

HERE = Path(__file__).parent
DATA = Path(os.environ.get("MEMWARDEN_DATA", HERE.parents[2] / "shared" / "data"))
Days = tuple[date, date]


def labels() -> list[tuple[int, int, str, list[Days]]]:
    """Conversation, question, granularity and the spans that count as right."""
    found = []
    for line in (HERE / "locomo_when.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        place, size, *spans = line.split()
        conversation, question = map(int, place.split("/"))
        pairs = [tuple(map(date.fromisoformat, span.split("/"))) for span in spans]
        found.append((conversation, question, size, [(first, last) for first, last in pairs]))
    return found


def session_time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y")


def turns_of(conversation: dict[str, Any]) -> dict[str, tuple[str, datetime]]:
    turns = {}
    for name, said in conversation.items():
        if re.fullmatch(r"session_\d+", name):
            when = session_time(conversation[f"{name}_date_time"])
            turns.update({turn["dia_id"]: (turn["text"], when) for turn in said})
    return turns


def evidence(question: dict[str, Any]) -> list[str]:
    return [re.sub(r":0+", ":", item) for text in question["evidence"] for item in re.findall(r"D\d+:\d+", text)]


def right(found: Days, gold: list[Days], size: str) -> bool:
    """Half of its days inside a gold month, season or year; the same day; for weeks half of the days in common."""
    for first, last in gold:
        common = (min(last, found[1]) - max(first, found[0])).days + 1
        if size in ("month", "season", "year"):
            whole = (found[1] - found[0]).days + 1
        else:
            whole = (max(last, found[1]) - min(first, found[0])).days + 1
        if common / whole >= 0.5:
            return True
    return False


def main() -> None:
    closed, whole_set, misses = (name in sys.argv for name in ("--closed", "--whole", "--misses"))
    chats = json.loads((DATA / "locomo" / "locomo_dev.json").read_text(encoding="utf-8"))
    counts: dict[str, Counter[str]] = {}
    for i, (chat, number, size, gold) in enumerate(labels()):
        if (i % 3 == 2) is not closed and not whole_set:
            continue
        turns = turns_of(chats[chat]["conversation"])
        question = chats[chat]["qa"][number]
        gold_turns = [turns[item] for item in evidence(question) if item in turns]
        spans = [(s.first, s.last) for text, said in gold_turns for s in spans_in(text, said)]
        said_days = [(said.date(), said.date()) for _, said in gold_turns]
        seen = {
            "first named": spans[:1],
            "any named": spans,
            "named or said": spans or said_days,
        }
        for way, days in seen.items():
            timed = any(has_time_word(text) for text, _ in gold_turns)
            for group in (size, "all", *(["all with a time word"] if timed else [])):
                count = counts.setdefault(f"{way:14s} {group}", Counter())
                count["gold"] += 1
                count["told"] += bool(days)
                count["right"] += any(right(day, gold, size) for day in days)
        if misses and not any(right(span, gold, size) for span in (spans or said_days)):
            told = [f"{a}..{b}" for a, b in spans]
            print(chat, number, size, *gold[0], "|", *told, "|", gold_turns)  # noqa: T201
    for group, count in counts.items():
        precision = count["right"] / max(count["told"], 1)
        recall = count["right"] / count["gold"]
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        print(f"{group:36s} n={count['gold']:3d} precision={precision:.3f} recall={recall:.3f} F1={f1:.3f}")  # noqa: T201


if __name__ == "__main__":
    main()
