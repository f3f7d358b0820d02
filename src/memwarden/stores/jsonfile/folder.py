"""The files of a namespace: a readable snapshot, and a log of later writes.

A page is appended to the log and synced before a write is acknowledged. From time to time a new log is begun,
everything is written to a new snapshot, which then takes the place of the old, and the earlier logs are removed. So
whenever the process dies, snapshot and logs hold every acknowledged write; a log may repeat what the snapshot holds.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from memwarden.errors import StoreCorrupt, StoreFull, StoreTooNew, StoreUnavailable
from memwarden.records import Namespace
from memwarden.stores.jsonfile.page_json import page_json, page_lines, page_of
from memwarden.stores.transfer.pages import Page

FORMAT = 2
"""Version of the file format. A higher number was written by a later memwarden."""
SNAPSHOT = "memory.json"
_NEW = "memory.json.new"
_LOG = re.compile(r"log\.(\d{8})\.jsonl")
_END = re.compile(rb'\n, "crc32": "([0-9a-f]{8})"\}\n\Z')
_WHOSE = re.compile(r'\{"tenant": ("(?:[^"\\]|\\.)*"), "path": ("(?:[^"\\]|\\.)*"), ')
_CHECK = 9
"""Bytes before the JSON of a log's line: its CRC-32 in hexadecimal digits and a space."""
_PLURAL = {"project": "projects", "user": "users", "task": "tasks"}
_PLAIN = re.compile(r"[a-z0-9_-]")
_MAX_NAME_LENGTH = 200
_RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}
"""Names that Windows gives to devices."""


