"""A process that goes on with the agents of ``agent.py`` until it is killed.

Usage: agent_child.py [JOB]. JOB is JSON: {"url", "acks", "at": label or null, "nth": n, "after": seconds,
"fault": name, "threads": names, "rounds": n} or, for saving without a graph, {..., "puts": n}. Without it jobs are read
from stdin, a line each, and done each in a fork, which spares the start of an interpreter; for each a line with its end
is written: the signal that killed it, negative, or its code.

Whatever the saver was told is saved is noted in the file of acks, after it was told.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psycopg
from kill_child import STORES, Death, Mortal
from langgraph.checkpoint.base import empty_checkpoint

from agent import NotingSaver, build, follow
from memwarden import AsyncWarden
from memwarden import settings as config
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.protocol import Store

ON_SQLITE = {
    "begin": r"BEGIN IMMEDIATE",
    "savepoint": r"SAVEPOINT",
    "find namespace": r"SELECT no FROM namespaces",
    "put checkpoint": r"INSERT OR REPLACE INTO checkpoints ",
    "put value": r"INSERT OR REPLACE INTO checkpoint_blobs",
    "touch thread": r"INSERT INTO checkpoint_threads",
    "put write": r"INSERT INTO checkpoint_writes",
    "release": r"RELEASE",
    "commit": r"COMMIT",
}
ON_POSTGRES = {
    "begin": r"BEGIN ISOLATION LEVEL READ COMMITTED",
    "settings": r"\s*SELECT set_config",
    "put value": r"\s*INSERT INTO memwarden.checkpoint_blobs",
    "put checkpoint": r"\s*WITH touched",
    "put write": r"\s*INSERT INTO memwarden.checkpoint_writes",
    "commit": r"COMMIT",
}
"""Where a child can die: before each of these statements."""
AFTERWARDS = ("committed, not answered", "answered, not logged")
SQLITE_LABELS = (*ON_SQLITE, *(f"inside {item}" for item in ("put checkpoint", "put value", "put write")), *AFTERWARDS)
POSTGRES_LABELS = (*ON_POSTGRES, *AFTERWARDS)


class Unsynced(Mortal):
    """A fault to be found: commits are not synced."""

    def _connect(self, *, reading: bool) -> sqlite3.Connection:
        db = super()._connect(reading=reading)
        db.execute("PRAGMA synchronous = OFF")
        return db


class MortalPostgres(PostgresStore):
    """A store that lets :class:`Death` watch how checkpoints are written."""

    def __init__(self, url: str, death: Death) -> None:
        super().__init__(url)
        self.death = death

    async def _for_checkpoints(self, work: Callable[[Any], Any], *, writing: bool) -> Any:
        return await super()._for_checkpoints(self._watched(work) if writing else work, writing=writing)

    def _watched(self, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def watched(db: psycopg.Connection[Any]) -> Any:
            answer = work(Watched(db, self.death))
            self.death.passed("committed, not answered")
            return answer

        return watched


class Watched:
    """A connection that tells :class:`Death` what is about to be sent."""

    def __init__(self, real: psycopg.Connection[Any], death: Death) -> None:
        self._real = real
        self._death = death

    def pipeline(self) -> Any:
        return self._real.pipeline()

    def execute(self, sql: bytes, *values: Any, **options: Any) -> Any:
        self._death.traced(sql.decode())
        return self._real.execute(sql, *values, **options)


class Untied(Watched):
    """A fault to be found: no transaction ties the statements together."""

    def pipeline(self) -> Any:
        return nullcontext()

    def execute(self, sql: bytes, *values: Any, **options: Any) -> Any:
        self._death.traced(sql.decode())
        if re.match(rb"BEGIN|COMMIT", sql):
            return None
        return self._real.execute(sql.replace(b", true)", b", false)"), *values, **options)


class UntiedPostgres(MortalPostgres):
    def _watched(self, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda db: work(Untied(db, self.death))


class HastyPostgres(MortalPostgres):
    """A fault to be found: it answers before the commit."""

    async def _for_checkpoints(self, work: Callable[[Any], Any], *, writing: bool) -> Any:
        call = super()._for_checkpoints(work, writing=writing)
        if not writing:
            return await call
        self._begun = asyncio.create_task(call)
        await asyncio.sleep(0)
        return None


def the_store(job: dict[str, Any]) -> tuple[Store, Death]:
    """The store of a job, with the fault that it is to have."""
    url, fault = job["url"], job.get("fault")
    death = Death(job.get("at"), job.get("nth", 1), ON_SQLITE if url.startswith("sqlite") else ON_POSTGRES)
    if url.startswith("sqlite"):
        return {**STORES, "no sync": Unsynced}[fault](Path(url.removeprefix("sqlite:///")), death), death
    made = {None: MortalPostgres, "no transaction": UntiedPostgres, "answers before commit": HastyPostgres}[fault]
    return made(url, death), death


async def put_one_by_one(saver: NotingSaver, count: int) -> None:
    """A checkpoint and a write of it, again and again, nothing beside."""
    config: Any = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
    for number in range(count):
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"a": [number]}, {"a": str(number)}
        config = await saver.aput(config, checkpoint, {}, {"a": str(number)})
        await saver.aput_writes(config, [("a", number)], "task")


async def main(job: dict[str, Any]) -> None:
    store, death = the_store(job)
    acks = os.open(job["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(text: str) -> None:
        death.passed("answered, not logged")
        os.write(acks, text.encode() + b"\n")

    async with AsyncWarden(store, config.load(None, embedder="none")) as warden:
        saver = NotingSaver(warden.scope(user="ana"), note)
        if "puts" in job:
            await put_one_by_one(saver, job["puts"])
            return
        graph = build(saver)
        death.armed = True
        await asyncio.gather(*(follow(graph, item, job["rounds"]) for item in job["threads"]))
        death.armed = False


def fork(job: dict[str, Any]) -> int:
    """Do a job in a fork and return how it ended. With "after" it is killed when so many seconds have passed."""
    child = os.fork()
    if not child:
        try:
            asyncio.run(main(job))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if "after" in job:
        time.sleep(job["after"])
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(main(json.loads(sys.argv[1])))
    for line in sys.stdin if not sys.argv[1:] else ():
        print(fork(json.loads(line)), flush=True)  # noqa: T201
