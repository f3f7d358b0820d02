"""Fits the line that tells whether a request is at home in a memory, and writes `recall/rank/requests.json`.

usage: fit_requests.py REALMEM_FILE... [--out FILE]

Requests are messages of several sentences to an assistant (RealMem, read from where it lies). Each is asked when its
time has come, and with it one of another persona, of the same number, so that what grows with a memory tells nothing.
The report leaves each persona out in turn. A line is fitted for each model that may lead, and for words alone.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from fit_evidence import logistic

import memwarden.recall.recall as asking
from memwarden import Warden
from memwarden.recall.rank import calibration, features, score
from memwarden.surfaces.conversation_files import Conversation, LabelledQuestion
from memwarden_bench import metrics
from memwarden_bench.measure import read_sources
from memwarden_bench.replay import observe, timeline

OUT = Path(calibration.__file__).with_name("requests.json")
SIGNALS = ("lead", "heard", "topic", "rows", "constant")
LEADING = {"minilm": "auto", "multilingual": "auto", "words": "auto", "wordllama": "wordllama"}
"""The embedder of each line. Words alone are told by the same replay, without the best cosine."""


class Case(NamedTuple):
    """A request with its signals. own: it was put to the memory of whoever asks."""

    person: str
    own: bool
    signals: dict[str, dict[str, float]]


def listen(embedder: str) -> list[dict[str, dict[str, float]]]:
    """Have every ranking note the signals of its question; return the notes."""
    notes: list[dict[str, dict[str, float]]] = []

    def noting(question: Any, view: Any, allowed: Any, **rest: Any) -> score.Ranking:
        found = score.rank(question, view, allowed, **rest)
        sides = {"wordllama": features.first_side(question, view)}
        if embedder == "auto":
            sides = {
                "minilm": features.first_side(question, view),
                "multilingual": features.second_side(question, view),
                "words": None,
            }
        leads = {
            name: float(features.side_cosine(side, question, view)[allowed].max()) if side else 0.0
            for name, side in sides.items()
        }
        notes.append({name: calibration.request_signals(question, view, allowed, lead) for name, lead in leads.items()})
        return found

    asking.rank = noting
    return notes


def ask(person: Conversation, foreign: Sequence[LabelledQuestion], embedder: str) -> list[Case]:
    """Replay a persona; ask each question and one of another persona."""
    found: list[Case] = []
    notes = listen(embedder)
    with Warden.open("memory://", config={"embedder": embedder}) as warden:
        me, asked = warden.scope(user=person.name), 0
        for event in timeline(person):
            if not isinstance(event, LabelledQuestion):
                observe(warden, person.name, event, Counter())
                continue
            for own, question in ((True, event), (False, foreign[asked % len(foreign)])):
                notes.clear()
                me.query(question.text, threshold=0.0)
                if notes:
                    found.append(Case(person.name, own, notes[-1]))
            asked += 1
    return found


def columns(cases: Sequence[Case], line: str, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the signals of a line, a row a case."""
    return np.array([[case.signals[line][name] for name in names] for case in cases])


def fit(cases: Sequence[Case], line: str) -> tuple[dict[str, float], list[float]]:
    """Return the weights of a line, and the logits of each case by the line that never saw its persona."""
    names = SIGNALS if line != "words" else SIGNALS[1:]
    x, y = columns(cases, line, names), np.array([case.own for case in cases], float)
    people = np.array([case.person for case in cases])
    left_out = np.zeros(len(y))
    for person in sorted(set(people)):
        seen = people != person
        left_out[~seen] = x[~seen] @ logistic(x[seen], y[seen], np.ones(int(seen.sum())))
    weights = logistic(x, y, np.ones(len(y)))
    return {name: round(float(value), 3) for name, value in zip(names, weights, strict=True)}, left_out.tolist()


def main() -> None:
    """Fit every line, report it with personas left out, and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    told = parser.parse_args()
    people = [person for source in read_sources(told.files) for person in source.conversations]
    found: dict[str, dict[str, float]] = {}
    for embedder in dict.fromkeys(LEADING.values()):
        cases: list[Case] = []
        for number, person in enumerate(people):
            cases += ask(person, people[number - 1].questions, embedder)
        for line in (name for name, used in LEADING.items() if used == embedder):
            found[line], logits = fit(cases, line)
            own = [logit for logit, case in zip(logits, cases, strict=True) if case.own]
            others = [logit for logit, case in zip(logits, cases, strict=True) if not case.own]
            bar = metrics.percentile(own, 0.1)
            refused = sum(logit < bar for logit in others) / len(others)
            area = metrics.area_under_curve(own, others)
            print(f"{line}: {len(own)} requests, personas left out: AUC {area:.3f}, refused at .90 kept {refused:.3f}")
    told.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
