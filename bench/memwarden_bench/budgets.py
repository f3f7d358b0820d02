"""Measures the evidence in prompts of fixed size, beside what is done without memory.

Every conversation is replayed through the public API, and for every question each way fills each budget with a text.
Beside memwarden stand the last turns before the question, and the turns that a peer ranks best: whole, as many as fit.
All texts are counted with the counter that memwarden packs with.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from memwarden import Warden
from memwarden.surfaces.conversation_files import Conversation, LabelledQuestion, Session, TurnIdentity
from memwarden.text.tokenizer import terms
from memwarden_bench import metrics
from memwarden_bench.measure import Source, groups
from memwarden_bench.metrics import Estimate
from memwarden_bench.peers import PEERS, FilledText, Peer, keys_of, pack_turns, text_of
from memwarden_bench.quality import sessions_of
from memwarden_bench.replay import ADVERSARIAL, DEPTH, Tick, observe, timeline, turns_of

BUDGETS = (250, 500, 1_000, 2_000)
MAX_ITEMS = 200
"""So many items may be in an answer of memwarden: the budget shall decide, not their number."""
MAX_RARE_SHARE = 0.05
"""Words that stand in a larger share of a conversation's turns say nothing of the evidence."""
QUERIES = ("memwarden, query", "memwarden, query, whole texts", "memwarden, query, bar off")
BLOCK = "memwarden, block"


class EvidenceShares(NamedTuple):
    """The shares of a question's evidence in a text.

    tokens: its size.
    """

    question: LabelledQuestion
    turns: float | None
    sessions: float
    words: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve: a method's mean results within a budget.

    Attributes:
        tokens: how many it took of the budget. filled: share of the questions that got any text.
    """

    way: str
    budget: int
    turns: Estimate
    sessions: Estimate
    words: Estimate
    tokens: float
    filled: float


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of some conversations. excluded: counts of questions left out, by reason."""

    label: str
    layout: str
    questions: int
    points: Sequence[Point]
    excluded: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class BudgetsReport:
    """The results of a run of ``bench budgets``."""

    circumstances: Mapping[str, str]
    curves: Sequence[Curves]
    notes: Sequence[str]


Results = dict[tuple[str, int], list[EvidenceShares]]


def measure(
    sources: Sequence[Source], embedder: str, budgets: Sequence[int] = BUDGETS, tick: Tick = lambda what: None
) -> list[Curves]:
    """Measure every method on every question: curves for each file and each layout."""
    found: dict[str, tuple[Results, Counter[str]]] = {}
    for source in sources:
        results: Results = defaultdict(list)
        excluded: Counter[str] = Counter()
        for talk in source.conversations:
            _replay(talk, embedder, budgets, results, excluded, tick)
        found[source.label] = results, excluded
    return [_curves(label, group, budgets, [found[item.label] for item in group]) for label, group in groups(sources)]


def _replay(
    talk: Conversation, embedder: str, budgets: Sequence[int], results: Results, excluded: Counter[str], tick: Tick
) -> None:
    said: dict[TurnIdentity, str] = {}
    rare = _Rare(talk)
    peers = {name: make() for name, make in PEERS.items()}
    excluded.update({item.what: item.times for item in talk.dropped})
    with (
        TemporaryDirectory(prefix="memwarden-bench-") as folder,
        Warden.open(f"sqlite:///{Path(folder) / 'bench.db'}", config={"embedder": embedder}) as warden,
    ):
        for event in timeline(talk):
            if isinstance(event, LabelledQuestion):
                if event.category == ADVERSARIAL:
                    excluded["adversarial questions"] += 1
                    continue
                for budget in budgets:
                    for way, filled in _ways(warden, talk.name, event.text, budget, said, peers):
                        results[way, budget].append(_judge_text(event, filled, rare))
                tick("question")
            else:
                _take_in(event, warden, talk.name, said, peers, excluded)


def _take_in(
    session: Session,
    warden: Warden,
    user: str,
    said: dict[TurnIdentity, str],
    peers: Mapping[str, Peer],
    excluded: Counter[str],
) -> None:
    refused: Counter[str] = Counter()
    observe(warden, user, session, refused)
    excluded.update({f"turns not stored: {reason}": times for reason, times in refused.items()})
    if session.messages:
        said.update(zip(keys_of(session), map(text_of, session.messages), strict=True))
        for peer in peers.values():
            peer.add(session)
            peer.settle()


