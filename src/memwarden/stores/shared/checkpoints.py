"""Checkpoints: the state of an agent's graph after each step, and its tasks' writes since.

They lie beside the memories of a namespace and outside its journal: saving a checkpoint locks no row of the namespace
and changes no revision. The shape is LangGraph's (a checkpoint, the values of its channels by version, writes that wait
for the next checkpoint), without importing LangGraph: values are bytes and the name of their serialization.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from memwarden.errors import InvalidInput
from memwarden.records import Namespace

# Default number of checkpoints per read.
PAGE = 100


# Where a value lies in a thread: subgraph, channel, version.
ValuePlace = tuple[str, str, str]


class CheckpointKey(NamedTuple):
    """The key of a checkpoint. thread: the conversation. ns: the subgraph in it, "" for the graph itself."""

    thread: str
    ns: str
    id: str


class CheckpointOutline(NamedTuple):
    """A checkpoint without its content. has: the channels that have a value in it."""

    key: CheckpointKey
    parent: str | None
    metadata: Mapping[str, Any]
    has: frozenset[str]


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint as saved, without the values stored separately.

    Attributes:
        parent: id of the checkpoint before it in the same thread and subgraph.
        agent: the subgraph's name, the same each time it runs; "" for the graph itself.
        kind, data: the serialization and the bytes of the checkpoint, small values included.
        links: channel and version of each value stored separately.
        small: the channels whose values are in ``data``.
        metadata: a JSON object. run: the run that made it; :meth:`Checkpoints.delete_runs` finds it by that.
        shown: JSON object of the small values, for people who read the table. It is written and never read back.
    """

    key: CheckpointKey
    parent: str | None
    agent: str
    kind: str
    data: bytes
    links: tuple[tuple[str, str], ...]
    small: tuple[str, ...]
    metadata: Mapping[str, Any]
    run: str | None = None
    shown: str = "{}"


@dataclass(frozen=True, slots=True)
class ChannelValue:
    """A value of a channel in a version.

    shown: the same as JSON text, for people who read the table, or None. It is written and never read back.
    """

    channel: str
    version: str
    kind: str
    data: bytes
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A task's write to a channel after a checkpoint.

    number: its place among the task's writes. A negative number belongs to a special channel (error, interrupt, ...)
    and may be written again. Of the others the first write stays.
    """

    task: str
    path: str
    number: int
    channel: str
    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CheckpointRead:
    """A checkpoint with its values, and its writes in the order of task path, task and number."""

    saved: SavedCheckpoint
    values: tuple[ChannelValue, ...]
    writes: tuple[PendingWrite, ...]


@dataclass(frozen=True, slots=True)
class CheckpointSearch:
    """A search for checkpoints. None leaves a condition out.

    before: only ids below it. metadata: each key has exactly this value. A key with dots that is not there as it is
    names a value inside objects. after: only those that come later in the order
    of :meth:`Checkpoints.find` than this key, which may have been removed since.
    """

    thread: str | None = None
    ns: str | None = None
    id: str | None = None
    before: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    after: CheckpointKey | None = None


class Checkpoints(Protocol):
    """The saved states of agents in a store.

    Methods raise as those of :class:`memwarden.stores.protocol.Store`: StoreError when the storage refuses,
    StoreUnavailable when it is not open, InvalidInput for a value that no engine can hold. Every method is a single
    transaction, durable on return where ``durable`` says so.
    """

    durable: ClassVar[bool]
    """Whether what was saved outlives the process."""

    async def put(self, namespace: Namespace, saved: SavedCheckpoint, values: Sequence[ChannelValue]) -> None:
        """Save a checkpoint and its new values. A checkpoint under the same key is replaced."""

    async def put_writes(self, namespace: Namespace, key: CheckpointKey, writes: Sequence[PendingWrite]) -> None:
        """Save writes of a checkpoint, which may itself not be saved yet (:class:`PendingWrite`)."""

    async def get(
        self, namespace: Namespace, thread: str, ns: str = "", id: str | None = None
    ) -> CheckpointRead | None:
        """Return a checkpoint, without ``id`` that with the greatest id. None if there is none."""

    async def find(self, namespace: Namespace, search: CheckpointSearch, limit: int = PAGE) -> list[CheckpointRead]:
        """Return checkpoints by descending id, then thread, then subgraph. The filter comes before the limit."""

    async def outlines(self, namespace: Namespace, thread: str) -> list[CheckpointOutline]:
        """Return the outlines of a thread's checkpoints, by ascending key."""

    async def remove(self, namespace: Namespace, keys: Sequence[CheckpointKey]) -> None:
        """Remove checkpoints with their writes, and values that no other checkpoint of the thread names."""

    async def delete_threads(self, namespace: Namespace, threads: Sequence[str]) -> None:
        """Remove everything of threads. Unknown threads are no error."""

    async def delete_runs(self, namespace: Namespace, runs: Sequence[str]) -> None:
        """Remove, as :meth:`remove` does, the checkpoints that these runs made."""

    async def copy_thread(self, namespace: Namespace, source: str, target: str) -> None:
        """Copy everything of a thread to another, replacing what has the same keys."""


