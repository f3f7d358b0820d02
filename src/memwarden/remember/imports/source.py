"""An import's file, folder or zip: its parts as streams, its first bytes, and JSON read a value at a time."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

import ijson  # type: ignore[import-untyped]

from memwarden.errors import InvalidInput, NotFound
from memwarden.remember.imports.encodings import detect_encoding, read_mark
from memwarden.remember.imports.records import ImportRecord, MalformedPart, Refuse, Spot
from memwarden.stores.shared.raw_files import read_raw
from memwarden.text.language import repair_text

ZIP = b"PK\x03\x04"
# Bytes that tell what a file is.
HEAD = 65_536
# Events of the JSON parser that tell the layout.
MAX_EVENTS = 4_000
# Bytes of all unpacked parts together: a zip of a few kilobytes may hold gigabytes.
MAX_UNPACKED = 4 * 1024**3
# Bytes of a note or of a line of text, which are held in memory whole.
MAX_WHOLE = 16 * 1024**2
# Malformed entries that are named, and those of them whose line is looked up: in JSON that reads the file again.
MAX_REFUSED, MAX_LINES = 1_000, 20
FURTHER = "further malformed entries"
NOTHING_AFTER = "; nothing after it was read"
# Objects and lists within each other in a JSON value.
MAX_DEPTH = 200
# Parts of a folder or zip.
MAX_PARTS = 200_000
# The files of a zip that the exports of chats hold beside their conversations.
NOISE = ("__MACOSX/", ".obsidian/", ".trash/", ".git/")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What a caller may say about a file that the file does not say itself.

    zone: of times without a zone. day_first: of dates such as 3/4/2024. mapping: columns of a table by field.
    thread: the name of the conversation. branches: other branches of chats too. max_unpacked: bytes of a zip's parts.
    strict: refuse the whole import for one malformed entry, which is left out and named otherwise.
    """

    zone: str = "UTC"
    day_first: bool | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    thread: str | None = None
    branches: bool = False
    max_unpacked: int = MAX_UNPACKED
    strict: bool = False


