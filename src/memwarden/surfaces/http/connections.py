"""Limits for connections: seconds for a request head, and the number of connections."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds until a request head has to be whole. Slow phones need two or three.
HEAD_SECONDS: Final = 10.0
# Connections of a process. The rest of its files are for the store and for providers of models.
MAX_CONNECTIONS: Final = 4_096
_SHARE_OF_FILES: Final = 2


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn with a clock on each request head.

    A connection whose head is not whole in time is closed. Beyond the maximum number of connections the one that has
    waited longest for a head is closed, so that half-open requests keep no client out.
    """

    # Connections that await a request head, the longest waiting first.
    _awaiting: dict[LimitedProtocol, None] = {}  # noqa: RUF012  # one for all connections of the process

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > max_connections():
            oldest = next(iter(self._awaiting), self)
            oldest.close_at_once()
        if not transport.is_closing():
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head_timer is None and not self._is_answering():
            self._await_head()
        super().data_received(data)
        if self._is_answering():
            self._head_is_whole()

    def close_at_once(self) -> None:
        """Close the connection without an answer."""
        self._head_is_whole()
        self.transport.abort()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._awaiting[self] = None
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self.close_at_once)

    def _head_is_whole(self) -> None:
        self._awaiting.pop(self, None)
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def max_connections() -> int:
    """Return the maximum number of connections: half of the files that the process may open, 4,096 at most."""
    try:
        import resource
    except ImportError:  # Windows, which limits no sockets
        return MAX_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, files // _SHARE_OF_FILES)
