"""Measures what a person gets back from labelled histories of everyday life.

Each history is observed thread by thread through the public API with default settings. A question is asked when its
time has come, in a thread of its own. What is shown is judged by the messages that hold the answer, by those that are
outdated for it, and by words that an answer has to contain. Peers get the same messages, questions and tokens.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
import numpy as np

from memwarden import Warden
from memwarden.errors import InvalidInput
from memwarden.records import RecallItem
from memwarden.surfaces.conversation_files import MAX_BYTES, Session, TurnIdentity, read_json
from memwarden_bench import metrics
from memwarden_bench.first_hour import FewLines, FirstHour, is_first_hour, read_first_hour
from memwarden_bench.machine import installed_version
from memwarden_bench.metrics import Cases, Estimate, Reliability
from memwarden_bench.peers import PEERS, Bm25s, Peer
from memwarden_bench.replay import Tick
from memwarden_bench.rounds import Seat
from memwarden_bench.systems import BASE, FLOOR, SYSTEMS, Kind

UNKNOWN = "unknown_named"
OFF_TOPIC = ("world", "topic_switch")
UNANSWERABLE = (UNKNOWN, *OFF_TOPIC)
"""Types of questions that memory cannot answer: of known people, of the world, after a change of subject."""
DEFAULT_BUDGET = 500
MANY_ITEMS, MANY_ITEMS_TOKENS = 20, 512
FRAME_TOKENS, CHARACTERS_A_TOKEN = 12, 4
"""What a message of a peer costs: a quarter of its characters, and a frame with name and date."""
MAX_RANKED = 50
PATIENCE = 600.0
"""Seconds that a system may take for a call."""
CONTEXT, QUERY = "memwarden, context", "memwarden, query"
MANY = f"memwarden, query, {MANY_ITEMS} items in {MANY_ITEMS_TOKENS} tokens"
PLAIN_BM25, LAST_TURNS = "BM25, plain", "last turns"
_WORD = re.compile(r"[^\W_\u3040-\u30ff\u4e00-\u9fff]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]+")

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Ids = tuple[str, ...]


class HistoryMessage(msgspec.Struct, frozen=True):
    """A message of a history, as ``Warden.observe`` takes it."""

    id: str
    role: str
    content: str
    created_at: Moment
    name: str | None = None


class HistoryThread(msgspec.Struct, frozen=True):
    """A thread of a history."""

    id: str
    messages: Annotated[tuple[HistoryMessage, ...], msgspec.Meta(min_length=1)]


class TalkMessage(msgspec.Struct, frozen=True):
    """A message that was exchanged just before a question."""

    role: str
    content: str


class HistoryQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its answer, or of a type that memory cannot answer.

    Attributes:
        answer_keys: a text contains the answer when it holds at least one word of each inner list.
        evidence: the messages that are needed. also: others that hold the answer by themselves.
        stale: messages that are outdated for this question.
    """

    id: str
    q: str
    type: str
    asked_at: Moment
    answer: str = ""
    answer_keys: tuple[Ids, ...] = ()
    evidence: Ids = ()
    also: Ids = ()
    stale: Ids = ()
    history: tuple[TalkMessage, ...] = ()

    @property
    def answerable(self) -> bool:
        """Whether memory holds an answer."""
        return self.type not in UNANSWERABLE


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled history. excluded: what was left out of it, by reason."""

    id: str
    threads: Annotated[tuple[HistoryThread, ...], msgspec.Meta(min_length=1)]
    questions: tuple[HistoryQuestion, ...]
    language: str = "not said"
    excluded: Mapping[str, int] = {}


class ShownText(NamedTuple):
    """What a way shows for a question.

    Attributes:
        messages: those that each item shows or rests on, best first.
        text: all that is judged. block: the same as a model gets it.
        confidence: of memwarden. scores: of each item, of memwarden.
    """

    messages: Sequence[frozenset[str]]
    text: str
    tokens: int
    block: str
    confidence: float | None = None
    scores: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """How good a text is for its question.

    Attributes:
        refused: nothing is shown. answer: the answer stands in the text.
        stale: an outdated message stands above the current message, or without it; None where none is outdated.
        evidence: share of the needed messages in the text; None without labels.
        useful: how many of the items hold a part of the answer.
    """

    refused: bool
    answer: bool
    stale: bool | None
    evidence: float | None
    useful: int
    items: int
    tokens: int
    confidence: float | None

    @property
    def right(self) -> bool:
        """Whether the answer stands in the text and nothing outdated above it or alone."""
        return self.answer and not self.stale


@dataclass(frozen=True, slots=True)
class EverydayFigures:
    """Means over questions; those of the unanswerable are NaN where none is asked."""

    questions: int
    right: Estimate
    answer: float
    stale: float
    evidence: float
    off_topic: float
    unknown: float
    refused: float
    useful_of_100: float
    auc: float
    tokens: float


@dataclass(frozen=True, slots=True)
class EverydayRow:
    """The figures of a way for a group of questions. by: ``all``, ``type``, ``history`` or ``language``."""

    way: str
    by: str
    group: str
    figures: EverydayFigures


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A question of a history and what a way showed for it."""

    history: str
    language: str
    way: str
    question: HistoryQuestion
    verdict: Verdict
    block: str


