"""Computes quality figures from replays of conversations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memwarden.surfaces.conversation_files import LabelledQuestion, TurnIdentity
from memwarden_bench import metrics
from memwarden_bench.metrics import Estimate, Reliability
from memwarden_bench.replay import ADVERSARIAL, BLOCK_BUDGETS, DEPTH, Answer, JudgedQuestion, Replay

DEPTHS = (5, 10, 20)


class RankedAnswer(Protocol):
    """What a ranking is judged by, of memwarden and of its peers."""

    @property
    def question(self) -> LabelledQuestion: ...

    @property
    def turns(self) -> tuple[TurnIdentity, ...]: ...

    @property
    def blocks(self) -> Mapping[int, tuple[TurnIdentity, ...]]: ...


Table = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well empty answers and unanswerable questions agree.

    Attributes:
        precision: share of the unanswerable among the questions that got nothing.
        recall: share of the unanswerable that got nothing. kept: share of the answerable that got something.
        auc: how often an answerable question had the higher confidence than an unanswerable question.
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
    """Figures over replays: means over questions, those of category ``adversarial`` apart.

    reliability: of the figures that an answer says of itself, over these questions and those asked astray.
    """

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
    blocks: Table
    tokens: Table
    observe_per_second: float
    query_p50_ms: float
    query_p95_ms: float
    abstention: Mapping[str, Abstention] = field(default_factory=dict)
    reliability: Mapping[str, Reliability] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)


def figures(label: str, replays: Sequence[Replay], abstention: Mapping[str, Abstention]) -> Figures:
    """Sum up replays of a layout."""
    everything = [answer for replay in replays for answer in replay.answers]
    headline = [answer for answer in everything if answer.question.category != ADVERSARIAL]
    seconds = [answer.seconds * 1_000 for answer in everything]
    observing = math.fsum(replay.seconds for replay in replays)
    turns = sum(replay.turns for replay in replays)
    return Figures(
        label,
        layout=replays[0].conversation.layout,
        conversations=len(replays),
        sessions=sum(len(replay.conversation.sessions) for replay in replays),
        turns=turns,
        questions=len(everything),
        turn=turn_table(headline),
        session=session_table(headline),
        categories=by_category(everything),
        gate=_gate_table(headline),
        blocks=block_table(headline),
        tokens=_token_table(headline),
        observe_per_second=turns / observing if observing else math.nan,
        query_p50_ms=metrics.percentile(seconds, 0.5),
        query_p95_ms=metrics.percentile(seconds, 0.95),
        abstention=abstention,
        reliability=_reliability(replays),
        excluded=count_excluded(replays),
    )


def _reliability(replays: Sequence[Replay]) -> Mapping[str, Reliability]:
    names = dict.fromkeys(name for replay in replays for name in replay.cases)
    return {name: metrics.reliability([c for replay in replays for c in replay.cases.get(name, ())]) for name in names}


def turn_table(answers: Iterable[RankedAnswer]) -> Table:
    """Return every metric over turns; questions with unknown turns are left out."""
    return _table([(answer.turns, answer.question.gold_turns) for answer in answers if answer.question.gold_turns])


def session_table(answers: Iterable[RankedAnswer]) -> Table:
    """Return every metric over sessions: turns mapped to threads, repetitions dropped."""
    return _table([(sessions_of(answer.turns), answer.question.gold_sessions) for answer in answers])


def block_table(answers: Sequence[RankedAnswer]) -> Table:
    """Return the share of the gold turns and sessions in a block, by its tokens."""
    found = {}
    for budget in BLOCK_BUDGETS:
        turns = [(item.blocks[budget], item.question.gold_turns) for item in answers if item.question.gold_turns]
        sessions = [(sessions_of(item.blocks[budget]), item.question.gold_sessions) for item in answers]
        for what, pairs in (("turns", turns), ("sessions", sessions)):
            shares = [metrics.recall_at(max(1, len(there)), there, gold) for there, gold in pairs]
            found[f"{what}, {budget:,} tokens"] = metrics.estimate(shares)
    return found


def by_category(answers: Sequence[RankedAnswer]) -> Mapping[str, Table]:
    """Return turn R@10 and session R@5 for each category of question."""
    names = sorted({answer.question.category for answer in answers})
    return {name: _short([answer for answer in answers if answer.question.category == name]) for name in names}


def sessions_of(turns: Iterable[TurnIdentity]) -> tuple[str, ...]:
    """Return the threads of turns, best first."""
    return tuple(metrics.distinct(turn.thread for turn in turns))


def count_excluded(replays: Iterable[Replay]) -> Mapping[str, int]:
    """Count what is left out of the figures, by reason."""
    found: Counter[str] = Counter()
    for replay in replays:
        found.update({dropped.what: dropped.times for dropped in replay.conversation.dropped})
        found.update({f"turns not stored: {reason}": times for reason, times in replay.refused.items()})
        unknown = sum(1 for answer in replay.answers if not answer.question.gold_turns)
        found["questions without a known turn (in the session figures only)"] += unknown
        apart = sum(1 for answer in replay.answers if answer.question.category == ADVERSARIAL)
        found["adversarial questions (apart, not in the headline figures)"] += apart
    return {what: times for what, times in sorted(found.items()) if times}


def abstain(answerable: Sequence[Answer | JudgedQuestion], unanswerable: Sequence[JudgedQuestion]) -> Abstention:
    """Compare the same questions with and without an answer in the store."""
    refused = sum(not item.returned for item in unanswerable)
    lost = sum(not item.returned for item in answerable)
    confident = [item.confidence for item in answerable]
    bar = metrics.percentile(confident, 0.1)
    below = [item.confidence < bar for item in unanswerable]
    return Abstention(
        questions=len(unanswerable),
        precision=refused / (refused + lost) if refused + lost else math.nan,
        recall=refused / len(unanswerable) if unanswerable else math.nan,
        kept=1 - lost / len(answerable) if answerable else math.nan,
        auc=metrics.area_under_curve(confident, [item.confidence for item in unanswerable]),
        recall_at_90=metrics.mean([float(item) for item in below]),
    )


Pair = tuple[Sequence[Any], Sequence[Any]]


def _table(pairs: Sequence[Pair]) -> Table:
    found: dict[str, Estimate] = {}
    for name, at in (("R", metrics.recall_at), ("hit", metrics.hit_at), ("all", metrics.all_at)):
        for k in DEPTHS:
            found[f"{name}@{k}"] = metrics.estimate([at(k, ranked, gold) for ranked, gold in pairs])
    found["MRR"] = metrics.estimate([metrics.reciprocal_rank(ranked, gold) for ranked, gold in pairs])
    found["nDCG@10"] = metrics.estimate([metrics.ndcg_at(10, ranked, gold) for ranked, gold in pairs])
    return found


def _short(answers: Sequence[RankedAnswer]) -> Table:
    known = [answer for answer in answers if answer.question.gold_turns]
    return {
        "turn R@10": metrics.estimate([metrics.recall_at(10, item.turns, item.question.gold_turns) for item in known]),
        "session R@5": metrics.estimate(
            [metrics.recall_at(5, sessions_of(answer.turns), answer.question.gold_sessions) for answer in answers]
        ),
    }


def _gate_table(answers: Sequence[Answer]) -> Table:
    known = [answer for answer in answers if answer.question.gold_turns]
    gold = [item.question.gold_turns for item in known]
    default = [metrics.hit_at(DEPTH, item.default_turns, wanted) for item, wanted in zip(known, gold, strict=True)]
    return {
        "returned": metrics.estimate([float(answer.returned) for answer in answers]),
        "of those with a date": metrics.estimate([float(answer.returned) for answer in answers if answer.dated]),
        "of those without": metrics.estimate([float(answer.returned) for answer in answers if not answer.dated]),
        "turn R@10": metrics.estimate([metrics.recall_at(10, item.shown, item.question.gold_turns) for item in known]),
        "session R@5": metrics.estimate(
            [metrics.recall_at(5, sessions_of(answer.shown), answer.question.gold_sessions) for answer in answers]
        ),
        "any gold turn in the default answer": metrics.estimate(default),
    }


def _token_table(answers: Sequence[Answer]) -> Table:
    return {
        "ten items": metrics.estimate([float(answer.tokens) for answer in answers]),
        "default answer": metrics.estimate([float(answer.default_tokens) for answer in answers]),
    }
