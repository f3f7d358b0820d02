"""The worker of a program: with the setting ``upkeep`` jobs run beside its calls.

A file or a database gets a child process at low priority, which ends with the program, however that ends, after the run
that is under way. Memory and folders belong to a single process, so that there jobs run within it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from typing import IO, Any, Final

from memwarden.categories import categories_content
from memwarden.errors import missing_extra
from memwarden.settings import RULES, Settings, settings_from
from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.worker import DEFAULT_EVERY_SECONDS, work

# The stores that several processes use at once.
DATABASES: Final = ("postgresql:", "postgres:")
SHARED: Final = ("sqlite:", *DATABASES)
# A program that is over sooner needs no worker.
FIRST_REST_SECONDS: Final = 5.0
# A child that ended by itself is started again after twice as long each time, up to this.
MAX_REST_SECONDS: Final = 300.0
# A child that is told to end finishes its run within this time; else it is broken off between two transactions, and due
# again. Together with the grace of a server it is less than compose.yaml gives.
END_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


def pack_settings(settings: Settings, url: str) -> str:
    """Return settings as a line, from which :func:`unpack_settings` makes them again, for the store at a URL."""
    told: dict[str, Any] = {name: getattr(settings, name) for name in RULES}
    instructions = asdict(settings.extraction_instructions)
    instructions["examples"] = [example._asdict() for example in settings.extraction_instructions.examples]
    told["extraction_instructions"] = instructions
    return json.dumps({**told, "db": url, "upkeep": "off", "categories": categories_content(settings.categories)})


def unpack_settings(line: str) -> Settings:
    """Return the settings of a line. Raises InvalidConfig."""
    read: dict[str, Any] = json.loads(line)
    return settings_from({name: tuple(value) if isinstance(value, list) else value for name, value in read.items()})


class ProgramWorker:
    """Runs jobs beside the calls of a program, as long as it is open.

    Args:
        place: of the store. login_url: of a database, with its login; empty: jobs run within the program.
        rest: seconds until the first look. every: seconds between two looks.
    """

    def __init__(
        self,
        settings: Settings,
        place: str,
        login_url: str = "",
        *,
        rest: float = FIRST_REST_SECONDS,
        every: float = DEFAULT_EVERY_SECONDS,
    ) -> None:
        url = login_url if place.startswith(DATABASES) else place
        if url.startswith(DATABASES) and find_spec("procrastinate") is None:
            raise missing_extra("the setting upkeep on PostgreSQL", "worker")
        self._settings, self._url, self._rest, self._every = settings, url, rest, every
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None
        self.process: subprocess.Popen[str] | None = None

    def start(self, jobs: AsyncJobs) -> None:
        """Begin. jobs: of the open warden, for a store of a single process."""
        if self._url.startswith(SHARED):
            self.start_process()
        else:
            self._task = asyncio.create_task(self._work_within(jobs))

    def start_process(self) -> None:
        """Begin a child process, and go on with another when it ends."""
        self._thread = threading.Thread(target=self._keep_process, name="memwarden-upkeep", daemon=True)
        self._thread.start()

    async def hang_up(self) -> None:
        """End what runs within the program, and tell the child to end without waiting for it."""
        self._over.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """End, and wait for the child."""
        await self.hang_up()
        await asyncio.to_thread(self.end_process)

    def end_process(self) -> None:
        """End the child process. May be called twice."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _keep_process(self) -> None:
        rest = self._rest
        while not self._over.wait(rest):
            begun = time.monotonic()
            try:
                code = self._run_process()
            except Exception as error:
                log.warning("the worker cannot be started (%s); it is tried again", type(error).__name__)
            else:
                if code != 0 and not self._over.is_set():
                    log.warning("the worker ended with code %s; it is started again", code)
            if time.monotonic() - begun > MAX_REST_SECONDS:
                rest = self._rest
            rest = min(max(2 * rest, 1.0), MAX_REST_SECONDS)

    def _run_process(self) -> int:
        """Run a child until it ends, or until this program closes."""
        line = pack_settings(self._settings, self._url)
        command = [sys.executable, "-m", "memwarden", "worker", "--with-parent", "--every", str(self._every)]
        # The line goes by a pipe: others of this machine see the words of a command, and so would see a password.
        # Its errors come by a pipe too: whoever reads those of this program waits for no child that outlives it.
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True,
        ) as process:  # fmt: skip
            self.process = process
            pipe, errors = process.stdin, process.stderr
            assert pipe is not None
            assert errors is not None
            reader = threading.Thread(target=_pass_on, args=(errors,), name="memwarden-upkeep-errors", daemon=True)
            reader.start()
            _tell(pipe, line)
            while process.poll() is None and not self._over.wait(0.5):
                pass
            _hang_up(pipe)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
            if process.poll() is None:
                process.kill()
            code = process.wait()
            reader.join()
            return code

    async def _work_within(self, jobs: AsyncJobs) -> None:
        await asyncio.sleep(self._rest)
        while True:
            try:
                async for _ in work(jobs, asyncio.Event(), self._every):
                    pass
            except Exception as error:
                if self._over.is_set():
                    return
                log.warning("upkeep is tried again: %s", type(error).__name__)
                await asyncio.sleep(self._every)


def _tell(pipe: IO[str], line: str) -> None:
    with suppress(OSError):  # it ended already, and its code says so
        pipe.write(line + "\n")
        pipe.flush()


def _pass_on(lines: IO[str]) -> None:
    with suppress(ValueError):  # it is closed
        for line in lines:
            log.warning("worker: %s", line.rstrip())


def _hang_up(pipe: IO[str]) -> None:
    with suppress(OSError):
        pipe.close()
