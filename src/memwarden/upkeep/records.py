"""What a job did with a namespace, and when it is due again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memwarden.concurrency.optimistic import change_atomically
from memwarden.records import Batch, BatchChange, Namespace
from memwarden.runtime.services import Runtime

# The actor of changes that a job makes.
UPKEEP = "upkeep"
# Reason of a run whose chat model failed.
CHAT_MODEL_FAILED = "chat_model_failed"
# The rule of journal entries that moved nothing but a memory's importance.
MOVED_BY_USE = "use"
# Maximum changes that a job writes in a transaction, so that no call waits long behind it.
MAX_BATCH = 200


@dataclass(frozen=True, slots=True)
class JobChange:
    """A change that a job made, or in a dry run would make.

    verb: such as ``soft_delete``, ``purge`` or ``merge``. why: the rule, in words without content.
    """

    verb: str
    memory_id: str
    why: str


@dataclass(frozen=True, slots=True)
class JobRun:
    """A run of a job on a namespace.

    Attributes:
        job: its name. namespace: where. at: when it began.
        status: ``ok``, ``skipped`` (nothing to do) or ``error``.
        changes: what it changed, or in a dry run would change.
        reason: why it was skipped, failed or stopped early; empty otherwise.
        dry_run: whether nothing was written. tokens: what it spent on a chat model. rev: the revision after it.
    """

    job: str
    namespace: Namespace
    at: datetime
    status: str
    changes: tuple[JobChange, ...] = ()
    reason: str = ""
    dry_run: bool = False
    tokens: int = 0
    rev: int = 0


@dataclass(frozen=True, slots=True)
class JobStatus:
    """When a job ran on a namespace, and when it runs next.

    Attributes:
        job: its name. namespace: where.
        last: when it ran last; None when it never did. status, changed, reason: of that run.
        due: from when on a worker runs it. None: when something is written there, or never by itself.
    """

    job: str
    namespace: Namespace
    last: datetime | None = None
    status: str = ""
    changed: int = 0
    reason: str = ""
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobReport:
    """What a job did with a namespace, as far as the job itself knows.

    Attributes:
        reason: why it did no more; empty if it did all. tokens: of a chat model, reserved for it.
        failed: whether the chat model failed, so that the job is due again soon.
    """

    changes: tuple[JobChange, ...] = ()
    reason: str = ""
    tokens: int = 0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a job works with: the services, a namespace and the time. dry_run: nothing may be written."""

    runtime: Runtime
    namespace: Namespace
    at: datetime
    dry_run: bool = False

    async def apply(self, changes: Sequence[BatchChange], decided_at: int) -> None:
        """Write changes that were decided on what stood at a revision. Raises Stale if that changed since."""
        if changes:
            batch = Batch(self.namespace, tuple(changes), self.at, actor=UPKEEP, decided_at=decided_at)
            await self.runtime.services.guard.apply(batch)

    async def in_parts(
        self, step: Callable[[JobContext, Sequence[str]], Awaitable[JobReport]], ids: Sequence[str]
    ) -> JobReport:
        """Do a step for memories, some at a time, each time anew when somebody changed what it decided on."""
        parts = [ids[first : first + MAX_BATCH] for first in range(0, len(ids), MAX_BATCH)]
        return add_reports([await self._retry(step, part) for part in parts])

    async def _retry(
        self, step: Callable[[JobContext, Sequence[str]], Awaitable[JobReport]], ids: Sequence[str]
    ) -> JobReport:
        async def attempt() -> JobReport:
            return await step(self, ids)

        return await change_atomically(self.namespace, attempt)


@dataclass(frozen=True, slots=True)
class JobKind:
    """A job: what it does with a namespace, and how often.

    Attributes:
        about: in a sentence, for the command line.
        every: how long a namespace has rest after a run; None: it runs when somebody asks for it, and never by itself.
        only_after_changes: whether a namespace in which nothing was written since the last run is left alone.
        load: returns what the job does; only then its modules are loaded.
    """

    name: str
    about: str
    every: timedelta | None
    only_after_changes: bool
    load: Callable[[], Callable[[JobContext], Awaitable[JobReport]]]


def add_reports(reports: Sequence[JobReport]) -> JobReport:
    """Return the report of several steps together; the first reason counts."""
    changes = tuple(change for report in reports for change in report.changes)
    reason = next((report.reason for report in reports if report.reason), "")
    tokens, failed = sum(report.tokens for report in reports), any(report.failed for report in reports)
    return JobReport(changes, reason, tokens, failed)
