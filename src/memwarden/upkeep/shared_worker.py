"""The worker on PostgreSQL: any number of processes share a queue, and one job runs on a namespace at a time.

procrastinate keeps the queue, in a schema of its own, without content: names of jobs and of namespaces. What is due is
found by a query and queued once; the job of a worker that died is taken over by another.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from memwarden import clock
from memwarden.errors import InvalidConfig, StoreError, StoreUnavailable
from memwarden.records import Namespace
from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.worker import rest_after

if TYPE_CHECKING:
    from procrastinate import App

QUEUE: Final = "memwarden"
TASK: Final = "memwarden.upkeep"
SCHEMA: Final = "memwarden_jobs"
# "mwjb": the advisory lock under which the schema is made.
SCHEMA_LOCK: Final = 0x6D776A62
# A worker says that it lives so often; the job of a worker that was silent for longer is taken over.
HEARTBEAT_SECONDS: Final = 10.0
DEFAULT_STALLED_SECONDS: Final = 30.0
# A worker that is told to end finishes its job within this time; else the job is broken off, and due again at once. It
# is less than a program gives its child, which would be killed with a job in its hands.
CLOSE_SECONDS: Final = 4.0
# A database that went away is asked again after so long, and after twice as long each time, up to the second.
FIRST_REST_SECONDS: Final = 1.0
MAX_REST_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class SharedWorker:
    """Queues what is due and works on the queue, beside other workers of the same database.

    Args:
        url: of the database. every: seconds between two looks at what is due. stalled: seconds after which the job of
            a silent worker is taken over.
    """

    def __init__(self, jobs: AsyncJobs, url: str, every: float, *, stalled: float = DEFAULT_STALLED_SECONDS) -> None:
        self._jobs = jobs
        self._url = url
        self._every = every
        self._stalled = stalled
        self._queued = False

    async def run(self, stop: asyncio.Event, *, once: bool = False) -> None:
        """Work until told to stop, or until the queue is empty. Raises InvalidConfig without the extra.

        A database that goes away is waited for, longer each time; a queue that never could be used is an error.
        """
        rest = FIRST_REST_SECONDS
        while not stop.is_set():
            begun = asyncio.get_running_loop().time()
            try:
                await self._run_queue(stop, once=once)
                return
            except (StoreError, OSError) as error:
                if once or not self._queued:
                    raise
                log.warning("the queue of jobs cannot be used (%s); it is tried again in %.0f s", error, rest)
            if asyncio.get_running_loop().time() - begun > MAX_REST_SECONDS:
                rest = FIRST_REST_SECONDS
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), rest)
            rest = min(2 * rest, MAX_REST_SECONDS)

    async def _run_queue(self, stop: asyncio.Event, *, once: bool) -> None:
        from procrastinate.exceptions import ConnectorException

        try:
            await self._use_queue(stop, once=once)
        except ConnectorException as error:
            raise StoreUnavailable(f"the queue of jobs cannot be used: {type(error).__name__}") from error

    async def _use_queue(self, stop: asyncio.Event, *, once: bool) -> None:
        async with self._open_queue() as app:
            await self._queue_due(app, stop)
            self._queued = True
            if once:
                await self._work(app, wait=False)
                return
            working = asyncio.create_task(self._work(app, wait=True))
            looking = asyncio.create_task(self._look(app, stop))
            await asyncio.wait([working, looking], return_when=asyncio.FIRST_COMPLETED)
            for task in (working, looking):
                if not task.done():
                    task.cancel()
            results = await asyncio.gather(working, looking, return_exceptions=True)
            for error in results:
                if isinstance(error, Exception):
                    raise StoreUnavailable(f"the queue of jobs cannot be used: {type(error).__name__}") from error

    async def _look(self, app: App, stop: asyncio.Event) -> None:
        while not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._every)
            if not stop.is_set():
                await self._queue_due(app, stop)

    async def _queue_due(self, app: App, stop: asyncio.Event) -> None:
        """Queue each due job once, however many workers find it, after those of workers that are silent."""
        from procrastinate.exceptions import AlreadyEnqueued

        await self._take_over(app)
        async for job, namespace in self._jobs.due():
            if stop.is_set():
                return
            place = f"{len(namespace.tenant)}:{namespace.tenant}:{namespace.path}"
            task = app.configure_task(TASK, lock=place, queueing_lock=f"{job}:{place}", queue=QUEUE)
            with suppress(AlreadyEnqueued):
                await task.defer_async(job=job, tenant=namespace.tenant, path=namespace.path)

    async def _take_over(self, app: App) -> None:
        """Queue the jobs of workers that were silent for too long again."""
        from procrastinate.exceptions import ConnectorException, UniqueViolation
        from procrastinate.jobs import Status

        manager = app.job_manager
        for job in await manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=self._stalled):
            with suppress(ConnectorException):  # another worker was faster
                try:
                    await manager.retry_job(job)
                except UniqueViolation:  # it is queued anew already
                    await manager.finish_job(job, Status.FAILED, delete_job=True)

    async def _work(self, app: App, *, wait: bool) -> None:
        await app.run_worker_async(
            queues=[QUEUE],
            wait=wait,
            concurrency=1,
            delete_jobs="always",
            install_signal_handlers=False,
            shutdown_graceful_timeout=CLOSE_SECONDS,
            fetch_job_polling_interval=min(5.0, self._every),
            update_heartbeat_interval=min(HEARTBEAT_SECONDS, self._stalled / 3),
            stalled_worker_timeout=self._stalled,
        )

    @asynccontextmanager
    async def _open_queue(self) -> AsyncIterator[App]:
        app = self._make_app()
        async with app.open_async():
            await _make_schema(app)
            yield app

    def _make_app(self) -> App:
        try:
            from procrastinate import App, PsycopgConnector
        except ImportError:
            raise InvalidConfig("a worker on PostgreSQL needs the extra: pip install 'memwarden[worker]'") from None
        from memwarden.stores.postgres.connections import read_url

        options: dict[str, Any] = {"options": f"-c search_path={SCHEMA}"}
        app = App(
            connector=PsycopgConnector(conninfo=read_url(self._url).libpq, kwargs=options, min_size=1, max_size=4)
        )

        @app.task(name=TASK, queue=QUEUE)
        async def upkeep(job: str, tenant: str, path: str) -> None:
            await self._run(job, Namespace(tenant, path))

        return app

    async def _run(self, job: str, namespace: Namespace) -> None:
        """Run a job, unless it was done since it was queued: the worker that died may have got to the end."""
        at = clock.now()
        for status in await self._jobs.status_of(namespace, at):
            if status.job == job and status.due is not None and status.due <= at:
                begun = time.process_time()
                await self._jobs.run_one(job, namespace)
                # For its own work: what it waited for the database, others had. The job is noted as done by now; a
                # worker that is told to end breaks the rest off, too.
                await rest_after(time.process_time() - begun, asyncio.Event())


async def _make_schema(app: App) -> None:
    """Make the schema of the queue once, whoever comes first."""
    from procrastinate.exceptions import ConnectorException

    if await app.check_connection_async():
        return
    lock = f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK}); CREATE SCHEMA IF NOT EXISTS {SCHEMA}; "
    script = app.schema_manager.get_schema().replace("%", "%%")
    try:
        await app.connector.execute_query_async(query=lock + script)
    except ConnectorException:  # another worker made it meanwhile
        if not await app.check_connection_async():
            raise
