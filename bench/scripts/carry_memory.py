"""Measures the memory that imports and exports of much text take, each in a process of its own.

    python bench/scripts/carry_memory.py --megabytes 100

Reads an export of ChatGPT and a conversation of so much text, and a tenth of it as statements, each twice. Then fills a
store with so much of turns and as much of statements, writes it in every format, and reads the bundle back; of the
other formats a tenth, since each statement is compared with those that are there. Prints the peak of each process in
MB, its time, and the file's size. There is no embedder; ``--embedder auto`` reads the ChatGPT export alone, with its
meanings. Ends with 1 where a peak is above ``--limit``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memwarden import clock
from memwarden.records import Batch, Link, Memory, Namespace, Put, Signals
from memwarden.stores.url import store_at

# Characters of a message, and messages of a chat.
MESSAGE, CHAT = 1_000, 50
NAMESPACE, BEGIN = Namespace("default", "user/ana"), datetime(2015, 1, 1, tzinfo=UTC)
FORMATS = {"bundle": "b.zip", "mem0": "m.json", "graph": "g.jsonl", "markdown": "vault", "markdown-zip": "v.zip"}


def write_texts(megabytes: float, seed: int) -> Iterator[str]:
    """Yield texts of made-up words, as many different ones as a person uses."""
    chance = random.Random(seed)
    letters = "aeiou", "bcdfghklmnprstvw"
    words = ["".join(chance.choice(letters[place % 2]) for place in range(chance.randint(2, 9))) for _ in range(20_000)]
    left = megabytes * 1e6
    while left > 0:
        text = " ".join(chance.choices(words, k=MESSAGE // 6))
        left -= len(text)
        yield text


def write_chats(file: Path, megabytes: float) -> None:
    """Write an export of ChatGPT."""
    chats: dict[str, list[str]] = {}
    with file.open("w", encoding="utf-8") as opened:
        opened.write("[")
        for number, text in enumerate(write_texts(megabytes, 1)):
            said = chats.setdefault(f"c{number // CHAT}", [])
            said.append(text)
            if len(said) == CHAT:
                _write_chat(opened, number // CHAT, said)
                chats.clear()
        for name, said in chats.items():
            _write_chat(opened, int(name[1:]), said)
        opened.write("]")


def _write_chat(opened: Any, number: int, said: list[str]) -> None:
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None}}
    parent = "root"
    for turn, text in enumerate(said):
        identity, at = f"{number}-{turn}", 1_500_000_000 + 3600 * (number * CHAT + turn)
        message = {"id": identity, "author": {"role": ("user", "assistant")[turn % 2]}, "create_time": at,
                   "content": {"content_type": "text", "parts": [text]}}  # fmt: skip
        mapping[identity] = {"id": identity, "parent": parent, "message": message}
        parent = identity
    chat = {"conversation_id": f"c{number}", "create_time": 1.0, "current_node": parent, "mapping": mapping}
    opened.write(("," if number else "") + json.dumps(chat))


def write_log(file: Path, megabytes: float) -> None:
    """Write a log with labels, which is a single long conversation."""
    with file.open("w", encoding="utf-8") as opened:
        for number, text in enumerate(write_texts(megabytes, 3)):
            opened.write(f"{('USER', 'ASSISTANT')[number % 2]}: {text}\n")


def write_statements(file: Path, megabytes: float) -> None:
    """Write memories as mem0 exports them."""
    with file.open("w", encoding="utf-8") as opened:
        opened.write('{"results": [')
        for number, text in enumerate(write_texts(megabytes, 2)):
            row = {"id": str(number), "memory": text, "created_at": "2024-05-01T10:00:00Z"}
            opened.write((", " if number else "") + json.dumps(row))
        opened.write("]}")


async def fill_store(url: str, megabytes: float) -> None:
    """Write turns and statements, of so many megabytes each, with links between them, past all that reads texts."""
    store = store_at(url)
    await store.open()
    signals = Signals(terms=array("I", range(150)).tobytes())
    for kind, seed in (("turn", 4), ("semantic", 5)):
        waiting, last = list[Put | Link](), ""
        for number, text in enumerate(write_texts(megabytes, seed)):
            memory_id, at = clock.new_id(), BEGIN + timedelta(minutes=number)
            said = {"thread_id": f"t{number % 200 if number % 2 else 0}", "role": "user", "sources": (memory_id,)}
            memory = Memory(memory_id, NAMESPACE, text, created_at=at, updated_at=at, channel=kind, user_id="ana",
                            **(said if kind == "turn" else {}))  # fmt: skip
            waiting.append(Put(memory, signals))
            waiting += [Link(last, memory_id, "related_to")] if last and kind != "turn" else []
            last = memory_id
            if len(waiting) >= 500:
                await store.apply(Batch(NAMESPACE, tuple(waiting), at))
                waiting = []
        await store.apply(Batch(NAMESPACE, tuple(waiting), at))
    await store.close()


def measure(*arguments: str) -> tuple[float, float]:
    """Run the command ``memwarden``; return its peak in MB and its seconds."""
    start = time.monotonic()
    child = subprocess.Popen([sys.executable, "-m", "memwarden", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 5):  # 5: made-up words may look like orders to an assistant, and are refused
        sys.exit(f"memwarden {' '.join(arguments)} ended with {child.returncode}")
    return used.ru_maxrss / 1024, time.monotonic() - start


def size_of(file: Path) -> float:
    """Return the size of a file or folder in MB."""
    files = [item for item in file.rglob("*") if item.is_file()] if file.is_dir() else [file]
    return sum(item.stat().st_size for item in files) / 1e6


class Measurement:
    """The measured commands, on stores in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.worst = folder, 0.0

    def run(self, what: str, file: Path, *arguments: str) -> None:
        """Run a command, and print what it took."""
        peak, seconds = measure(*arguments)
        self.worst = max(self.worst, peak)
        print(f"| {what} | {size_of(file):.0f} | {peak:.0f} | {seconds:.0f} |", flush=True)

    def bring_in(self, file: Path, store: str, what: str, *, user: bool = True, embedder: str = "none") -> None:
        """Import a file into a store."""
        who = ("--user", "ana") if user else ()
        db = f"sqlite:///{self.folder / store}"
        self.run(what, file, "import", str(file), "--db", db, *who, "--embedder", embedder)

    def take_out(self, store: str, form: str) -> Path:
        """Export a store in a format; return the file."""
        file = self.folder / FORMATS[form]
        chosen = () if form == "bundle" else ("--format", form)
        db = f"sqlite:///{self.folder / store}"
        self.run(
            f"export, {form}", file, "export", str(file), "--db", db, "--user", "ana", "--embedder", "none", *chosen
        )
        return file


