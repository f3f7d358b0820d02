"""Load on the HTTP server: calls a second and their times, beside a bare echo of the same framework in the same run."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memwarden import AsyncWarden
from memwarden.errors import InvalidInput
from memwarden_bench.sentences import questions, turns

CLIENTS = (1, 8, 32)
# The open load: so many questions a second, over so many connections, whatever the answers take.
ARRIVALS, CONNECTIONS = 40, 8
_BATCH = 1_000
_MAX_SECONDS = 3_600
MAX_FILLING_SECONDS = 600
_ECHO = (
    "import sys, uvicorn; from fastapi import FastAPI, Request; app = FastAPI()\n"
    "@app.post('/echo')\nasync def echo(request: Request): return await request.json()\n"
    "uvicorn.run(app, port=int(sys.argv[1]), log_level='error', access_log=False)"
)


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """Times of calls. sort: what was called. failed: calls that were not answered with success."""

    sort: str
    clients: int
    calls: int
    failed: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Figures of a server on a store of so many memories."""

    machine: Mapping[str, str]
    store: str
    workers: int
    memories: int
    figures: Sequence[LoadFigures]


async def fill(url: str, memories: int, embedder: str) -> None:
    """Put memories into a store, as turns of a person."""
    async with AsyncWarden.open(url, config={"embedder": embedder}) as warden:
        said = list(turns(memories))
        for start in range(0, memories, _BATCH):
            await warden.scope(user="ana", thread=f"t{start}").observe(said[start : start + _BATCH])
        if embedder != "none":
            await _wait_for_vectors(warden)


async def _wait_for_vectors(warden: AsyncWarden) -> None:
    """Slow vectors are made beside the calls; a server that still makes them shows nothing else."""
    namespace = warden.scope(user="ana").who.namespace
    for _ in range(_MAX_SECONDS):
        if all(row.vector is not None for row in (await warden.store.scan(namespace)).rows):
            return
        await asyncio.sleep(1)
    raise InvalidInput(f"the vectors were not made within {_MAX_SECONDS} seconds; take fewer memories")


@contextmanager
def serving(url: str, workers: int, embedder: str) -> Iterator[str]:
    """Start a server on a store; give its URL."""
    command = [sys.executable, "-m", "memwarden", "serve", "--db", url, "--port", "0", "--json", "--rate", "off"]
    command += ["--workers", str(workers), "--embedder", embedder, "--log-level", "warning"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        said = ""
        while not said.rstrip().endswith("}"):
            line = process.stdout.readline()
            if not line:
                raise InvalidInput("the server did not start; see above")
            said += line
        yield str(json.loads(said)["url"])
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


@contextmanager
def serving_mem0(python: str, port: int, embedder: str, memories: int) -> Iterator[str]:
    """Start a server of mem0 by an interpreter that has it, filled with the same memories; give its URL."""
    with tempfile.TemporaryDirectory(prefix="memwarden-mem0-") as folder:
        command = [python, "-m", "memwarden_bench.mem0_server", str(port), folder, embedder, str(memories)]
        process = subprocess.Popen(command, env={**os.environ, "MEM0_DIR": folder, "MEM0_TELEMETRY": "false"})
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def echoing(port: int) -> Iterator[str]:
    """Start the bare echo; give its URL."""
    process = subprocess.Popen([sys.executable, "-c", _ECHO, str(port)])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


async def measure_load(url: str, memories: int, workers: int, embedder: str, seconds: float) -> list[LoadFigures]:
    """Measure queries and writes of a server, then the echo."""
    import httpx2

    await fill(url, memories, embedder)
    asked = [{"user_id": "ana", "query": text} for text in questions(200)]
    found: list[LoadFigures] = []
    with serving(url, workers, embedder) as place, echoing(_free_port()) as echo:
        async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=64)) as client:
            await _warm(lambda: client.post(f"{place}/v1/memory/query", json=asked[0]), 8 * workers)
            await _warm(lambda: client.post(f"{echo}/echo", json=asked[0]), 1)

            def query(number: int) -> Awaitable[Any]:
                return client.post(f"{place}/v1/memory/query", json=asked[number % len(asked)])

            def observe(number: int) -> Awaitable[Any]:
                body = {"user_id": f"writer{number % 8}", "messages": f"Number {number} was said."}
                return client.post(f"{place}/v1/memory/observe", json=body)

            def repeat(number: int) -> Awaitable[Any]:
                return client.post(f"{echo}/echo", json=asked[number % len(asked)])

            for sort, call in (("query", query), ("observe", observe), ("echo", repeat)):
                found += [await _closed(sort, call, clients, seconds) for clients in CLIENTS]
            found.append(await _open(query, seconds))
    return found


