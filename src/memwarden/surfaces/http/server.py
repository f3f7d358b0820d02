"""Runs the application with uvicorn, in this process or in several."""

from __future__ import annotations

import ctypes
import ipaddress
import json
import os
import socket
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI

from memwarden import AsyncWarden
from memwarden import settings as configuration
from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.observability.spans import export_traces
from memwarden.settings import Settings
from memwarden.surfaces.http.app import ServerOptions, create_app
from memwarden.surfaces.http.connections import LimitedProtocol
from memwarden.surfaces.http.keys import KeyRing
from memwarden.surfaces.http.logs import configure_logs
from memwarden.surfaces.http.metrics import SHARED_FOLDER
from memwarden.upkeep.embedded import ProgramWorker

# What a process of several reads, since it is started anew.
_PLAN = "MEMWARDEN_SERVER_PLAN"
BACKLOG = 2_048
# The answers under way may take so long when the server is told to stop.
GRACE_SECONDS = 8
# What the C library of Linux is told (mallopt): the number of an option, and its value. Left alone it keeps up to 40 MB
# of what was freed, in an arena for each thread, and more of it the longer a server runs.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
MEMORY_OPTIONS = ((_ARENA_MAX, 2), (_MMAP_THRESHOLD, 1 << 20), (_TRIM_THRESHOLD, 4 << 20))


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """Where a server listens, what it serves and how.

    Attributes:
        db, embedder, upstream: as the options of the command line; None for the settings.
        forwarded_from: addresses of reverse proxies whose ``X-Forwarded-*`` headers are believed.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    db: str | None = None
    embedder: str | None = None
    upstream: str | None = None
    log_level: str = "info"
    forwarded_from: str = ""
    options: ServerOptions = field(default_factory=ServerOptions)

    @property
    def settings(self) -> Settings:
        """The settings in force with the plan."""
        return configuration.load(db=self.db, embedder=self.embedder, upstream=self.upstream)

    def make_warden(self, *, prepare: bool = True, upkeep: bool = True) -> AsyncWarden:
        """Return the warden of the plan's store, not yet open.

        upkeep: whether jobs may run beside it, as the setting says.
        """
        settings = self.settings if upkeep else replace(self.settings, upkeep="off")
        return AsyncWarden.open(config=settings, follow_store=self.embedder is None, prepare=prepare)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def check_keys(plan: ServerPlan) -> bool:
    """Return whether the store has keys. Raises InvalidInput for an open address without any."""
    async with plan.make_warden(prepare=False, upkeep=False) as warden:
        has_keys = await KeyRing(warden.store).has_keys()
    if not has_keys and not plan.options.open_door:
        raise InvalidInput(
            f"others than this machine reach {plan.host} or its proxy, and the store has no key; make a key first: "
            "memwarden key create"
        )
    return has_keys


def return_freed_memory() -> bool:
    """Let this process give back what it freed; return whether its C library can be told so."""
    tuned = "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", "")
    if tuned or any(name.startswith("MALLOC_") for name in os.environ):
        return False  # whoever runs it has decided
    try:
        told = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return all(told(option, value) for option, value in MEMORY_OPTIONS)


async def serve(plan: ServerPlan, announce: Callable[[str], None]) -> None:
    """Serve until a signal says stop. announce: is told the URL once requests are taken."""
    return_freed_memory()
    configure_logs(plan.log_level)
    worker = make_worker(plan) if plan.workers > 1 else None
    listening = listen(plan)
    url = url_of(plan, listening)
    if plan.workers > 1:
        os.environ[_PLAN] = json.dumps(asdict(plan))
        counts = tempfile.TemporaryDirectory(prefix="memwarden-metrics-")
        os.environ[SHARED_FOLDER] = counts.name
        config = _config(plan, f"{__name__}:create_planned_app", factory=True, workers=plan.workers)
        from uvicorn.supervisors import Multiprocess

        announce(url)
        if worker is not None:
            worker.start_process()
        try:
            # It waits for its processes with signals of its own; nothing else runs on this loop.
            Multiprocess(config, sockets=[listening]).run()
        finally:
            if worker is not None:
                worker.end_process()
        return
    server = AnnouncedServer(_config(plan, make_app(plan)), lambda: announce(url))
    await server.serve(sockets=[listening])


class AnnouncedServer(uvicorn.Server):
    """A server that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()


def make_worker(plan: ServerPlan) -> ProgramWorker | None:
    """Return the one worker beside the processes of a server, not yet begun; None: the setting ``upkeep`` is off."""
    if plan.settings.upkeep == "off":
        return None
    url = plan.settings.db or configuration.default_db()
    return ProgramWorker(plan.settings, url, url)


def create_planned_app() -> FastAPI:
    """Return the application of the plan in the environment; for the processes of a server of several."""
    return_freed_memory()
    read: dict[str, Any] = json.loads(os.environ[_PLAN])
    plan = msgspec.convert(read, ServerPlan)
    configure_logs(plan.log_level)
    return make_app(plan, upkeep=False)


def make_app(plan: ServerPlan, *, upkeep: bool = True) -> FastAPI:
    """Return the application of a plan, whose spans go to the collector that the environment names."""
    warden = plan.make_warden(upkeep=upkeep)
    if warden.settings.traces == "on":
        export_traces("memwarden")
    return create_app(warden, plan.options)


def listen(plan: ServerPlan) -> socket.socket:
    """Return a socket that listens where the plan says. Raises StoreUnavailable, since nothing can be served."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(plan.host, plan.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)  # whoever calls before the processes are up waits
    except OSError as error:
        raise StoreUnavailable(
            f"cannot listen on {plan.host} port {plan.port}: {error.strerror}; choose another with --host or --port"
        ) from error
    listening.set_inheritable(True)
    return listening


def url_of(plan: ServerPlan, listening: socket.socket) -> str:
    """Return the URL under which a socket is reached."""
    port = listening.getsockname()[1]
    return f"http://[{plan.host}]:{port}" if ":" in plan.host else f"http://{plan.host}:{port}"


def _config(plan: ServerPlan, app: Any, **others: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(plan.forwarded_from),
        forwarded_allow_ips=plan.forwarded_from or None,
        root_path=plan.options.root_path,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
        ws="none",
        **others,
    )
