"""Queues batches by namespace: those of a namespace share a transaction. Namespaces do not wait for each other.

A transaction that writes locks the namespace's row, so batches of a namespace cannot be written in parallel anyway.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from psycopg import Connection, Error

from memwarden.errors import InvalidInput, MemwardenError, StoreUnavailable
from memwarden.records import Batch, Namespace, Receipt
from memwarden.stores.postgres.connections import Connections
from memwarden.stores.postgres.transaction import explain, is_callers_fault, is_lost
from memwarden.stores.postgres.write import PreparedBatch, commit, decide, gather_statistics, prepare, read_context

_MAX_GROUP_CHANGES = 5_000

BatchJob = tuple[Batch, "Future[Receipt]"]
GroupWrite = Callable[[Namespace, Sequence[BatchJob]], None]


class WriteQueues:
    """A queue for each namespace with waiting batches, and threads that each take a queue at a time.

    Args:
        write: writes jobs of a namespace, in their order, and resolves each future. It raises nothing.
    """

    def __init__(self, write: GroupWrite, threads: int) -> None:
        self._write = write
        self._waiting: dict[Namespace, deque[BatchJob]] = {}
        self._ready: SimpleQueue[Namespace | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._empty = threading.Condition(self._lock)
        self._threads = [
            threading.Thread(target=self._run, name=f"memwarden-writer-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, batch: Batch) -> Future[Receipt]:
        """Queue a batch. It is written even if its caller is cancelled."""
        answer: Future[Receipt] = Future()
        answer.set_running_or_notify_cancel()  # not cancellable: a cancelled future would hide that it was written
        with self._lock:
            queue = self._waiting.get(batch.namespace)
            if queue is None:
                queue = self._waiting[batch.namespace] = deque()
                self._ready.put(batch.namespace)
            queue.append((batch, answer))
        return answer

    def close(self) -> None:
        """Write waiting batches, then end the threads."""
        with self._empty:
            self._empty.wait_for(lambda: not self._waiting)
        for _ in self._threads:
            self._ready.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (namespace := self._ready.get()) is not None:
            jobs = self._take(namespace)
            try:
                self._write(namespace, jobs)
            except BaseException as error:  # whatever it was, nobody must wait for ever
                for _, answer in jobs:
                    if not answer.done():
                        answer.set_exception(error)
            self._put_back(namespace)

    def _take(self, namespace: Namespace) -> list[BatchJob]:
        """Take waiting jobs of a namespace. Its key stays, so that no other thread takes it meanwhile."""
        jobs: list[BatchJob] = []
        size = 0
        with self._lock:
            queue = self._waiting[namespace]
            while queue and size < _MAX_GROUP_CHANGES:
                jobs.append(queue.popleft())
                size += len(jobs[-1][0].changes) + 1
        return jobs

    def _put_back(self, namespace: Namespace) -> None:
        with self._empty:
            if self._waiting[namespace]:
                self._ready.put(namespace)  # behind the other namespaces
            else:
                del self._waiting[namespace]
                self._empty.notify_all()


BatchAnswer = Receipt | Exception

_STATISTICS_INTERVAL = 500


class GroupWriter:
    """Writes the waiting batches of a namespace.

    Args:
        seconds: time limit of a statement.
    """

    def __init__(self, connections: Connections, seconds: float) -> None:
        self._connections = connections
        self._seconds = seconds
        self._written = 0

    def write(self, namespace: Namespace, jobs: Sequence[BatchJob]) -> None:
        """Give every job its answer."""
        ready: list[tuple[PreparedBatch, BatchJob]] = []
        for job in jobs:
            try:
                ready.append((prepare(job[0]), job))
            except Exception as error:
                job[1].set_exception(error)
        answers = self._answers(_Attempt(namespace, [item for item, _ in ready], self._seconds)) if ready else []
        for (_, (_, waiting)), answer in zip(ready, answers, strict=True):
            if isinstance(answer, Exception):
                waiting.set_exception(answer)
            else:
                waiting.set_result(answer)
        self._gather_statistics(sum(len(batch.changes) for batch, _ in jobs))

    def _gather_statistics(self, changes: int) -> None:
        """Refresh the server's statistics after many changes. Its failure loses nothing."""
        self._written += changes  # several threads may lose a few of each other's; it need not be exact
        if self._written >= _STATISTICS_INTERVAL:
            self._written = 0
            with suppress(Error), self._connections.borrow() as connection:
                gather_statistics(connection, self._seconds)

    def _answers(self, attempt: _Attempt) -> Sequence[BatchAnswer]:
        batches = attempt.batches
        try:
            return self._connections.attempt(attempt.run, attempt.may_repeat)
        except (Error, UnicodeEncodeError, MemwardenError) as error:
            if attempt.uncertain is not None:
                return self._resolve_uncertain(attempt)
            if len(batches) > 1 and _is_caused_by_batch(error):
                return [answer for batch in batches for answer in self._answers(attempt.of([batch]))]
            return [self._explain(error)] * len(batches)

    def _resolve_uncertain(self, attempt: _Attempt) -> Sequence[BatchAnswer]:
        """Answer batches whose connection broke during commit: only those with a key are safe to repeat."""
        answers = dict(zip(attempt.batches, attempt.uncertain or (), strict=True))
        for batch in attempt.batches:
            if isinstance(answers[batch], Receipt) and batch.batch.key is None:
                answers[batch] = self._unknown()
        again = [batch for batch in attempt.batches if isinstance(answers[batch], Receipt)]
        if again and len(again) < len(attempt.batches):
            answers.update(zip(again, self._answers(attempt.of(again)), strict=True))
        elif again:  # all have keys, and were repeated in vain for as long as calls may wait
            answers.update((item, self._unknown()) for item in again)
        return [answers[batch] for batch in attempt.batches]

    def _unknown(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"the connection to {self._connections.place} broke while it committed: this call may have been kept or "
            "not. A call with an idempotency key can be repeated safely; without a key, look before you repeat it"
        )

    def _explain(self, error: Exception) -> Exception:
        if isinstance(error, UnicodeEncodeError):
            return InvalidInput(f"text that no file can hold (half of a character pair): {error}")
        return explain(error, self._connections.place) if isinstance(error, Error) else error


