"""Runs jobs on namespaces, remembers each run as an operational event, and tells what is due."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from memwarden import clock
from memwarden.clock import new_id
from memwarden.errors import InvalidInput, MemwardenError, StoreError
from memwarden.observability.instrument import open_operation
from memwarden.observability.records import EventFilter, Node, Op, OpEvent, Status
from memwarden.records import Namespace, Scope
from memwarden.runtime.services import Runtime
from memwarden.upkeep.records import JobContext, JobKind, JobReport, JobRun, JobStatus

if TYPE_CHECKING:
    from memwarden.upkeep.reembedding import Reembedding, ReembeddingTick

log = logging.getLogger(__name__)

DAY: Final = timedelta(days=1)
# Time until a job that failed is due again.
REST_AFTER_FAILURE: Final = timedelta(hours=1)
# The runs that are looked through for the last run of each job.
MAX_RUNS_READ: Final = 100


def _load_expire() -> Callable[[JobContext], Awaitable[JobReport]]:
    from memwarden.upkeep.expiry import expire

    return expire


def _load_consolidate() -> Callable[[JobContext], Awaitable[JobReport]]:
    from memwarden.upkeep.consolidation import consolidate

    return consolidate


def _load_clean() -> Callable[[JobContext], Awaitable[JobReport]]:
    from memwarden.upkeep.cleanup import clean

    return clean


def _load_retain() -> Callable[[JobContext], Awaitable[JobReport]]:
    from memwarden.upkeep.retention import retain

    return retain


def _load_insights() -> Callable[[JobContext], Awaitable[JobReport]]:
    from memwarden.upkeep.insights import find_insights

    return find_insights


def _load_weigh() -> Callable[[JobContext], Awaitable[JobReport]]:
    from memwarden.upkeep.importance import weigh

    return weigh


# Every job, in the order in which a worker runs them: those that only run after changes come last.
JOBS: Final[Mapping[str, JobKind]] = {
    job.name: job
    for job in (
        JobKind(
            "expire",
            "Soft-delete what nobody needed for long; purge what could be restored for long enough.",
            DAY,
            False,
            _load_expire,
        ),
        JobKind(
            "retain",
            "Remove turns and earlier versions for good, as turn_days and version_days say.",
            DAY,
            False,
            _load_retain,
        ),
        JobKind(
            "weigh",
            "Move the importance of memories by the use that prompts made of them.",
            DAY,
            False,
            _load_weigh,
        ),
        JobKind(
            "consolidate",
            "Merge facts that say the same; end facts that a newer fact replaces.",
            DAY,
            True,
            _load_consolidate,
        ),
        JobKind(
            "insights",
            "Remember what a person's talk tells beyond single facts.",
            DAY,
            True,
            _load_insights,
        ),
        JobKind("clean", "Apply the fixes that an audit proposes. Runs when it is asked for.", None, True, _load_clean),
    )
}


def find_job(name: str) -> JobKind:
    """Return a job by name. Raises InvalidInput."""
    if name not in JOBS:
        raise InvalidInput(f"there is no job {name!r:.80}; jobs are: {', '.join(JOBS)}")
    return JOBS[name]


def latest_slot(tenant: str, at: datetime, every: timedelta) -> datetime:
    """Return the last moment at which the jobs of a tenant were due; tenants are spread over the time between runs."""
    share = int.from_bytes(hashlib.blake2b(tenant.encode(), digest_size=4).digest()) / 2**32
    begun = datetime(1970, 1, 1, tzinfo=UTC) + share * every
    return begun + (at - begun) // every * every


def next_due(job: JobKind, last: OpEvent | None, rev: int, namespace: Namespace, at: datetime) -> datetime | None:
    """Return from when on a job is due; None while nothing was written since its last run, and where it never is.

    last: the event of its last run. rev: of the namespace now.
    """
    if job.every is None:
        return None
    if last is None:
        return at
    if last.status == Status.FAILED:
        return last.ts + REST_AFTER_FAILURE
    stopped_early = ":" in last.reason
    if job.only_after_changes and last.rev == rev and not stopped_early:
        return None
    slot = latest_slot(namespace.tenant, at, job.every)
    return slot if slot > last.ts else slot + job.every


class AsyncJobs:
    """Jobs that keep memory clean: :attr:`memwarden.api.warden.AsyncWarden.jobs`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def run(
        self, name: str, *, user: str | None = None, tenant: str = "default", dry_run: bool = False
    ) -> list[JobRun]:
        """Run a job now, whether it is due or not, and return what it did with each namespace.

        Args:
            name: such as ``expire`` or ``consolidate``; :data:`JOBS` names all.
            user: whose memory; None: everything of the tenant.
            dry_run: write nothing, and tell what would change.

        A namespace on which a job fails is reported with status ``failed`` and spares the others. Raises InvalidInput,
        StoreError.
        """
        job = find_job(name)
        await self._runtime.accesses.flush()
        spaces = await self._namespaces(tenant, user)
        return [await self._run_on(job, namespace, dry_run=dry_run) for namespace in spaces]

    async def run_due(self, *, tenant: str | None = None) -> list[JobRun]:
        """Run every job that is due, and return what each did. tenant: None means all."""
        await self._runtime.accesses.flush()
        return [await self._run_on(find_job(job), namespace) async for job, namespace in self.due(tenant=tenant)]

    async def due(self, *, tenant: str | None = None) -> AsyncIterator[tuple[str, Namespace]]:
        """Yield what is due now: the name of a job, and where. tenant: None means all."""
        at = clock.now()
        for namespace in await self._namespaces(tenant, None):
            for status in await self.status_of(namespace, at):
                if status.due is not None and status.due <= at:
                    yield status.job, namespace

    async def run_one(self, name: str, namespace: Namespace) -> JobRun:
        """Run a job on a namespace, for a queue of tasks. Raises InvalidInput."""
        await self._runtime.accesses.flush()
        return await self._run_on(find_job(name), namespace)

    async def status(self, *, user: str | None = None, tenant: str = "default") -> list[JobStatus]:
        """Return when each job ran last on each namespace of a tenant, and when it is due. Raises StoreError."""
        at = clock.now()
        spaces = await self._namespaces(tenant, user)
        return [status for namespace in spaces for status in await self.status_of(namespace, at)]

    async def reembed(
        self,
        to: str,
        *,
        rows_a_second: float | None = None,
        dry_run: bool = False,
        progress: Callable[[ReembeddingTick], None] = lambda tick: None,
    ) -> Reembedding:
        """Move the whole store to another embedding model while it answers, or go on with a move that was broken off.

        Args:
            to: a value of the setting ``embedder``, such as ``minilm`` or ``openai``.
            rows_a_second: how many vectors are made a second at most, so that others have the machine.
            dry_run: write nothing, and tell how far the move is. progress: is told how far it is.

        Raises InvalidInput, InvalidConfig for a model that is not at hand, ModelUnavailable, Conflict, StoreError.
        """
        from memwarden.upkeep.reembedding import Reembedder, choose_target

        target = await asyncio.to_thread(choose_target, to, self._runtime.settings)
        move = Reembedder(self._runtime, target, rows_a_second, progress)
        return await (move.plan() if dry_run else move.run())

    async def _namespaces(self, tenant: str | None, user: str | None) -> list[Namespace]:
        known = await self._runtime.store.namespaces()
        mine = [item for item in known if tenant is None or item.tenant == tenant]
        return mine if user is None else [item for item in mine if item.path == f"user/{user}"]

    async def status_of(self, namespace: Namespace, at: datetime) -> list[JobStatus]:
        """Return the status of each job on a namespace at a time."""
        runs = await self._runtime.store.events(
            namespace, EventFilter(node=Node.WORKER, op=Op.JOB), limit=MAX_RUNS_READ
        )
        rev = (await self._runtime.store.head(namespace)).rev
        found = []
        for job in JOBS.values():
            last = next((item for item in runs if item.reason.partition(":")[0] == job.name), None)
            status = JobStatus(job.name, namespace, due=next_due(job, last, rev, namespace, at))
            if last is not None:
                why = last.reason.partition(":")[2]
                status = replace(status, last=last.ts, status=last.status, changed=last.count, reason=why)
            found.append(status)
        return found

    async def _run_on(self, job: JobKind, namespace: Namespace, *, dry_run: bool = False) -> JobRun:
        at = clock.now()
        context = JobContext(self._runtime, namespace, at, dry_run)
        who = Scope(namespace.tenant, namespace.path.partition("/")[2] if namespace.path.startswith("user/") else "")
        events = self._runtime.events
        with open_operation(events.put, who, Node.WORKER, Op.JOB) if events.takes else nullcontext():
            report, status = await _work(job, context)
        rev = (await self._runtime.store.head(namespace)).rev
        run = JobRun(job.name, namespace, at, str(status), report.changes, report.reason, dry_run, report.tokens, rev)
        if not dry_run:
            await self._runtime.store.record([_event_of(run, who)])
        return run


async def _work(job: JobKind, context: JobContext) -> tuple[JobReport, Status]:
    """Do a job; a failure that is not the store's becomes its reason."""
    try:
        report = await job.load()(context)
    except StoreError:
        raise
    except MemwardenError as error:
        log.warning("the job %s failed on %s: %s", job.name, context.namespace, type(error).__name__)
        return JobReport(reason=type(error).__name__), Status.FAILED
    if report.failed:
        return report, Status.FAILED
    return report, Status.OK if report.changes or report.tokens else Status.SKIPPED


def _event_of(run: JobRun, who: Scope) -> OpEvent:
    """Return the event that remembers a run; it is written also where other events are switched off."""
    reason = f"{run.job}:{run.reason}" if run.reason else run.job
    return OpEvent(
        new_id(), run.namespace, Node.WORKER, Op.JOB, run.status, run.at, user_id=who.user or None, rev=run.rev,
        count=len(run.changes), reason=reason,
    )  # fmt: skip
