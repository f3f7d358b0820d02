"""Count the modules of memwarden that run during a warm observe, remember, query and turn.

A profile hook in every thread notes the file of each function that starts. ``--list`` also prints the modules. What is
written beside the calls has come to rest before an operation is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import memwarden
from memwarden import AsyncWarden, ChatSettings

ROOT = Path(memwarden.__file__).parent
# Vectors of new turns and operational events are written beside the calls, within this time.
SECONDS_TO_REST = 1.5
TEXTS = ("I am allergic to peanuts.", "I moved to Graz in March.", "My sister Ana plays the cello.")


class ModuleCount:
    """Collects the files of functions that start while it is switched on."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._on = False
        # Installed before the first call: a hook reaches only threads that start after it.
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, arg: Any) -> None:
        # The call of a module's own body is its import, which a warm process has behind it.
        if self._on and event == "call" and frame.f_code.co_name != "<module>":
            self.files.add(frame.f_code.co_filename)

    async def of(self, operation: Callable[[], Awaitable[object]]) -> list[str]:
        """The modules that the second run of an operation goes through, sorted."""
        await operation()
        await asyncio.sleep(SECONDS_TO_REST)
        self.files.clear()
        self._on = True
        try:
            await operation()
        finally:
            self._on = False
        return names(self.files)


def names(files: set[str]) -> list[str]:
    """The module names of the files that belong to memwarden, sorted."""
    paths = [Path(file) for file in files if file.startswith(f"{ROOT}/")]
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)


async def measure() -> dict[str, list[str]]:
    """Count each operation on a small store in memory."""
    counter = ModuleCount()
    numbers = iter(range(1_000_000))

    def said() -> list[dict[str, str]]:
        number = next(numbers)
        return [{"role": "user", "content": f"{TEXTS[number % len(TEXTS)]} That was on day {number}."}]

    async with AsyncWarden.open("memory://") as warden:
        me = warden.scope(user="ana", thread="t1")
        for _ in range(5):
            await me.observe(said())

        async def take_turn(extraction: str = "on_save") -> None:
            settings = ChatSettings(use_memory=True, memory_extraction_mode=extraction)
            question = f"Where do I live, question {next(numbers)}?"
            async with me.turn([{"role": "user", "content": question}], settings) as turn:
                turn.record_response("You live in Graz.")

        return {
            "observe": await counter.of(lambda: me.observe(said())),
            "remember": await counter.of(lambda: me.remember(said()[0]["content"])),
            "query": await counter.of(lambda: me.query(f"Where do I live since day {next(numbers)}?")),
            "turn": await counter.of(take_turn),
            "turn with extraction": await counter.of(lambda: take_turn("every_turn")),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the modules, too")
    options = parser.parse_args()
    for operation, modules in asyncio.run(measure()).items():
        print(f"{operation}: {len(modules)}")
        if options.list:
            print("".join(f"  {module}\n" for module in modules), end="")


if __name__ == "__main__":
    main()
