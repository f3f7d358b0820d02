"""LangGraph's checkpointer on a memwarden store."""

from __future__ import annotations

import copy
import random
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from memwarden.errors import InvalidInput
from memwarden.records import Namespace
from memwarden.stores.memory.checkpoints import require_checkpoints
from memwarden.stores.shared.checkpoints import (
    PAGE,
    CheckpointKey,
    CheckpointOutline,
    CheckpointRead,
    Checkpoints,
    CheckpointSearch,
    PendingWrite,
)
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding
from memwarden.surfaces.integrations.langgraph.serialization import CheckpointSerializer, config_of

# What a checkpoint may take unless it is said otherwise; a state of 1 MB is already large.
DEFAULT_MAX_BYTES = 16 * 1024 * 1024
STRATEGIES = ("keep_latest", "delete")
# Metadata that names the channels of which most checkpoints hold no value, only what changed.
_DELTA = "counters_since_delta_snapshot"


class MemwardenSaver(BaseCheckpointSaver[str]):
    """Saves the states of LangGraph's graphs durably, beside the memories of a scope.

    >>> with Warden.open("sqlite:///agent.db") as warden:
    ...     graph = builder.compile(checkpointer=MemwardenSaver(warden.scope(user="ana")))
    ...     graph.invoke(question, {"configurable": {"thread_id": "t1"}})

    Every method has its async twin (``aput``, ``aget_tuple``, ...). Both answer with either kind of warden; with an
    AsyncWarden the blocking ones have to come from another thread than that of its event loop.

    Args:
        warden: an open Warden or AsyncWarden, or a scope of it. Threads of two scopes are never the same thread. A
            warden itself means tenant ``default``, user ``default``.
        serde: what writes and reads values; None is LangGraph's JsonPlusSerializer. Nothing is pickled. With any
            other the view ``supervisor_checkpoints`` shows no values.
        most_bytes: a checkpoint, or the writes of a call, of more bytes is refused (InvalidInput).
        user_from: serves many users with a graph that is compiled once: a name under ``configurable``, such as
            ``user_id``, that says whose the thread is. What takes no config (``delete_thread``, ``copy_thread``,
            ``prune``, ``list(None)``) is done over :meth:`for_user`. None: threads are the scope's.

    Raises InvalidInput for a store that keeps memories durably but no states (JSON files), and for what cannot be
    saved; and the errors of the store. Nothing of a refused call is kept.
    """

    def __init__(
        self,
        warden: AnyWarden,
        *,
        serde: SerializerProtocol | None = None,
        most_bytes: int = DEFAULT_MAX_BYTES,
        user_from: str | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._bound = StoreBinding(warden, user_from)
        store = self._bound.runtime.store
        if store.promises.durable and not store.checkpoints.durable:
            raise InvalidInput(
                f"{type(store).__name__} keeps memories durably, but no states of agents; use SQLite or PostgreSQL"
            )
        self._most_bytes = most_bytes
        CheckpointSerializer(self.serde, most_bytes)  # refuses what pickles, at once

    def for_user(self, user: str) -> MemwardenSaver:
        """Return the saver of a user's threads, whatever a config says."""
        of_user = copy.copy(self)
        of_user._bound = self._bound.for_user(user)
        return of_user

    # LangGraph's methods, with the names and arguments that it gives them.

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; it is durable on return. Returns its config."""
        key = _key(config, checkpoint["id"])
        self._bound.run(self._save(key, config, checkpoint, metadata, new_versions))
        return config_of(key)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See :meth:`put`."""
        key = _key(config, checkpoint["id"])
        await self._bound.wait(self._save(key, config, checkpoint, metadata, new_versions))
        return config_of(key)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save a task's writes after a checkpoint, which may itself be unsaved yet."""
        self._bound.run(self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """See :meth:`put_writes`."""
        await self._bound.wait(self._put_writes(config, writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, by default the thread's latest; None if there is none."""
        found = self._bound.run(self._get(config))
        return None if found is None else self._serializer.to_tuple(found)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See :meth:`get_tuple`."""
        found = await self._bound.wait(self._get(config))
        return None if found is None else self._serializer.to_tuple(found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first, read a page at a time.

        Args:
            config: which thread, and perhaps subgraph and checkpoint. None: all threads of the scope.
            filter: metadata that they have to have exactly; a key with dots (``writes.agent``) leads into objects.
            before: only checkpoints older than this.
            limit: at most so many.
        """
        search, left, namespace = _search(config, filter, before), limit, self._bound.namespace(config)
        while left is None or left > 0:
            page = self._bound.run(self._find(namespace, search, left))
            yield from map(self._serializer.to_tuple, page)
            if len(page) < PAGE:
                return
            search, left = _next(search, left, page)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See :meth:`list`."""
        search, left, namespace = _search(config, filter, before), limit, self._bound.namespace(config)
        while left is None or left > 0:
            page = await self._bound.wait(self._find(namespace, search, left))
            for found in page:
                yield self._serializer.to_tuple(found)
            if len(page) < PAGE:
                return
            search, left = _next(search, left, page)

    def delete_thread(self, thread_id: str) -> None:
        """Remove everything of a thread."""
        self._bound.run(self._delete(self._bound.namespace(), [thread_id]))

    async def adelete_thread(self, thread_id: str) -> None:
        """See :meth:`delete_thread`."""
        await self._bound.wait(self._delete(self._bound.namespace(), [thread_id]))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that these runs made, with their writes."""
        self._bound.run(self._delete_runs(self._bound.namespace(), run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See :meth:`delete_for_runs`."""
        await self._bound.wait(self._delete_runs(self._bound.namespace(), run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a whole thread, with its history and writes, to another id."""
        self._bound.run(self._copy(self._bound.namespace(), source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See :meth:`copy_thread`."""
        await self._bound.wait(self._copy(self._bound.namespace(), source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove old checkpoints of threads, while no run is under way on them.

        Args:
            strategy: ``keep_latest`` keeps the latest checkpoint of the graph and of each subgraph, and the older ones
                without which a ``DeltaChannel`` of these could not be worked out. ``delete`` keeps nothing.
        """
        self._bound.run(self._prune(self._bound.namespace(), thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See :meth:`prune`."""
        await self._bound.wait(self._prune(self._bound.namespace(), thread_ids, strategy))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version above ``current`` that no fork of the thread produces."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    # What they do, on the loop of the warden.

    @property
    def _serializer(self) -> CheckpointSerializer:
        # Made anew each time: LangGraph's own way is to assign ``serde`` later, and it copies savers shallowly.
        return CheckpointSerializer(self.serde, self._most_bytes, strict=self._bound.runtime.settings.strict_secrets)

    @property
    def _checkpoints(self) -> Checkpoints:
        return require_checkpoints(self._bound.runtime.store)

    def _save(
        self,
        key: CheckpointKey,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new: Mapping[str, Any],
    ) -> Coroutine[Any, Any, None]:
        """Serialize everything at once, before the caller changes it; return the write to await."""
        told = get_checkpoint_metadata(config, metadata)
        saved, values = self._serializer.to_records(key, get_checkpoint_id(config), checkpoint, told, new)
        return self._checkpoints.put(self._bound.namespace(config), saved, values)

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str, path: str
    ) -> Coroutine[Any, Any, None]:
        key = _key(config, None)
        if not key.id:
            raise InvalidInput("writes belong to a checkpoint: the config of put_writes has to name a checkpoint_id")
        return self._checkpoints.put_writes(
            self._bound.namespace(config), key, self._serializer.writes(writes, task, path)
        )

    def _get(self, config: RunnableConfig) -> Coroutine[Any, Any, CheckpointRead | None]:
        # The user is read here, on the caller's side: the store's loop knows no run.
        return self._read(self._bound.namespace(config), _key(config, None))

    async def _read(self, namespace: Namespace, key: CheckpointKey) -> CheckpointRead | None:
        return await self._checkpoints.get(namespace, key.thread, key.ns, key.id or None)

    async def _find(self, namespace: Namespace, search: CheckpointSearch, left: int | None) -> Sequence[CheckpointRead]:
        return await self._checkpoints.find(namespace, search, PAGE if left is None else min(left, PAGE))

    async def _delete(self, namespace: Namespace, threads: Sequence[str]) -> None:
        await self._checkpoints.delete_threads(namespace, [str(thread) for thread in threads])

    async def _delete_runs(self, namespace: Namespace, runs: Sequence[str]) -> None:
        await self._checkpoints.delete_runs(namespace, [str(item) for item in _several(runs, "run_ids")])

    async def _copy(self, namespace: Namespace, source: str, target: str) -> None:
        await self._checkpoints.copy_thread(namespace, str(source), str(target))

    async def _prune(self, namespace: Namespace, threads: Sequence[str], strategy: str) -> None:
        if strategy not in STRATEGIES:
            raise InvalidInput(f"strategy is any of {', '.join(STRATEGIES)}, not {strategy!r}")
        if strategy == "delete":
            await self._delete(namespace, _several(threads, "thread_ids"))
            return
        for thread in _several(threads, "thread_ids"):
            # Outlines carry no values: a long thread is pruned without reading its states.
            outlines = await self._checkpoints.outlines(namespace, str(thread))
            kept = still_needed(outlines)
            gone = [outline.key for outline in outlines if outline.key not in kept]
            await self._checkpoints.remove(namespace, gone)


def still_needed(outlines: Iterable[CheckpointOutline]) -> set[CheckpointKey]:
    """Return each subgraph's latest checkpoint, and the older ones of its delta channels.

    Of a delta channel a checkpoint seldom has the value: it is worked out from the nearest older checkpoint that has
    it and what was written since.
    """
    known = {outline.key: outline for outline in outlines}
    latest: dict[str, CheckpointKey] = {}
    for key in sorted(known):
        # Ids grow with time, so the last in order is the latest.
        latest[key.ns] = key
    kept: set[CheckpointKey] = set()
    for key in latest.values():
        kept.add(key)
        item: CheckpointOutline | None = known[key]
        missing = set(known[key].metadata.get(_DELTA) or ()) - known[key].has
        while missing and item is not None and item.parent is not None:
            item = known.get(key._replace(id=item.parent))
            if item is not None:
                kept.add(item.key)
                missing -= item.has
    return kept


def _key(config: RunnableConfig, identity: str | None) -> CheckpointKey:
    """Return a checkpoint's key. Without ``identity`` the config's id, "" if it has none."""
    named = config.get("configurable") or {}
    thread = named.get("thread_id")
    if thread is None or thread == "":
        raise InvalidInput("the config names no thread; give {'configurable': {'thread_id': ...}}")
    return CheckpointKey(
        str(thread), str(named.get("checkpoint_ns") or ""), identity or named.get("checkpoint_id") or ""
    )


def _search(
    config: RunnableConfig | None, metadata: dict[str, Any] | None, before: RunnableConfig | None
) -> CheckpointSearch:
    named = {} if config is None else config["configurable"]
    thread, ns = named.get("thread_id"), named.get("checkpoint_ns")
    return CheckpointSearch(
        thread=None if thread is None else str(thread),
        ns=None if ns is None else str(ns),
        id=named.get("checkpoint_id"),
        before=None if before is None else get_checkpoint_id(before),
        metadata=metadata or {},
    )


def _next(
    search: CheckpointSearch, left: int | None, page: Sequence[CheckpointRead]
) -> tuple[CheckpointSearch, int | None]:
    last = page[-1].saved.key
    rest = CheckpointSearch(search.thread, search.ns, search.id, search.before, search.metadata, last)
    return rest, None if left is None else left - len(page)


def _several(names: Sequence[str], what: str) -> Sequence[str]:
    if isinstance(names, str):
        raise InvalidInput(f"{what} is a list of names, not a single text")
    return names


def copy_from_memory(source: InMemorySaver, target: MemwardenSaver) -> int:
    """Copy every thread of an InMemorySaver: checkpoints, values and pending writes, in order.

    Nothing is taken out of the source. What the target has under the same keys is replaced, so a copy that was broken
    off can be made again. No run may be under way on the source. Values are written anew by the target's serializer.

    Returns how many checkpoints were copied. Raises InvalidInput for a value that cannot be saved without pickle or is
    too large; what was copied before stays.
    """
    return target._bound.run(_copy_contents(source, target))


async def acopy_from_memory(source: InMemorySaver, target: MemwardenSaver) -> int:
    """See :func:`copy_from_memory`."""
    return await target._bound.wait(_copy_contents(source, target))


class _SaverContents(NamedTuple):
    key: CheckpointKey
    parent: str | None
    checkpoint: Checkpoint
    metadata: CheckpointMetadata


async def _copy_contents(source: InMemorySaver, target: MemwardenSaver) -> int:
    checkpoints, namespace = target._checkpoints, target._bound.namespace()
    copied = 0
    for held in _iterate_contents(source):
        versions = held.checkpoint["channel_versions"]
        saved, values = target._serializer.to_records(held.key, held.parent, held.checkpoint, held.metadata, versions)
        await checkpoints.put(namespace, saved, values)
        copied += 1
    for key, writes in _pending_writes(source, target):
        await checkpoints.put_writes(namespace, key, writes)
    return copied


def _iterate_contents(source: InMemorySaver) -> Iterator[_SaverContents]:
    loads = source.serde.loads_typed
    for thread, subgraphs in source.storage.items():
        for ns, checkpoints in subgraphs.items():
            for identity, (checkpoint, metadata, parent) in checkpoints.items():
                found = loads(checkpoint)
                held: dict[str, Any] = {}
                for channel, version in found["channel_versions"].items():
                    value = source.blobs.get((thread, ns, channel, version))
                    if value is not None and value[0] != "empty":
                        held[channel] = loads(value)
                found["channel_values"] = held
                yield _SaverContents(CheckpointKey(str(thread), str(ns), str(identity)), parent, found, loads(metadata))


def _pending_writes(
    source: InMemorySaver, target: MemwardenSaver
) -> Iterator[tuple[CheckpointKey, list[PendingWrite]]]:
    loads = source.serde.loads_typed
    for (thread, ns, identity), writes in source.writes.items():
        made = []
        for (task, number), (_, channel, value, path) in writes.items():
            (item,) = target._serializer.writes([(channel, loads(value))], task, path)
            made.append(PendingWrite(item.task, item.path, number, item.channel, item.kind, item.data))
        yield CheckpointKey(str(thread), str(ns), str(identity)), made