async def measure_mem0(python: str, memories: int, embedder: str, seconds: float) -> list[LoadFigures]:
    """Measure queries and writes of mem0's library behind a server."""
    import httpx2

    asked = [{"user_id": "ana", "query": text} for text in questions(200)]
    with serving_mem0(python, _free_port(), embedder, memories) as place:
        async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=64)) as client:

            def query(number: int) -> Awaitable[Any]:
                return client.post(f"{place}/search", json=asked[number % len(asked)])

            def observe(number: int) -> Awaitable[Any]:
                body = {"user_id": f"writer{number % 8}", "messages": f"Number {number} was said."}
                return client.post(f"{place}/memories", json=body)

            await _warm(lambda: query(0), 8, MAX_FILLING_SECONDS)
            sorts = (("mem0 query", query), ("mem0 observe", observe))
            return [await _closed(sort, call, clients, seconds) for sort, call in sorts for clients in CLIENTS]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _warm(call: Callable[[], Awaitable[Any]], times: int, seconds: int = 60) -> None:
    for _ in range(10 * seconds):
        try:
            for _ in range(times):
                (await call()).raise_for_status()
            return
        except Exception:
            await asyncio.sleep(0.1)  # it is still starting
    raise InvalidInput(f"the server gave no answer within {seconds} seconds")


async def _closed(sort: str, call: Callable[[int], Awaitable[Any]], clients: int, seconds: float) -> LoadFigures:
    """Let clients call again as soon as they are answered."""
    times: list[float] = []
    failed = 0
    began = time.perf_counter()

    async def run(client: int) -> None:
        nonlocal failed
        number = client
        while time.perf_counter() - began < seconds:
            start = time.perf_counter()
            answer = await call(number)
            times.append(time.perf_counter() - start)
            failed += not answer.is_success
            number += clients

    await asyncio.gather(*map(run, range(clients)))
    return _figures(sort, clients, times, failed, time.perf_counter() - began)


async def _open(call: Callable[[int], Awaitable[Any]], seconds: float) -> LoadFigures:
    """Let calls arrive at a rate, and count the time from when each was due: waiting in line is waiting too."""
    times: list[float] = []
    failed = 0
    free = asyncio.Semaphore(CONNECTIONS)
    began = time.perf_counter()

    async def run(number: int) -> None:
        nonlocal failed
        due = began + number / ARRIVALS
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        async with free:
            answer = await call(number)
        times.append(time.perf_counter() - due)
        failed += not answer.is_success

    await asyncio.gather(*map(run, range(int(seconds * ARRIVALS))))
    return _figures(f"query, {ARRIVALS} a second", CONNECTIONS, times, failed, time.perf_counter() - began)


def _figures(sort: str, clients: int, times: Sequence[float], failed: int, took: float) -> LoadFigures:
    ordered = sorted(times)
    p50, p95, p99 = (1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.95, 0.99))
    return LoadFigures(sort, clients, len(times), failed, len(times) / took, p50, p95, p99)


def new_store(folder: Path | None) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for a store that ends with the measurement."""
    return tempfile.TemporaryDirectory(prefix="memwarden-load-", dir=folder)


def load_markdown(report: LoadReport) -> str:
    """Return the report as Markdown."""
    lines = [
        f"# HTTP: {report.memories:,} memories, {report.store}, {report.workers} processes",
        "",
        *(f"- {name}: {value}" for name, value in report.machine.items()),
        "",
        "| call | clients | calls a second | p50 ms | p95 ms | p99 ms | failed |",
        "|---|---|---|---|---|---|---|",
    ]
    for item in report.figures:
        cells = (item.sort, item.clients, f"{item.per_second:,.0f}", f"{item.p50_ms:.1f}", f"{item.p95_ms:.1f}")
        lines.append(f"| {' | '.join(map(str, cells))} | {item.p99_ms:.1f} | {item.failed} of {item.calls:,} |")
    return "\n".join(lines) + "\n"
