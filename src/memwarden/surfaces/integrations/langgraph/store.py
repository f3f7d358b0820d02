"""LangGraph's long-term memory on memwarden: :class:`MemwardenStore`."""

from __future__ import annotations

import asyncio
import copy
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from memwarden import clock
from memwarden.errors import InvalidConfig, InvalidInput
from memwarden.records import Namespace
from memwarden.remember.ingest.redaction import redact_value
from memwarden.stores.shared.items import (
    DropItem,
    ItemChange,
    ItemHit,
    ItemPlace,
    Items,
    ItemSearch,
    PutItem,
    StoredItem,
    check_name,
    require_items,
)
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding
from memwarden.surfaces.integrations.langgraph import items as values
from memwarden.surfaces.integrations.langgraph.items import ItemIndex, TaskSweeper, ThreadSweeper

T = TypeVar("T")

_Call = tuple[Sequence[T], "asyncio.Future[list[Any]]"]


class CallBatcher(Generic[T]):
    """Pending calls, for each event loop.

    Args:
        do: does some of them as a batch and returns a result each.
    """

    def __init__(self, do: Callable[[Sequence[T]], Awaitable[list[Any]]]) -> None:
        self._do = do
        # Futures belong to a loop; a queue of a loop that is gone goes with it.
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[T]] = WeakKeyDictionary()

    async def ask(self, ops: Sequence[T]) -> list[Any]:
        """Return the results of operations, in order. A cancelled call may be done all the same."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(self._do)
        return await queue.ask(loop, ops)


class _Queue(Generic[T]):
    def __init__(self, do: Callable[[Sequence[T]], Awaitable[list[Any]]]) -> None:
        self._do = do
        self._waiting: list[_Call[T]] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, loop: asyncio.AbstractEventLoop, ops: Sequence[T]) -> list[Any]:
        answer: asyncio.Future[list[Any]] = loop.create_future()
        self._waiting.append((ops, answer))
        # While a batch is being written the next calls gather, so load makes batches larger.
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        while self._waiting:
            calls, self._waiting = self._waiting, []
            try:
                await self._answer(calls)
            except BaseException:  # the loop is being stopped: nobody may wait for ever
                for _, answer in (*calls, *self._waiting):
                    answer.cancel()
                raise

    async def _answer(self, calls: Sequence[_Call[T]]) -> None:
        try:
            results = await self._do([item for ops, _ in calls for item in ops])
        except Exception as error:
            if len(calls) == 1:
                _settle(calls[0][1], error)
            # A batch is refused as a whole. Each call alone shows whose fault it was; the others succeed.
            for call in calls if len(calls) > 1 else ():
                await self._answer([call])
            return
        start = 0
        for ops, answer in calls:
            _settle(answer, results[start : start + len(ops)])
            start += len(ops)


def _settle(answer: asyncio.Future[list[Any]], result: list[Any] | Exception) -> None:
    if answer.done():  # its caller was cancelled
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)


# In microseconds.
MICROSECONDS_PER_MINUTE = 60_000_000
# The longest lifetime, a hundred years: later ends do not fit every engine's clock.
MAX_LIFETIME_MINUTES = 525_600 * 100
# Between two sweeps, unless something else is said.
DEFAULT_SWEEP_MINUTES = 5.0


class MemwardenStore(BaseStore):
    """A LangGraph store in a warden's namespace: durable and shared by processes.

    It answers as LangGraph's own stores do: see their ``BaseStore``. Items are kept as they are; they are no memories,
    so ``query`` does not find them and categories do not bind them (``docs/why/langgraph-items.md``).

    >>> store = MemwardenStore(warden.scope(user="ana"), index={"fields": ["text"]})
    >>> graph = builder.compile(store=store)

    Args:
        warden: a :class:`memwarden.Warden` or :class:`memwarden.AsyncWarden`, whose items are those of the user
            ``default`` in the tenant ``default``; or a scope of it, whose items are that user's. Both kinds have the
            blocking and the async methods. Over an async warden the blocking ones are for other threads than its
            event loop's, where they raise ``asyncio.InvalidStateError``.
        index: makes ``search`` find by meaning: LangGraph's ``IndexConfig``, ``{"embed", "dims", "fields"}``, and
            ``distance_type`` (``cosine``, ``l2``, ``inner_product``). Without ``embed`` the warden's embedder is used;
            ``dims`` may be left out. None: ``search`` takes no notice of a query, ``put`` none of its ``index``.
        ttl: LangGraph's ``TTLConfig``, all of its keys, times in minutes.
        user_from: serves many users with a graph that is compiled once: a name under ``configurable`` of the run's
            config, such as ``user_id``, that says whose the items of the call are. A call outside of a run is refused;
            :meth:`for_user` is for those. Swept are the items of users whom this object has served. None: the items
            are the scope's.

    What differs between LangGraph's stores is as follows here. Without a query the items written last come first. With
    a query, items that have no vectors come last, without a score. ``created_at`` stays when an item is written again.
    An expired item is found until it is swept, unless ``omit_expired``. Texts are compared as texts by ``$gt`` and its
    like, numbers as numbers; what cannot be compared does not match. A missing field equals None.

    Raises:
        InvalidInput: (a ValueError) for a value that is no JSON object (a TypeError too) or longer than 16 MB; a
            namespace or a key of more than 16,000 bytes, on PostgreSQL 2,600 together; a limit or an offset below 0; a
            wrong ``ttl``; an unknown filter operator.
        langgraph.store.base.InvalidNamespaceError: (a ValueError) as LangGraph says.
        StoreError: when the storage refuses; what the embedding raises comes through.
    """

    supports_ttl = True

    def __init__(
        self,
        warden: AnyWarden,
        *,
        index: Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        user_from: str | None = None,
    ) -> None:
        super().__init__()
        self._bound = StoreBinding(warden, user_from)
        items = require_items(self._bound.runtime.store)
        self._served: set[Namespace] = set()
        self._executor = _ItemExecutor(items, bool((ttl or {}).get("omit_expired")))
        self._index = ItemIndex(index, self._bound.runtime) if index else None
        self.index_config = self._index.config if self._index else None
        self.embeddings = self._index.embeddings if self._index else None
        self.ttl_config = _checked_ttl_config(ttl)
        self._batcher = CallBatcher(self._do_async)
        itself = weakref.ref(self)  # a sweeper does not keep the store alive
        self._thread_sweeper = ThreadSweeper(lambda: _sweep(itself()))
        self._task_sweeper = TaskSweeper(lambda: _asweep(itself()))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations as a unit: all reads see the earlier state, then all writes or none.

        The last write of a place wins.
        """
        namespace = self._whose()
        tasks = [_plan_operation(self._redacted(item), self._index) for item in ops]
        queries, texts = _to_embed(tasks)
        asked = {text: self._embeddings.embed_query(text) for text in queries}
        made = dict(zip(texts, self._embeddings.embed_documents(texts), strict=True)) if texts else {}
        return list(map(_to_langgraph, self._bound.run(self._executor.do(namespace, self._ready(tasks, asked, made)))))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations as :meth:`batch` does.

        Concurrent calls are executed as a batch, in the order of their arrival.
        """
        namespace = self._whose()
        asked = [(namespace, _plan_operation(self._redacted(item), self._index)) for item in ops]
        return list(map(_to_langgraph, await self._batcher.ask(asked)))

    def for_user(self, user: str) -> MemwardenStore:
        """Return the store of a user's items, for calls outside of a run. It has no sweeper of its own."""
        of_user = copy.copy(self)
        of_user._bound = self._bound.for_user(user)
        self._served.add(of_user._bound.namespace())
        of_user._batcher = CallBatcher(of_user._do_async)
        return of_user

    def _redacted(self, op: Op) -> Op:
        """Return an operation whose value holds no secrets, where the setting ``secrets`` is ``strict``."""
        if not (isinstance(op, PutOp) and op.value is not None and self._bound.runtime.settings.strict_secrets):
            return op
        value, _ = redact_value(values.value_of(values.text_of(op.value)), strict=True)
        return op._replace(value=value)

    def setup(self) -> Any:
        """Do nothing: an open warden's store is ready. Over an async warden to be awaited."""
        return None if self._bound.blocking else _nothing()

    def sweep_ttl(self) -> Any:
        """Remove the expired items and return their number.

        Over an async warden to be awaited, as in LangGraph's async stores; so are the two methods below.
        """
        return self._bound.run(self._sweep()) if self._bound.blocking else self.asweep_ttl()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Any:
        """Sweep regularly, in a thread; over an async warden in a task of the event loop.

        Args:
            sweep_interval_minutes: default: what ``ttl`` says, else 5.

        Returns a future (a task) that ends with the sweeping, and ends it when it is cancelled. It is done at once
        when the store has no ``ttl``. While a sweeper is at work another call only returns its future.
        """
        if not self._bound.blocking:
            return self.astart_ttl_sweeper(sweep_interval_minutes)
        return self._thread_sweeper.start(self._seconds(sweep_interval_minutes), at_all=self.ttl_config is not None)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> Any:
        """Stop the sweeper; return whether it ended within ``timeout`` seconds (None: no limit)."""
        return self._thread_sweeper.stop(timeout) if self._bound.blocking else self.astop_ttl_sweeper(timeout)

    async def asweep_ttl(self) -> int:
        """The async twin of :meth:`sweep_ttl`, over every kind of warden."""
        return await self._bound.wait(self._sweep())

    async def astart_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> asyncio.Task[None]:
        """The async twin of :meth:`start_ttl_sweeper`: a task of the running loop."""
        return self._task_sweeper.start(self._seconds(sweep_interval_minutes), at_all=self.ttl_config is not None)

    async def astop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109  # its name in LangGraph
        """The async twin of :meth:`stop_ttl_sweeper`."""
        return await self._task_sweeper.stop(timeout)

    def __del__(self) -> None:
        if hasattr(self, "_thread_sweeper"):
            self._thread_sweeper.stop(0)

    async def _do_async(self, asked_for: Sequence[tuple[Namespace, _Task]]) -> list[Any]:
        tasks = [task for _, task in asked_for]
        queries, texts = _to_embed(tasks)
        vectors = await asyncio.gather(*(self._embeddings.aembed_query(text) for text in queries))
        asked = dict(zip(queries, vectors, strict=True))
        made = dict(zip(texts, await self._embeddings.aembed_documents(texts), strict=True)) if texts else {}
        ready = self._ready(tasks, asked, made)
        results: list[Any] = [None] * len(ready)
        for namespace in dict.fromkeys(where for where, _ in asked_for):
            places = [place for place, (where, _) in enumerate(asked_for) if where == namespace]
            did = await self._bound.wait(self._executor.do(namespace, [ready[place] for place in places]))
            for place, result in zip(places, did, strict=True):
                results[place] = result
        return results

    def _whose(self) -> Namespace:
        namespace = self._bound.namespace()
        if self._bound.user_from is not None:
            self._served.add(namespace)
        return namespace

    async def _sweep(self) -> int:
        """Remove expired items of the scope, or of the users that were served; return how many."""
        own = () if self._bound.user_from else (self._bound.who.namespace,)
        return sum([await self._executor.sweep(item) for item in (*own, *self._served)])

    @property
    def _embeddings(self) -> Any:
        assert self._index is not None  # without an index nothing is embedded
        return self._index.embeddings

    def _ready(self, tasks: Sequence[_Task], asked: Mapping[str, Any], made: Mapping[str, Any]) -> list[_Task]:
        """Return the tasks with the vectors of their texts."""
        return [_with_vectors(task, self._index, asked, made) for task in tasks] if self._index else list(tasks)

    def _seconds(self, minutes: float | None) -> float:
        given = minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or DEFAULT_SWEEP_MINUTES
        return float(given) * 60


