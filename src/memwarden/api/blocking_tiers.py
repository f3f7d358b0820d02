"""The blocking twins of :mod:`memwarden.tiers`. See there; nothing is written twice."""

from __future__ import annotations

from collections.abc import Mapping

from memwarden.concurrency.loop import Facade, blocking
from memwarden.records import Namespace
from memwarden.tiers.assembler import AsyncContextAssembler
from memwarden.tiers.confirm import Confirm
from memwarden.tiers.project_store import DEFAULT_MAX_ITEMS
from memwarden.tiers.global_store import AsyncGlobalMemoryStore
from memwarden.tiers.package import DEFAULT_PROJECT, MemoryConfig, Profile
from memwarden.tiers.project_store import AsyncProjectMemoryStore
from memwarden.tiers.store import AsyncTierStore
from memwarden.tiers.task_store import AsyncTaskMemoryStore
from memwarden.tiers.tiers import AsyncTiers


class TierStore(Facade):
    """What the three stores share. See :class:`memwarden.tiers.store.AsyncTierStore`."""

    _inner: AsyncTierStore

    @property
    def namespace(self) -> Namespace:
        """Where the items live."""
        return self._inner.namespace

    query = blocking(AsyncTierStore.query)
    get = blocking(AsyncTierStore.get)
    list_all = blocking(AsyncTierStore.list_all)
    count = blocking(AsyncTierStore.count)
    history = blocking(AsyncTierStore.history)


class TaskMemoryStore(TierStore):
    """A task's memory. See :class:`memwarden.tiers.task_store.AsyncTaskMemoryStore`."""

    _inner: AsyncTaskMemoryStore

    @property
    def task_id(self) -> str:
        """Which task."""
        return self._inner.task_id

    add_reasoning = blocking(AsyncTaskMemoryStore.add_reasoning)
    add_tool_output = blocking(AsyncTaskMemoryStore.add_tool_output)
    get_stage_outputs = blocking(AsyncTaskMemoryStore.get_stage_outputs)
    promote = blocking(AsyncTaskMemoryStore.promote)
    enter_state = blocking(AsyncTaskMemoryStore.enter_state)
    reached = blocking(AsyncTaskMemoryStore.reached)
    clear = blocking(AsyncTaskMemoryStore.clear)


class ProjectMemoryStore(TierStore):
    """A project's memory. See :class:`memwarden.tiers.project_store.AsyncProjectMemoryStore`."""

    _inner: AsyncProjectMemoryStore

    @property
    def project_id(self) -> str:
        """Which project."""
        return self._inner.project_id

    @property
    def max_items(self) -> int:
        """With more items than this some are evicted."""
        return self._inner.max_items

    add_decision = blocking(AsyncProjectMemoryStore.add_decision)
    add_convention = blocking(AsyncProjectMemoryStore.add_convention)
    add_failure = blocking(AsyncProjectMemoryStore.add_failure)
    add_preference = blocking(AsyncProjectMemoryStore.add_preference)
    add_pattern = blocking(AsyncProjectMemoryStore.add_pattern)
    query_decisions = blocking(AsyncProjectMemoryStore.query_decisions)
    section = blocking(AsyncProjectMemoryStore.section)
    remove = blocking(AsyncProjectMemoryStore.remove)
    pin = blocking(AsyncProjectMemoryStore.pin)
    restore = blocking(AsyncProjectMemoryStore.restore)
    undo = blocking(AsyncProjectMemoryStore.undo)
    promote = blocking(AsyncProjectMemoryStore.promote)
    make_room = blocking(AsyncProjectMemoryStore.make_room)


class GlobalMemoryStore(TierStore):
    """The memory of all projects. See :class:`memwarden.tiers.global_store.AsyncGlobalMemoryStore`."""

    _inner: AsyncGlobalMemoryStore

    @property
    def confirmation_callback(self) -> Confirm | None:
        """Who is asked before something is changed."""
        return self._inner.confirmation_callback

    add_preference = blocking(AsyncGlobalMemoryStore.add_preference)
    modify_preference = blocking(AsyncGlobalMemoryStore.modify_preference)
    add_pattern = blocking(AsyncGlobalMemoryStore.add_pattern)
    query_preferences = blocking(AsyncGlobalMemoryStore.query_preferences)
    remove = blocking(AsyncGlobalMemoryStore.remove)
    clear_all = blocking(AsyncGlobalMemoryStore.clear_all)
    undo = blocking(AsyncGlobalMemoryStore.undo)


class ContextAssembler(Facade):
    """Makes the contexts of tasks. See :class:`memwarden.tiers.assembler.AsyncContextAssembler`."""

    _inner: AsyncContextAssembler

    build_context = blocking(AsyncContextAssembler.build_context)
    cleanup_task = blocking(AsyncContextAssembler.cleanup_task)


class Tiers(Facade):
    """Makes the stores. See :class:`memwarden.tiers.tiers.AsyncTiers`."""

    _inner: AsyncTiers

    def task(self, task_id: str, *, tenant: str = "default") -> TaskMemoryStore:
        """Return the memory of a task. See :meth:`memwarden.tiers.tiers.AsyncTiers.task`."""
        return TaskMemoryStore(self._inner.task(task_id, tenant=tenant), self._loop)

    def project(
        self,
        project_id: str = DEFAULT_PROJECT,
        *,
        max_items: int = DEFAULT_MAX_ITEMS,
        confirmation_callback: Confirm | None = None,
        tenant: str = "default",
    ) -> ProjectMemoryStore:
        """Return the memory of a project. See :meth:`memwarden.tiers.tiers.AsyncTiers.project`."""
        inner = self._inner.project(
            project_id, max_items=max_items, confirmation_callback=confirmation_callback, tenant=tenant
        )
        return ProjectMemoryStore(inner, self._loop)

    def global_store(
        self, *, confirmation_callback: Confirm | None = None, tenant: str = "default"
    ) -> GlobalMemoryStore:
        """Return the memory of all projects. See :meth:`memwarden.tiers.tiers.AsyncTiers.global_store`."""
        inner = self._inner.global_store(confirmation_callback=confirmation_callback, tenant=tenant)
        return GlobalMemoryStore(inner, self._loop)

    def assembler(
        self,
        *,
        memory_config: MemoryConfig | None = None,
        profiles: Mapping[str, Profile] | None = None,
        tenant: str = "default",
    ) -> ContextAssembler:
        """Return what makes the contexts of tasks. See :meth:`memwarden.tiers.tiers.AsyncTiers.assembler`."""
        inner = self._inner.assembler(memory_config=memory_config, profiles=profiles, tenant=tenant)
        return ContextAssembler(inner, self._loop)
