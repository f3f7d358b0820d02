"""Saved states of agents: what a graph holds after each of its steps, and what its tasks wrote since.

They lie beside the memories of a namespace and outside its journal: saving one locks no row of the namespace and
changes no revision. The shape is LangGraph's (a checkpoint, the values of its channels by version, writes that wait for
the next checkpoint), without anything of LangGraph: values are bytes and the name of how to read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from memwarden.errors import InvalidInput
from memwarden.records import Namespace

PAGE = 100
"""So many checkpoints are read at once, unless somebody asks for fewer."""


ValuePlace = tuple[str, str, str]
"""Where a value lies in a thread: subgraph, channel, version."""


class CheckpointKey(NamedTuple):
    """Which checkpoint of a namespace. thread: the conversation. ns: the subgraph in it, "" for the graph itself."""

    thread: str
    ns: str
    id: str


class CheckpointOutline(NamedTuple):
    """What a checkpoint hangs together with, without its content. has: the channels that have a value in it."""

    key: CheckpointKey
    parent: str | None
    metadata: Mapping[str, Any]
    has: frozenset[str]


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint without the values that lie apart.

    Attributes:
        parent: id of the checkpoint before it in the same thread and subgraph.
        agent: the subgraph's name, the same each time it runs; "" for the graph itself.
        kind, data: the checkpoint, and how it is to be read. Small values are in it.
        links: channel and version of each value that lies apart.
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
    """A value of a channel in one version.

    shown: the same as JSON text, for people who read the table, or None. It is written and never read back.
    """

    channel: str
    version: str
    kind: str
    data: bytes
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """What a task wrote to a channel after a checkpoint.

    number: its place among the task's writes. A negative one is of a special channel (error, interrupt, ...) and may be
    written again; of the others the first one stays.
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
    """Which checkpoints are looked for; None leaves a condition out.

    before: only ids below it. metadata: each key has exactly this value. after: only those that come later in the order
    of :meth:`Checkpoints.find` than this one, which need not be there any more.
    """

    thread: str | None = None
    ns: str | None = None
    id: str | None = None
    before: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    after: CheckpointKey | None = None


class Checkpoints(Protocol):
    """Where states of agents are kept. Every store has one.

    Methods raise as those of :class:`memwarden.stores.protocol.Store`: StoreError when the storage refuses,
    StoreUnavailable when it is not open, InvalidInput for a value that no engine can hold. Every method is one
    transaction, durable on return where ``durable`` says so.
    """

    durable: ClassVar[bool]
    """Whether what was saved outlives the process."""

    async def put(self, namespace: Namespace, saved: SavedCheckpoint, values: Sequence[ChannelValue]) -> None:
        """Save a checkpoint and values that are new. One that is there already under the same key is replaced."""

    async def put_writes(self, namespace: Namespace, key: CheckpointKey, writes: Sequence[PendingWrite]) -> None:
        """Save writes of a checkpoint, which may itself not be saved yet (:class:`PendingWrite`)."""

    async def get(
        self, namespace: Namespace, thread: str, ns: str = "", id: str | None = None
    ) -> CheckpointRead | None:
        """Return a checkpoint, without ``id`` the one with the greatest id; None if there is none."""

    async def find(self, namespace: Namespace, search: CheckpointSearch, limit: int = PAGE) -> list[CheckpointRead]:
        """Return checkpoints by descending id, then thread, then subgraph. The filter comes before the limit."""

    async def outlines(self, namespace: Namespace, thread: str) -> list[CheckpointOutline]:
        """Return what hangs together in a thread, by ascending key."""

    async def remove(self, namespace: Namespace, keys: Sequence[CheckpointKey]) -> None:
        """Remove checkpoints with their writes, and values that no other checkpoint of the thread names."""

    async def delete_threads(self, namespace: Namespace, threads: Sequence[str]) -> None:
        """Remove everything of threads; those that there are not are no error."""

    async def delete_runs(self, namespace: Namespace, runs: Sequence[str]) -> None:
        """Remove, as :meth:`remove` does, the checkpoints that these runs made."""

    async def copy_thread(self, namespace: Namespace, source: str, target: str) -> None:
        """Copy everything of a thread to another one; what is there under the same keys is replaced."""


def matches_metadata(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether every wanted key has exactly this value; a missing key is None."""
    return all(metadata.get(key) == value for key, value in wanted.items())


def find_unneeded(there: Iterable[ValuePlace], needed: Iterable[ValuePlace]) -> list[ValuePlace]:
    """Which values of a thread no checkpoint names."""
    kept = set(needed)
    return [item for item in there if item not in kept]


def metadata_text(saved: SavedCheckpoint) -> str:
    """Return a checkpoint's metadata as JSON. Raises InvalidInput for what is none."""
    return json_text(dict(saved.metadata), f"the metadata of checkpoint {saved.key.id!r}")


def json_text(value: Any, what: str) -> str:
    """Return a value as JSON. Raises InvalidInput, which names ``what``, for what is none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{what} is not JSON ({error}); keep to texts, numbers, true, false, null, lists and objects"
        ) from None
    return text