@dataclass(frozen=True, slots=True)
class EverydayResults:
    """What was shown for every question in every way, and how far memwarden's figures can be relied on."""

    texts: Sequence[JudgedText]
    reliability: Mapping[str, Reliability]
    excluded: Mapping[str, int]


# --- reading


def read_files(files: Iterable[Path]) -> tuple[list[History], FirstHour]:
    """Read labelled histories and small stores, told apart by their content."""
    histories: list[History] = []
    parts: dict[str, tuple[FewLines, ...]] = {}
    for file in files:
        content = read_json(file, MAX_BYTES)
        if is_first_hour(content):
            parts |= read_first_hour(content, str(file))
        else:
            histories.append(read_history(content, str(file)))
    return histories, parts


def read_history(content: Any, where: str) -> History:
    """Read a labelled history. Raises InvalidInput that says what is wrong and where."""
    try:
        history = msgspec.convert(content, History)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"{where!r} is no labelled history: {error}; see docs/howto/measure-everyday-memory.md"
        ) from None
    ids = Counter(message.id for thread in history.threads for message in thread.messages)
    twice = next((name for name, times in ids.items() if times > 1), None)
    if twice is not None:
        raise InvalidInput(f"{where!r}: the id {twice!r} belongs to two messages; labels could mean either")
    return _with_known_labels(history, ids.keys())


def _with_known_labels(history: History, ids: Iterable[str]) -> History:
    """Drop ids that name no message, and questions that cannot be judged without them."""
    known, excluded = set(ids), Counter[str]()
    questions = []
    for question in history.questions:
        labels = {name: getattr(question, name) for name in ("evidence", "also", "stale")}
        kept = {name: tuple(item for item in ids if item in known) for name, ids in labels.items()}
        excluded["labels that name no message"] += sum(len(labels[name]) - len(kept[name]) for name in labels)
        question = msgspec.structs.replace(question, **kept)
        if question.answerable and not (question.evidence or question.answer_keys):
            excluded["questions without evidence"] += 1
        else:
            questions.append(question)
    left = {what: times for what, times in excluded.items() if times}
    return msgspec.structs.replace(history, questions=tuple(questions), excluded=left)


def replay_history(history: History) -> Iterator[HistoryThread | HistoryQuestion]:
    """Yield threads and questions in the order of their times; a thread comes as a whole when it begins."""
    due = sorted(history.questions, key=lambda question: question.asked_at)
    for thread in history.threads:
        while due and due[0].asked_at < thread.messages[0].created_at:
            yield due.pop(0)
        yield thread
    yield from due


# --- judging


def judge(question: HistoryQuestion, shown: ShownText) -> Verdict:
    """Judge what is shown for a question."""
    seen = frozenset[str]().union(*shown.messages)
    by_itself = {*question.evidence, *question.also}
    current, outdated = _first(shown.messages, by_itself), _first(shown.messages, {*question.stale})
    stale = outdated is not None and (current is None or outdated < current)
    needed = {*question.evidence}
    return Verdict(
        refused=not shown.messages,
        answer=_holds(shown.text, question.answer_keys) if question.answer_keys else bool(seen & needed),
        stale=stale if question.stale else None,
        evidence=(1.0 if seen & {*question.also} else len(seen & needed) / len(needed)) if needed else None,
        useful=sum(bool(item & by_itself) for item in shown.messages),
        items=len(shown.messages),
        tokens=shown.tokens,
        confidence=shown.confidence,
    )


def _first(items: Sequence[frozenset[str]], wanted: set[str]) -> int | None:
    return next((place for place, item in enumerate(items) if item & wanted), None)


def _holds(text: str, keys: Sequence[Ids]) -> bool:
    low = text.lower()
    return all(any(word.lower() in low for word in group) for group in keys)


# --- ways


class Way(Protocol):
    """A way to have something ready for a question."""

    def hear(self, thread: HistoryThread) -> None:
        """Take in a thread."""

    def answer(self, question: HistoryQuestion) -> Iterator[tuple[str, ShownText]]:
        """Yield what is shown for a question, by the name of the way."""


