"""The files of a namespace: a readable snapshot, and a log of later writes.

A page is appended to the log and synced before a write is acknowledged. From time to time a new log is begun,
everything is written to a new snapshot, which then takes the place of the old, and the earlier logs are removed. So
whenever the process dies, snapshot and logs hold every acknowledged write. A log may repeat what the snapshot holds.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from memwarden.errors import StoreCorrupt, StoreFull, StoreTooNew, StoreUnavailable
from memwarden.observability.records import OpEvent
from memwarden.records import ChangeResult, JournalEntry, Memory, Namespace, Receipt, Relation, Signals
from memwarden.stores.shared.event_list import COLUMNS, event_of, row_of
from memwarden.stores.transfer.pages import EarlierContent, IdempotentAnswer, KeptEdge, Mark, MemoryRow, Page

_TIMES = {"created_at", "updated_at", "valid_from", "valid_to", "purge_at", "at"}
_TUPLES = {"tags", "sources", "characters"}
_USUAL = {field.name: field.default for field in fields(Memory) if field.default is not MISSING}


def page_json(page: Page) -> str:
    """Return a page as a single line of JSON."""
    return _line({**_head(page), **{name: list(parts) for name, parts in _parts(page)}})


def page_lines(page: Page) -> Iterator[str]:
    """Yield a page as readable JSON with a line for each memory, entry and edge."""
    yield _line(_head(page))[:-1]
    for name, parts in _parts(page):
        yield f', "{name}": ['
        ending = "\n"
        for part in parts:
            yield ending + _line(part)
            ending = ",\n"
        yield "\n]"
    yield "\n}"


def page_of(said: Mapping[str, Any]) -> Page:
    """Return the page of such JSON. Raises KeyError, TypeError or ValueError for any other value."""
    namespace = Namespace(said["tenant"], said["path"])
    return Page(
        namespace,
        said["since"],
        said["rev"],
        said["head"],
        said["rows"],
        tuple(_change(item, namespace) for item in said["changes"]),
        tuple(_memory_row(item, namespace) for item in said["memories"]),
        tuple(EarlierContent(item["n"], _memory(item["memory"], namespace)) for item in said["earlier"]),
        tuple(_edge(item) for item in said["edges"]),
        tuple(Mark(*item) for item in said["marks"]),
        tuple(_answer(item) for item in said["answers"]),
    )


def _head(page: Page) -> dict[str, Any]:
    where = page.namespace
    numbers = {"since": page.since, "rev": page.rev, "head": page.head, "rows": page.rows}
    return {"tenant": where.tenant, "path": where.path, **numbers}


def _parts(page: Page) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield the lists of a page by name, the memories first, since people look for them."""
    yield "memories", (_memory_row_json(memory) for memory in page.memories)
    yield "earlier", ({"memory": _memory_json(item.memory), "n": item.n} for item in page.earlier)
    yield "edges", (_edge_json(edge) for edge in page.edges)
    yield "changes", (_change_json(change) for change in page.changes)
    yield "marks", (list(mark) for mark in page.marks)
    yield "answers", (_answer_json(answer) for answer in page.answers)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if name in _TUPLES else value


def _rich(name: str, value: Any) -> Any:
    if name in _TIMES and value is not None:
        return datetime.fromisoformat(value)
    return tuple(value) if name in _TUPLES else value


def _memory_json(memory: Memory) -> dict[str, Any]:
    """Return the fields that differ from their defaults. The namespace stands at the head of the page."""
    values = {field.name: getattr(memory, field.name) for field in fields(memory) if field.name != "namespace"}
    return {name: _plain(name, value) for name, value in values.items() if value != _USUAL.get(name, MISSING)}


def _memory(said: Mapping[str, Any], namespace: Namespace) -> Memory:
    return Memory(namespace=namespace, **{name: _rich(name, value) for name, value in said.items()})