class Folder:
    """The files of a namespace. Not safe for use by several threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log: BinaryIO | None = None
        self._number = 0

    def pages(self) -> list[Page]:
        """Return the pages of the snapshot and the logs in the order of writing; later appends follow them.

        A torn last line of the last log was never acknowledged and is cut off. Raises StoreCorrupt for any other
        damage.
        """
        with explain_os_errors(self.path):
            logs = self._logs()
            found = [*self._snapshot(), *(page for log in logs for page in self._lines(log, last=log == logs[-1]))]
            self._number = _number(logs[-1]) if logs else 0
        return found

    def namespace(self) -> Namespace | None:
        """Return the folder's namespace, read from its files; None before the first acknowledged write."""
        with explain_os_errors(self.path):
            file = self.path / SNAPSHOT
            if file.exists():
                with file.open("rb") as snapshot:
                    snapshot.readline()
                    head = snapshot.readline()
            else:
                with self._logs()[0].open("rb") as log:
                    head = log.readline()[_CHECK:]
        found = _WHOSE.match(head.decode(errors="replace")) if head.endswith(b"\n") else None
        return Namespace(json.loads(found[1]), json.loads(found[2])) if found else None

    def append(self, page: Page) -> None:
        """Append a page to the log and sync it. On failure the log stays as it was."""
        said = page_json(page).encode()
        with explain_os_errors(self.path):
            log = self._log or self._begin()
            whole = log.tell()
            try:
                log.write(b"%08x %s\n" % (zlib.crc32(said), said))
                log.flush()
                os.fsync(log.fileno())
            except BaseException:
                self._cut(log, whole)
                raise

    def turn(self) -> int:
        """Begin a new log and return its number; a snapshot taken now replaces the logs before it."""
        with explain_os_errors(self.path):
            self.close()
            self._number += 1
            self._begin()
        return self._number

    def save(self, page: Page, number: int) -> None:
        """Write the snapshot, from the first revision on, and remove the logs before ``number``. Atomic."""
        new = self.path / _NEW
        with explain_os_errors(self.path):
            with open_private(new, "wb") as file:
                check = 0
                for said in self._snapshot_bytes(page):
                    check = zlib.crc32(said, check)
                    file.write(said)
                file.write(b'\n, "crc32": "%08x"}\n' % check)
                file.flush()
                os.fsync(file.fileno())
            # Atomic on the same file system: a reader finds the old snapshot or the new, never a torn file.
            new.replace(self.path / SNAPSHOT)
            sync_folder(self.path)
            # Only after the snapshot is durable; logs begun since hold later writes.
            for log in self._logs():
                if _number(log) < number:
                    log.unlink()

    def close(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.close()

    @staticmethod
    def _snapshot_bytes(page: Page) -> Iterator[bytes]:
        yield b'{"format": %d, "page":\n' % FORMAT
        for said in page_lines(page):
            yield said.encode()

    def _snapshot(self) -> list[Page]:
        file = self.path / SNAPSHOT
        if not file.exists():
            return []
        said = file.read_bytes()
        end = _END.search(said)
        if end is None or zlib.crc32(said[: end.start()]) != int(end[1], 16):
            _refuse_newer(said, file)
            raise StoreCorrupt(f"{file} is not as memwarden wrote it; restore a copy of the folder {self.path}")
        return [_page(json.loads(said)["page"], file)]

    def _lines(self, log: Path, *, last: bool) -> Iterator[Page]:
        said = log.read_bytes()
        begin = 0
        while begin < len(said):
            end = said.find(b"\n", begin)
            if end < 0:
                if not last:
                    raise StoreCorrupt(f"{log} ends in the middle of a line; restore a copy of the folder {self.path}")
                os.truncate(log, begin)  # it was never acknowledged
                return
            line = said[begin:end]
            if not re.match(rb"[0-9a-f]{8} ", line) or zlib.crc32(line[_CHECK:]) != int(line[: _CHECK - 1], 16):
                raise StoreCorrupt(
                    f"{log} is not as memwarden wrote it, from byte {begin} on; restore a copy of {self.path}"
                )
            yield _page(json.loads(line[_CHECK:]), log)
            begin = end + 1

    def _logs(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        return sorted((item for item in self.path.iterdir() if _LOG.fullmatch(item.name)), key=_number)

    def _begin(self) -> BinaryIO:
        make_folder(self.path)
        new = not self._current.exists()
        self._log = log = open_private(self._current, "ab")
        if new:
            sync_folder(self.path)
        return log

    @property
    def _current(self) -> Path:
        return self.path / f"log.{self._number:08}.jsonl"

    def _cut(self, log: BinaryIO, size: int) -> None:
        """Undo a partial append. If that fails too, the next opening cuts the line off or finds it whole."""
        self._log = None
        with suppress(OSError):
            log.close()
        with suppress(OSError):
            os.truncate(self._current, size)


def folder_of(namespace: Namespace) -> PurePosixPath:
    """Return a namespace's folder below the store's: ``projects/web_app``, ``global``, ``tenants/acme/users/ana``.

    No name can lead out of the store's folder, and no two namespaces share a folder on any file system.
    """
    kind, _, name = namespace.path.partition("/")
    own = PurePosixPath(_PLURAL.get(kind, kind)) / _escape_name(name) if name else PurePosixPath(_escape_name(kind))
    return own if namespace.tenant == "default" else PurePosixPath("tenants") / _escape_name(namespace.tenant) / own


def _escape_name(name: str) -> str:
    """Return a name with everything but small letters, digits, - and _ as %XX; a long name as its hash."""
    # Capitals too: some file systems take Ana and ana for the same folder.
    said = "".join(item if _PLAIN.match(item) else "".join(f"%{byte:02X}" for byte in item.encode()) for item in name)
    if said in _RESERVED:
        said = f"%{ord(said[0]):02X}{said[1:]}"
    return said if len(said) <= _MAX_NAME_LENGTH else f"%~{hashlib.sha256(name.encode()).hexdigest()}"


def make_folder(path: Path) -> None:
    """Create a folder and its parents durably, readable by this user alone."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Sync a folder's entries to the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_private(file: Path, mode: str) -> BinaryIO:
    """Open a file; a new file is readable by its owner alone."""
    return cast("BinaryIO", open(file, mode, opener=lambda path, flags: os.open(path, flags, 0o600)))


def _number(log: Path) -> int:
    found = _LOG.fullmatch(log.name)
    assert found is not None
    return int(found[1])


def _page(said: Any, file: Path) -> Page:
    try:
        return page_of(said)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreCorrupt(f"{file} holds a page that memwarden cannot read: {error!r}") from None


def _refuse_newer(said: bytes, file: Path) -> None:
    found = re.match(rb'\{"format": (\d+),', said)
    if found and int(found[1]) > FORMAT:
        raise StoreTooNew(f"{file} was written by a later memwarden; upgrade memwarden")


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into StoreFull and StoreUnavailable."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StoreFull(f"no room left on the disk of {path}; make room and call again") from error
        raise StoreUnavailable(f"the folder {path} cannot be used: {error.strerror}") from error