class ImportSource:
    """A file, folder or zip to import."""

    def __init__(self, path: Path, options: ImportOptions | None = None) -> None:
        if not path.exists():
            raise NotFound(f"there is no file or folder {str(path)!r}")
        self.path = path
        self.options = options or ImportOptions()
        self._seen: list[tuple[int, int]] | None = None
        # The place of what was read last, where a reader's errors do not name the line themselves.
        self.spot: Spot | None = None
        # Malformed entries that were left out: their places with the reasons, each once.
        self.refused: dict[str, int] = {}
        # Names of files that are not UTF-8, by the names of their parts.
        self._odd_names: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return repair_text(self.path.stem)

    @cached_property
    def size(self) -> int:
        """Bytes of the file, or of a folder's files; of a zip packed."""
        if self.path.is_dir():
            return sum(self._file_of(part).stat().st_size for part in self.parts)
        return self.path.stat().st_size

    def check_unchanged(self) -> None:
        """Raise MalformedPart when a file is no longer as it was at the first call: an import reads it twice."""
        names = [self._file_of(part) for part in self.parts] if self.path.is_dir() else [self.path]
        try:
            found = [(found.st_size, found.st_mtime_ns) for found in map(Path.stat, names)]
        except OSError as error:
            raise MalformedPart(f"{str(self.path)!r} cannot be read again: {error.strerror or error}") from None
        if self._seen is not None and found != self._seen:
            raise MalformedPart(f"{str(self.path)!r} was changed while it was read")
        self._seen = found

    @cached_property
    def is_zip(self) -> bool:
        return self.path.is_file() and self._first(4) == ZIP

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names of a folder's or zip's files, sorted; of a file its own name."""
        if self.path.is_dir():
            # Not rglob: it fails at a folder that is removed meanwhile.
            within = (Path(folder, name) for folder, _, names in os.walk(self.path) for name in names)
            found = (item for item in within if item.is_file() and not item.is_symlink())
            real = [item.relative_to(self.path).as_posix() for item in found]
            names = [repair_text(name) for name in real]
            self._odd_names = {name: kept for name, kept in zip(names, real, strict=True) if name != kept}
        elif self.is_zip:
            with _unpacking(self.path):
                entries = [item for item in self._archive.infolist() if not item.is_dir()]
                most = self.options.max_unpacked
                if sum(item.file_size for item in entries) > most:
                    raise InvalidInput(f"{str(self.path)!r} unpacks to more than {most:,} bytes; split it")
                names = [item.filename for item in entries]
                for name, times in Counter(names).items():
                    if times > 1:  # only the last is ever read
                        raise InvalidInput(f"{str(self.path)!r} holds {name!r:.80} twice; pack it anew")
        else:
            return (self.path.name,)
        if len(names) > MAX_PARTS:
            raise InvalidInput(f"{str(self.path)!r} holds more than {MAX_PARTS:,} files; split it")
        return tuple(sorted(name for name in names if not any(f"/{noise}" in f"/{name}" for noise in NOISE)))

    @cached_property
    def _archive(self) -> ZipFile:
        # Opened once: its table of contents is read whole, and a vault has a part for each note.
        return ZipFile(self.path)

    @contextmanager
    def open(self, part: str) -> Iterator[BinaryIO]:
        """Open a part. Raises InvalidInput for a damaged zip."""
        try:
            if self.is_zip:
                with _unpacking(self.path), self._archive.open(part) as opened:
                    yield opened  # type: ignore[misc]  # a stream of bytes, which is all that is read of it
            else:
                with self._file_of(part).open("rb") as opened_file:
                    yield opened_file
        except OSError as error:
            raise MalformedPart(f"{self.place(part)} cannot be read: {error.strerror or error}") from error

    def _file_of(self, part: str) -> Path:
        return self.path / self._odd_names.get(part, part) if self.path.is_dir() else self.path

    def place(self, part: str) -> str:
        """Return the name of a part for errors."""
        return repr(str(self.path)) if part == self.path.name else f"{str(self.path)!r}, {part}"

    @cached_property
    def main(self) -> str:
        """The part that tells what it is: of a zip the conversations, or its only text; else the first."""
        for wanted in (_is_conversations, _is_chat_text):
            found = [name for name in self.parts if wanted(name)]
            if found:
                return found[0]
        return self.parts[0] if self.parts else ""

    @cached_property
    def head(self) -> str:
        """The first characters of the main part."""
        if not self.parts:
            return ""
        if self.path.is_file() and not self.is_zip:
            return _decode_head(self._first(HEAD))
        try:
            with self.open(self.main) as opened:
                return _decode_head(opened.read(HEAD))
        except MalformedPart:
            return ""

    @cached_property
    def shape(self) -> Mapping[str, str]:
        """The paths of the JSON at the beginning of the main part, with the first kind of value at each.

        Empty for what is no JSON. In JSON Lines every line begins at the root.
        """
        if self.head.lstrip()[:1] not in ("{", "["):
            return {}
        found: dict[str, str] = {}
        try:
            for path, event, value in islice(
                ijson.parse(_Unmarked(io.BytesIO(self.head.lstrip().encode())), multiple_values=True), MAX_EVENTS
            ):
                found.setdefault(path, event)
                if event == "string" and path.endswith(("type", "role")):
                    found.setdefault(f"{path}={value}", event)
        except _UNREADABLE:
            pass  # the head may end within a value
        return found

    def items(self, part: str, path: str, *, lines: bool = False) -> Iterator[Any]:
        """Yield the JSON values at a path of a part, a value in memory at a time.

        Raises MalformedPart that names the line.
        """
        if lines and not path and self._has_value_a_line(part):
            yield from self._json_lines(part)
            return
        with self.open(part) as opened:
            try:
                values = ijson.items(_Unmarked(opened), path, multiple_values=lines)
                for number, value in enumerate(values, 1):
                    self.spot = Spot(part, steps=((path, number),), lines=lines)
                    try:
                        plain = _as_plain(value, MAX_DEPTH)
                    except MalformedPart as error:
                        self.refuse(MalformedPart(f"{self.place(part)}: {error}"))
                    else:
                        yield plain
            except _UNREADABLE as error:
                said = str(error).splitlines()[0]
                line = self._line_at(part, lambda stream: _parse_all(stream, lines=lines))
                self.spot = None
                raise MalformedPart(f"{self.place(part)}, line {line:,}: no valid JSON ({said})") from None
            self.spot = None

    def _has_value_a_line(self, part: str) -> bool:
        """Return whether the first line of a part is a whole JSON value."""
        first = next((line for _, line in self.lines(part) if line.strip()), "")
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return False
        return True

    def _json_lines(self, part: str) -> Iterator[Any]:
        for number, line in self.lines(part):
            if not line.strip():
                continue
            self.spot = Spot(part, line=number)
            try:
                value = _as_plain(json.loads(line), MAX_DEPTH)
            except MalformedPart as error:
                self.refuse(MalformedPart(f"{self.place(part)}: {error}"))
            except (ValueError, RecursionError) as error:
                self.refuse(MalformedPart(f"{self.place(part)}: no valid JSON ({error})"))
            else:
                yield value
        self.spot = None

    def until_broken(self, values: Iterator[Any]) -> Iterator[Any]:
        """Yield values until one cannot be read, and note that one."""
        try:
            yield from values
        except MalformedPart as error:
            self.refuse(error, rest=NOTHING_AFTER)

    def sifted(
        self, records: Iterator[ImportRecord], sift: Callable[[ImportRecord, Refuse], ImportRecord | None]
    ) -> Iterator[ImportRecord]:
        """Yield the records of this source, each without its malformed entries.

        sift: returns what can be kept of a record, or None.
        """
        try:
            for record in records:
                with self.entry():
                    kept = sift(record, self.refuse)
                    if kept is not None:
                        yield kept
        except MalformedPart as error:
            self.refuse(error, rest=NOTHING_AFTER)

    @contextmanager
    def entry(self) -> Iterator[None]:
        """Leave out and note an entry that turns out malformed."""
        try:
            yield
        except MalformedPart as error:
            self.refuse(error)

    def refuse(self, error: MalformedPart, rest: str = "") -> None:
        """Note a malformed entry with its line. Raises MalformedPart, in a strict import.

        rest: the consequence for what follows the entry.
        """
        if error.placed:
            raise error
        said = self._with_line(error) if len(self.refused) < MAX_LINES or self.options.strict else str(error)
        if self.options.strict:
            placed = MalformedPart(said)
            placed.placed = True
            raise placed from None
        said += rest
        if said not in self.refused and len(self.refused) >= MAX_REFUSED:
            said = FURTHER
        self.refused[said] = self.refused.get(said, 0) + 1 if said == FURTHER else 1

    def _with_line(self, error: MalformedPart) -> str:
        spot = error.spot or self.spot
        if spot is None:
            return str(error)
        if error.inside is not None:
            spot = spot.inside(*error.inside)
        place, said = self.place(spot.part), str(error).removeprefix(self.place(spot.part))
        return f"{place}, line {self.find_line(spot):,}{said}"

    def find_line(self, spot: Spot) -> int:
        """Return the line on which something begins."""
        if spot.line is not None:
            return spot.line
        return self._line_at(spot.part, lambda stream: _parse_to(stream, spot))

    def lines(self, part: str) -> Iterator[tuple[int, str]]:
        """Yield the lines of a text with their numbers. Raises MalformedPart for a part of unknown encoding."""
        with self.open(part) as opened:
            marked = read_mark(opened.read(4))
        if marked is not None:  # a line break has two bytes
            yield from enumerate(self.text(part).splitlines(), 1)
            return
        encoding, ends = "utf-8", 0  # ends: line ends of old Macs before this line
        with self.open(part) as opened:
            for number, line in enumerate(iter(lambda: opened.readline(MAX_WHOLE + 1), b""), 1):
                if len(line) > MAX_WHOLE:
                    raise MalformedPart(f"{self.place(part)}, line {number:,}: over {MAX_WHOLE:,} bytes; split it")
                line = line.removeprefix(_MARK) if number == 1 else line
                try:
                    said = line.decode(encoding)
                except UnicodeDecodeError:
                    encoding = self._other_encoding(part, number)
                    said = line.decode(encoding, errors="replace")
                first, *others = said.rstrip("\r\n").split("\r")
                yield number + ends, first
                for other in others:
                    ends += 1
                    yield number + ends, other

    def text(self, part: str) -> str:
        """Return a whole part as text. Raises MalformedPart for a part of unknown encoding."""
        with self.open(part) as opened:
            whole = opened.read(MAX_WHOLE + 1)
        if len(whole) > MAX_WHOLE:
            raise MalformedPart(f"{self.place(part)}: over {MAX_WHOLE:,} bytes; split it")
        try:
            return whole.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            encoding = self._other_encoding(part, whole.count(b"\n", 0, error.start) + 1)
            return whole.decode(encoding, errors="replace")

    def _other_encoding(self, part: str, line: int) -> str:
        """Return the encoding of a part that is not UTF-8 from a line on."""
        with self.open(part) as opened:
            found = None if self.options.strict else detect_encoding(opened.read(MAX_WHOLE))
        if found is None:
            raise MalformedPart(f"{self.place(part)}, line {line:,}: it is no UTF-8 text")
        return found

    def _first(self, size: int) -> bytes:
        # The file may be a store that this process has open: see read_raw.
        try:
            return read_raw(self.path, size)
        except OSError as error:
            raise InvalidInput(f"cannot read {str(self.path)!r}: {error.strerror or error}") from error

    def _line_at(self, part: str, reads: Callable[[Any], object]) -> int:
        """Return the line of a part at which something that reads it comes to its end."""
        with self.open(part) as opened:
            counted = _LineCounter(opened)
            reads(_Unmarked(counted))
        with self.open(part) as opened:
            stepping = _Stepping(opened, counted.last, counted.before)
            reads(_Unmarked(stepping))
            return stepping.line


def _parse_all(stream: Any, *, lines: bool) -> None:
    """Parse JSON until the parser gives up."""
    with suppress(*_UNREADABLE):
        for _ in ijson.basic_parse(stream, buf_size=HEAD, multiple_values=lines):
            pass


def _parse_to(stream: Any, spot: Spot) -> None:
    """Parse JSON until a value begins."""
    steps, seen = list(spot.steps), 0
    with suppress(*_UNREADABLE):
        for path, event, _ in ijson.parse(stream, buf_size=HEAD, multiple_values=spot.lines):
            if path != steps[0][0] or event in ("end_map", "end_array", "map_key"):
                continue
            seen += 1
            if seen == steps[0][1]:
                steps, seen = steps[1:], 0
                if not steps:
                    return


# A number whose exponent has twenty digits is an arithmetic error.
_UNREADABLE = (ijson.JSONError, UnicodeDecodeError, ArithmeticError)
_MARK = b"\xef\xbb\xbf"
# Python reads integers of 4,300 digits.
MAX_DIGITS = 4_300
# Parsing a value of this depth takes about a second.
MAX_OPEN = 10_000
_DIGITS = b"0123456789"
# In a text between quotation marks they may come before digits too.
_BEFORE_NUMBERS = (b" ", b"\t", b"\r", b"\n", b",", b":", b"[", b"-")
_LONG_NUMBER = re.compile(rb"(?<=[ \t\r\n,:\[-])[0-9]{%d,}" % (MAX_DIGITS + 1))


def _as_plain(value: Any, depth: int) -> Any:
    """Return a JSON value with floats for decimal numbers, changed in place.

    depth: how many objects and lists may be within each other. Raises MalformedPart for more.
    """
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict | list):
        if depth == 0:
            raise MalformedPart(f"nested more than {MAX_DEPTH} deep")
        for place, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(item, Decimal | dict | list):
                value[place] = _as_plain(item, depth - 1)
    return value


class _LineCounter:
    """A stream that knows where its last block began, and how many line breaks came before that."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._done, self._held = stream, 0, 0
        self.last = self.before = 0

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        if block or size == 0:
            self.last, self.before = self._done, self._held
        self._done, self._held = self._done + len(block), self._held + block.count(b"\n")
        return block


