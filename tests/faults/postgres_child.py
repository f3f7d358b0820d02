"""A process that writes to PostgreSQL until it is killed from outside. Usage: postgres_child.py URL LOG NAME WRITERS.

Every acknowledged batch is written to LOG, and synced, after the acknowledgement; a later run goes on from there and
sends the last acknowledged batch of each writer once more, as a caller does who did not hear the answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TextIO

from kill_child import last_acknowledged, the_batch

from memwarden.stores.postgres import PostgresStore


async def write(store: PostgresStore, log: TextIO, writer: str, number: int) -> None:
    while True:
        await store.apply(the_batch(writer, number))
        log.write(f"{writer} {number}\n")
        log.flush()
        os.fsync(log.fileno())
        number += 1


async def main(url: str, log_path: Path, name: str, count: int) -> None:
    writers = [f"{name}{number}" for number in range(count)]
    last = last_acknowledged(log_path, writers)
    store = PostgresStore(url)
    await store.open()
    with log_path.open("a") as log:
        await asyncio.gather(*(write(store, log, writer, last[writer]) for writer in writers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