def _memory_row_json(row: MemoryRow) -> dict[str, Any]:
    about = {"n": row.n, "rev": row.rev, "once": row.source_key}
    return {"memory": _memory_json(row.memory), **about, "signals": _signals_json(row.signals)}


def _memory_row(said: Mapping[str, Any], namespace: Namespace) -> MemoryRow:
    return MemoryRow(
        said["n"], said["rev"], said["once"], _memory(said["memory"], namespace), _signals(said["signals"])
    )


def _signals_json(signals: Signals) -> dict[str, Any]:
    values = {field.name: getattr(signals, field.name) for field in fields(signals)}
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in values.items()
        if value is not None
    }


def _signals(said: Mapping[str, Any]) -> Signals:
    values: dict[str, Any] = {
        name: base64.b64decode(value, validate=True) if isinstance(value, str) else value
        for name, value in said.items()
    }
    return Signals(**values)


def _edge_json(edge: KeptEdge) -> dict[str, Any]:
    said = edge.relation
    ends = {"from": said.from_id, "to": said.to_id, "type": str(said.type), "strength": said.strength}
    return {**ends, "created_at": said.created_at.isoformat(), "rev": edge.rev, "live": edge.live}


def _edge(said: Mapping[str, Any]) -> KeptEdge:
    made = datetime.fromisoformat(said["created_at"])
    return KeptEdge(said["rev"], said["live"], Relation(said["from"], said["to"], said["type"], said["strength"], made))


def _change_json(entry: JournalEntry) -> dict[str, Any]:
    values = {each.name: getattr(entry, each.name) for each in fields(entry) if each.name != "namespace"}
    return {name: _plain(name, value) for name, value in values.items() if value is not None}


def _change(said: Mapping[str, Any], namespace: Namespace) -> JournalEntry:
    absent = dict.fromkeys(("old_version", "new_version", "actor", "thread_id"))
    values = {**absent, **{name: _rich(name, value) for name, value in said.items()}}
    return JournalEntry(namespace=namespace, **values)


def _answer_json(answer: IdempotentAnswer) -> dict[str, Any]:
    applied = [list(each) for each in answer.receipt.applied]
    about = {"key": answer.key, "fingerprint": answer.fingerprint, "at": answer.at.isoformat()}
    return {**about, "rev": answer.receipt.rev, "applied": applied}


def _answer(said: Mapping[str, Any]) -> IdempotentAnswer:
    receipt = Receipt(said["rev"], tuple(ChangeResult(*item) for item in said["applied"]))
    return IdempotentAnswer(said["key"], said["fingerprint"], datetime.fromisoformat(said["at"]), receipt)


# Version of the file format. A higher number was written by a later memwarden.
FORMAT = 2
SNAPSHOT = "memory.json"
_NEW = "memory.json.new"
_LOG = re.compile(r"log\.(\d{8})\.jsonl")
_END = re.compile(rb'\n, "crc32": "([0-9a-f]{8})"\}\n\Z')
_WHOSE = re.compile(r'\{"tenant": ("(?:[^"\\]|\\.)*"), "path": ("(?:[^"\\]|\\.)*"), ')
# Bytes before the JSON of a log's line: its CRC-32 in hexadecimal digits and a space.
_CHECK = 9
_PLURAL = {"project": "projects", "user": "users", "task": "tasks"}
_PLAIN = re.compile(r"[a-z0-9_-]")
_REMOVED = ".removed"  # names of namespaces hold no dot
_MAX_NAME_LENGTH = 200
# Names that Windows gives to devices.
_RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}


