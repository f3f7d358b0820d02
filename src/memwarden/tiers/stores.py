"""The stores of the three tiers: task, project and global memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memwarden import arguments, clock
from memwarden.checks import check_whole
from memwarden.concurrency.isolation import call_user_code
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Conflict, Denied, InvalidInput, NotFound
from memwarden.lifecycle import Ends, ends
from memwarden.records import Head, HistoryEntry, Memory, MemoryState, Namespace, Scope, WriteResult
from memwarden.remember.ingest.messages import checked_name
from memwarden.runtime.services import Runtime
from memwarden.text.language import checked_text
from memwarden.text.tokenizer import estimate
from memwarden.tiers import items
from memwarden.tiers.backend import ITEMS, AsyncBackend, ContextItem, as_item, as_memory, parse_namespace, stored_item
from memwarden.tiers.items import read_failure

# Maximum items with a remembered last use; for others the creation time counts.
MAX_REMEMBERED = 100_000


class ItemUses:
    """The last uses of items; beyond the limit the oldest are dropped."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._at: OrderedDict[tuple[Namespace, str], datetime] = OrderedDict()
        self._counted: dict[Namespace, tuple[Head, int]] = {}

    def record_count(self, namespace: Namespace, head: Head, count: int) -> None:
        """Record the number of items at a revision."""
        self._counted[namespace] = head, count

    def at_most(self, namespace: Namespace, head: Head) -> int | None:
        """Return an upper bound of the items at a revision: each journal entry since the count adds at most an item."""
        known, count = self._counted.get(namespace, (head, None))
        return None if count is None or known.epoch != head.epoch else count + head.rev - known.rev

    def record_use(self, namespace: Namespace, ids: Iterable[str], at: datetime) -> None:
        """Record that items were returned to a caller."""
        for item in ids:
            # The most recently used stands last, so that the first is the oldest.
            self._at[namespace, item] = at
            self._at.move_to_end((namespace, item))
        while len(self._at) > self._most:
            self._at.popitem(last=False)

    def of(self, namespace: Namespace, ids: Iterable[str]) -> Mapping[str, datetime]:
        """Return when each of these was used last, if known."""
        known = ((item, self._at.get((namespace, item))) for item in ids)
        return {item: at for item, at in known if at is not None}


# The tag of a quarantined item, which no query returns.
QUARANTINED_TAG = "quarantined"


@dataclass(frozen=True, slots=True)
class TierScope(Scope):
    """The scope of a namespace without a user: a task's, a project's, or the global namespace."""

    user: str = ""
    path: str = "global"

    def find_namespace(self) -> Namespace:
        """Return the namespace of the path."""
        return parse_namespace(self.path, self.tenant)


class AsyncTierStore:
    """The items of a tier."""

    def __init__(self, runtime: Runtime, place: TierScope, uses: ItemUses) -> None:
        self._runtime = runtime
        self._scope = runtime.verbs(place)
        self._uses = uses
        self.namespace = place.namespace

    async def query(
        self, filters: Mapping[str, Any], limit: int = 100, order_by: str = "timestamp"
    ) -> list[ContextItem]:
        """Return items that match every filter, newest or largest first."""
        found = await self._backend.query(filters, limit, order_by)
        self._uses.record_use(self.namespace, [item.context_item_id for item in found], clock.now())
        return found

    async def get(self, item_id: str) -> ContextItem | None:
        """Return an item, or None."""
        found = await self._backend.get(item_id)
        if found is not None:
            self._uses.record_use(self.namespace, [item_id], clock.now())
        return found

    async def list_all(self) -> list[ContextItem]:
        """Return every item, the first added first."""
        return await self._backend.list_all()

    async def count(self) -> int:
        """Return the number of items."""
        return await self._backend.count()

    async def history(
        self, item_id: str | None = None, *, since: int = 0, limit: int = 100, descending: bool = False
    ) -> list[HistoryEntry]:
        """Return the journal of an item or of the tier. See :meth:`memwarden.api.journal.AsyncJournal.history`."""
        return await self._scope.journal.history(item_id, since=since, limit=limit, descending=descending)

    @property
    def _backend(self) -> AsyncBackend:
        services = self._runtime.services
        return AsyncBackend(self._runtime.store, services.items, services.indexes, services.larges, self.namespace)

    async def _read_stored(self, item_id: str) -> Memory:
        """Return the stored memory of an item, for a decision about it. Raises NotFound."""
        found = await stored_item(self._runtime.store, self.namespace, item_id)
        if found is None:
            raise NotFound(f"no item {item_id!r} in {self.namespace.path}")
        return found

    async def _add(self, item: ContextItem) -> ContextItem:
        """Store an item and return it as stored; with the tag ``quarantined`` when it was held back."""
        items = self._runtime.services.items
        memory, look = await items.upsert(as_memory(item, self.namespace, strict=items.strict))
        stored = as_item(memory)
        if not look.kinds:
            return stored
        return ContextItem(**{**_fields(stored), "tags": (*stored.tags, QUARANTINED_TAG)})

    def _text(self, value: Any, what: str) -> str:
        return checked_text(value, what, self._runtime.settings.max_text_bytes)