class _Get(NamedTuple):
    place: ItemPlace


class _Task(NamedTuple):
    """A checked operation, in the terms of :mod:`memwarden.stores.shared.items`.

    query: what is to be embedded for a search. texts: for an item, by field. refresh: whether reading begins lifetimes
    anew.
    """

    do: _Get | ItemSearch | PutItem | DropItem | ListNamespacesOp
    query: str | None = None
    texts: Sequence[tuple[str, str]] = ()
    refresh: bool = False


class _ItemExecutor:
    """Executes tasks on a namespace's items."""

    def __init__(self, items: Items, omit_expired: bool) -> None:
        self._items = items
        self._omit_expired = omit_expired

    async def do(self, namespace: Namespace, tasks: Sequence[_Task]) -> list[Any]:
        at = clock.microseconds(clock.now())
        alive_at = at if self._omit_expired else None
        # All reads come before the writes, as LangGraph says of a batch.
        places = [task.do.place for task in tasks if isinstance(task.do, _Get)]
        found = await self._items.get(namespace, list(dict.fromkeys(places)), alive_at=alive_at) if places else {}
        results = [await self._answer(namespace, task, found, alive_at) for task in tasks]
        read = [
            kept for item, result in zip(tasks, results, strict=True) if item.refresh for kept in _read_items(result)
        ]
        # An item without a lifetime needs no write to be read.
        refreshed = dict.fromkeys((item.path, item.key) for item in read if item.ttl is not None)
        if refreshed:
            await self._items.refresh(namespace, list(refreshed), at, alive_at=alive_at)
        changes = [task.do for task in tasks if isinstance(task.do, PutItem | DropItem)]
        if changes:
            await self._items.write(namespace, _set_times(changes, at))
        return results

    async def sweep(self, namespace: Namespace) -> int:
        return await self._items.sweep(namespace, clock.microseconds(clock.now()))

    async def _answer(
        self, namespace: Namespace, task: _Task, found: Mapping[ItemPlace, StoredItem], alive_at: int | None
    ) -> Any:
        do = task.do
        if isinstance(do, ItemSearch):
            return await self._items.search(namespace, do._replace(alive_at=alive_at))
        if isinstance(do, ListNamespacesOp):
            paths = await self._items.paths(namespace, common_prefix(do), alive_at=alive_at)
            return list_namespaces(paths, do)
        return found.get(do.place) if isinstance(do, _Get) else None