class MemwardenWay:
    """memwarden through its public API: a block, a query, and a query of many items."""

    def __init__(
        self,
        warden: Warden,
        user: str,
        budget: int,
        cases: Cases,
        excluded: Counter[str],
        *,
        extracting: bool = False,
    ) -> None:
        """cases, excluded: take what confidence and scores said, and what was not stored.

        extracting: whether each thread is looked through for facts before the next.
        """
        self._extracting = extracting
        self._mark = ""
        self._warden, self._user, self._budget = warden, user, budget
        self._cases, self._excluded = cases, excluded
        self._message_of: dict[str, str] = {}

    def hear(self, thread: HistoryThread) -> None:
        """See :class:`Way`."""
        messages = [
            {
                "id": message.id,
                "role": message.role,
                "content": message.content,
                "created_at": message.created_at.isoformat(),
                **({"name": message.name} if message.name else {}),
            }
            for message in thread.messages
        ]
        me = self._warden.scope(user=self._user, thread=thread.id)
        wrote = me.observe(messages)
        if self._extracting:
            me.extract_pending()
        for message, result in zip(thread.messages, wrote.results, strict=True):
            if result.id:
                self._message_of[result.id] = message.id
            else:
                self._excluded[f"messages not stored: {result.reason}"] += 1

    def answer(self, question: HistoryQuestion) -> Iterator[tuple[str, ShownText]]:
        """See :class:`Way`."""
        me = self._ask_in("ask", question)
        talk = [{"role": said.role, "content": said.content} for said in question.history]
        talk.append({"role": "user", "content": question.q})
        block = self._shown(me.context(talk, self._budget), _text_in_block)
        short = self._shown(me.query(question.q), _memory_text)
        yield CONTEXT, block
        yield QUERY, short
        many = self._ask_in("ask-many", question).query(question.q, top_k=MANY_ITEMS, budget_tokens=MANY_ITEMS_TOKENS)
        yield MANY, self._shown(many, _memory_text)
        # What was kept back is judged too: else a confidence below the bar could never be found wrong.
        hidden = self._ask_in("ask-all", question)
        if not block.messages:
            block = self._shown(hidden.context(talk, self._budget, threshold=0.0), _text_in_block)
        self._note("context", question, block)
        if not short.messages:
            short = self._shown(hidden.query(question.q, threshold=0.0), _memory_text)
        self._note("query", question, short)

    def twin(self, mark: str) -> MemwardenWay:
        """Return a way that knows what this way hears, and asks in threads of its own. mark: of their names."""
        twin = copy(self)
        twin._mark, twin._cases = mark, defaultdict(list)
        return twin

    def _ask_in(self, prefix: str, question: HistoryQuestion) -> Any:
        return self._warden.scope(user=self._user, thread=f"{prefix}{self._mark}-{question.id}")

    def _shown(self, found: Any, text_of: Callable[[RecallItem], str]) -> ShownText:
        return ShownText(
            messages=[self._messages_of(item) for item in found.items],
            text=" ".join(text_of(item) for item in found.items),
            tokens=found.tokens,
            block=found.text,
            confidence=found.confidence,
            scores=[item.score for item in found.items],
        )

    def _messages_of(self, item: RecallItem) -> frozenset[str]:
        ids = {item.id, *item.sources, *item.memory.sources, item.memory.source}
        return frozenset(self._message_of.get(name, name) for name in ids if name)

    def _note(self, verb: str, question: HistoryQuestion, shown: ShownText) -> None:
        helps = {*question.evidence, *question.also} if question.answerable else set()
        self._cases[f"confidence of {verb}"].append((shown.confidence or 0.0, judge(question, shown).answer))
        scored = zip(shown.scores, shown.messages, strict=True)
        self._cases[f"scores of items, {verb}"] += [(score, bool(item & helps)) for score, item in scored]


def _text_in_block(item: RecallItem) -> str:
    return item.text


def _memory_text(item: RecallItem) -> str:
    return item.memory.text


class PeerWay:
    """The messages that a peer ranks best, whole, until the first that does not fit."""

    def __init__(self, name: str, peer: Peer, budget: int) -> None:
        self._name, self._peer, self._budget = name, peer, budget
        self._messages: dict[TurnIdentity, HistoryMessage] = {}

    def hear(self, thread: HistoryThread) -> None:
        """See :class:`Way`."""
        said = [{"id": item.id, "name": item.name, "content": item.content} for item in thread.messages]
        self._messages |= {TurnIdentity(thread.id, item.id): item for item in thread.messages}
        self._peer.add(Session(thread.id, thread.messages[0].created_at, tuple(said)))

    def answer(self, question: HistoryQuestion) -> Iterator[tuple[str, ShownText]]:
        """See :class:`Way`."""
        self._peer.settle()
        ranked = self._peer.rank(question.q, MAX_RANKED) if self._messages else []
        yield self._name, pack_messages([self._messages[turn] for turn in ranked], self._budget)


