"""Reads bytes of files that SQLite may have open in this process.

POSIX takes from a process all its locks on a file when the process closes any descriptor of it, and SQLite's locks are
such (https://www.sqlite.org/howtocorrupt.html, section 2.2): another process would take the file for unused, and remove
the log that this process goes on writing to. So a descriptor stays open here for as long as any store does, and for as
long as the program has the file open itself: a saver of LangGraph's, say, whose file it imports.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

_LOCK = threading.Lock()
_stores = 0
# Descriptors by device and inode.
_kept: dict[tuple[int, int], int] = {}


class OpenFiles:
    """Counts a store of files as open, from the ``with`` on. To its end only, unless it is told to stay."""

    def __init__(self) -> None:
        self._stays = False

    def __enter__(self) -> OpenFiles:
        global _stores
        with _LOCK:
            _stores += 1
        return self

    def __exit__(self, *_: object) -> None:
        if not self._stays:
            self.end()

    def stay(self) -> OpenFiles:
        """Count the store as open until :meth:`end`."""
        self._stays = True
        return self

    def end(self) -> None:
        """Count the store as closed: its connections are."""
        global _stores
        with _LOCK:
            _stores -= 1
            if not _stores:
                _close_unused()


def _close_unused() -> None:
    """Close the descriptors of files that nobody else in this process has open."""
    used = _count_open()
    for place in [place for place in _kept if used[place] <= 1]:
        os.close(_kept.pop(place))


def _count_open() -> Counter[tuple[int, int]]:
    """Count this process's descriptors by device and inode. Nothing where the system does not list them."""
    found = Counter[tuple[int, int]]()
    try:
        listed = os.listdir("/dev/fd")  # noqa: PTH208  # names alone: each is asked for by its number
    except OSError:
        return found
    for name in listed:
        with suppress(OSError, ValueError):  # that of the list itself is closed by now
            held = os.fstat(int(name))
            found[held.st_dev, held.st_ino] += 1
    return found


def read_raw(path: Path, size: int, offset: int = 0) -> bytes:
    """Return at most ``size`` bytes of a file from a place on. Raises OSError."""
    with _LOCK:
        found = path.stat()
        place = found.st_dev, found.st_ino
        handle = _kept.get(place)
        if handle is None:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))  # not inherited by programs
            found = os.fstat(handle)  # another may have taken its place meanwhile
            _kept[place := (found.st_dev, found.st_ino)] = handle
        try:
            os.lseek(handle, offset, os.SEEK_SET)
            return os.read(handle, size)
        finally:
            if not _stores:
                _close_unused()
