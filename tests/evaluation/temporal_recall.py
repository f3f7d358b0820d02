"""Temporal recall with and without event dates: LoCoMo's questions and questions made of its labels.

Evaluation only, run by hand:
``python tests/evaluation/temporal_recall.py [words] [realmem]``. The feature is put in
from outside, over the public API, so that its worth is known before anything is stored.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from memwarden import Warden
from memwarden.recall import features, score
from memwarden.recall.date_match import closeness, unpack
from memwarden.recall.dates import Span, asked_spans, day_number, encode, spans_in
from memwarden.recall.question import Question
from memwarden.recall.view import Floats, View
from memwarden.surfaces.bench.metrics import estimate, recall_at
from memwarden.surfaces.bench.quality import sessions_of
from memwarden.surfaces.bench.replay import timeline, turns_of
from memwarden.surfaces.conversations import Conversation, Session, read_conversations

HERE = Path(__file__).parent
DATA = Path(os.environ.get("MEMWARDEN_DATA", HERE.parents[2] / "shared" / "data"))
sys.path.insert(0, str(HERE))

from locomo_when import labels  # noqa: E402

Gold = Sequence[Any]


class Asked:
    """What the features of this script need and the index does not hold yet."""

    spans: tuple[Span, ...] = ()
    stored: tuple[Any, Any] = (None, None)
    said: Any = None


def named_days(question: Question, view: View) -> Floats:
    """Share of a row's named days that lies in what is asked."""
    return closeness(*Asked.stored, view.size, Asked.spans)


def said_days(question: Question, view: View) -> Floats:
    """1 on the days that are asked: what ``on_date`` is, with ranges and relative dates."""
    value = np.zeros(view.size, bool)
    for span in Asked.spans:
        value |= (Asked.said >= day_number(span.first)) & (Asked.said <= day_number(span.last))
    return value.astype(np.float32)


def either(question: Question, view: View) -> Floats:
    """The better of the two."""
    return np.maximum(named_days(question, view), said_days(question, view))


def names_days(question: Question, view: View) -> Floats:
    """1 where a question of time meets a row that names days."""
    value = np.zeros(view.size, np.float32)
    if question.when:
        value[Asked.stored[0]] = 1
    return value


def variants(preset: str = "chat") -> dict[str, dict[Any, float]]:
    base = dict(START[preset])
    bare = {feature: weight for feature, weight in base.items() if feature is not features.on_date}
    found: dict[str, dict[Any, float]] = {"no dates": bare, "today: on_date .5": base}
    for weight in (0.5, 0.8, 1.0, 1.2):
        found[f"said {weight}"] = bare | {said_days: weight}
        found[f"named {weight}"] = bare | {named_days: weight}
        found[f"either {weight}"] = bare | {either: weight}
    for said, named in ((0.3, 0.5), (0.5, 0.5), (0.5, 0.8), (0.8, 0.5), (0.8, 0.8)):
        found[f"said {said} + named {named}"] = bare | {said_days: said, named_days: named}
    when = {f: w for f, w in bare.items() if f is not features.says_when}
    found["either .8, names_days .2 for says_when"] = when | {either: 0.8, names_days: 0.2}
    return found


def made_questions(number: int, conversation: Conversation, texts: Mapping[str, Gold]) -> list[tuple[str, str, Gold]]:
    """Questions with a date, made of when-questions and their labels: (set, text, gold)."""
    made = []
    for chat, index, size, spans in labels():
        if chat != number:
            continue
        text, gold = RAW[chat]["qa"][index]["question"].strip(), texts.get(RAW[chat]["qa"][index]["question"].strip())
        hit = re.match(r"When (?:did|was|is|has|does|will) (\w+)(?:'s)?\s+(.*?)\?*$", text)
        if not gold or not hit:
            continue
        first, last = spans[0]
        period = {
            "day": f"on {first.day} {first:%B %Y}",
            "month": f"in {first:%B %Y}",
            "year": f"in {first.year}",
            "season": f"in the summer of {first.year}",
        }.get(size, f"between {first.day} {first:%B} and {last.day} {last:%B %Y}")
        made.append(("made: what did X do ...", f"What did {hit[1]} do {period}?", gold))
        made.append(("made: did X do Y ...", f"Did {hit[1]} {hit[2]} {period}?", gold))
    return made


