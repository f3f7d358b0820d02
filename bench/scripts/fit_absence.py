"""Fits the line that tells whether an answer is lacking among what a model has read; writes `recall/rank/absence.json`.

usage: fit_absence.py HISTORY.json... [--out FILE]

Labelled histories are replayed with a model that says their labelled facts. Each question whose evidence reaches the
bar is taken with its signals. The line is fitted on all of them; it is judged by lines that never saw the history, and
by lines that never saw its language. The bar lies where those of unseen histories refuse a little more than half of
what was never said, together with what is refused without the line.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from fit_evidence import logistic

from memwarden import Warden
from memwarden.recall.rank import calibration, score
from memwarden.settings import DEFAULT_THRESHOLD
from memwarden_bench.everyday import (
    DEFAULT_BUDGET,
    OFF_TOPIC,
    UNKNOWN,
    History,
    HistoryQuestion,
    HistoryThread,
    MemwardenWay,
    _text_in_block,
    judge,
    read_files,
    replay_history,
)
from memwarden_bench.keep import read_labelled
from memwarden_bench.oracle import serve_labels

OUT = Path(calibration.__file__).with_name("absence.json")
SIGNALS = ("evidence", "own", "near", "fact", "reason_or_list", "implicit")
RIDGE = 10.0
WANTED = 0.52
"""Share of what was never said that is to be refused."""
# Points of the chance beside the bar, in logits above it; that below the bar tells at least, and at most, so much.
LEAST, MOST_BELOW = 0.05, 0.2
SLOPE, FAR = 0.06, 5.0
STEPS = (-2.0, 0.0, 0.5, 1.0)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A question: its signals where the evidence reaches the bar, and what a block shows, were nothing kept back."""

    history: str
    language: str
    question: HistoryQuestion
    signals: dict[str, float] | None
    right: bool
    answered: bool


class Recorder:
    """Stands for the line: takes the signals and lets everything pass."""

    def __init__(self) -> None:
        self.found: list[dict[str, float]] = []

    def __call__(self, question: Any, view: Any, allowed: Any, signals: Any, told: tuple[float, float]) -> float:
        """See :func:`memwarden.recall.rank.calibration.chance_where_read`."""
        self.found.append(calibration.absence_signals(question, view, allowed, signals, *told))
        return DEFAULT_THRESHOLD


def ask_all(history: History, url: str, recorder: Recorder) -> list[Asked]:
    """Replay a history with its facts, and ask its questions."""
    settings = {"extraction": "every_turn", "chat_model": "labels", "chat_url": url, "chat_seconds": 600.0}
    found = []
    with TemporaryDirectory() as folder, Warden.open(f"sqlite:///{folder}/absence.db", settings) as warden:
        way = MemwardenWay(warden, history.id, DEFAULT_BUDGET, defaultdict(list), Counter(), extracting=True)
        for event in replay_history(history):
            if isinstance(event, HistoryThread):
                way.hear(event)
                continue
            me = warden.scope(user=history.id, thread=f"ask-{event.id}")
            talk = [{"role": said.role, "content": said.content} for said in event.history]
            recorder.found.clear()
            block = me.context([*talk, {"role": "user", "content": event.q}], DEFAULT_BUDGET)
            verdict = judge(event, way._shown(block, _text_in_block))
            signals = max(recorder.found, key=lambda one: one["evidence"], default=None)
            passed = not verdict.refused and signals is not None
            answered = verdict.answer and event.answerable
            found.append(
                Asked(history.id, history.language, event, signals if passed else None, verdict.right, answered)
            )
    return found


