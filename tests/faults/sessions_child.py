"""A process in which writers at once take exchanges into the same sessions, each with a key, until it is killed.

Usage: sessions_child.py WANTED [JOB], as replay_child.py; WANTED is not used. JOB is JSON: {"file": SQLite file or
PostgreSQL URL, "acks", "process": name, "sessions", "exchanges": of a writer in each session, "at": label or null,
"nth": n, "after": seconds, "fault": name, "keys": false to do without}.

What is acknowledged is noted. A later run says each writer's last exchange again, and goes on from there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kill_child import STATEMENTS, STORES, Death, Mortal
from replay_child import serve

from memwarden import AsyncWarden, settings
from memwarden.agent.stored_sessions import AsyncSessions
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.protocol import Store

WRITERS = 8
USER = "ana"
SETTINGS = {"embedder": "none"}
_SELDOM = ("read source keys", "remove memory", "insert memory", "insert signals")
"""What a session does not need, or once."""
READ = "the session is read"
OFTEN = tuple(name for name in STATEMENTS if name not in _SELDOM)
INSIDE = ("keep version", "update memory", "insert journal", "insert receipt")
LABELS = (*OFTEN, *(f"inside {name}" for name in INSIDE), READ, "committed, not answered", "answered, not logged")


class Watched(Mortal):
    """Also lets :class:`Death` strike between reading a session and writing it."""

    async def get(self, namespace: Namespace, ids: Any, *, removed: bool = False) -> Any:
        found = await super().get(namespace, ids, removed=removed)
        self.death.passed(READ)
        return found


FAULTS: dict[str | None, Callable[[Path, Death], Mortal]] = {**STORES, None: Watched}


def name_of(process: str, writer: int, number: int) -> str:
    """What the exchange of a writer is called: it is its question, and its key."""
    return f"{process}-{writer}-{number}"


def acknowledged(acks: Path) -> dict[str, int]:
    """How many exchanges of each writer were acknowledged."""
    counts: dict[str, int] = {}
    for line in acks.read_text().splitlines() if acks.exists() else ():
        writer, _, number = line.rpartition("-")
        counts[writer] = max(counts.get(writer, 0), int(number) + 1)
    return counts


async def write(sessions: AsyncSessions, job: dict[str, Any], writer: int, acks: int, death: Death) -> None:
    """Take a writer's exchanges in, from where it stands."""
    done = acknowledged(Path(job["acks"])).get(f"{job['process']}-{writer}", 0)
    for number in range(max(0, done - 1), job["sessions"] * job["exchanges"]):
        name = name_of(job["process"], writer, number)
        key = name if job.get("keys", True) else None
        await sessions.finalize_current_cycle(f"s{number // job['exchanges']}", name, "ok", key=key)
        death.passed("answered, not logged")
        os.write(acks, f"{name}\n".encode())


async def main(job: dict[str, Any], _: Any) -> None:
    death = Death(job.get("at"), job.get("nth", 1))
    death.pause = job.get("pause", death.pause)
    postgres = job["file"].startswith("postgres")
    store: Store = PostgresStore(job["file"]) if postgres else FAULTS[job.get("fault")](Path(job["file"]), death)
    acks = os.open(job["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    async with AsyncWarden(store, settings.load(None, **SETTINGS)) as warden:
        sessions = warden.scope(user=USER).sessions
        death.armed = True
        await asyncio.gather(*(write(sessions, job, writer, acks, death) for writer in range(WRITERS)))
        death.armed = False


if __name__ == "__main__":
    serve(main)