def check_name(value: Any, what: str) -> str:
    """Return a short text. Raises InvalidInput, also for None."""
    found = checked_name(value, what)
    if found is None:
        raise InvalidInput(f"{what} is a text, not None")
    return found


def tags_filter(kind: str, tags: Sequence[str] | None) -> dict[str, Any]:
    """Return the filter for items of a kind with at least any of these tags; None or no tags: all."""
    return {"kind": kind, "tags": list(tags)} if tags else {"kind": kind}


def _fields(item: ContextItem) -> dict[str, Any]:
    return {field: getattr(item, field) for field in ContextItem.__dataclass_fields__}


# Shows a question to a person and returns whether they said yes. A plain function runs in a thread of its own.
Confirm = Callable[[str], bool | Awaitable[bool]]

CLEAR_QUESTION = "DANGER: Clear ALL global memory? This cannot be undone."


def add_question(preference: str, category: str) -> str:
    """Return the question before a preference is added."""
    return f"Add global preference: '{preference}' (category: {category})?"


def modify_question(old: str, new: str, category: str) -> str:
    """Return the question before a preference is changed."""
    return f"Change global preference: '{old}' to '{new}' (category: {category})?"


def remove_question(words: str) -> str:
    """Return the question before an item is removed."""
    return f"Remove from global memory: '{words}'?"


def undo_question(change: int) -> str:
    """Return the question before a change is undone."""
    return f"Undo change {change} of global memory?"


async def ask_confirmation(question: str, callback: Confirm | None, confirm: bool, *, must_ask: bool = False) -> bool:
    """Return whether a change may be made: by the callback's answer, or by the caller's word.

    Args:
        confirm: the caller has the person's word already; then nobody is asked.
        must_ask: the caller's word is not enough.

    Raises Denied when there is nobody to ask and the caller does not confirm.
    """
    if not isinstance(confirm, bool) or not isinstance(must_ask, bool):
        raise InvalidInput(f"confirm and require_confirmation are True or False, not {confirm!r:.40}, {must_ask!r:.40}")
    if confirm and not must_ask:
        return True
    if callback is None:
        raise Denied(
            f"nobody was asked: {question} Give confirmation_callback, which shows the question to a person and "
            "returns their answer" + ("" if must_ask else ", or confirm=True when you have their word")
        )
    # Only True counts: a callback that returns a text such as "no" must not confirm.
    return await call_user_code(callback, question) is True


# A project with more items than this loses some.
DEFAULT_MAX_ITEMS = 1000
# An eviction takes the tenth part.
EVICTED_PART = 10