def _ways(
    warden: Warden, user: str, question: str, budget: int, said: dict[TurnIdentity, str], peers: Mapping[str, Peer]
) -> Iterator[tuple[str, FilledText]]:
    """Fill a budget by every method; other settings stay at their defaults."""
    me = warden.scope(user=user)
    settings: tuple[Mapping[str, Any], ...] = ({}, {"returns": "full"}, {"threshold": 0.0})
    for way, others in zip(QUERIES, settings, strict=True):
        found = me.query(question, top_k=MAX_ITEMS, budget_tokens=budget, **others)
        yield way, FilledText(found.text, turns_of(me, (*found.items, *found.related)), found.tokens)
    block = me.context([{"role": "user", "content": question}], budget_tokens=budget)
    yield BLOCK, FilledText(block.text, turns_of(me, block.items), block.tokens)
    yield "last turns", pack_turns(((item, said[item]) for item in reversed(said)), budget)
    for name, peer in peers.items():
        yield f"best turns, {name}", pack_turns(((item, said[item]) for item in peer.rank(question, DEPTH)), budget)


class _Rare:
    """Rare words of the evidence: those that few turns of the conversation hold."""

    def __init__(self, talk: Conversation) -> None:
        said = {
            TurnIdentity(session.thread, str(message.get("id"))): str(message["content"])
            for session in talk.sessions
            for message in session.messages
        }
        self._said = said
        self._held = Counter(term for text in said.values() for term in set(terms(text)))
        self._most = max(1.0, MAX_RARE_SHARE * len(said))

    def share(self, question: LabelledQuestion, text: str) -> float | None:
        """Return the mean share of each statement's rare words in a text; None if unknown."""
        statements = question.evidence or [
            self._said[gold_turn] for gold_turn in question.gold_turns if gold_turn in self._said
        ]
        asked, there = set(terms(question.text)), set(terms(text))
        shares = []
        for statement in statements:
            wanted = {term for term in terms(statement) if term not in asked and self._held[term] <= self._most}
            if wanted:
                shares.append(len(wanted & there) / len(wanted))
        return metrics.mean(shares) if shares else None


def _judge_text(question: LabelledQuestion, filled: FilledText, rare: _Rare) -> EvidenceShares:
    every = max(1, len(filled.turns))
    turns = metrics.recall_at(every, filled.turns, question.gold_turns) if question.gold_turns else None
    sessions = metrics.recall_at(every, sessions_of(filled.turns), question.gold_sessions)
    return EvidenceShares(question, turns, sessions, rare.share(question, filled.text), filled.tokens)


def _curves(
    label: str, group: Sequence[Source], budgets: Sequence[int], found: Sequence[tuple[Results, Counter[str]]]
) -> Curves:
    excluded = sum((item for _, item in found), Counter[str]())
    ways = list(dict.fromkeys(way for results, _ in found for way, _ in results))
    points = [
        _point(way, budget, [result for results, _ in found for result in results[way, budget]])
        for way in ways
        for budget in budgets
    ]
    asked = [result for results, _ in found for result in results[ways[0], budgets[0]]] if ways else []
    excluded["questions without a known turn (in the session figures only)"] = sum(item.turns is None for item in asked)
    excluded["questions whose evidence has no words of its own"] = sum(item.words is None for item in asked)
    left = {what: times for what, times in sorted(excluded.items()) if times}
    return Curves(label, group[0].layout, len(asked), points, left)


def _point(way: str, budget: int, found: Sequence[EvidenceShares]) -> Point:
    return Point(
        way,
        budget,
        turns=metrics.estimate([item.turns for item in found if item.turns is not None]),
        sessions=metrics.estimate([item.sessions for item in found]),
        words=metrics.estimate([item.words for item in found if item.words is not None]),
        tokens=metrics.mean([float(item.tokens) for item in found]),
        filled=metrics.mean([float(item.tokens > 0) for item in found]),
    )