def fit(x: Floats, y: Floats) -> Floats:
    """Return the weights of the signals and, last, the constant; both sides weigh alike."""
    middle, spread = x.mean(0), x.std(0) + 1e-9
    share = np.where(y > 0, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    found = logistic(np.c_[(x - middle) / spread, np.ones(len(x))], y, share, RIDGE)
    weights = found[:-1] / spread
    return np.r_[weights, found[-1] - weights @ middle]


def judge_unseen(x: Floats, y: Floats, group: npt.NDArray[Any]) -> Floats:
    """Return each question's logit by a line that never saw its group."""
    found = np.zeros(len(y))
    for name in np.unique(group):
        seen = group != name
        found[~seen] = np.c_[x[~seen], np.ones(int((~seen).sum()))] @ fit(x[seen], y[seen])
    return found


def bar_at(logits: Floats, asked: list[Asked], passed: list[int]) -> float:
    """Return the logit up to which the wanted share of what was never said is refused."""
    unknown = [number for number, each in enumerate(asked) if each.question.type == UNKNOWN]
    left = sorted(float(logits[place]) for place, number in enumerate(passed) if number in set(unknown))
    refused = len(unknown) - len(left)
    needed = int(np.ceil(WANTED * len(unknown))) - refused
    return left[max(needed, 1) - 1] + 1e-6


def tell(name: str, logits: Floats, bar: float, asked: list[Asked], passed: list[int]) -> None:
    """Print what is right and refused with a bar, in English and in other languages."""
    shown = {number for place, number in enumerate(passed) if logits[place] > bar}
    for side, english in (("English", True), ("others", False)):
        of = [(number in shown, each) for number, each in enumerate(asked) if (each.language == "en") == english]
        right = np.mean([is_shown and each.right for is_shown, each in of if each.question.answerable])
        unknown = np.mean([not is_shown for is_shown, each in of if each.question.type == UNKNOWN])
        off = np.mean([not is_shown for is_shown, each in of if each.question.type in OFF_TOPIC])
        print(f"{name}, {side}: right {right:.3f}, refused never said {unknown:.3f}, off topic {off:.3f}")


def chances_of(logits: Floats, bar: float, answered: Floats) -> tuple[list[float], list[float]]:
    """Return points of the line and how often the answer was there around each; they never fall."""
    points = [round(bar + step, 2) for step in STEPS]
    chances = []
    for number, point in enumerate(points):
        low = points[number - 1] if number else -np.inf
        high = points[number + 1] if number + 1 < len(points) else np.inf
        near = (logits > (low + point) / 2) & (logits <= (point + high) / 2)
        chances.append(float(answered[near].mean()) if near.any() else float("nan"))
    print("chances found around", dict(zip(points, np.round(chances, 2).tolist(), strict=True)))
    told = np.fmax.accumulate(np.nan_to_num(chances))
    # The bar is the product's; below it less is told, above it no less.
    told = [min(max(told[0], LEAST), MOST_BELOW), DEFAULT_THRESHOLD, *np.maximum(told[2:], DEFAULT_THRESHOLD)]
    # Far above the bar a little more is told, and just above it as much less: so the surer question keeps its place.
    told = [*told[:-1], told[-1] - SLOPE / 3, told[-1] + 2 * SLOPE / 3]
    return [*points, round(points[-1] + FAR, 2)], [round(float(each), 2) for each in told]


def main() -> None:
    """Replay, fit, judge and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    histories, _ = read_files(given.files)
    recorder, asked = Recorder(), list[Asked]()
    score.chance_where_read = recorder
    with serve_labels(read_labelled(given.files)) as url:
        for history in histories:
            asked += ask_all(history, url, recorder)
            print(history.id, len(asked), flush=True)
    passed = [number for number, each in enumerate(asked) if each.signals is not None]
    x = np.array([[asked[number].signals[name] for name in SIGNALS] for number in passed])  # type: ignore[index]
    y = np.array([float(asked[number].question.answerable) for number in passed])
    answered = np.array([float(asked[number].answered) for number in passed])
    everything = np.full(len(passed), np.inf)
    tell("without the line", everything, 0.0, asked, passed)
    of_history = judge_unseen(x, y, np.array([asked[number].history for number in passed]))
    bar = bar_at(of_history, asked, passed)
    tell("history unseen", of_history, bar, asked, passed)
    of_language = judge_unseen(x, y, np.array([asked[number].language for number in passed]))
    tell("language unseen", of_language, bar_at(of_language, asked, passed), asked, passed)
    tell("language unseen, bar of the first", of_language, bar, asked, passed)
    weights = fit(x, y)
    points, chances = chances_of(of_history, bar, answered)
    named = dict(zip((*SIGNALS, "constant"), np.round(weights, 3).tolist(), strict=True))
    tell("all seen", np.c_[x, np.ones(len(x))] @ weights, bar, asked, passed)
    stored = {"weights": named, "evidence": points, "chances": chances}
    given.out.write_text(json.dumps(stored, indent=1) + "\n")
    print(given.out, named, points, chances)


if __name__ == "__main__":
    main()
