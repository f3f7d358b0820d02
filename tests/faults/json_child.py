"""Writes to a store of JSON files in a fork that dies at a given point, and what the machine would then have kept.

The points lie before and after every call by which the store touches its files, and in the middle of what it writes.
A death stands for a power cut as well: of each log only what was synced stays.
"""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from kill_child import the_batch

from memwarden.stores.jsonfile import folder, store
from memwarden.stores.jsonfile.store import JsonStore


class Death:
    """Kills this process when a point is passed for the nth time."""

    def __init__(self, at: str, nth: int, passed: Path) -> None:
        self._at, self._left = at, nth
        self._passed = passed.open("a")

    def passed(self, label: str) -> None:
        print(label, file=self._passed, flush=True)
        if label == self._at:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


class Halves:
    """A file that is written in two halves."""

    def __init__(self, file: BinaryIO, name: str, death: Death) -> None:
        self._file, self._name, self._death = file, name, death

    def write(self, said: bytes) -> int:
        self._file.write(said[: len(said) // 2])
        self._file.flush()
        self._death.passed(f"half of {self._name}")
        return self._file.write(said[len(said) // 2 :])

    def __enter__(self) -> Halves:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Watched:
    """The module os, with its calls on files watched; what is synced is noted beside the file."""

    def __init__(self, death: Death, synced: Path, fault: str | None) -> None:
        self._death, self._synced, self._fault = death, synced, fault

    def fsync(self, handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        self._death.passed(f"before sync of {_kind(path)}")
        if self._fault != "no sync":
            os.fsync(handle)
            if path.is_file():
                (self._synced / path.name).write_text(str(path.stat().st_size))
        self._death.passed(f"after sync of {_kind(path)}")

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def _kind(path: Path) -> str:
    return "folder" if path.is_dir() else path.name.split(".")[0] + path.suffix


def _watch(death: Death, synced: Path, fault: str | None) -> None:
    watched: Any = Watched(death, synced, fault)
    folder.os = store.os = watched  # type: ignore[attr-defined]
    opened = folder.open_private
    folder.open_private = lambda file, mode: Halves(opened(file, mode), _kind(file), death)  # type: ignore
    for name in ("replace", "unlink", "mkdir"):
        setattr(Path, name, _told(name, getattr(Path, name), death))


def _told(name: str, call: Callable[..., Any], death: Death) -> Callable[..., Any]:
    def watched(path: Path, *given: Any, **named: Any) -> Any:
        death.passed(f"before {name} of {path.name.split('.')[0]}")
        done = call(path, *given, **named)
        death.passed(f"after {name} of {path.name.split('.')[0]}")
        return done

    return watched


async def _write(root: Path, acks: int, batches: int, death: Death) -> None:
    mine = JsonStore(root, quiet_seconds=0.0)
    await mine.open()
    done = len(os.pread(acks, 10_000, 0).splitlines())
    for number in range(max(0, done - 1), batches):
        receipt = await mine.apply(the_batch("w", number))
        assert receipt.replayed or number >= done, "LOST: an acknowledged batch was written again"
        death.passed("applied, not answered")
        if number >= done:
            os.write(acks, b"%d\n" % number)
        await asyncio.sleep(0.001)  # snapshots are written meanwhile
    await mine.close()


def run(site: Path, *, at: str = "", nth: int = 1, batches: int = 12, fault: str | None = None) -> int:
    """Go on with the writing in a fork; return the signal that killed it, negative, or its code."""
    child = os.fork()
    if not child:
        code = 1
        try:
            death = Death(at, nth, site / "passed")
            synced = site / "synced"
            synced.mkdir(exist_ok=True)
            _watch(death, synced, fault)
            acks = os.open(site / "acks", os.O_RDWR | os.O_CREAT | os.O_APPEND)
            asyncio.run(_write(site / "store", acks, batches, death))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        cut_power(site)
    return code


def cut_power(site: Path) -> None:
    """Take from each log, and from a snapshot, what was not synced."""
    for file in (*(site / "store").rglob("log.*.jsonl"), *(site / "store").rglob("memory.json")):
        note = site / "synced" / file.name.replace("memory.json", "memory.json.new")
        os.truncate(file, min(file.stat().st_size, int(note.read_text()) if note.exists() else 0))
