"""A process that drives dialogues through the whole pipeline until it is killed.

Usage: turn_child.py WANTED [JOB], as replay_child.py. WANTED holds the dialogues. JOB is JSON: {"file": SQLite file,
"acks", "stage": a file that says where the process is, "serves": [number, of how many processes], "at": label or null,
"nth": n, "after": seconds, "pause": seconds, "fault": name, "settings", "exchanges": at most so many of each dialogue}.

Each exchange that is over is noted. A later run, also another process, says each dialogue's last one again and goes on.
"""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kill_child import STORES, Death, Mortal
from replay_child import REPLAYED, Unsynced, serve
from turn_talk import SETTINGS, Dialogue, exchange

from memwarden import AsyncWarden
from memwarden import settings as config
from memwarden.conversation.settings import ChatSettings
from memwarden.records import Batch, Channel, Put, Receipt

AT_ONCE = 4
"""So many dialogues a process serves at the same time."""
MOVE_MARK = "move mark"
LABELLED = {**REPLAYED, MOVE_MARK: "INSERT INTO threads", "drop versions": "DELETE FROM versions"}
WRITTEN = ("the question", "the answer", "what is kept", "the session")
AROUND = (
    *(f"{when} {what}" for what in WRITTEN for when in ("before", "after")),
    "the memories are looked for", "the model is asked", "a piece is said", "all of it is said", "answered, not logged",
)  # fmt: skip
INSIDE = ("insert memory", "keep version", "update memory", "insert journal", "write edge")
LABELS = (*AROUND, *LABELLED, *(f"inside {name}" for name in INSIDE), "committed, not answered")
_STAGE_BYTES = 64


class Told(Death):
    """Also says in a file where the process is, so that whoever kills it at an instant knows where it died."""

    def __init__(self, at: str | None, nth: int, stage: Path) -> None:
        super().__init__(at, nth, LABELLED)
        stage.write_bytes(b"starting".ljust(_STAGE_BYTES))
        with stage.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _STAGE_BYTES)

    def passed(self, label: str) -> None:
        if label in LABELS:
            self._map[:] = label.encode().ljust(_STAGE_BYTES)
        super().passed(label)


def stage_of(stage: Path) -> str:
    """Where the process was last."""
    return stage.read_bytes().decode().strip()


def _kind(batch: Batch) -> str:
    if batch.extracted is not None:
        return "what is kept"
    first = next((change.memory for change in batch.changes if isinstance(change, Put)), None)
    if first is None or first.channel != Channel.TURN:
        return "the session"
    return "the question" if first.role == "user" else "the answer"


class Watched(Mortal):
    """Lets :class:`Death` watch what a turn asks of the store."""

    async def apply(self, batch: Batch) -> Receipt:
        self.death.passed(f"before {_kind(batch)}")
        receipt = await super().apply(batch)
        self.death.passed(f"after {_kind(batch)}")
        return receipt

    async def head(self, namespace: Any) -> Any:
        self.death.passed("the memories are looked for")
        return await super().head(namespace)


FAULTS: dict[str | None, Callable[[Path, Death], Mortal]] = {**STORES, None: Watched, "no sync": Unsynced}


def acknowledged(files: Iterable[Path]) -> dict[str, int]:
    """How many exchanges of each thread were acknowledged, by any process."""
    counts: dict[str, int] = {}
    for file in files:
        for line in file.read_text().splitlines() if file.exists() else ():
            thread, _, number = line.rpartition(" ")
            counts[thread] = max(counts.get(thread, 0), int(number) + 1)
    return counts


async def main(job: dict[str, Any], dialogues: list[Dialogue]) -> None:
    death = Told(job.get("at"), job.get("nth", 1), Path(job["stage"]))
    death.pause = job.get("pause", death.pause)
    store = FAULTS[job.get("fault")](Path(job["file"]), death)
    settings = ChatSettings(use_memory=True, **job.get("settings", {}))
    own, processes = job["serves"]
    acks_file = Path(job["acks"])
    done = acknowledged(acks_file.parent.glob("*.acks"))
    acks = os.open(acks_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    free = asyncio.Semaphore(AT_ONCE)

    async def follow(warden: AsyncWarden, dialogue: Dialogue) -> None:
        me = warden.scope(user=dialogue.user, thread=dialogue.thread)
        async with free:
            for number in range(max(0, done.get(dialogue.thread, 0) - 1), len(dialogue.said[: job.get("exchanges")])):
                await exchange(me, dialogue, number, settings, death.passed)
                death.passed("answered, not logged")
                os.write(acks, f"{dialogue.thread} {number}\n".encode())

    async with AsyncWarden(store, config.load(None, **SETTINGS)) as warden:
        death.armed = True
        served = [item for place, item in enumerate(dialogues) if place % processes == own]
        await asyncio.gather(*(follow(warden, item) for item in served))
        death.armed = False


if __name__ == "__main__":
    serve(main)
