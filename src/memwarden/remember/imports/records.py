"""What readers of foreign formats yield: parts of conversations, documents and graphs, with what they left out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from memwarden.errors import InvalidInput

T = TypeVar("T")


class Spot(NamedTuple):
    """A place in a file, from which its line can be found.

    It is a line of a text, or the value with a number among those at the paths of a JSON, one inside the other.
    lines: whether each line is a JSON.
    """

    part: str
    line: int | None = None
    steps: tuple[tuple[str, int], ...] = ()
    lines: bool = False

    def inside(self, path: str, number: int) -> Spot:
        """Return the place of a value within this value, by its path there."""
        outer = self.steps[-1][0] if self.steps else ""
        return self._replace(steps=(*self.steps, (f"{outer}.{path}".strip("."), number)))


@dataclass(frozen=True, slots=True)
class ImportedThread:
    """A part of a conversation: messages as ``observe`` takes them, each with an id.

    Attributes:
        user: whose it is, where the file says so. where: its place in the file, for errors. skipped: counts by reason.
        spots: the place of each message, where the record is read from many.
    """

    thread: str
    messages: tuple[Mapping[str, Any], ...]
    where: str
    user: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
    spots: tuple[Spot | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedStatement:
    """A text that a document states. valid_from, valid_to: since when it is true, and since when no longer."""

    text: str
    created_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    channel: str = "semantic"
    kind: str | None = None
    category: str | None = None
    importance: float = 0.5
    pinned: bool = False
    tags: tuple[str, ...] = ()
    summary: str | None = None
    context: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A fingerprint of the content, by which a later import knows it again."""
        return digest_parts(self.text, self.valid_from, self.valid_to, sorted(self.tags), sorted(self.metadata.items()))


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """A document of a collection: a note, a memory of another program, an entity, a row.

    Attributes:
        id: names it in every import. statements: what it states now; of a document that is gone nothing.
        links: the ids of documents that it names.
        collection: names the documents that belong together, where all of them are in the file: what an earlier
            import found there and this does not was removed. None: the file may be a part.
        unread: whether it is malformed. What it stated in an earlier import stays.
    """

    id: str
    statements: tuple[ImportedStatement, ...]
    where: str
    user: str | None = None
    links: tuple[str, ...] = ()
    collection: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
    unread: bool = False


@dataclass(frozen=True, slots=True)
class ImportedNode:
    """A saved entity or relation of a knowledge graph, as the reference memory server writes it."""

    node: Mapping[str, Any]
    where: str
    user: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)


ImportRecord = ImportedThread | ImportedDocument | ImportedNode


# Characters of messages or records that are in memory at a time: a single message may have a quarter of a million.
MAX_PART = 1_000_000


class MalformedPart(InvalidInput):
    """Raised by readers for a malformed part of a file, with its place.

    spot: from which the line can be found. inside: path and number of the malformed value in the value that is read.
    """

    def __init__(self, message: str, *, spot: Spot | None = None, inside: tuple[str, int] | None = None) -> None:
        super().__init__(message)
        self.spot, self.inside = spot, inside
        # Whether the message names the place already.
        self.placed = False


# Takes note of a malformed entry, so that its reader goes on with the next; in a strict import it raises the error.
Refuse = Callable[[MalformedPart], None]


def raise_malformed(error: MalformedPart) -> None:
    """Refuse the whole import for a malformed entry."""
    raise error


def digest_parts(*parts: Any) -> str:
    """Return a short fingerprint of values."""
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


class ContentIds:
    """Gives messages without ids names made of their content, the same in every import.

    The second of two equal messages gets another name than the first.
    """

    def __init__(self) -> None:
        self._seen = Counter[str]()

    def name(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the message with an id."""
        if message.get("id") is not None:
            return message
        at = message.get("created_at")
        said = at.astimezone(UTC).isoformat() if isinstance(at, datetime) else at
        digest = digest_parts(*(message.get(key) for key in ("role", "name", "content")), said)
        self._seen[digest] += 1
        again = self._seen[digest]
        return {**message, "id": digest if again == 1 else f"{digest}-{again}"}


def in_parts(items: Iterable[T], size: int, characters: int = MAX_PART) -> Iterator[Sequence[T]]:
    """Yield lists of at most ``size`` items, which end with the item that makes their texts this long.

    The last list may be empty.
    """
    part: list[T] = []
    held = 0
    for item in items:
        part.append(item)
        held += count_characters(item)
        if len(part) == size or held >= characters:
            yield part
            part, held = [], 0
    yield part


def count_characters(value: Any) -> int:
    """Return how many characters a value's texts have, however deep they lie."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, ImportedThread):
        return count_characters(value.messages)
    if isinstance(value, ImportedDocument):
        return sum(len(statement.text) + count_characters(statement.metadata) for statement in value.statements)
    if isinstance(value, ImportedNode):
        return count_characters(value.node)
    if isinstance(value, Mapping):
        return sum(map(count_characters, value.values()))
    return sum(map(count_characters, value)) if isinstance(value, list | tuple) else 0
