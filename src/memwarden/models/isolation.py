"""Somebody else's reranker, kept where it cannot hold up anything."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

from memwarden.errors import ModelUnavailable
from memwarden.models.protocols import Reranker


class IsolatedReranker:
    """A reranker in a daemon thread of its own, one question at a time.

    One that hangs holds up neither the loop's threads, which reads and writes need, nor the end of the process. While
    it hangs, further questions do without it at once.
    """

    def __init__(self, reranker: Reranker, seconds: float) -> None:
        self._reranker = reranker
        self._seconds = seconds
        self._free = threading.Lock()
        self._late: threading.Thread | None = None

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        hangs = self._late is not None and self._late.is_alive()
        if hangs or not self._free.acquire(timeout=self._seconds):
            raise ModelUnavailable("the reranker is still at an earlier question")
        answer: Future[Sequence[float]] = Future()
        thread = threading.Thread(target=self._judge, args=(answer, query, texts), name="reranker", daemon=True)
        thread.start()
        try:
            return answer.result(self._seconds)
        except TimeoutError:
            self._late = thread
            raise ModelUnavailable(f"the reranker took longer than {self._seconds:g} seconds") from None

    def _judge(self, answer: Future[Sequence[float]], query: str, texts: Sequence[str]) -> None:
        try:
            answer.set_result(self._reranker.score(query, texts))
        except BaseException as error:  # whatever it is, it belongs to who asked
            answer.set_exception(error)
        finally:
            self._free.release()