class AsyncProjectMemoryStore(AsyncTierStore):
    """A project's memory. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.project`."""

    def __init__(
        self,
        runtime: Runtime,
        place: TierScope,
        uses: ItemUses,
        project_id: str,
        max_items: int = DEFAULT_MAX_ITEMS,
        confirmation_callback: Confirm | None = None,
    ) -> None:
        super().__init__(runtime, place, uses)
        self.project_id = project_id
        self.max_items = max_items
        self._callback = confirmation_callback

    async def add_decision(self, decision: str, tags: Sequence[str] = ()) -> ContextItem:
        """Keep a design decision; importance 0.9. Raises InvalidInput, StoreError, as do the others that add."""
        return await self._keep(items.decision(self.project_id, self._text(decision, "decision"), tags))

    async def add_convention(self, convention: str, scope: str) -> ContextItem:
        """Keep a convention and where it applies (``scope``, such as ``python``); importance 0.8."""
        text = self._text(convention, "convention")
        return await self._keep(items.convention(self.project_id, text, check_name(scope, "scope")))

    async def add_failure(self, failure: Any, lesson: str) -> ContextItem:
        """Keep a failure and its lesson; importance 0.85.

        failure: a :class:`memwarden.tiers.FailureSignature`, or anything with ``code`` and ``dict()``.
        """
        code, whole = read_failure(failure)
        text = self._text(lesson, "lesson")
        return await self._keep(items.failure(self.project_id, check_name(code, "failure.code"), whole, text))

    async def add_preference(self, preference: str, category: str) -> ContextItem:
        """Keep a preference for this project; importance 0.9. Only global preferences need consent."""
        text = self._text(preference, "preference")
        return await self._keep(items.preference(self.project_id, text, check_name(category, "category")))

    async def add_pattern(self, pattern: str, domain: str) -> ContextItem:
        """Keep a pattern that works in this project; importance 0.7."""
        return await self._keep(
            items.pattern(self.project_id, self._text(pattern, "pattern"), check_name(domain, "domain"))
        )

    async def query_decisions(self, tags: Sequence[str] | None = None) -> list[ContextItem]:
        """Return decisions with at least any of these tags, or all, the newest first, at most 100."""
        return await self.query(tags_filter("decision", tags))

    async def section(self, section: str, limit: int = 100) -> list[ContextItem]:
        """Return the items of a section of the project's memory, the newest first.

        section: ``decisions``, ``conventions``, ``failures``, ``patterns`` or ``preferences``; a slash may follow.
        """
        kind = items.SECTIONS.get(section.rstrip("/")) if isinstance(section, str) else None
        if kind is None:
            raise InvalidInput(f"section is one of {', '.join(items.SECTIONS)}, not {section!r:.80}")
        return await self.query({"kind": kind}, limit=limit)

    async def remove(self, item_id: str) -> bool:
        """Remove an item. Returns whether it existed; :meth:`restore` brings it back."""
        return await self._backend.delete(item_id)

    async def pin(self, item_id: str, pinned: bool = True) -> WriteResult:
        """Protect an item from eviction; ``False`` ends that. Raises NotFound."""
        return await self._scope.pin(item_id, pinned)

    async def restore(self, item_id: str) -> WriteResult:
        """Bring back a removed or evicted item, unchanged. Pin it as well to protect it from eviction."""
        return await self._scope.restore(item_id)

    async def undo(self, change: int) -> WriteResult:
        """Undo a change, whole, such as an eviction. See :meth:`memwarden.api.journal.AsyncJournal.undo`."""
        return await self._scope.journal.undo(change)

    async def promote(self, item_id: str, *, confirm: bool = False) -> str | None:
        """Copy an item to global memory. Returns the id of the copy.

        A preference needs a person's word, like a new global preference; None when they declined. The copy has the
        words that they were shown.

        Raises NotFound, Denied, Conflict when somebody changed it while the person was asked, StoreError.
        """
        found = await self._read_stored(item_id)
        if found.kind == "preference" and not await self._may_add(as_item(found), confirm):
            return None
        return await self._runtime.services.items.promote(found, Namespace(self.namespace.tenant, "global"))

    async def make_room(self, *, new: str | None = None) -> int:
        """Evict the least important tenth when there are more than ``max_items``. Returns how many went.

        Every addition does this by itself. An eviction is a single change in the journal, with the event EVICT, and can
        be undone for 30 days.

        new: the id of the new item, which goes only where nothing else may.
        """
        store = self._runtime.store

        async def evict() -> int:
            head = await store.head(self.namespace)
            most = self._uses.at_most(self.namespace, head)
            if most is not None and most <= self.max_items:
                return 0  # without counting, which takes as long as there are items
            count = await store.count(self.namespace, ITEMS)
            self._uses.record_count(self.namespace, head, count)
            if count <= self.max_items:
                return 0
            found = await store.find(self.namespace, ITEMS, limit=10**9)
            used = self._uses.of(self.namespace, [item.id for item in found])
            going = choose_victims(found, used, self.max_items, () if new is None else (new,))
            await self._runtime.services.items.evict(going, head.rev, self.max_items)
            return len(going)

        return await change_atomically(self.namespace, evict)

    async def _keep(self, item: ContextItem) -> ContextItem:
        added = await self._add(item)
        await self.make_room(new=added.context_item_id)
        return added

    async def _may_add(self, item: ContextItem, vouched: bool) -> bool:
        words = str(item.payload.get("preference", items.item_words(item)))
        question = add_question(words, str(item.payload.get("category", "")))
        return await ask_confirmation(question, self._callback, vouched)


def check_max_items(max_items: Any) -> int:
    """Return the maximum number of items of a project. Raises InvalidInput."""
    return check_whole(max_items, "max_items", 1, None)