class _Stepping:
    """A stream that gives byte after byte from a place on, and counts the lines before the last of them."""

    def __init__(self, stream: BinaryIO, start: int, before: int) -> None:
        self._stream, self._left, self.line, self._ended = stream, start, before + 1, False

    def read(self, size: int = -1) -> bytes:
        if size == 0:
            return b""
        if self._left:
            block = self._stream.read(min(size, self._left))
            self._left -= len(block)
            return block
        byte = self._stream.read(1)
        self.line, self._ended = self.line + self._ended, byte == b"\n"
        return byte


class _Unmarked:
    """A stream of JSON after its byte order mark, whose integers have at most :data:`MAX_DIGITS` digits.

    ijson's parser in C follows a null pointer at an integer of more digits than Python reads. The further digits are
    left out, and what reads the value refuses it. The time of the parser grows with the square of the depth, so that
    reading raises JSONError for values that are nested too deep.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._begun = stream, False
        # Digits at the end of the last block that may be of a number.
        self._digits = 0
        # Brackets that are open, those within texts included.
        self._open = 0

    def read(self, size: int = -1) -> bytes:
        if size == 0:
            return b""
        while block := self._next(size):
            self._open += sum(block.count(sign) for sign in (b"[", b"{")) - sum(
                block.count(sign) for sign in (b"]", b"}")
            )
            if self._open > MAX_OPEN:
                raise ijson.JSONError("nested too deep")
            if shortened := self._shorten(block):
                return shortened
        return b""

    def _next(self, size: int) -> bytes:
        if self._begun:
            return bytes(self._stream.read(size))
        self._begun, first = True, b""
        while len(first) <= len(_MARK) and (more := self._stream.read(size)):
            first += more
        return first.removeprefix(_MARK)

    def _shorten(self, block: bytes) -> bytes:
        rest = block.lstrip(_DIGITS)
        leading = block[: len(block) - len(rest)]
        if self._digits:
            kept = leading[: max(MAX_DIGITS - self._digits, 0)]
            self._digits += len(leading)
        else:
            kept = leading
        if rest:
            before = rest.rstrip(_DIGITS)
            self._digits = len(rest) - len(before) if before[-1:] in _BEFORE_NUMBERS else 0
            rest = _LONG_NUMBER.sub(lambda found: found[0][:MAX_DIGITS], rest)
        return kept + rest


def _decode_head(first: bytes) -> str:
    """Return the first characters of a text, of which the last may be cut off."""
    try:
        return first.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cut_off = len(first) - error.start < 4
        encoding = None if cut_off else detect_encoding(first)
        return first.decode(encoding or "utf-8-sig", errors="replace")


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    try:
        yield
    except (BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise MalformedPart(f"{str(path)!r} cannot be unpacked: {error}") from None


def _is_conversations(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base.startswith("conversations") and base.endswith(".json")


def _is_chat_text(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base == "_chat.txt" or (base.startswith("WhatsApp") and base.endswith(".txt"))


Recogniser = Callable[[ImportSource], bool]