def pack_messages(ranked: Iterable[HistoryMessage], budget: int) -> ShownText:
    """Take whole messages until the first that does not fit."""
    taken: list[HistoryMessage] = []
    tokens = 0
    for message in ranked:
        cost = len(message.content) // CHARACTERS_A_TOKEN + FRAME_TOKENS
        if tokens + cost > budget:
            break
        taken.append(message)
        tokens += cost
    lines = [f"- {message.name or message.role}: {message.content}" for message in taken]
    text = " ".join(message.content for message in taken)
    return ShownText([frozenset({message.id}) for message in taken], text, tokens, "\n".join(lines))


class PlainBm25:
    """BM25 as in textbooks, k1 1.2 and b .75, over words and over pairs of Chinese and Japanese characters."""

    def __init__(self) -> None:
        self._turns: list[TurnIdentity] = []
        self._counts: list[Counter[str]] = []
        self._holders: Counter[str] = Counter()

    def add(self, session: Session) -> None:
        """See :class:`Peer`."""
        for message in session.messages:
            self._turns.append(TurnIdentity(session.thread, message["id"]))
            self._counts.append(Counter(_words(message["content"])))
            self._holders.update(self._counts[-1].keys())

    def settle(self) -> None:
        """See :class:`Peer`."""

    def rank(self, question: str, most: int) -> list[TurnIdentity]:
        """See :class:`Peer`."""
        sizes = np.array([counts.total() for counts in self._counts], float)
        norm = 1.2 * (0.25 + 0.75 * sizes / sizes.mean())
        total = np.zeros(len(sizes))
        for word in {*_words(question)} & self._holders.keys():
            times = np.array([counts[word] for counts in self._counts], float)
            held = self._holders[word]
            total += np.log1p((len(sizes) - held + 0.5) / (held + 0.5)) * times * 2.2 / (times + norm)
        order = np.argsort(-total, kind="stable")[:most]
        return [self._turns[place] for place in order if total[place] > 0]


class LastTurns:
    """What was said last, the newest first."""

    def __init__(self) -> None:
        self._turns: list[TurnIdentity] = []

    def add(self, session: Session) -> None:
        """See :class:`Peer`."""
        self._turns += [TurnIdentity(session.thread, message["id"]) for message in session.messages]

    def settle(self) -> None:
        """See :class:`Peer`."""

    def rank(self, question: str, most: int) -> list[TurnIdentity]:
        """See :class:`Peer`."""
        return self._turns[: -most - 1 : -1]


def _words(text: str) -> list[str]:
    low = text.lower()
    pairs = [run[at : at + 2] for run in _UNSPACED.findall(low) for at in range(len(run) - 1)]
    return [*_WORD.findall(low), *pairs]


class SystemPeer:
    """A system of ``bench speed`` as a peer, in a process of its own; it embeds with memwarden's default models."""

    def __init__(self, kind: Kind, place: Path) -> None:
        self._seat = Seat(kind, place, "auto", seconds=PATIENCE)
        self._seat.do("open")
        self._turns: dict[str, TurnIdentity] = {}

    def add(self, session: Session) -> None:
        """See :class:`Peer`. A text that was said before is not added again: some systems refuse it."""
        texts = {message["content"]: TurnIdentity(session.thread, message["id"]) for message in session.messages}
        new = [text for text in texts if text not in self._turns]
        self._turns = texts | self._turns
        if new:
            self._seat.do("add", user="somebody", texts=new)

    def settle(self) -> None:
        """See :class:`Peer`."""

    def rank(self, question: str, most: int) -> list[TurnIdentity]:
        """See :class:`Peer`."""
        (texts,) = self._seat.do("ask", user="somebody", questions=[question], seconds=PATIENCE, most=most)["found"]
        return [self._turns[text] for text in texts]

    def close(self) -> None:
        """End the process."""
        self._seat.stop()


def list_peers() -> tuple[list[str], list[Kind]]:
    """List the rankings and the systems that are installed here."""
    systems = [kind for name, kind in SYSTEMS.items() if name not in (BASE, FLOOR) and not kind.missing]
    return [name for name in PEERS if name != Bm25s.name or installed_version("bm25s")], systems


