"""Group commit: a single thread writes, batches share a commit, and are acknowledged after it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from memwarden.errors import InvalidInput

Write = Callable[[sqlite3.Connection], Any]

_MAX_GROUP_CHANGES = 5_000

_CALLERS_FAULT = (
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.IntegrityError,
    OverflowError,
    UnicodeError,
)
"""Errors of sqlite3 for a value that it cannot bind, and for None where a value must be."""


class WriteJob(NamedTuple):
    """A write whose caller waits for the answer.

    prepare: the part that needs no lock; returns the part that does. size: number of changes.
    """

    prepare: Callable[[], Write]
    size: int
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]


class WriterErrand(NamedTuple):
    """Work that runs after the waiting batches, over a connection of its own."""

    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]


class WriterThread:
    """The thread that owns the write connection.

    It writes all waiting jobs in a transaction with a savepoint for each, so that a failing job spares the others, and
    resolves the answers after the commit. A job whose caller was cancelled is written all the same.
    """

    def __init__(self, db: sqlite3.Connection, explain: Callable[[sqlite3.Error], Exception]) -> None:
        self._db = db
        self._explain = explain
        self._jobs: SimpleQueue[WriteJob | WriterErrand | None] = SimpleQueue()
        self._errands: list[WriterErrand] = []
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="memwarden-writer", daemon=True)
        self._thread.start()

    def submit(self, prepare: Callable[[], Write], size: int) -> asyncio.Future[Any]:
        """Queue a write for the running event loop and return its answer."""
        loop = asyncio.get_running_loop()
        job = WriteJob(prepare, size, loop, loop.create_future())
        self._jobs.put(job)
        return job.answer

    def submit_errand(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Queue work to run after the waiting batches, outside their transaction."""
        loop = asyncio.get_running_loop()
        errand = WriterErrand(work, loop, loop.create_future())
        self._jobs.put(errand)
        return errand.answer

    def close(self, before: Callable[[], None] | None = None) -> None:
        """Write waiting jobs, end the thread, call ``before``, and close the connection."""
        self._jobs.put(None)
        self._thread.join()
        if before is not None:
            before()
        self._db.close()

    def acknowledge(self, job: WriteJob, answer: Any) -> None:
        """Resolve a job's answer from this thread; a closed event loop is ignored."""
        _hand_over(job.loop, job.answer, answer)

    def _run(self) -> None:
        while not self._closing:
            jobs = self._next_jobs()
            try:
                self._write(jobs)
            except Exception as error:  # whatever it was, nobody must wait for ever
                for job in jobs:
                    self.acknowledge(job, error)
            errands, self._errands = self._errands, []
            for errand in errands:
                self._do(errand)

    def _do(self, errand: WriterErrand) -> None:
        try:
            answer = errand.work()
        except sqlite3.Error as error:
            answer = self._explain(error)
        except Exception as error:  # whatever it was, nobody must wait for ever
            answer = error
        _hand_over(errand.loop, errand.answer, answer)

    def _next_jobs(self) -> list[WriteJob]:
        jobs: list[WriteJob] = []
        size = 0
        with suppress(Empty):
            while size < _MAX_GROUP_CHANGES:
                job = self._jobs.get(block=not (jobs or self._errands))
                if job is None:
                    self._closing = True
                    break
                if isinstance(job, WriterErrand):
                    self._errands.append(job)
                    continue
                jobs.append(job)
                size += job.size
        return jobs

    def _write(self, jobs: list[WriteJob]) -> None:
        ready: list[tuple[WriteJob, Write]] = []
        for job in jobs:
            try:
                ready.append((job, job.prepare()))
            except Exception as error:
                self.acknowledge(job, error)
        # Encoding came first, so that the write lock is held for SQL alone.
        if ready:
            self._commit(ready)

    def _commit(self, ready: list[tuple[WriteJob, Write]]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._refuse(ready, error)
            return
        try:
            answers = [(job, self._in_savepoint(write)) for job, write in ready]
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            if len(ready) == 1:
                self._refuse(ready, error)
            for item in ready if len(ready) > 1 else ():  # perhaps a single job is too big for the disk
                self._commit([item])
            return
        for job, answer in answers:
            self.acknowledge(job, answer)

    def _in_savepoint(self, write: Write) -> Any:
        self._db.execute("SAVEPOINT batch")
        try:
            answer = write(self._db)
        except Exception as error:
            if isinstance(error, sqlite3.Error) and not isinstance(error, _CALLERS_FAULT):
                raise  # the disk's, not the batch's
            answer = _answer(error)
            self._db.execute("ROLLBACK TO batch")
        self._db.execute("RELEASE batch")
        return answer

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # SQLite itself has rolled back after some errors
            self._db.execute("ROLLBACK")

    def _refuse(self, ready: list[tuple[WriteJob, Write]], error: sqlite3.Error) -> None:
        for job, _ in ready:
            self.acknowledge(job, self._explain(error))


def _answer(error: Exception) -> Exception:
    if not isinstance(error, _CALLERS_FAULT):
        return error
    fault = InvalidInput(f"the batch holds a value that cannot be stored: {error}")
    fault.__cause__ = error
    return fault


def _hand_over(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], answer: Any) -> None:
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, future, answer)


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():  # the caller was cancelled
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