def _plan_operation(op: Op, index: ItemIndex | None) -> _Task:
    """Translate an operation. Raises InvalidNamespaceError, InvalidInput, or ValueError if unknown."""
    # LangGraph's own check comes first: its errors are part of its contract.
    validate_op_namespace(op)
    if isinstance(op, GetOp):
        return _Task(_Get((_path(op.namespace), _key(op.key))), refresh=op.refresh_ttl)
    if isinstance(op, SearchOp):
        path = _path(op.namespace_prefix) if op.namespace_prefix else None
        limit, offset = _count(op.limit, "limit"), _count(op.offset, "offset")
        search = ItemSearch(path, limit, offset, values.matcher(op.filter), needles=values.needles(op.filter))
        return _Task(search, query=op.query if index and op.query else None, refresh=op.refresh_ttl)
    if isinstance(op, ListNamespacesOp):
        check_listing(op)
        _count(op.limit, "limit"), _count(op.offset, "offset")
        return _Task(op)
    if isinstance(op, PutOp):
        path, key = _path(op.namespace), _key(op.key)
        if op.value is None:
            return _Task(DropItem(path, key))
        if not path:
            raise InvalidNamespaceError("Namespace cannot be empty.")
        item = StoredItem(path, key, values.text_of(op.value), 0, 0, _minutes(op.ttl))
        return _Task(PutItem(item), texts=index.texts(op) if index else ())
    raise ValueError(f"Unknown operation type: {type(op)}")


