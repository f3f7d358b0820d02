"""Live through a year of everyday histories with a clock of our own, with daily upkeep and without, and compare.

Threads are observed when they happened, and facts are extracted by rules. Jobs run each day until a year after the
first thread. Questions are asked when their time has come. Printed is what was answered, what grew, and whether each
change of the jobs stands in the journal and was told once. Run with files of histories; ``--server`` names a PostgreSQL
server on which a database is made for each life, else each is a SQLite file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from memwarden import BoundScope, Warden, clock
from memwarden_bench.everyday import (
    CONTEXT,
    QUERY,
    History,
    HistoryThread,
    JudgedText,
    MemwardenWay,
    figures,
    judge,
    read_files,
    replay_history,
)

YEAR = timedelta(days=365)
DAY = timedelta(days=1)
SETTINGS = {"facts_a_day": 200}
PINNED = ("The user's blood group is A negative.", "The user's bank box has the number 4711.")
PROCEDURE = "1. Close the main valve.\n2. Open the lowest tap.\n3. Wait for an hour."


class MovedClock:
    """The time that memwarden believes."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let every part of memwarden read this clock."""
        real = clock.now
        clock.now = lambda: self.at  # type: ignore[assignment]
        try:
            yield
        finally:
            clock.now = real


class Life:
    """A history lived through in a warden."""

    def __init__(self, warden: Warden, history: History, time: MovedClock, *, upkeep: bool) -> None:
        self.warden, self.history, self.time, self.upkeep = warden, history, time, upkeep
        self.me: BoundScope = warden.scope(user=history.id)
        self.texts: list[JudgedText] = []
        self.counts: Counter[str] = Counter()
        self.active: list[int] = []

    def live(self) -> None:
        """Observe, ask and keep clean for a year."""
        begun = self.history.threads[0].messages[0].created_at
        for text in PINNED:
            self.me.remember(text, pinned=True, importance=0.1)
        self.me.remember(PROCEDURE, channel="procedural", importance=0.1)
        way = MemwardenWay(self.warden, self.history.id, 500, defaultdict(list), Counter())
        for event in replay_history(self.history):
            thread = isinstance(event, HistoryThread)
            self.pass_until(event.messages[-1].created_at if thread else event.asked_at)
            if isinstance(event, HistoryThread):
                way.hear(event)
                self.warden.scope(user=self.history.id, thread=event.id).extract_pending()
                continue
            for name, shown in way.answer(event):
                self.texts.append(
                    JudgedText(self.history.id, self.history.language, name, event, judge(event, shown), shown.block)
                )
        self.pass_until(begun + YEAR)
        self.look_at_end()

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
        changed = {change.memory_id for run in runs for change in run.changes if change.verb != "purge"}
        self.counts.update(change.verb for run in runs for change in run.changes)
        self.counts["errors"] += sum(run.status == "error" for run in runs)
        if not changed:
            return
        entries = self.me.journal.history(since=before, limit=10_000)
        noted = {entry.memory_id for entry in entries if entry.actor == "upkeep"}
        self.counts["changes not in the journal"] += len(changed - noted)
        told = self.me.journal.delta(since_rev=before)
        self.counts["runs told wrongly"] += not (0 < len(told.bullets) + told.more <= 2 * len(changed))
        self.counts["told twice"] += bool(self.me.journal.delta(since_rev=told.rev))

    def look_at_end(self) -> None:
        """Count what was lost that nobody may lose."""
        left = {item.text for item in self.me.find(limit=10_000) if item.pinned or item.channel == "procedural"}
        self.counts["pinned or procedural lost"] += len({*PINNED, PROCEDURE} - left)
        self.counts["facts at the end"] += len(self.facts())

    def facts(self) -> list[Any]:
        """The derived memories that are active."""
        return self.me.find({"channel": ["semantic", "episodic", "insight"]}, limit=10_000)


@contextmanager
def new_store(server: str | None) -> Iterator[tuple[str, Path | None]]:
    """Yield the URL of an empty store, and the folder of its files where it has any."""
    if server is None:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/store.db", Path(folder)
        return
    name = f"life_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0".encode())
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl(), None
        finally:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def tell_shown(texts: list[JudgedText], way: str) -> dict[str, Any]:
    """Return what a way showed for the questions of all lives."""
    shown = figures([text for text in texts if text.way == way])
    return {
        "right": round(shown.right.mean, 4), "refused": round(shown.refused, 4), "stale": round(shown.stale, 4),
        "tokens": round(shown.tokens, 1),
    }  # fmt: skip


def tell_changed(without: list[JudgedText], kept: list[JudgedText], way: str) -> dict[str, list[str]]:
    """Return the questions that are right with upkeep alone, and those that are right without it alone."""
    right = {
        (text.history, text.question.id): text.verdict.right
        for text in without
        if text.way == way and text.question.answerable
    }
    changed: dict[str, list[str]] = {"won": [], "lost": []}
    for text in kept:
        key = (text.history, text.question.id)
        if key in right and text.way == way and text.verdict.right != right[key]:
            changed["won" if text.verdict.right else "lost"].append("/".join(key))
    return changed


def measure(histories: list[History], server: str | None) -> dict[str, Any]:
    """Live through each history twice."""
    found: dict[str, Any] = {}
    lives: list[list[JudgedText]] = []
    for upkeep in (False, True):
        texts: list[JudgedText] = []
        counts: Counter[str] = Counter()
        size, by_month = 0, Counter[int]()
        for history in histories:
            with new_store(server) as (place, folder):
                time = MovedClock(history.threads[0].messages[0].created_at)
                with time.in_force(), Warden.open(place, SETTINGS) as warden:
                    life = Life(warden, history, time, upkeep=upkeep)
                    life.live()
                texts += life.texts
                counts.update(life.counts)
                by_month.update(dict(enumerate(life.active)))
                size += sum(file.stat().st_size for file in folder.iterdir()) if folder else 0
        lives.append(texts)
        found["with upkeep" if upkeep else "without"] = {
            "questions": sum(text.way == QUERY for text in texts), "query": tell_shown(texts, QUERY),
            "block": tell_shown(texts, CONTEXT), "bytes": size,
            "facts by month": [by_month[month] for month in sorted(by_month)], **counts,
        }  # fmt: skip
    return found | {f"changed, {way}": tell_changed(lives[0], lives[1], way) for way in (QUERY, CONTEXT)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--server")
    given = parser.parse_args()
    print(json.dumps(measure(read_files(given.files)[0], given.server), indent=1))