@contextmanager
def _open_ways(
    history: History, budget: int, peers: bool, cases: Cases, excluded: Counter[str], settings: Mapping[str, Any]
) -> Iterator[list[Way]]:
    rankings, systems = list_peers() if peers else ([], [])
    with TemporaryDirectory(prefix="memwarden-bench-") as folder, ExitStack() as stack:
        warden = stack.enter_context(Warden.open(f"sqlite:///{Path(folder) / 'everyday.db'}", dict(settings)))
        extracting = settings.get("extraction", "off") != "off"
        ways: list[Way] = [MemwardenWay(warden, history.id, budget, cases, excluded, extracting=extracting)]
        ways += [PeerWay(PLAIN_BM25, PlainBm25(), budget), PeerWay(LAST_TURNS, LastTurns(), budget)]
        ways += [PeerWay(name, PEERS[name](), budget) for name in rankings]
        for number, kind in enumerate(systems):
            peer = SystemPeer(kind, Path(folder) / str(number))
            stack.callback(peer.close)
            ways.append(PeerWay(kind.name, peer, budget))
        yield ways


# --- summing up


def measure(
    histories: Sequence[History],
    budget: int = DEFAULT_BUDGET,
    *,
    peers: bool = True,
    settings: Mapping[str, Any] = MappingProxyType({}),
    tick: Tick = lambda what: None,
) -> EverydayResults:
    """Ask every question of every history in every way. settings: of memwarden, in place of its defaults."""
    texts: list[JudgedText] = []
    cases: Cases = defaultdict(list)
    excluded: Counter[str] = Counter()
    for history in histories:
        excluded.update(history.excluded)
        with _open_ways(history, budget, peers, cases, excluded, settings) as ways:
            for event in replay_history(history):
                if isinstance(event, HistoryThread):
                    for way in ways:
                        way.hear(event)
                    continue
                for way in ways:
                    texts += [judge_shown(history, event, name, shown) for name, shown in way.answer(event)]
                tick(f"{history.id}: question")
    return EverydayResults(texts, {name: metrics.reliability(found) for name, found in cases.items()}, dict(excluded))


def judge_shown(history: History, question: HistoryQuestion, way: str, shown: ShownText) -> JudgedText:
    """Judge what a way shows for a question of a history."""
    return JudgedText(history.id, history.language, way, question, judge(question, shown), shown.block)


def sum_up(texts: Sequence[JudgedText]) -> list[EverydayRow]:
    """Return the figures of every way: in all, by type, by history and by language."""
    rows = []
    groupings: tuple[tuple[str, Callable[[JudgedText], str]], ...] = (
        ("all", lambda text: "all"),
        ("type", lambda text: text.question.type),
        ("history", lambda text: text.history),
        ("language", lambda text: text.language),
    )
    for by, group_of in groupings:
        groups: dict[tuple[str, str], list[JudgedText]] = defaultdict(list)
        for text in texts:
            groups[text.way, group_of(text)].append(text)
        rows += [EverydayRow(way, by, group, figures(found)) for (way, group), found in groups.items()]
    return rows


def figures(texts: Sequence[JudgedText]) -> EverydayFigures:
    """Sum up what one way showed."""
    answerable = [text.verdict for text in texts if text.question.answerable]
    others = [text for text in texts if not text.question.answerable]
    items = sum(verdict.items for verdict in answerable)
    return EverydayFigures(
        questions=len(texts),
        right=metrics.estimate([float(verdict.right) for verdict in answerable]),
        answer=metrics.mean([float(verdict.answer) for verdict in answerable]),
        stale=metrics.mean([float(verdict.stale) for verdict in answerable if verdict.stale is not None]),
        evidence=metrics.mean([verdict.evidence for verdict in answerable if verdict.evidence is not None]),
        off_topic=_share_refused(text for text in others if text.question.type in OFF_TOPIC),
        unknown=_share_refused(text for text in others if text.question.type == UNKNOWN),
        refused=_share_refused(others),
        useful_of_100=100 * sum(verdict.useful for verdict in answerable) / items if items else math.nan,
        auc=_auc(texts),
        tokens=metrics.mean([float(text.verdict.tokens) for text in texts]),
    )


def _share_refused(texts: Iterable[JudgedText]) -> float:
    return metrics.mean([float(text.verdict.refused) for text in texts])


def _auc(texts: Sequence[JudgedText]) -> float:
    sides: dict[bool, list[float]] = {True: [], False: []}
    for text in texts:
        if text.verdict.confidence is not None:
            sides[text.question.answerable].append(text.verdict.confidence)
    return metrics.area_under_curve(sides[True], sides[False])