def _to_embed(tasks: Sequence[_Task]) -> tuple[list[str], list[str]]:
    """Return the distinct queries, and the distinct texts of items to be kept."""
    queries = dict.fromkeys(task.query for task in tasks if task.query is not None)
    # Of several puts of a place only the last is kept; embedding the others would be paid for nothing.
    last = {(task.do.item.path, task.do.item.key): task for task in tasks if isinstance(task.do, PutItem)}
    return list(queries), list(dict.fromkeys(text for item in last.values() for _, text in item.texts))


def _with_vectors(task: _Task, index: ItemIndex, asked: Mapping[str, Any], made: Mapping[str, Any]) -> _Task:
    if isinstance(task.do, ItemSearch) and task.query is not None:
        return task._replace(do=task.do._replace(rank=index.rank(asked[task.query])))
    if isinstance(task.do, PutItem) and task.texts:
        vectors = tuple((field, index.to_bytes(made[text])) for field, text in task.texts if text in made)
        return task._replace(do=task.do._replace(vectors=vectors))
    return task


def _set_times(changes: Sequence[PutItem | DropItem], at: int) -> list[ItemChange]:
    """Keep the last change of each place and set its times.

    Later changes are a microsecond later, so they stay in order.
    """
    last: dict[ItemPlace, ItemChange] = {}
    for number, entry in enumerate(changes):
        if isinstance(entry, DropItem):
            last[entry.path, entry.key] = entry
            continue
        written = at + number
        ends = None if entry.item.ttl is None else written + round(entry.item.ttl * MICROSECONDS_PER_MINUTE)
        item = entry.item._replace(created_at=written, updated_at=written, expires_at=ends)
        last[item.path, item.key] = entry._replace(item=item)
    return list(last.values())


