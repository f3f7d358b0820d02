"""Live through a year of histories with a clock of our own, with daily upkeep and without, and compare.

Threads are observed when they happened, and facts are extracted by rules. Jobs run each day until a year after the
first thread, and for another year in which nothing is said. Questions are asked when their time has come, and those
that everything is known for again when each year is over. Counted are what was answered, what grew, and whether each
change of the jobs stands in the journal and was told once. Histories are labelled histories of everyday life, or
RealMem's dialogues, where gold sessions are counted.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from memwarden import BoundScope, Warden, clock
from memwarden.records import RecallItem
from memwarden.surfaces.conversation_files import MAX_BYTES, Conversation, read_json, recognise
from memwarden.upkeep.records import JobRun
from memwarden_bench.everyday import (
    CONTEXT,
    DEFAULT_BUDGET,
    QUERY,
    History,
    HistoryMessage,
    HistoryQuestion,
    HistoryThread,
    JudgedText,
    MemwardenWay,
    figures,
    judge_shown,
    read_history,
    replay_history,
)
from memwarden_bench.marks import grid, number
from memwarden_bench.peers import optional
from memwarden_bench.replay import Tick
from memwarden_bench.upkeep.gates import Gate, tell_gates

YEAR: Final = timedelta(days=365)
DAY: Final = timedelta(days=1)
SETTINGS: Final[Mapping[str, Any]] = {"facts_a_day": 200}
PINNED: Final = ("The user's blood group is A negative.", "The user's bank box has the number 4711.")
PROCEDURE: Final = "1. Close the main valve.\n2. Open the lowest tap.\n3. Wait for an hour."
IN_THE_END: Final = ", when the year is over"
A_YEAR_LATER: Final = ", a year later"
WAYS: Final = tuple(way + when for when in ("", IN_THE_END, A_YEAR_LATER) for way in (CONTEXT, QUERY))
REALMEM: Final = "RealMem"
# Between a thread and a message of it, where threads stand for the messages in them.
OF_THREAD: Final = "#"
# Of a year's facts so many may be left after another year in which nobody spoke.
MAX_LEFT: Final = 0.5
# What a delta tells of a run; a purge and a move of importance are told nowhere.
TOLD: Final = ("soft_delete", "merge", "supersede", "insight")


class MovedClock:
    """The time that memwarden believes."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let every part of memwarden read this clock."""
        real = clock.now
        clock.now = lambda: self.at
        try:
            yield
        finally:
            clock.now = real


@dataclass(frozen=True, slots=True)
class WayFigures:
    """What a way showed. right: with the answer; of RealMem, with a gold session. sessions: share of those shown."""

    questions: int
    right: float
    stale: float
    refused: float
    sessions: float
    tokens: float


@dataclass(frozen=True, slots=True)
class LifeFigures:
    """All lives with upkeep, or all without.

    Attributes:
        ways: what was shown, by way. size: of the files, in bytes; 0 on a server.
        by_month: active facts of all lives, by month. counts: what the jobs did, and what must not be.
    """

    ways: Mapping[str, WayFigures]
    size: int
    by_month: Sequence[int]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class YearReport:
    """A year of some histories. won, lost: questions by way that are right only with upkeep, and only without."""

    circumstances: Mapping[str, str]
    store: str
    histories: int
    without: LifeFigures
    kept: LifeFigures
    won: Mapping[str, Sequence[str]]
    lost: Mapping[str, Sequence[str]]
    gates: Sequence[Gate]


# --- reading


def read_lives(files: Sequence[Path]) -> list[History]:
    """Read labelled histories and RealMem's dialogues. Raises InvalidInput."""
    histories = []
    for file in files:
        content = read_json(file, MAX_BYTES)
        if isinstance(content, Mapping) and "dialogues" in content:
            talks = recognise(content, file.stem, where=str(file))
            histories += [make_history(talk) for talk in talks]
        else:
            histories.append(read_history(content, str(file)))
    return histories


