"""Run as a process: writes items at once with others, through LangGraph's store.

python items_child.py URL PROCESS WRITERS WRITES
"""

from __future__ import annotations

import asyncio
import sys

from memwarden import AsyncWarden
from memwarden.surfaces.integrations.langgraph import MemwardenStore


async def main(url: str, process: str, writers: int, writes: int) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        store = MemwardenStore(warden, index={"embed": lambda texts: [[1.0, 2.0] for _ in texts], "fields": ["by"]})

        async def write(writer: int) -> None:
            for number in range(writes):
                value = {"by": process, "number": number}
                await store.aput(("own", process), f"{writer}-{number}", value)
                await store.aput(("shared",), str(number), value)
                await store.adelete(("own", process), f"{writer}-{number - 1}")

        await asyncio.gather(*map(write, range(writers)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