def _read_items(result: Any) -> list[StoredItem]:
    if isinstance(result, StoredItem):
        return [result]
    return [item.item for item in result if isinstance(item, ItemHit)] if isinstance(result, list) else []


def _to_langgraph(result: Any) -> Any:
    if isinstance(result, StoredItem):
        return Item(**_item_fields(result))
    if isinstance(result, list):
        return [
            SearchItem(**_item_fields(item.item), score=item.score) if isinstance(item, ItemHit) else item
            for item in result
        ]
    return result


def _item_fields(item: StoredItem) -> dict[str, Any]:
    return {
        "namespace": tuple(item.path.split(".")),
        "key": item.key,
        "value": values.value_of(item.value),
        "created_at": clock.moment(item.created_at),
        "updated_at": clock.moment(item.updated_at),
    }


def _path(labels: Sequence[str]) -> str:
    return check_name(".".join(labels), "a namespace")


def _key(key: Any) -> str:
    return check_name(str(key), "a key")


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f"{what} is a whole number from 0, not {value!r:.80}")
    return min(value, 2**62)


def _minutes(ttl: Any) -> float | None:
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 <= ttl <= MAX_LIFETIME_MINUTES:
        raise InvalidInput(f"a ttl is a number of minutes from 0 to {MAX_LIFETIME_MINUTES:,}, or None, not {ttl!r:.80}")
    return float(ttl)


def _checked_ttl_config(ttl: TTLConfig | None) -> TTLConfig | None:
    if ttl is None:
        return None
    unknown = set(ttl) - set(TTLConfig.__annotations__)
    if unknown:
        raise InvalidConfig(f"ttl has no key {sorted(unknown)[0]!r}; it has {', '.join(TTLConfig.__annotations__)}")
    _minutes(ttl.get("default_ttl"))
    _minutes(ttl.get("sweep_interval_minutes"))
    return cast(TTLConfig, dict(ttl))


def _sweep(store: MemwardenStore | None) -> int | None:
    """Sweep for a living store; None when there is nothing left to do."""
    return None if store is None or store._bound.over else cast(int, store.sweep_ttl())


async def _asweep(store: MemwardenStore | None) -> int | None:
    return None if store is None or store._bound.over else await store.asweep_ttl()


async def _nothing() -> None:
    return None


_ANY = "*"


def check_listing(op: ListNamespacesOp) -> None:
    """Raise InvalidInput for an unknown match type and for a depth below 0."""
    for condition in op.match_conditions or ():
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInput(f"Unsupported match type: {condition.match_type!r:.80}; there are prefix and suffix")
    depth = op.max_depth
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise InvalidInput(f"max_depth is a whole number from 0, not {depth!r:.80}")


def common_prefix(op: ListNamespacesOp) -> str | None:
    """Return the longest wildcard-free prefix that every listed path has, or None."""
    longest: Sequence[str] = ()
    for condition in op.match_conditions or ():
        plain = list(condition.path)[: _first_wildcard(condition.path)] if condition.match_type == "prefix" else []
        longest = max(longest, plain, key=len)
    return ".".join(longest) or None


def list_namespaces(paths: Iterable[str], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return a page of the sorted, distinct namespaces that match, cut to the depth."""
    found = (tuple(path.split(".")) for path in paths)
    fitting = [
        item for item in found if all(_matches_condition(item, condition) for condition in op.match_conditions or ())
    ]
    cut = fitting if op.max_depth is None else {item[: op.max_depth] for item in fitting}
    return sorted(cut)[op.offset : op.offset + op.limit]


def _matches_condition(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if not path:
        return True
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(wanted in (_ANY, label) for label, wanted in zip(part, path, strict=True))


def _first_wildcard(path: Sequence[str]) -> int:
    return next((number for number, label in enumerate(path) if label == _ANY), len(path))