def make_history(talk: Conversation) -> History:
    """Return a conversation of RealMem as a history in which threads stand for the messages in them."""
    threads, begins = [], []
    free = datetime.min
    for session in talk.sessions:
        assert session.at is not None
        at = max(session.at, free.replace(tzinfo=session.at.tzinfo))
        begins.append(at)
        messages = tuple(
            HistoryMessage(
                f"{session.thread}{OF_THREAD}{place}", said["role"], said["content"], at + timedelta(seconds=place)
            )
            for place, said in enumerate(session.messages)
        )
        free = at + timedelta(minutes=5)
        if messages:
            threads.append(HistoryThread(session.thread, messages))
    questions = tuple(
        HistoryQuestion(
            id=f"q{place}", q=asked.text, type=asked.category, evidence=asked.gold_sessions,
            asked_at=begins[min(asked.asked_after, len(begins) - 1)] - timedelta(seconds=1),
        )
        for place, asked in enumerate(talk.questions)
        if asked.gold_sessions
    )  # fmt: skip
    return History(id=talk.name, threads=tuple(threads), questions=questions, language=REALMEM)


# --- living


class ThreadWay(MemwardenWay):
    """Sees the threads of messages instead of the messages."""

    def _messages_of(self, item: RecallItem) -> frozenset[str]:
        return frozenset(name.partition(OF_THREAD)[0] for name in super()._messages_of(item))


class Life:
    """A history lived through in a warden."""

    def __init__(self, warden: Warden, history: History, time: MovedClock, *, upkeep: bool, tick: Tick) -> None:
        self.warden, self.history, self.time, self.upkeep, self._tick = warden, history, time, upkeep, tick
        self.me: BoundScope = warden.scope(user=history.id)
        self.texts: list[JudgedText] = []
        self.counts: Counter[str] = Counter()
        self.active: list[int] = []

    def live(self) -> None:
        """Observe, ask and keep clean for a year, and keep clean for another."""
        begun = self.history.threads[0].messages[0].created_at
        last = self.history.threads[-1].messages[0].created_at
        self.remember_what_must_stay()
        kind = ThreadWay if self.history.language == REALMEM else MemwardenWay
        way = kind(self.warden, self.history.id, DEFAULT_BUDGET, defaultdict(list), Counter(), extracting=True)
        again = []
        for event in replay_history(self.history):
            if isinstance(event, HistoryThread):
                self.pass_until(event.messages[-1].created_at)
                way.hear(event)
                continue
            self.pass_until(event.asked_at)
            self.ask(way, event)
            # Of what was asked before the end another answer may hold now; RealMem's questions became turns themselves.
            if event.asked_at > last and kind is MemwardenWay:
                again.append(event)
        for years, when, who in ((1, IN_THE_END, "-end"), (2, A_YEAR_LATER, "-later")):
            self.pass_until(begun + years * YEAR)
            for question in again:
                self.ask(way.twin(who), question, when)
            self.counts[f"facts{when}"] += len(self.facts())
        self.look_at_end()

    def remember_what_must_stay(self) -> None:
        """Remember what no job may take, though it matters little."""
        for text in PINNED:
            self.me.remember(text, pinned=True, importance=0.1)
        self.me.remember(PROCEDURE, channel="procedural", importance=0.1)

    def ask(self, way: MemwardenWay, question: HistoryQuestion, when: str = "") -> None:
        """Note what a block and a query show for a question."""
        for name, shown in islice(way.answer(question), 2):
            self.texts.append(judge_shown(self.history, question, name + when, shown))
        self._tick(f"{self.history.id}: question")

    def pass_until(self, at: datetime) -> None:
        """Let the days pass; each ends with the jobs that are due."""
        while self.time.at + DAY <= at:
            self.time.at += DAY
            if self.upkeep:
                self.run_jobs()
            if self.time.at.day == 1:
                self.active.append(len(self.facts()))
        self.time.at = max(self.time.at, at)

    def run_jobs(self) -> None:
        """Run what is due, and compare what the jobs say with the journal and the delta."""
        before = self.me.journal.delta(since_rev=0).rev
        runs = self.warden.jobs.run_due()
        self.counts.update(change.verb for run in runs for change in run.changes)
        self.counts["failed runs"] += sum(run.status == "error" for run in runs)
        if any(run.changes for run in runs):
            self.compare(runs, before)

    def compare(self, runs: Sequence[JobRun], before: int) -> None:
        """Count changes that the journal does not know, and runs that the next delta does not tell exactly once."""
        changed = [change for run in runs for change in run.changes]
        entries = self.me.journal.history(since=before, limit=10_000)
        noted = {entry.memory_id for entry in entries if entry.actor == "upkeep"}
        self.counts["changes not in the journal"] += len({change.memory_id for change in changed} - noted)
        told = self.me.journal.delta(since_rev=before)
        wanted = sum(change.verb in TOLD for change in changed)
        self.counts["runs told wrongly"] += len(told.bullets) + told.more != wanted
        self.counts["runs told twice"] += bool(self.me.journal.delta(since_rev=told.rev))

    def look_at_end(self) -> None:
        """Count what was lost that nobody may lose."""
        left = {item.text for item in self.me.find(limit=10_000) if item.pinned or item.channel == "procedural"}
        self.counts["pinned or procedural lost"] += len({*PINNED, PROCEDURE} - left)

    def facts(self) -> list[Any]:
        """The derived memories that are active, without those that stay."""
        found = self.me.find({"channel": ["semantic", "episodic", "insight"]}, limit=10_000)
        return [item for item in found if not item.pinned]


