"""Queues batches by namespace: those of a namespace share a transaction; namespaces do not wait for each other.

A transaction that writes locks the namespace's row, so batches of a namespace cannot be written in parallel anyway.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

from memwarden.records import Batch, Namespace, Receipt

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
        """Take waiting jobs of a namespace; its key stays, so that no other thread takes it meanwhile."""
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
