"""Replays whole conversations through the public API and asks their questions.

Sessions are observed in their order, each in a thread of its own, and every question is asked when as many sessions
are in the store as came before it. A query with the bar off gives the ranking, a second with the bar on says what
a user would have got, a third with all defaults is timed and its tokens counted.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from memwarden import Warden
from memwarden.records import OVERVIEW_ID, Memory, QueryResult, RecallItem
from memwarden.surfaces.conversation_files import Conversation, LabelledQuestion, Session, TurnIdentity
from memwarden.text.dates.recognizer import asked_spans
from memwarden_bench import metrics
from memwarden_bench.metrics import Cases

DEPTH = 200
"""The ranking is read to this depth, so that 20 sessions can be told from it."""
BLOCK_BUDGETS = (500, 1_000)
"""Tokens of the blocks that are asked for."""
SHOWN_ITEMS = 10
"""With the bar on, this many items are asked for."""
ADVERSARIAL = "adversarial"
"""LoCoMo's questions of this category name the wrong partner on purpose; headline figures are without them."""

LABELLED_BY_SESSION = ("RealMem",)
"""Layouts whose labels name the sessions that an answer drew on; their turns only say where in them it was written."""


class Variant(NamedTuple):
    """A configuration of memwarden: a name and the settings that differ from the defaults."""

    name: str
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The items returned for a question.

    Attributes:
        turns: with the bar off, best first. An item that rests on several turns takes a rank for each.
        shown: with the bar on, the first ten items.
        returned: whether anything came back with the bar on. confidence: what the answer said of itself.
        tokens: of the ten items shown. default_tokens: of the answer with every argument left at its default.
        default_turns, seconds: the turns in that answer, and how long it took.
        blocks: the turns in the block of a context, by its budget.
    """

    question: LabelledQuestion
    turns: tuple[TurnIdentity, ...]
    shown: tuple[TurnIdentity, ...]
    returned: bool
    confidence: float
    tokens: int
    default_turns: tuple[TurnIdentity, ...]
    default_tokens: int
    seconds: float
    blocks: Mapping[int, tuple[TurnIdentity, ...]]

    @property
    def dated(self) -> bool:
        """Whether the question names a date."""
        return names_date(self.question)


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """Whether a question was answered, and the store's confidence in an answer. dated: it names a date."""

    returned: bool
    confidence: float
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """A conversation, observed and queried.

    Attributes:
        turns, seconds: observed, and how long that took. refused: turns that were not stored, by reason.
        astray: another conversation's questions put to this full store, in their own order.
        cases: what confidence and scores said of all these questions, and what came true.
    """

    conversation: Conversation
    answers: tuple[Answer, ...]
    turns: int
    seconds: float
    refused: Mapping[str, int]
    astray: tuple[JudgedQuestion, ...] = ()
    cases: Cases = field(default_factory=dict)


Tick = Callable[[str], None]


def replay(
    conversation: Conversation, warden: Warden, astray: Sequence[LabelledQuestion] = (), tick: Tick = lambda what: None
) -> Replay:
    """Observe a conversation, ask its questions as they come, then the unanswerable ``astray`` ones."""
    me = warden.scope(user=conversation.name)
    answers, seconds, refused = [], 0.0, Counter[str]()
    cases: Cases = {}
    for event in timeline(conversation):
        if isinstance(event, LabelledQuestion):
            answers.append(_ask(me, event))
            if event.category != ADVERSARIAL:
                _note(me, event.text, needed_for(event, conversation.layout), cases)
            tick("question")
        else:
            seconds += observe(warden, conversation.name, event, refused)
    judged = tuple(_judge(me, question) for question in astray)
    for question in astray:
        _note(me, question.text, (), cases)
    return Replay(conversation, tuple(answers), conversation.turns, seconds, dict(refused), judged, cases)


def timeline(conversation: Conversation) -> Iterator[Session | LabelledQuestion]:
    """Yield sessions and questions in the order of their times."""
    waiting = sorted(conversation.questions, key=lambda question: question.asked_after)
    asked = 0
    for number in range(len(conversation.sessions) + 1):
        while asked < len(waiting) and waiting[asked].asked_after == number:
            yield waiting[asked]
            asked += 1
        if number < len(conversation.sessions):
            yield conversation.sessions[number]


def without_gold(
    conversation: Conversation, questions: Iterable[LabelledQuestion], config: Mapping[str, Any], tick: Tick
) -> list[JudgedQuestion]:
    """Ask each question of a store that never saw the sessions which answer it."""
    judged = []
    with Warden.open("memory://", config=config) as warden:
        for number, question in enumerate(questions):
            user = f"{conversation.name} {number}"
            for session in conversation.sessions[: question.asked_after]:
                if session.thread not in question.gold_sessions:
                    observe(warden, user, session, Counter())
            judged.append(_judge(warden.scope(user=user), question))
            tick("question without its sessions")
    return judged


