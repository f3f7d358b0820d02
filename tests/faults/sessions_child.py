"""Run as a process: writers at once take exchanges into the same sessions; prints each one that is acknowledged.

Says "ready" when the store is open, and begins when it is told a line.

python sessions_child.py URL PROCESS WRITERS SESSIONS EXCHANGES
"""

from __future__ import annotations

import asyncio
import sys

from memwarden import AsyncWarden


async def main(url: str, process: str, writers: int, sessions: int, exchanges: int) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        stored = warden.scope(user="ana").sessions

        async def write(writer: int) -> None:
            for session in range(sessions):
                for number in range(exchanges):
                    name = f"{process}-{writer}-{number}"
                    await stored.finalize_current_cycle(f"s{session}", name, "ok")
                    sys.stdout.write(f"s{session} {name}\n")
                    sys.stdout.flush()

        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.gather(*map(write, range(writers)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])))