def measure_imports(done: Measurement, megabytes: float) -> None:
    """Import chats, a conversation, and a tenth as much of statements, each twice."""
    chats, log, statements = (done.folder / file for file in ("conversations.json", "log.txt", "mem0.json"))
    write_chats(chats, megabytes)
    write_log(log, megabytes)
    write_statements(statements, megabytes / 10)
    for what, file in (("ChatGPT", chats), ("log of one conversation", log), ("mem0", statements)):
        done.bring_in(file, f"{file.stem}.db", f"import, {what}")
        done.bring_in(file, f"{file.stem}.db", f"import, {what}, again")


def measure_exports(done: Measurement, megabytes: float) -> None:
    """Export much in every format; import the bundle, and of the other formats a tenth."""
    asyncio.run(fill_store(f"sqlite:///{done.folder / 'full.db'}", megabytes))
    asyncio.run(fill_store(f"sqlite:///{done.folder / 'less.db'}", megabytes / 10))
    for form in FORMATS:
        file = done.take_out("full.db", form)
        if form == "bundle":
            done.bring_in(file, f"{form}.db", f"import of that, {form}", user=False)
            continue
        _remove(file)
        less = done.take_out("less.db", form)
        done.bring_in(less, f"{form}.db", f"import of that, {form}")
        _remove(less)


def _remove(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink()


def main() -> None:
    """Measure, and print a line of a table for each command."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=float, default=100)
    options.add_argument("--embedder", default="none")
    options.add_argument("--limit", type=float, default=300)
    options.add_argument("--part", choices=("imports", "exports"))
    chosen = options.parse_args()
    print("| what | file, MB | peak, MB | seconds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="memwarden-carry-") as name:
        done = Measurement(Path(name))
        if chosen.embedder != "none":
            chats = done.folder / "conversations.json"
            write_chats(chats, chosen.megabytes)
            done.bring_in(chats, "e.db", "import, ChatGPT, with meanings", embedder=chosen.embedder)
        if chosen.embedder == "none" and chosen.part != "exports":
            measure_imports(done, chosen.megabytes)
        if chosen.embedder == "none" and chosen.part != "imports":
            measure_exports(done, chosen.megabytes)
    if done.worst > chosen.limit:
        sys.exit(f"a peak of {done.worst:.0f} MB is above {chosen.limit:.0f}")


if __name__ == "__main__":
    main()
