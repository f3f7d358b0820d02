"""Reads the words of an answer from its bytes while they pass: server-sent events, or a JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

# Bytes of an event, and of a document, that are kept to be read; the bytes themselves pass all the same.
MAX_EVENT_BYTES: Final = 4_194_304
MAX_DOCUMENT_BYTES: Final = 33_554_432
# Byte order mark, which a stream may begin with.
_MARK: Final = b"\xef\xbb\xbf"
# What the last event of a stream says of itself.
_LAST: Final = frozenset(("response.completed", "response.failed", "response.incomplete", "message_stop", "error"))


class EventReader:
    """Reads events of a stream, however its bytes are cut into pieces.

    take: is given each event's document. is_over: whether the event came that ends the stream.
    """

    def __init__(self, take: Callable[[Any], object]) -> None:
        self._take = take
        self._line = bytearray()
        self._after_return = False
        self._data: list[bytes] = []
        self._size = 0
        self._is_first = True
        self.is_over = False

    def feed(self, piece: bytes) -> int:
        """Read on. Returns how many bytes of the piece come before the last event of the stream: without it, all.

        A line ends with LF, CR or both, as the format says.
        """
        # The LF after a CR belongs to the line that was read.
        place = int(self._after_return and piece.startswith(b"\n"))
        begins, before_end = place, len(piece)
        for part in piece[place:].splitlines(keepends=True):
            line, was_over = part.rstrip(b"\r\n"), self.is_over
            self._line += line if len(self._line) <= MAX_EVENT_BYTES else b""
            place += len(part)
            if len(line) == len(part):
                break
            whole, self._line = bytes(self._line), bytearray()
            self._read_line(whole)
            if self.is_over and not was_over:
                before_end = begins
            begins = begins if whole else place
        self._after_return = piece.endswith(b"\r") if piece else self._after_return
        return before_end

    def end(self) -> None:
        """Read what is left when the bytes end: some providers leave out the empty line after the last event."""
        self.feed(b"\n\n")

    def _read_line(self, line: bytes) -> None:
        if self._is_first:
            self._is_first, line = False, line.removeprefix(_MARK)
        if not line:
            self._read_event()
        elif line.startswith(b"data:"):
            self._size += len(line)
            if self._size <= MAX_EVENT_BYTES:  # of a flood nothing is read
                self._data.append(line[5:].removeprefix(b" "))

    def _read_event(self) -> None:
        data, self._data, self._size = b"\n".join(self._data), [], 0
        if data.strip() == b"[DONE]":
            self.is_over = True
            return
        event = read_document(data)
        if isinstance(event, dict):
            self.is_over = self.is_over or event.get("type") in _LAST
            self._take(event)


class DocumentReader:
    """Gathers a document of known length, or of a length that its end tells.

    take: is given the document. length: in bytes; None when it is not known.
    """

    def __init__(self, take: Callable[[Any], object], length: int | None) -> None:
        self._take = take
        self._length = length
        self._size = 0
        self._pieces: list[bytes] = []
        self.is_over = False

    def feed(self, piece: bytes) -> int:
        """Read on. Returns how many bytes of the piece come before the end of the document: none or all."""
        was_over = self.is_over
        self._size += len(piece)
        if self._size <= MAX_DOCUMENT_BYTES:
            self._pieces.append(piece)
        if self._size == self._length:
            self.end()
        return 0 if self.is_over and not was_over else len(piece)

    def end(self) -> None:
        """Read the document, unless it was read already or is too long."""
        if not self.is_over and self._size <= MAX_DOCUMENT_BYTES:
            document = read_document(b"".join(self._pieces))
            if isinstance(document, dict):
                self._take(document)
        self.is_over = True


def read_document(data: bytes) -> Any:
    """Return a JSON document; None for what is none."""
    try:
        return json.loads(data) if data.strip() else None
    except (ValueError, RecursionError):
        return None
