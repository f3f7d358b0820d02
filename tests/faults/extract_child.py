"""A process that goes on with the talk of ``extract_replay.py``, extraction on, until it is killed.

Usage: extract_child.py WANTED [JOB], as replay_child.py. JOB is JSON: {"file": SQLite file or PostgreSQL URL, "acks",
"way": steady or failing, "at": label or null, "nth": n, "after": seconds, "fault": name, "calls": n, "users": names}.
With "look" only what was observed is looked through.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from extract_replay import (
    Reader,
    answer_to,
    look_through,
    observe_all,
    settings,
    the_talk,
    thread_of,
    waiting_for_the_model,
)
from kill_child import STORES, Death, Mortal
from replay import USERS, Undisturbed
from replay_child import AGAIN, REPLAYED, Unsynced, serve

from memwarden import AsyncWarden
from memwarden.records import Batch, Receipt
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.protocol import Store

MOVE_MARK = "move mark"
# Nothing that an extraction writes takes the place of what waited, so it removes no memory.
LABELLED = {label: sql for label, sql in REPLAYED.items() if label != "remove memory"} | {
    MOVE_MARK: "INSERT INTO threads"
}
CALLED = ("thread", "journal", "get", "find", "count")
"""What an extraction asks of the store before it writes."""
MODEL = ("the model is asked", "the model has answered")
AROUND = (
    *(f"before {name}" for name in CALLED),
    "before the turns", "after the turns", "before what is kept", "after what is kept", "answered, not logged",
)  # fmt: skip
"""Where a child can die on every store."""
INSIDE = ("insert memory", "insert journal", "write edge")
LABELS = (*AROUND, *LABELLED, *(f"inside {name}" for name in INSIDE), "committed, not answered")


def _watched(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(self: Any, *values: Any, **named: Any) -> Any:
        self.death.passed(f"before {name}")
        return await getattr(super(Watched, self), name)(*values, **named)

    return call


class Watched:
    """Lets :class:`Death` watch what is asked of a store."""

    death: Death

    async def apply(self, batch: Batch) -> Receipt:
        what = "the turns" if batch.extracted is None else "what is kept"
        self.death.passed(f"before {what}")
        receipt: Receipt = await super().apply(batch)  # type: ignore[misc]  # the store that comes after in the order
        self.death.passed(f"after {what}")
        return receipt


for _name in CALLED:
    setattr(Watched, _name, _watched(_name))


class WatchedSqlite(Watched, Mortal):
    pass


class WatchedPostgres(Watched, PostgresStore):
    def __init__(self, url: str, death: Death) -> None:
        super().__init__(url)
        self.death = death


class MarkLater(Watched, Mortal):
    """A fault to be found: the mark is moved in a batch of its own, after what is kept."""

    async def apply(self, batch: Batch) -> Receipt:
        if batch.extracted is None or not batch.changes:
            return await super().apply(batch)
        receipt = await super().apply(replace(batch, extracted=None))
        self.death.passed("between")
        await super().apply(Batch(batch.namespace, (), batch.at, actor=batch.actor, extracted=batch.extracted))
        return receipt


class MarkFirst(Watched, Mortal):
    """A fault to be found: the mark is moved before what is kept is written."""

    async def apply(self, batch: Batch) -> Receipt:
        if batch.extracted is None or not batch.changes:
            return await super().apply(batch)
        await super().apply(Batch(batch.namespace, (), batch.at, actor=batch.actor, extracted=batch.extracted))
        self.death.passed("between")
        return await super().apply(replace(batch, extracted=None))


FAULTS: dict[str | None, Callable[[Path, Death], Mortal]] = {
    **STORES, None: WatchedSqlite, "no sync": Unsynced, "mark later": MarkLater, "mark first": MarkFirst,
}  # fmt: skip


def store_of(job: dict[str, Any], death: Death) -> Store:
    """The store of a job, watched."""
    if job["file"].startswith("postgres"):
        return WatchedPostgres(job["file"], death)
    return FAULTS[job.get("fault")](Path(job["file"]), death)


async def main(job: dict[str, Any], wanted: dict[str, Undisturbed]) -> None:
    death = Death(job.get("at"), job.get("nth", 1), LABELLED)
    observing = "calls" in job and job.get("way") == "off"
    extraction = "off" if observing or "look" in job else "every_turn"
    failing = job.get("way") == "failing"
    model = Reader(death if failing else None, fails=failing)
    users = job.get("users", USERS)
    async with AsyncWarden(store_of(job, death), settings(extraction), chat_model=model) as warden:
        death.armed = True
        if observing:
            await asyncio.gather(*(observe_all(warden, user, job["calls"]) for user in users))
        elif "look" in job:
            await asyncio.gather(*(look_through(warden, user) for user in users))
        else:
            acks = os.open(job["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with waiting_for_the_model():
                await asyncio.gather(*(follow(warden, user, job, acks, death, wanted[user]) for user in users))
        death.armed = False


async def follow(
    warden: AsyncWarden, user: str, job: dict[str, Any], acks: int, death: Death, wanted: Undisturbed
) -> None:
    """Make one user's calls from where the store stands."""
    talk = the_talk(user)[: job.get("calls")]
    namespace = warden.scope(user=user).who.namespace
    rev = (await warden.store.head(namespace)).rev
    done = max(number for number, item in enumerate(wanted.revs) if item <= rev)
    for number in range(max(0, done - AGAIN), len(talk)):
        me = warden.scope(user=user, thread=thread_of(number), actor="replay")
        answer = await answer_to(me, number, talk[number])
        assert answer == wanted.answers[number], f"call {number} answered {answer}, not {wanted.answers[number]}"
        death.passed("answered, not logged")
        os.write(acks, f"{user} {number}\n".encode())


async def warm_up() -> None:
    """Load and compile what an extraction uses, so that forks do not do it again."""
    async with AsyncWarden.open("memory://", settings(), chat_model=Reader(fails=True)) as warden:
        for messages in the_talk(USERS[0], 12):
            await warden.scope(user=USERS[0]).observe(messages)


if __name__ == "__main__":
    asyncio.run(warm_up())
    serve(main)
