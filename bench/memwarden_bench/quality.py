"""The figures of quality: what replays of conversations come to, and what is not in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memwarden.surfaces.conversation_files import Question, TurnKey
from memwarden_bench import metrics
from memwarden_bench.metrics import Estimate
from memwarden_bench.replay import DEPTH, Answer, Judged, Replay

WITHIN = (5, 10, 20)
APART = "adversarial"
"""LoCoMo's questions of this category name the wrong partner on purpose; headline figures are without them."""


class Ranked(Protocol):
    """What a ranking is judged by; answers of memwarden and of its peers both are."""

    @property
    def question(self) -> Question: ...

    @property
    def turns(self) -> tuple[TurnKey, ...]: ...


Table = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Abstention:
    """Was nothing returned where nothing could be, and something where it could? ``questions`` of each sort.

    Attributes:
        precision: share of the unanswerable among the questions that got nothing.
        recall: share of the unanswerable that got nothing. kept: share of the answerable that got something.
        auc: how often an answerable question had the higher confidence than an unanswerable one.
        recall_at_90: share of the unanswerable below a bar on confidence that keeps 90 % of the answerable.
    """

    questions: int
    precision: float
    recall: float
    kept: float
    auc: float
    recall_at_90: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured over some replays. Means are over questions, those of category ``adversarial`` apart."""

    label: str
    layout: str
    conversations: int
    sessions: int
    turns: int
    questions: int
    turn: Table
    session: Table
    categories: Mapping[str, Table]
    gate: Table
    tokens: Table
    observe_per_second: float
    query_p50_ms: float
    query_p95_ms: float
    abstention: Mapping[str, Abstention] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)


def figures(label: str, replays: Sequence[Replay], abstention: Mapping[str, Abstention]) -> Figures:
    """Sum up replays of one layout."""
    everything = [answer for one in replays for answer in one.answers]
    headline = [answer for answer in everything if answer.question.category != APART]
    seconds = [answer.seconds * 1_000 for answer in everything]
    observing = math.fsum(one.seconds for one in replays)
    turns = sum(one.turns for one in replays)
    return Figures(
        label,
        layout=replays[0].conversation.layout,
        conversations=len(replays),
        sessions=sum(len(one.conversation.sessions) for one in replays),
        turns=turns,
        questions=len(everything),
        turn=turn_table(headline),
        session=session_table(headline),
        categories=by_category(everything),
        gate=_gate_table(headline),
        tokens=_token_table(headline),
        observe_per_second=turns / observing if observing else math.nan,
        query_p50_ms=metrics.percentile(seconds, 0.5),
        query_p95_ms=metrics.percentile(seconds, 0.95),
        abstention=abstention,
        excluded=excluded(replays),
    )


def turn_table(answers: Iterable[Ranked]) -> Table:
    """Every metric over turns; questions whose turns are not known are left out."""
    return _table([(one.turns, one.question.gold_turns) for one in answers if one.question.gold_turns])


def session_table(answers: Iterable[Ranked]) -> Table:
    """Every metric over sessions: turns mapped to their threads, best first, repetitions dropped."""
    return _table([(sessions_of(one.turns), one.question.gold_sessions) for one in answers])


def by_category(answers: Sequence[Ranked]) -> Mapping[str, Table]:
    """Turn R@10 and session R@5 for each category of question."""
    names = sorted({one.question.category for one in answers})
    return {name: _short([one for one in answers if one.question.category == name]) for name in names}


def sessions_of(turns: Iterable[TurnKey]) -> tuple[str, ...]:
    """The threads of turns, best first."""
    return tuple(metrics.distinct(turn.thread for turn in turns))


def excluded(replays: Iterable[Replay]) -> Mapping[str, int]:
    """What does not stand in the figures, and how often."""
    found: Counter[str] = Counter()
    for one in replays:
        found.update({dropped.what: dropped.times for dropped in one.conversation.dropped})
        found.update({f"turns not stored: {reason}": times for reason, times in one.refused.items()})
        unknown = sum(1 for answer in one.answers if not answer.question.gold_turns)
        found["questions without a known turn (in the session figures only)"] += unknown
        apart = sum(1 for answer in one.answers if answer.question.category == APART)
        found["adversarial questions (apart, not in the headline figures)"] += apart
    return {what: times for what, times in sorted(found.items()) if times}


def abstain(answerable: Sequence[Answer | Judged], unanswerable: Sequence[Judged]) -> Abstention:
    """Compare the same questions with and without an answer in the store."""
    refused = sum(not one.returned for one in unanswerable)
    lost = sum(not one.returned for one in answerable)
    confident = [one.confidence for one in answerable]
    bar = metrics.percentile(confident, 0.1)
    below = [one.confidence < bar for one in unanswerable]
    return Abstention(
        questions=len(unanswerable),
        precision=refused / (refused + lost) if refused + lost else math.nan,
        recall=refused / len(unanswerable) if unanswerable else math.nan,
        kept=1 - lost / len(answerable) if answerable else math.nan,
        auc=metrics.area_under_curve(confident, [one.confidence for one in unanswerable]),
        recall_at_90=metrics.mean([float(one) for one in below]),
    )


Pair = tuple[Sequence[Any], Sequence[Any]]


def _table(pairs: Sequence[Pair]) -> Table:
    found: dict[str, Estimate] = {}
    for name, at in (("R", metrics.recall_at), ("hit", metrics.hit_at), ("all", metrics.all_at)):
        for k in WITHIN:
            found[f"{name}@{k}"] = metrics.estimate([at(k, ranked, gold) for ranked, gold in pairs])
    found["MRR"] = metrics.estimate([metrics.reciprocal_rank(ranked, gold) for ranked, gold in pairs])
    found["nDCG@10"] = metrics.estimate([metrics.ndcg_at(10, ranked, gold) for ranked, gold in pairs])
    return found


def _short(answers: Sequence[Ranked]) -> Table:
    known = [one for one in answers if one.question.gold_turns]
    return {
        "turn R@10": metrics.estimate([metrics.recall_at(10, one.turns, one.question.gold_turns) for one in known]),
        "session R@5": metrics.estimate(
            [metrics.recall_at(5, sessions_of(one.turns), one.question.gold_sessions) for one in answers]
        ),
    }


def _gate_table(answers: Sequence[Answer]) -> Table:
    known = [one for one in answers if one.question.gold_turns]
    gold = [one.question.gold_turns for one in known]
    default = [metrics.hit_at(DEPTH, one.default_turns, wanted) for one, wanted in zip(known, gold, strict=True)]
    return {
        "returned": metrics.estimate([float(one.returned) for one in answers]),
        "turn R@10": metrics.estimate([metrics.recall_at(10, one.shown, one.question.gold_turns) for one in known]),
        "session R@5": metrics.estimate(
            [metrics.recall_at(5, sessions_of(one.shown), one.question.gold_sessions) for one in answers]
        ),
        "any gold turn in the default answer": metrics.estimate(default),
    }


def _token_table(answers: Sequence[Answer]) -> Table:
    return {
        "ten items": metrics.estimate([float(one.tokens) for one in answers]),
        "default answer": metrics.estimate([float(one.default_tokens) for one in answers]),
    }