def matches_metadata(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether every wanted key has exactly its value. A missing key is None."""
    return all(_value_at(metadata, key) == value for key, value in wanted.items())


def _value_at(metadata: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key, else that where its parts between dots lead, else None."""
    if key in metadata:
        return metadata[key]
    value: Any = metadata
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def find_unneeded(there: Iterable[ValuePlace], needed: Iterable[ValuePlace]) -> list[ValuePlace]:
    """Return the values of a thread that no checkpoint names."""
    kept = set(needed)
    return [item for item in there if item not in kept]


def metadata_text(saved: SavedCheckpoint) -> str:
    """Return a checkpoint's metadata as JSON. Raises InvalidInput for values that JSON cannot hold."""
    return json_text(dict(saved.metadata), f"the metadata of checkpoint {saved.key.id!r}")


def json_text(value: Any, what: str) -> str:
    """Return a value as JSON. Raises InvalidInput, naming ``what``, for values that JSON cannot hold."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{what} is not JSON ({error}); keep to texts, numbers, true, false, null, lists and objects"
        ) from None
    return text


class HealthFinding(NamedTuple):
    """A defect of a store.

    kind: ``damage``, ``index``, ``orphans``, ``counter``, ``content`` or ``bloat``. where: the table, index or view.
    number: of rows, pages or lines. said: the defect in words. mend: what a repair does about it. Empty if no repair
    helps.
    """

    kind: str
    where: str
    number: int
    said: str
    mend: str


class RepairReport(NamedTuple):
    """The result of a repair.

    copy: the copy made beforehand. None when there was nothing to mend. done: mended defects. left: defects that no
    repair can mend.
    """

    copy: Path | None
    done: tuple[HealthFinding, ...]
    left: tuple[HealthFinding, ...]


@runtime_checkable
class HealthCheck(Protocol):
    """A store that can be examined as a whole. Neither method needs the store to be open."""

    async def examine(self) -> list[HealthFinding]:
        """Return every defect and change nothing. Raises StoreError if the store cannot be read at all."""

    async def repair(self, copy: Path | None = None) -> RepairReport:
        """Mend what can be mended, after making a copy. A sound store is left alone.

        copy: path of the copy. None chooses a name beside the store, if it is a file. Raises StoreCorrupt, with nothing
        changed, for damage that no repair can mend; InvalidInput when a copy has to be named; and StoreError.
        """


class NodeShare(NamedTuple):
    """The part of a distributed store that a node holds.

    node: host and port. namespaces: those with memories. bytes: size of its tables and indexes.
    """

    node: str
    namespaces: int
    bytes: int


@runtime_checkable
class DistributedStore(Protocol):
    """A store that may be spread over several servers."""

    async def spread(self) -> list[NodeShare]:
        """Return the share of each node, also of empty ones. Empty for a store of one server."""


class PathProbe(NamedTuple):
    """Attempts to reach foreign data across a boundary by a single path (``memwarden doctor --leaks``).

    boundary: ``tenant``, ``user``, ``project``, ``agent`` or ``database``. path: the verb or the way in. tried: the
    number of attempts. leaks: what each successful attempt gave away. Empty if all failed.
    """

    boundary: str
    path: str
    tried: int
    leaks: tuple[str, ...]
