"""One of the processes that write the same at once: ``python parallel_child.py URL NAME KIND COUNT START``.

KIND ``texts`` remembers each of COUNT texts 20 times at once. KIND ``graph`` adds and deletes in one graph for COUNT
rounds. The process waits for the file START. Prints a line of JSON: the errors, and what was acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden.surfaces.mcp.graph import KnowledgeGraph

AT_ONCE = 20
TWINS = ("Mill", "Barn")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.005)


def text_of(number: int) -> str:
    return f"The gate code of mill {number} is {1000 + 37 * number}."


async def remember(me: AsyncScope, count: int) -> dict[str, Any]:
    errors = []
    for number in range(count):
        answers = await asyncio.gather(*(me.remember(text_of(number)) for _ in range(AT_ONCE)), return_exceptions=True)
        errors += [repr(answer) for answer in answers if isinstance(answer, BaseException)]
    return {"errors": errors}


async def edit_graph(me: AsyncScope, name: str, rounds: int) -> dict[str, Any]:
    """Return the names of entities that were created, the observations that were added, and those that were deleted."""
    graph = KnowledgeGraph(me.state)
    created: list[str] = []
    for twin in TWINS:
        answer = await graph.create_entities([{"name": twin, "entityType": "place", "observations": []}])
        created += [node["name"] for node in answer["entities"]]
    added, deleted = [], []
    for number in range(rounds):
        own = f"{name} {number}"
        await asyncio.gather(
            graph.add_observations([{"entityName": TWINS[0], "contents": [f"{own} stays", f"{own} goes"]}]),
            graph.create_entities([{"name": own, "entityType": "sack", "observations": []}]),
        )
        await graph.create_relations([{"from": own, "to": TWINS[1], "relationType": "is in"}])
        await graph.delete_observations([{"entityName": TWINS[0], "observations": [f"{own} goes"]}])
        added.append(f"{own} stays")
        deleted.append(f"{own} goes")
        if number % 2:
            await graph.delete_entities([own])
    return {"created": created, "added": added, "deleted": deleted}


async def main(url: str, name: str, kind: str, count: int, start: Path) -> None:
    async with AsyncWarden.open(url) as warden:
        me = warden.scope(user="ana", actor=name)
        await me.query("warm up")
        say("ready")
        await asyncio.to_thread(wait_for, start)
        done = await remember(me, count) if kind == "texts" else await edit_graph(me, name, count)
        say(json.dumps(done))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), Path(sys.argv[5])))