def swap_names(question: LabelledQuestion, theirs: Sequence[str], ours: Sequence[str]) -> LabelledQuestion:
    """Put the partners of another conversation into a question: a stranger's name would give the answer away."""
    names = {first.split()[0]: second.split()[0] for first, second in zip(theirs, ours, strict=False)}
    names |= dict(zip(theirs, ours, strict=False))
    if not names:
        return question
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return replace(question, text=re.sub(rf"\b({longest_first})\b", lambda found: names[found[0]], question.text))


def sample(questions: Sequence[LabelledQuestion], most: int) -> list[LabelledQuestion]:
    """Return at most this many questions, evenly spread; all of them for 0."""
    if not most or len(questions) <= most:
        return list(questions)
    return [questions[number * len(questions) // most] for number in range(most)]


def observe(warden: Warden, user: str, session: Session, refused: Counter[str]) -> float:
    """Observe a session in its own thread, count refusals, and return the seconds spent."""
    if not session.messages:
        return 0.0
    scope = warden.scope(user=user, thread=session.thread)
    start = time.perf_counter()
    written = scope.observe(session.messages)
    seconds = time.perf_counter() - start
    refused.update(result.reason for result in written.results if result.id is None)
    return seconds


def _ask(me: Any, question: LabelledQuestion) -> Answer:
    ranked: QueryResult = me.query(question.text, top_k=DEPTH, threshold=0.0, budget_tokens=None)
    shown: QueryResult = me.query(question.text, top_k=SHOWN_ITEMS, budget_tokens=None)
    start = time.perf_counter()
    default: QueryResult = me.query(question.text)
    seconds = time.perf_counter() - start
    asked = [{"role": "user", "content": question.text}]
    return Answer(
        question,
        turns=turns_of(me, ranked.items),
        shown=turns_of(me, shown.items),
        returned=bool(shown),
        confidence=shown.confidence,
        tokens=shown.tokens,
        default_turns=turns_of(me, default.items),
        default_tokens=default.tokens,
        seconds=seconds,
        blocks={budget: turns_of(me, me.context(asked, budget).items) for budget in BLOCK_BUDGETS},
    )


def _judge(me: Any, question: LabelledQuestion) -> JudgedQuestion:
    result: QueryResult = me.query(question.text, top_k=SHOWN_ITEMS, budget_tokens=None)
    return JudgedQuestion(bool(result), result.confidence, names_date(question))


Needs = Sequence[Set[TurnIdentity | str]]
"""What an answer needs: of each set of turns and threads at least one."""


def needed_for(question: LabelledQuestion, layout: str) -> Needs | None:
    """Return what an answer needs: each gold turn, or any gold session where labels name sessions; None if unknown."""
    if layout in LABELLED_BY_SESSION:
        return [{*question.gold_sessions}] if question.gold_sessions else None
    return [{turn} for turn in question.gold_turns] or None


def _note(me: Any, question: str, needs: Needs | None, cases: Cases) -> None:
    """Note what the figures of a block and of an answer say, and what came true; nothing does where nothing is needed.

    What was kept back is judged too: else a confidence below the bar could never be found wrong.
    """
    if needs is None:
        return
    asked = [{"role": "user", "content": question}]
    ways = {"context": partial(me.context, asked, BLOCK_BUDGETS[0]), "query": partial(me.query, question)}
    helps: Set[TurnIdentity | str] = set().union(*needs)
    for verb, ask in ways.items():
        found = ask()
        if not found.items:
            found = ask(threshold=0.0)
        shown = [_origins(me, item) for item in found.items]
        seen = set().union(*shown)
        whole = bool(needs) and all(not seen.isdisjoint(need) for need in needs)
        cases.setdefault(f"confidence of {verb}", []).append((found.confidence, whole))
        scored = [(item.score, not helps.isdisjoint(of)) for item, of in zip(found.items, shown, strict=True)]
        cases.setdefault(f"scores of items, {verb}", []).extend(scored)


def _origins(me: Any, item: RecallItem) -> Set[TurnIdentity | str]:
    """The turns under an item, and their threads."""
    turns = turns_of(me, [item])
    return {*turns, *(turn.thread for turn in turns)}


def names_date(question: LabelledQuestion) -> bool:
    """Tell whether a question names a date: "in May", "last week"."""
    return bool(asked_spans(question.text, datetime.now(UTC)))


def turns_of(me: Any, items: Iterable[RecallItem]) -> tuple[TurnIdentity, ...]:
    """Return the turns under the items, best first, without repetitions."""
    keys = (TurnIdentity(str(memory.thread_id), source) for item in items for memory, source in _name_sources(me, item))
    return tuple(metrics.distinct(keys))


def _name_sources(me: Any, item: RecallItem) -> Iterator[tuple[Memory, str]]:
    """Yield each turn under an item as it was called when it was said, and a memory of its thread.

    What several memories say names the memories, which may lie in different threads.
    """
    if item.id != OVERVIEW_ID:
        yield from ((item.memory, source) for source in item.sources)
        return
    for memory in map(me.get, item.sources):
        yield from ((memory, source) for source in memory.sources or (memory.source,))
