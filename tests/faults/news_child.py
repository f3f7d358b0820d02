"""Run as a process: writers at once on one file; prints the revision of each write, a line a writer.

python news_child.py FILE PROCESS WRITERS WRITES
"""

from __future__ import annotations

import asyncio
import sys

from memwarden import AsyncWarden


async def main(file: str, process: str, writers: int, writes: int) -> None:
    async with AsyncWarden.open(f"sqlite:///{file}", config={"embedder": "none", "merging": "off"}) as warden:

        async def write(writer: int) -> list[int]:
            me = warden.scope(user="ana", thread=f"{process}-{writer}")
            return [(await me.remember(f"Note {process} {writer} {number}")).rev for number in range(writes)]

        for revs in await asyncio.gather(*map(write, range(writers))):
            sys.stdout.write(" ".join(map(str, revs)) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
