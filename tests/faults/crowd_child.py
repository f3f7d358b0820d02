"""One of the processes that write to one user's memory at once: ``python crowd_child.py URL NAME CALLS ACKS``.

Eight writers remember the same facts and contradicting ones, correct, forget, restore and undo. Every answer
is noted in the file ACKS as JSON: the verb, the revision that it named and what became of each memory.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any, TextIO

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden.errors import Conflict, NotFound, Stale
from memwarden.testing import get_store

WRITERS = 8
SETTINGS = {"embedder": "none", "link_min": 0.1}
_WHO = ("Mia", "Tom", "Rosa")
_WHERE = ("Berlin", "Lisbon", "Oslo")
VERBS = ("remember",) * 10 + ("update", "forget", "restore", "undo", "undo")


async def call(me: AsyncScope, chance: random.Random, key: str) -> Any:
    """Make one call of a random sort; None when it was refused, as it may be."""
    verb, who, where = chance.choice(VERBS), chance.choice(_WHO), chance.choice(_WHERE)
    head = (await get_store(me).head(me.who.namespace)).rev
    recent = await get_store(me).journal(me.who.namespace, since=max(0, head - 40))
    item = chance.choice(recent).memory_id if recent else "none"
    said = chance.choice([f"{who} lives in {where}.", f"{who} resides in {where}.", f"{who} lives in {where} now."])
    try:
        if verb == "remember":
            return await me.remember(said, key=key)
        if verb == "update":
            return await me.update(item, summary=key)
        if verb == "undo":
            return await me.journal.undo(max(1, head - chance.randrange(6)))
        return await (me.forget(item) if verb == "forget" else me.restore(item))
    except NotFound:
        return None
    except Conflict as error:  # an undo that a later change rests on, a memory that was merged
        if isinstance(error, Stale):
            raise
        return None


async def write(warden: AsyncWarden, writer: str, calls: int, acks: TextIO) -> None:
    me = warden.scope(user="ana", actor=writer)
    chance = random.Random(writer)
    for number in range(calls):
        answer = await call(me, chance, f"{writer} {number}")
        if answer is not None:
            told = [[result.id, result.outcome] for result in answer.results]
            acks.write(json.dumps([writer, number, answer.rev, told]) + "\n")


async def main(url: str, name: str, calls: int, file: Path) -> None:
    with file.open("w", encoding="utf-8") as acks:
        async with AsyncWarden.open(url, SETTINGS) as warden:
            await asyncio.gather(*(write(warden, f"{name}{item}", calls, acks) for item in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])))