@contextmanager
def new_store(server: str | None) -> Iterator[tuple[str, Path | None]]:
    """Yield the URL of an empty store, and the folder of its files where it has any."""
    if server is None:
        with tempfile.TemporaryDirectory(prefix="memwarden-bench-") as folder:
            yield f"sqlite:///{folder}/store.db", Path(folder)
        return
    name = f"life_{uuid4().hex}"
    with optional("psycopg").connect(server, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0".encode())
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl(), None
        finally:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


class _Lives(NamedTuple):
    figures: LifeFigures
    texts: Sequence[JudgedText]


def live_all(
    histories: Sequence[History], server: str | None, settings: Mapping[str, Any], *, upkeep: bool, tick: Tick
) -> _Lives:
    """Live through each history in a store of its own."""
    texts: list[JudgedText] = []
    counts: Counter[str] = Counter()
    size, by_month = 0, Counter[int]()
    for history in histories:
        with new_store(server) as (place, folder):
            time = MovedClock(history.threads[0].messages[0].created_at)
            with time.in_force(), Warden.open(place, {**SETTINGS, **settings}) as warden:
                life = Life(warden, history, time, upkeep=upkeep, tick=tick)
                life.live()
            texts += life.texts
            counts.update(life.counts)
            by_month.update(dict(enumerate(life.active)))
            size += sum(file.stat().st_size for file in folder.iterdir()) if folder else 0
    ways = {way: sum_up_way(found) for way in WAYS if (found := [text for text in texts if text.way == way])}
    months = [by_month[month] for month in sorted(by_month)]
    return _Lives(LifeFigures(ways, size, months, dict(counts)), texts)


def sum_up_way(texts: Sequence[JudgedText]) -> WayFigures:
    """Return what a way showed for the questions of all lives."""
    found = figures(texts)
    return WayFigures(found.questions, found.right.mean, found.stale, found.refused, found.evidence, found.tokens)


def tell_changed(without: Sequence[JudgedText], kept: Sequence[JudgedText]) -> tuple[dict[str, list[str]], ...]:
    """Return the questions, by way, that are right with upkeep alone, and those that are right without it alone."""
    right = {
        (text.way, text.history, text.question.id): text.verdict.right for text in without if text.question.answerable
    }
    won: dict[str, list[str]] = defaultdict(list)
    lost: dict[str, list[str]] = defaultdict(list)
    for text in kept:
        key = (text.way, text.history, text.question.id)
        if key in right and text.verdict.right != right[key]:
            (won if text.verdict.right else lost)[text.way].append("/".join(key[1:]))
    return dict(won), dict(lost)


def count_steps(histories: Sequence[History]) -> int:
    """Return how many questions are asked at most."""
    return 6 * sum(len(history.questions) for history in histories)


def measure_year(
    histories: Sequence[History],
    server: str | None,
    settings: Mapping[str, Any],
    circumstances: Mapping[str, str],
    tick: Tick = lambda what: None,
) -> YearReport:
    """Live through each history without upkeep and with it. server: None for SQLite."""
    without = live_all(histories, server, settings, upkeep=False, tick=tick)
    kept = live_all(histories, server, settings, upkeep=True, tick=tick)
    won, lost = tell_changed(without.texts, kept.texts)
    everyday = any(history.language != REALMEM for history in histories)
    return YearReport(
        circumstances, "SQLite" if server is None else "PostgreSQL", len(histories), without.figures, kept.figures,
        won, lost, find_gates(without.figures, kept.figures, everyday=everyday),
    )  # fmt: skip


def find_gates(without: LifeFigures, kept: LifeFigures, *, everyday: bool) -> list[Gate]:
    """Return what a year has to keep. everyday: whether blocks have to be better, not only as good."""
    never = ("failed runs", "pinned or procedural lost", "changes not in the journal", "runs told wrongly",
             "runs told twice")  # fmt: skip
    gates = [Gate(what, kept.counts.get(what, 0), "at most", 0) for what in never]
    left = f"facts{A_YEAR_LATER}"
    gates.append(Gate(left, kept.counts.get(left, 0), "at most", MAX_LEFT * without.counts.get(left, 0)))
    for way, found in kept.ways.items():
        if way.endswith(A_YEAR_LATER):  # told, and no gate: what is found by index cards is found less well without
            continue
        bound = "above" if everyday and way == CONTEXT else "at least"
        gates.append(Gate(f"right: {way}", found.right, bound, without.ways[way].right))  # type: ignore[arg-type]
    return gates


# --- telling


def year_markdown(report: YearReport) -> str:
    """Return the report."""
    parts = [
        f"# A year of {report.histories} histories on {report.store}, with daily upkeep and without",
        grid(("what", "value"), list(report.circumstances.items())),
        grid(("shown", "questions", "right", "outdated", "refused", "evidence", "tokens"), list(_way_rows(report))),
        grid(("grew", "without", "with upkeep"), list(_growth_rows(report))),
        grid(("did, and must not", "times"), [(name, f"{times:,}") for name, times in report.kept.counts.items()]),
        *(f"{name}, {way}: {', '.join(ids)}" for name, by_way in (("won", report.won), ("lost", report.lost))
          for way, ids in by_way.items()),
        tell_gates(report.gates),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _way_rows(report: YearReport) -> Iterator[Sequence[str]]:
    for way in report.kept.ways:
        for name, life in (("without", report.without), ("with upkeep", report.kept)):
            found = life.ways[way]
            yield (
                f"{way}: {name}", str(found.questions), number(found.right, 4), number(found.stale, 4),
                number(found.refused, 4), number(found.sessions, 4), number(found.tokens, 0),
            )  # fmt: skip


def _growth_rows(report: YearReport) -> Iterator[Sequence[str]]:
    lives = (report.without, report.kept)
    yield "active facts, by month", *(" ".join(map(str, life.by_month)) for life in lives)
    yield "active facts, at most", *(str(max(life.by_month, default=0)) for life in lives)
    for when in (IN_THE_END, A_YEAR_LATER):
        yield f"active facts{when}", *(str(life.counts.get(f"facts{when}", 0)) for life in lives)
    yield "files, MB", *(number(life.size / 1e6, 1) for life in lives)