class Folder:
    """The files of a namespace. Not safe for use by several threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log: BinaryIO | None = None
        self._number = 0

    def pages(self) -> list[Page]:
        """Return the pages of the snapshot and the logs in the order of writing. Later appends follow them.

        A torn last line of the last log was never acknowledged and is cut off. Raises StoreCorrupt for any other
        damage.
        """
        with explain_os_errors(self.path):
            logs = self._logs()
            found = [*self._snapshot(), *(page for log in logs for page in self._lines(log, last=log == logs[-1]))]
            self._number = _number(logs[-1]) if logs else 0
        return found

    def namespace(self) -> Namespace | None:
        """Return the folder's namespace, read from its files. None before the first acknowledged write."""
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
        """Begin a new log and return its number. A snapshot taken now replaces the logs before it."""
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
            # Only after the snapshot is durable. Logs begun since hold later writes.
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
    """Return a name with everything but small letters, digits, - and _ as %XX. A long name as its hash."""
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


def remove_folder(path: Path) -> None:
    """Remove a namespace's folder, whole or not at all: what a kill leaves has a name that no namespace has."""
    if not path.is_dir():
        return
    gone = path.with_name(f"{path.name}{_REMOVED}")
    with explain_os_errors(path):
        shutil.rmtree(gone, ignore_errors=True)  # of an earlier removal that was killed
        path.rename(gone)
        sync_folder(path.parent)
        shutil.rmtree(gone)
        sync_folder(path.parent)


def finish_removals(root: Path) -> None:
    """Remove what killed removals left."""
    with explain_os_errors(root):
        for gone in list(root.rglob(f"*{_REMOVED}")):
            shutil.rmtree(gone)


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
    """Open a file. A new file is readable by its owner alone."""
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


NAME = "events.jsonl"


def append_events(folder: Path, events: Sequence[OpEvent]) -> None:
    """Append events to the file of a folder, creating both. A torn last line stays a line of its own."""
    with explain_os_errors(folder):
        make_folder(folder)
        with open_private(folder / NAME, "a+b") as file:
            file.write((b"\n" if _ends_in_half_a_line(file) else b"") + _lines(events))


def replace_events(folder: Path, events: Sequence[OpEvent]) -> None:
    """Replace the file's content by these events, atomically."""
    new = folder / f"{NAME}.new"
    with explain_os_errors(folder):
        with open_private(new, "wb") as file:
            file.write(_lines(events))
        new.replace(folder / NAME)


def read_events(folder: Path, namespace: Namespace) -> list[OpEvent]:
    """Return the events of the file, skipping lines that a kill or a power cut left half written."""
    with explain_os_errors(folder):
        file = folder / NAME
        lines = file.read_bytes().splitlines() if file.exists() else []
    return [event for line in lines if (event := _event(line, namespace)) is not None]


def _ends_in_half_a_line(file: BinaryIO) -> bool:
    """Return whether a kill, a power cut or a full disk tore the file's last line."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _lines(events: Sequence[OpEvent]) -> bytes:
    rows = (dict(zip(COLUMNS, row_of(event), strict=True)) for event in events)
    kept = ({name: value for name, value in row.items() if value is not None} for row in rows)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in kept).encode()


def _event(line: bytes, namespace: Namespace) -> OpEvent | None:
    try:
        row: dict[str, Any] = json.loads(line)
        return event_of(namespace, [row.get(name) for name in COLUMNS])
    except (ValueError, TypeError, AttributeError):
        return None


ACCESSES = "accesses.json"


def save_accesses(folder: Path, accessed: Mapping[str, datetime]) -> None:
    """Replace the file that tells when memories last stood in an answer, atomically."""
    new = folder / f"{ACCESSES}.new"
    with explain_os_errors(folder):
        make_folder(folder)
        with open_private(new, "wb") as file:
            file.write(_line({memory_id: at.isoformat() for memory_id, at in accessed.items()}).encode())
        new.replace(folder / ACCESSES)


def read_accesses(folder: Path) -> dict[str, datetime] | None:
    """Return when memories last stood in an answer. None without a file, or with a torn one."""
    with explain_os_errors(folder):
        file = folder / ACCESSES
        said = file.read_bytes() if file.exists() else b""
    try:
        return {str(memory_id): datetime.fromisoformat(at) for memory_id, at in json.loads(said).items()}
    except (ValueError, TypeError, AttributeError):
        return None