def main() -> None:
    embedder = "none" if "words" in sys.argv else "wordllama"
    results: dict[tuple[str, str], list[float]] = {}
    if "realmem" in sys.argv:
        for path in sorted((DATA / "realmem").glob("*.json")):
            for conversation in read_conversations(path):
                with Warden.open("memory://", config={"embedder": embedder}) as warden:
                    measure_realmem(conversation, warden, results)
    else:
        path = DATA / "locomo" / "locomo_dev.json"
        RAW.extend(json.loads(path.read_text(encoding="utf-8")))
        for number, conversation in enumerate(read_conversations(path)):
            with Warden.open("memory://", config={"embedder": embedder}) as warden:
                measure(number, conversation, warden, results)
    for name in sorted({name for name, _ in results}):
        print(f"\n{name}, n={len(results[name, 'no dates'])}; in brackets against today, 95 %")  # noqa: T201
        before = results[name, "today: on_date .5"]
        for variant in variants():
            values = results[name, variant]
            gain = estimate([new - old for new, old in zip(values, before, strict=True)])
            print(f"  {variant:40s} {np.mean(values):.3f} [{gain.low:+.3f} {gain.high:+.3f}]")  # noqa: T201


def measure_realmem(conversation: Conversation, warden: Warden, results: dict[tuple[str, str], list[float]]) -> None:
    """Session R@5, each question asked on the day of its session and of the sessions before."""
    rows: list[bytes] = []
    said: list[int] = []
    at = datetime(2000, 1, 1)
    for event in timeline(conversation):
        if isinstance(event, Session):
            if event.messages:
                warden.scope(user="all", thread=event.thread).observe(event.messages)
            for message in event.messages:
                at = datetime.fromisoformat(message["created_at"])
                rows.append(encode(spans_in(str(message["content"]), at)))
                said.append(day_number(at.date()))
            continue
        Asked.stored, Asked.said = unpack(rows), np.array(said)
        Asked.spans = asked_spans(event.text, at)
        groups = ["RealMem all", *(["RealMem names a date"] if Asked.spans else [])]
        found: tuple[str, ...] = ()
        for name, weights in variants("assistant").items():
            if Asked.spans or not found:  # without days in the question, all variants rank alike
                score.PRESETS["assistant"] = weights  # type: ignore[index]
                result = warden.scope(user="all").query(event.text, top_k=50, threshold=0.0, budget_tokens=None)
                found = sessions_of(turns_of(result))
            for group in groups:
                results.setdefault((group, name), []).append(recall_at(5, found, event.gold_sessions))
        score.PRESETS["assistant"] = START["assistant"]  # type: ignore[index]


def measure(
    number: int, conversation: Conversation, warden: Warden, results: dict[tuple[str, str], list[float]]
) -> None:
    rows: list[tuple[str, datetime]] = []
    for session in conversation.sessions:
        if session.messages:
            warden.scope(user="all", thread=session.thread).observe(session.messages)
            rows += [
                (str(message["content"]), datetime.fromisoformat(message["created_at"])) for message in session.messages
            ]
    me = warden.scope(user="all")
    now = rows[-1][1]
    Asked.stored = unpack(encode(spans_in(text, said)) for text, said in rows)
    Asked.said = np.array([day_number(said.date()) for _, said in rows])
    golds = {one.text.strip(): one.gold_turns for one in conversation.questions}
    asked: list[tuple[str, str, Gold]] = [
        (f"LoCoMo {one.category}", one.text, one.gold_turns) for one in conversation.questions
    ]
    asked += [("LoCoMo names a date", t, g) for s, t, g in asked if asked_spans(t, now) and "adversarial" not in s]
    asked += [("LoCoMo 1-4", t, g) for s, t, g in asked if s != "LoCoMo adversarial" and "names" not in s]
    asked += made_questions(number, conversation, golds)
    known: dict[tuple[str, bool], Any] = {}
    for name, weights in variants().items():
        score.PRESETS["chat"] = weights  # type: ignore[index]
        for group, text, gold in asked:
            Asked.spans = asked_spans(text, now, since=rows[0][1].date())
            # Without days in the question, all weights of days rank alike.
            key = (text, names_days in weights) if not Asked.spans else (text + name, True)
            if key not in known:
                known[key] = turns_of(me.query(text, top_k=10, threshold=0.0, budget_tokens=None))
            found = known[key]
            results.setdefault((group, name), []).append(recall_at(10, found, gold))
    score.PRESETS["chat"] = START["chat"]  # type: ignore[index]


RAW: list[Any] = []
START = dict(score.PRESETS)

if __name__ == "__main__":
    main()
