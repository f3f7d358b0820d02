"""A process that goes on with the replay of ``replay.py`` on a SQLite file until it is killed.

Usage: replay_child.py WANTED [JOB]. WANTED is a file with what the calls lead to, by user, pickled. JOB is JSON:
{"file", "acks", "at": label or null, "nth": n, "after": seconds, "fault": name, "calls": n, "users": names}. Without
it jobs are read from stdin, a line each, and done each in a fork, which spares the start of an interpreter; for each a
line with its end is written: the signal that killed it, negative, or its code.

Every call that was answered is noted in the file of acks. A later run begins a few calls before the place where the
file stands: what was answered then is answered in the same way, and nothing is written for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy  # noqa: F401  # here, so that forks do not load it again
from kill_child import STATEMENTS, STORES, Death, Mortal
from replay import SETTINGS, USERS, Call, Undisturbed, make_call, the_calls

from memwarden import AsyncWarden, settings
from memwarden.api.scope import AsyncScope
from memwarden.testing import get_store

REPLAYED = {
    **STATEMENTS,
    "read edges": r"SELECT from_id, to_id, type, strength, live",
    "write edge": "INSERT INTO relations",
}
REPLAYED = {name: start for name, start in REPLAYED.items() if name not in ("read source keys", "update signals")}
INSIDE = ("insert memory", "keep version", "update memory", "insert journal", "write edge")
LABELS = (*REPLAYED, *(f"inside {name}" for name in INSIDE), "committed, not answered", "answered, not logged")
AGAIN = 4
"""So many calls before the place where a file stands are made again."""


class Unsynced(Mortal):
    """A fault to be found: commits are not synced."""

    def _connect(self, *, reading: bool) -> sqlite3.Connection:
        db = super()._connect(reading=reading)
        db.execute("PRAGMA synchronous = OFF")
        return db


async def follow(me: AsyncScope, acks: int, death: Death, wanted: Undisturbed, calls: list[Call]) -> None:
    """Make one user's calls from where the file stands."""
    rev = (await get_store(me).head(me.who.namespace)).rev
    done = max(number for number, item in enumerate(wanted.revs) if item == rev)
    for number in range(max(0, done - AGAIN), len(calls)):
        verb = calls[number][0]
        if number < done and (verb not in ("remember", "observe") or wanted.revs[number] == wanted.revs[number + 1]):
            os.write(acks, f"{me.who.user} {number}\n".encode())  # it has no key; that it was made is seen in the file
            continue
        answer = await make_call(me, number, calls[number])
        as_told = wanted.answers[number]
        assert answer == as_told, f"call {number} {calls[number]} answered {answer} instead of {as_told}"
        now = (await get_store(me).head(me.who.namespace)).rev
        assert number >= done or now == rev, f"call {number} wrote again"
        death.passed("answered, not logged")
        os.write(acks, f"{me.who.user} {number}\n".encode())


async def main(job: dict[str, Any], wanted: dict[str, Undisturbed]) -> None:
    death = Death(job.get("at"), job.get("nth", 1), REPLAYED)
    store = {**STORES, "no sync": Unsynced}[job.get("fault")](Path(job["file"]), death)
    acks = os.open(job["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    async with AsyncWarden(store, settings.load(None, **SETTINGS)) as warden:
        death.armed = True
        scopes = [warden.scope(user=user, thread="t1", actor="replay") for user in job.get("users", USERS)]
        calls = {user: the_calls(user)[: job.get("calls")] for user in USERS}
        await asyncio.gather(*(follow(me, acks, death, wanted[me.who.user], calls[me.who.user]) for me in scopes))
        death.armed = False


Work = Callable[[dict[str, Any], Any], Coroutine[Any, Any, None]]
"""Does a job, given what was told of what is wanted."""


def fork(job: dict[str, Any], wanted: Any, work: Work = main) -> int:
    """Do a job in a fork and return how it ended. With "after" it is killed when so many seconds have passed."""
    child = os.fork()
    if not child:
        try:
            asyncio.run(work(job, wanted))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if "after" in job:
        time.sleep(job["after"])
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def load() -> None:
    """Import and read what the calls use, once for all forks."""
    async with AsyncWarden.open("memory://", {**SETTINGS, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.remember(["Ana lives in Berlin.", "Ana lives in Lisbon now."])
        await me.observe([{"role": "user", "content": "My sister Mira moved to Leipzig last spring."}])
        await me.query("Where does Ana live?")


def serve(work: Work) -> None:
    """Do the job of the command line, or those of stdin."""
    told = pickle.loads(Path(sys.argv[1]).read_bytes())
    if sys.argv[2:]:
        asyncio.run(work(json.loads(sys.argv[2]), told))
        return
    asyncio.run(load())
    for line in sys.stdin:
        print(fork(json.loads(line), told, work), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve(main)