class _Attempt:
    """A group of batches on its way to the database, perhaps repeatedly.

    uncertain: the answers, while it is unknown whether their commit succeeded.
    """

    def __init__(
        self,
        namespace: Namespace,
        batches: Sequence[PreparedBatch],
        seconds: float,
        uncertain: Sequence[BatchAnswer] | None = None,
    ) -> None:
        self.batches = batches
        self.uncertain = uncertain
        self._namespace = namespace
        self._seconds = seconds

    def of(self, some: Sequence[PreparedBatch]) -> _Attempt:
        """Return the attempt for some of its batches."""
        answers = dict(zip(self.batches, self.uncertain or (), strict=False))
        return _Attempt(self._namespace, some, self._seconds, [answers[item] for item in some] if answers else None)

    def may_repeat(self, error: Error) -> bool:
        """Return whether a repetition is safe: before the commit always, after it if every batch has a key."""
        sent = zip(self.batches, self.uncertain or (), strict=False)
        return all(item.batch.key is not None for item, answer in sent if isinstance(answer, Receipt))

    def run(self, connection: Connection[Any]) -> Sequence[BatchAnswer]:
        known = read_context(connection, self._namespace, self.batches, self._seconds)
        answers, writes = decide(known, self.batches)
        if self.uncertain is not None:
            # Under this lock the earlier transaction has ended. A replayed receipt of ours means that it was committed.
            answers = [_choose_answer(mine, now) for mine, now in zip(self.uncertain, answers, strict=True)]
        self.uncertain = answers
        try:
            commit(connection, self._namespace, known, writes)
        except Error as error:
            if not is_lost(error) and not connection.broken:
                self.uncertain = None  # the server refused, so nothing was committed
            raise
        except BaseException:
            self.uncertain = None  # a value that could not even be sent
            raise
        self.uncertain = None
        return answers


def _choose_answer(mine: BatchAnswer, now: BatchAnswer) -> BatchAnswer:
    return mine if isinstance(mine, Receipt) and replace(mine, replayed=True) == now else now


def _is_caused_by_batch(error: Exception) -> bool:
    return isinstance(error, UnicodeEncodeError) or (isinstance(error, Error) and is_callers_fault(error))
