"""Makes the stores of the three tiers from a warden."""

from __future__ import annotations

from collections.abc import Mapping

from memwarden.errors import InvalidInput
from memwarden.runtime.services import Runtime
from memwarden.tiers.assembler import AsyncContextAssembler
from memwarden.tiers.budget import DEFAULT_PROJECT, MemoryConfig, Profile
from memwarden.tiers.stores import (
    DEFAULT_MAX_ITEMS,
    AsyncGlobalMemoryStore,
    AsyncProjectMemoryStore,
    AsyncTaskMemoryStore,
    Confirm,
    ItemUses,
    TierScope,
    check_max_items,
    check_name,
)


class AsyncTiers:
    """Makes the stores of tasks, projects and global memory: :attr:`memwarden.api.warden.AsyncWarden.tiers`.

    Each is a view of a namespace; nothing is copied, and two views of the same namespace see the same.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._uses = ItemUses()

    def task(self, task_id: str, *, tenant: str = "default") -> AsyncTaskMemoryStore:
        """Return the memory of a task, the namespace ``task/<task_id>``. Raises InvalidInput."""
        task_id = check_name(task_id, "task_id")
        return AsyncTaskMemoryStore(self._runtime, _place(f"task/{task_id}", tenant), self._uses, task_id)

    def project(
        self,
        project_id: str = DEFAULT_PROJECT,
        *,
        max_items: int = DEFAULT_MAX_ITEMS,
        confirmation_callback: Confirm | None = None,
        tenant: str = "default",
    ) -> AsyncProjectMemoryStore:
        """Return the memory of a project, the namespace ``project/<project_id>``.

        Args:
            max_items: with more, the least important tenth is evicted.
            confirmation_callback: is asked before a preference is promoted to all projects.

        Raises InvalidInput.
        """
        project_id, most = check_name(project_id, "project_id"), check_max_items(max_items)
        place = _place(f"project/{project_id}", tenant)
        return AsyncProjectMemoryStore(self._runtime, place, self._uses, project_id, most, confirmation_callback)

    def global_store(
        self, *, confirmation_callback: Confirm | None = None, tenant: str = "default"
    ) -> AsyncGlobalMemoryStore:
        """Return the memory of all projects of a tenant, the namespace ``global``.

        confirmation_callback: is shown a question and returns whether a person said yes; a plain function runs in a
        thread of its own.
        """
        return AsyncGlobalMemoryStore(self._runtime, _place("global", tenant), self._uses, confirmation_callback)

    def assembler(
        self,
        *,
        memory_config: MemoryConfig | None = None,
        profiles: Mapping[str, Profile] | None = None,
        tenant: str = "default",
    ) -> AsyncContextAssembler:
        """Return the assembler of the contexts of tasks.

        Args:
            memory_config: how many items at both ends of a task come first.
            profiles: how the contexts of kinds of agents are made, by name.

        Raises InvalidInput.
        """
        named = profiles if profiles is not None else {}
        if not isinstance(named, Mapping) or not all(isinstance(item, Profile) for item in named.values()):
            raise InvalidInput(f"profiles is a mapping of name to memwarden.tiers.Profile, not {named!r:.80}")
        return AsyncContextAssembler(
            self._runtime, self._uses, check_name(tenant, "tenant"), dict(named), memory_config
        )


def _place(path: str, tenant: str) -> TierScope:
    return TierScope(tenant=check_name(tenant, "tenant"), path=path)
