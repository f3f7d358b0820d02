"""Runs a caller's reranker in a thread of its own, with a time limit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future

from memwarden.errors import ModelUnavailable
from memwarden.models.protocols import Reranker


class IsolatedReranker:
    """A reranker in a daemon thread of its own, a single question at a time.

    A reranker that hangs blocks neither the loop's threads, which reads and writes need, nor the end of the process.
    While it hangs, further questions raise ModelUnavailable at once.
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
            self._late = thread  # Python cannot stop a thread, so it is only remembered as busy
            raise ModelUnavailable(f"the reranker took longer than {self._seconds:g} seconds") from None

    def _judge(self, answer: Future[Sequence[float]], query: str, texts: Sequence[str]) -> None:
        try:
            answer.set_result(self._reranker.score(query, texts))
        except BaseException as error:  # whatever it is, the caller gets it
            answer.set_exception(error)
        finally:
            self._free.release()
