"""A process that writes to a store until it kills itself, inside a write, at the point that it was told.

A job is {"batches": n, "at": label or null, "nth": n, "fault": name}.
The label "opening" stands for every statement that makes a new file ready, before the first write.

Every acknowledged batch is written to LOG, and synced, after the acknowledgement; a later run goes on from there and
sends the last acknowledged batch of each writer once more, as a caller does who did not hear the answer.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from memwarden.records import Batch, Memory, Namespace, Put, Remove, Signals, WriteMode
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.sqlite.write import Write, WriteJob, WriterThread

NAMESPACE = Namespace("test", "user/ann")
WRITERS = 4
AT = datetime(2026, 1, 1, tzinfo=UTC)

STATEMENTS = {
    "begin": r"BEGIN IMMEDIATE",
    "savepoint": r"SAVEPOINT",
    "read head": r"SELECT no,",
    "read key": r"SELECT fingerprint",
    "read ids": r"SELECT id,",
    "read source keys": r"SELECT source_key",
    "insert memory": r"INSERT INTO memories",
    "insert signals": r"INSERT INTO signals",
    "keep version": r"INSERT INTO versions",
    "update memory": r"UPDATE memories SET rev = \d+, version",
    "update signals": r"UPDATE signals",
    "remove memory": r"UPDATE memories SET rev = \d+, state",
    "insert journal": r"INSERT INTO journal",
    "update head": r"UPDATE namespaces",
    "insert receipt": r"INSERT INTO receipts",
    "release": r"RELEASE",
    "commit": r"COMMIT",
}
"""Where a child can die: before each of these statements, and (some SQLite steps later) inside the long ones."""

INSIDE = ("insert memory", "keep version", "update memory", "remove memory", "insert journal", "insert receipt")

LABELS = (*STATEMENTS, *(f"inside {name}" for name in INSIDE), "committed, not answered", "answered, not logged")


def name_of(writer: str, number: int, which: int) -> str:
    return f"{writer}-{number}-{which}"


def the_batch(writer: str, number: int) -> Batch:
    """Two new memories; the first of the batch before is updated, the second removed."""
    changes: list[Put | Remove] = []
    for which in (0, 1):
        memory = Memory(name_of(writer, number, which), NAMESPACE, f"text {writer} {number} " * 40, AT, AT)
        signals = Signals(b"\x01\x00\x00\x00" * 20, b"\x00\x3c" * 256)
        changes.append(Put(memory, signals, source_key=f"{writer}:{number}" if which == 0 else None))
    if number:
        memory = Memory(name_of(writer, number - 1, 0), NAMESPACE, "changed", AT, AT)
        changes += [Put(memory, Signals(), WriteMode.UPDATE), Remove(name_of(writer, number - 1, 1))]
    return Batch(NAMESPACE, tuple(changes), AT, key=f"{writer}:{number}", fingerprint="same", actor=writer)


class Death:
    """Counts how often the chosen point is passed, and kills this process there. pause: seconds before it does."""

    pause = 0.05

    def __init__(self, at: str | None, nth: int, statements: Mapping[str, str] = STATEMENTS) -> None:
        self.armed = False
        self._statements = statements
        self._at = at
        self._left = nth
        self._statement = ""

    def passed(self, label: str) -> None:
        if label != self._at:
            return
        self._left -= 1
        if self._left == 0:
            time.sleep(self.pause)  # what was wrongly acknowledged has time to reach the log
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(self, sql: str) -> None:
        label = next((label for label, start in self._statements.items() if re.match(start, sql)), "")
        self._statement = label if self.armed else "opening"
        self.passed(self._statement)

    def stepped(self) -> int:
        self.passed(f"inside {self._statement}")
        return 0


class Mortal(SqliteStore):
    """A store that lets :class:`Death` watch its write connection."""

    def __init__(self, path: Path, death: Death) -> None:
        super().__init__(path)
        self.death = death

    def _connect(self, *, reading: bool) -> sqlite3.Connection:
        db = super()._connect(reading=reading)
        if not reading:
            self._watch(db)
        return db

    def _start_writer(self, db: sqlite3.Connection) -> WriterThread:
        return MortalWriter(db, self.death)

    def _watch(self, db: sqlite3.Connection) -> None:
        db.set_trace_callback(self.death.traced)
        db.set_progress_handler(self.death.stepped, 25)


class MortalWriter(WriterThread):
    def __init__(self, db: sqlite3.Connection, death: Death) -> None:
        self._death = death
        super().__init__(db, lambda error: error)

    def acknowledge(self, job: WriteJob, answer: Any) -> None:
        self._death.passed("committed, not answered")
        super().acknowledge(job, answer)


class Untied(sqlite3.Connection):
    """A fault to be found: no transaction ties the statements of a batch together."""

    armed = False

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        tie = re.match("BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE", sql)
        return super().execute("SELECT 1" if tie and self.armed else sql, *values)


class WithoutTransaction(Mortal):
    def _connect(self, *, reading: bool) -> sqlite3.Connection:
        if reading:
            return super()._connect(reading=True)
        db = sqlite3.connect(self.path, 30, isolation_level=None, check_same_thread=False, factory=Untied)
        self._watch(db)
        return db

    def _start_writer(self, db: sqlite3.Connection) -> WriterThread:
        assert isinstance(db, Untied)
        db.armed = True
        return super()._start_writer(db)


class HastyWriter(MortalWriter):
    """A fault to be found: it answers before the commit."""

    def _commit(self, ready: list[tuple[WriteJob, Write]]) -> None:
        super()._commit([(job, self._hasty(job, write)) for job, write in ready])

    def _hasty(self, job: WriteJob, write: Write) -> Write:
        def write_and_answer(db: sqlite3.Connection) -> Any:
            answer = write(db)
            self.acknowledge(job, answer)
            return answer

        return write_and_answer


class AnswersBeforeCommit(Mortal):
    def _start_writer(self, db: sqlite3.Connection) -> WriterThread:
        return HastyWriter(db, self.death)


class AppliesRepeats(Mortal):
    """A fault to be found: a batch that comes again is applied again."""

    async def apply(self, batch: Batch) -> Any:
        receipt = await super().apply(batch)
        if not receipt.replayed:
            return receipt
        changes = tuple(replace(change, mode=WriteMode.UPSERT) for change in batch.changes if isinstance(change, Put))
        return await super().apply(replace(batch, changes=changes, key=None))


STORES: dict[str | None, Callable[[Path, Death], Mortal]] = {
    None: Mortal,
    "no transaction": WithoutTransaction,
    "answers before commit": AnswersBeforeCommit,
    "applies repeats": AppliesRepeats,
}


async def write(store: Mortal, log: TextIO, writer: str, start: int, stop: int) -> None:
    for number in range(start, stop):
        await store.apply(the_batch(writer, number))
        store.death.passed("answered, not logged")
        log.write(f"{writer} {number}\n")
        log.flush()
        os.fsync(log.fileno())


def last_acknowledged(log: Path, writers: list[str]) -> dict[str, int]:
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return {writer: max((int(number) for item, number in lines if item == writer), default=0) for writer in writers}


async def main(file: Path, log_path: Path, name: str, job: dict[str, Any]) -> None:
    writers = [f"{name}{number}" for number in range(WRITERS)]
    last = last_acknowledged(log_path, writers)
    store = STORES[job.get("fault")](file, Death(job["at"], job["nth"]))
    await store.open()
    store.death.armed = True
    with log_path.open("a") as log:
        stop = job["batches"]
        await asyncio.gather(
            *(write(store, log, writer, last[writer], max(stop, last[writer] + 1)) for writer in writers)
        )
    store.death.armed = False
    await store.close()


def work(file: Path, log_path: Path, name: str, job: dict[str, Any], errors: Path) -> None:
    """Write in a process that was forked for it, with a file for its stderr."""
    with errors.open("wb") as opened:
        os.dup2(opened.fileno(), 2)
    asyncio.run(main(file, log_path, name, job))