def choose_victims(
    items: Sequence[Memory], last_used: Mapping[str, datetime], max_items: int, new: Collection[str] = ()
) -> list[Memory]:
    """Return the least important tenth of all items, at least a single item, when there are too many; else none.

    The least important first; of equally important items the least recently used first, counting from their creation.
    Pinned items stay however many there are, and so do those that no eviction ends (:mod:`memwarden.lifecycle`).

    new: ids of new items: they go only where nothing else may.
    """
    if len(items) <= max_items:
        return []
    mortal = [item for item in items if not item.pinned and ends(item.channel, item.namespace.path) == Ends.EVICTED]
    # The id breaks ties, so that two processes choose the same victims.
    mortal.sort(key=lambda item: (item.importance, last_used.get(item.id) or item.created_at, item.id))
    older = [item for item in mortal if item.id not in new]
    return (older or mortal)[: max(1, len(items) // EVICTED_PART)]


MAX_STAGE_OUTPUTS = 1000
# The states of a task, and those among them that it never leaves.
RUNNING = ("pending", "running", "waiting")
TERMINAL = ("completed", "failed", "cancelled")


class AsyncTaskMemoryStore(AsyncTierStore):
    """A task's memory. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.task`."""

    def __init__(self, runtime: Runtime, place: TierScope, uses: ItemUses, task_id: str) -> None:
        super().__init__(runtime, place, uses)
        self.task_id = task_id

    async def add_reasoning(self, text: str, stage_id: str) -> ContextItem:
        """Keep a thought of a stage; importance 0.5. Raises InvalidInput, StoreError."""
        return await self._add(
            items.reasoning(self.task_id, check_name(stage_id, "stage_id"), self._text(text, "text"))
        )

    async def add_tool_output(self, tool_id: str, output: Any) -> ContextItem:
        """Keep a tool's answer, any JSON value; importance 0.7.

        An output that looks like orders for an assistant is quarantined: the returned item has the tag ``quarantined``,
        and no query or context ever returns it. Raises InvalidInput, StoreError.
        """
        item = items.tool_output(self.task_id, check_name(tool_id, "tool_id"), output)
        self._text(items.item_words(item), "output")
        return await self._add(item)

    async def get_stage_outputs(self, stage_id: str) -> list[ContextItem]:
        """Return the items of a stage, the newest first, at most 1,000."""
        return await self.query(
            {"source": f"task/{self.task_id}/{check_name(stage_id, 'stage_id')}"}, limit=MAX_STAGE_OUTPUTS
        )

    async def promote(self, item_id: str, project_id: str, *, max_items: int | None = None) -> str:
        """Copy an item to a project; nothing goes there by itself. Returns the id of the copy.

        The copy says where it comes from, and both journals record it. Called twice, it copies once.

        max_items: maximum items of that project, as in :meth:`memwarden.tiers.tiers.AsyncTiers.project`; with more,
        others are evicted for the copy. None: nothing is evicted until the project's next addition.

        Raises NotFound, InvalidInput, StoreError.
        """
        most = None if max_items is None else check_max_items(max_items)
        place = TierScope(tenant=self.namespace.tenant, path=f"project/{check_name(project_id, 'project_id')}")
        copy_id = await self._backend.promote(item_id, place.path)
        if most is not None:  # a limit that is guessed would evict from a project that may hold more
            await AsyncProjectMemoryStore(self._runtime, place, self._uses, project_id, most).make_room(new=copy_id)
        return copy_id

    async def enter_state(self, state: str, *, will_retry: bool = False) -> bool:
        """Record the task's state; a terminal state clears its memory. Returns whether it was cleared.

        Args:
            state: ``completed``, ``failed`` and ``cancelled`` are terminal; ``pending``, ``running`` and ``waiting``
                are not.
            will_retry: a failed task is tried again, and keeps its memory.
        """
        if state not in (*RUNNING, *TERMINAL):
            raise InvalidInput(f"state is one of {', '.join((*RUNNING, *TERMINAL))}, not {state!r:.80}")
        again = arguments.check_truth(will_retry, "will_retry")
        if state in RUNNING or (state == "failed" and again):
            return False
        await self.clear()
        return True

    async def clear(self) -> None:
        """Remove everything; its contents leave the store with this call, and no history shows them.

        Quarantined and restorable items go too, and it cannot be undone. Promote items worth keeping before.
        """
        store = self._runtime.store
        found = [item for state in (MemoryState.ACTIVE, MemoryState.QUARANTINED, MemoryState.SOFT_DELETED)
                 for item in await store.find(self.namespace, ITEMS, limit=10**9, state=state)]  # fmt: skip
        await self._runtime.services.items.clear(self.namespace, found)


class AsyncGlobalMemoryStore(AsyncTierStore):
    """The memory of all projects. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.global_store`.

    Preferences, removing and clearing need a person's word: ``confirmation_callback`` is shown the question, and its
    answer decides. A caller who has that word already says ``confirm=True``. Without either the call is refused.
    """

    def __init__(
        self, runtime: Runtime, place: TierScope, uses: ItemUses, confirmation_callback: Confirm | None = None
    ) -> None:
        super().__init__(runtime, place, uses)
        self.confirmation_callback = confirmation_callback

    async def add_preference(
        self, preference: str, category: str, require_confirmation: bool = False, *, confirm: bool = False
    ) -> ContextItem | None:
        """Keep a preference for all projects; importance 0.9. None when the person declined: then nothing was written.

        Args:
            category: such as ``style``, ``verbosity``, ``tools``.
            require_confirmation: a person has to be asked now; ``confirm`` is not enough.
            confirm: you have their word, so nobody is asked.

        Raises Denied when there is nobody to ask, InvalidInput, StoreError.
        """
        # Before the question, so that no person is asked about invalid arguments.
        item = items.preference(None, self._text(preference, "preference"), check_name(category, "category"))
        question = add_question(preference, category)
        if not await self._may(question, confirm, must_ask=require_confirmation):
            return None
        return await self._add(item)

    async def modify_preference(self, item_id: str, preference: str, *, confirm: bool = False) -> ContextItem | None:
        """Replace the words of a preference. None when the person declined.

        Raises NotFound unless it is a preference, Denied, Conflict when somebody changed it while the person was asked,
        InvalidInput, StoreError.
        """
        old = await self._scope.get(item_id)
        if old.kind != "preference":
            raise NotFound(f"no preference {item_id!r} in {self.namespace.path}")
        item, text = as_item(old), self._text(preference, "preference")
        question = modify_question(str(item.payload.get("preference", "")), text, str(item.payload.get("category", "")))
        if not await self._may(question, confirm):
            return None
        changed = replace(item, payload={**item.payload, "preference": text}, token_cost=estimate(text))
        said = as_memory(changed, self.namespace, strict=self._runtime.services.items.strict)

        async def modify() -> None:
            latest = await self._scope.get(item_id)
            if latest.text != old.text:
                raise Conflict(f"{item_id!r} says something else since the person was asked; ask again")
            new = replace(latest, text=said.text, payload=said.payload, token_cost=said.token_cost)
            await self._runtime.services.writer.update(self._scope.who, latest, new, None)

        await change_atomically(self.namespace, modify)
        return await self.get(item_id)

    async def add_pattern(self, pattern: str, domain: str) -> ContextItem:
        """Keep a pattern that works in every project; importance 0.7. Nobody is asked."""
        return await self._add(items.pattern(None, self._text(pattern, "pattern"), check_name(domain, "domain")))

    async def query_preferences(self, category: str | None = None) -> list[ContextItem]:
        """Return preferences of a category, or all, the newest first, at most 100."""
        return await self.query(
            tags_filter("preference", None if category is None else [check_name(category, "category")])
        )

    async def remove(self, item_id: str, *, confirm: bool = False) -> bool:
        """Remove an item. Returns False when the person declined.

        Raises NotFound, Denied, Conflict when somebody changed it while the person was asked.
        """
        head = await self._runtime.store.head(self.namespace)  # before the item: what changes after this is noticed
        found = await self._read_stored(item_id)
        if not await self._may(remove_question(items.item_words(as_item(found))), confirm):
            return False
        return await self._runtime.services.items.remove(self.namespace, [found.id], decided_at=head.rev) > 0

    async def clear_all(self, *, confirm: bool = False) -> bool:
        """Remove everything. Returns False when the person declined. Raises Denied, StoreError.

        Whatever the question says, :meth:`undo` can reverse it as long as the store keeps removed items.
        """
        if not await self._may(CLEAR_QUESTION, confirm):
            return False
        found = await self._runtime.store.find(self.namespace, ITEMS, limit=10**9)
        await self._runtime.services.items.remove(self.namespace, [item.id for item in found])
        return True

    async def undo(self, change: int, *, confirm: bool = False) -> WriteResult | None:
        """Undo a change, whole. None when the person declined.

        See :meth:`memwarden.api.journal.AsyncJournal.undo`; raises Denied as well.
        """
        if isinstance(change, bool) or not isinstance(change, int):
            raise InvalidInput(f"change is the number of a change, not {change!r:.80}")
        if not await self._may(undo_question(change), confirm):
            return None
        return await self._scope.journal.undo(change)

    async def _may(self, question: str, vouched: bool, *, must_ask: bool = False) -> bool:
        return await ask_confirmation(question, self.confirmation_callback, vouched, must_ask=must_ask)
