"""The store of JSON files (E8): what lies on the disk, whom it lets in, and what it makes of damage."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from commands import run_here
from memwarden import Warden
from memwarden.errors import InvalidInput, StoreCorrupt, StoreError, StoreFull, StoreTooNew, StoreUnavailable
from memwarden.records import Batch, Namespace, Put, WriteMode
from memwarden.stores.jsonfile import JsonStore
from memwarden.stores.jsonfile.folder import Folder, folder_of
from memwarden.surfaces.integrations.langgraph import MemwardenSaver
from memwarden.testing.examples import START, a_batch, a_memory, a_put
from memwarden.text import TERMS_VERSION
from memwarden.text.signals import term_bytes

NAMES = (
    "web_app",
    "Web App",
    "web app",
    "..",
    ".",
    "../../etc",
    "a/b",
    "CON",
    "con",
    "ä",
    "%2E",
    "x" * 300,
    "~",
    "-",
    "*",
)


def opened(folder: Path) -> Warden:
    return Warden.open(f"json:///{folder}", config={"embedder": "none"})


def files(folder: Path, which: str = "*.json*") -> dict[Path, bytes]:
    """What the files hold, but for events, which tell of reads and of damage, too."""
    found = [item for item in folder.rglob(which) if item.is_file() and item.name != "events.jsonl"]
    return {item: item.read_bytes() for item in found}


def test_a_project_has_a_folder_that_people_can_read(tmp_path: Path) -> None:
    with opened(tmp_path) as warden:
        warden.scope(user="ana").remember("Ana lives in Lisbon.")
    snapshot = json.loads((tmp_path / "users" / "ana" / "memory.json").read_text())
    assert [item["memory"]["text"] for item in snapshot["page"]["memories"]] == ["Ana lives in Lisbon."]
    assert (tmp_path / "users" / "ana" / "memory.json").stat().st_mode & 0o777 == 0o600


def test_names_stay_apart_and_inside(tmp_path: Path) -> None:
    root = Path("/store")
    spaces = [Namespace(tenant, f"project/{name}") for tenant in ("default", *NAMES) for name in NAMES]
    spaces += [Namespace("default", "global"), Namespace("default", "user/global")]
    folders = [root / folder_of(space) for space in spaces]
    assert len({str(folder).casefold() for folder in folders}) == len(spaces)
    for folder in folders:
        assert os.path.normpath(folder) == str(folder)
        assert folder.is_relative_to(root)
        assert all(len(part) <= 255 and not part.endswith((".", " ")) for part in folder.parts)
    assert folder_of(Namespace("default", "project/web_app")).as_posix() == "projects/web_app"


async def test_every_namespace_is_found_again(tmp_path: Path) -> None:
    spaces = [Namespace("default", f"project/{name}") for name in NAMES] + [Namespace("ACME", "global")]
    first = JsonStore(tmp_path)
    await first.open()
    for space in spaces:
        await first.apply(Batch(space, (Put(a_memory("a", namespace=space), a_put("a").signals),), START))
    await first.close()
    second = JsonStore(tmp_path)
    await second.open()
    assert await second.namespaces() == sorted(spaces)
    await second.close()


async def test_a_namespace_without_a_snapshot_is_found_again(tmp_path: Path) -> None:
    """After a kill there may be a log alone, and a folder with less than a line."""
    first = JsonStore(tmp_path, quiet_seconds=60)
    await first.open()
    await first.apply(a_batch(a_put("a")))
    log = next(iter(files(tmp_path, "log.*")))
    kept = log.read_bytes()
    await first.close()
    for item in log.parent.iterdir():
        item.unlink()
    log.write_bytes(kept + kept[: len(kept) // 2])
    empty = tmp_path / "projects" / "none"
    empty.mkdir(parents=True)
    (empty / log.name).write_bytes(kept[:9])
    second = JsonStore(tmp_path)
    await second.open()
    assert len(await second.namespaces()) == 1
    assert (await second.head((await second.namespaces())[0])).rev == 1
    await second.close()


def test_the_order_of_writing_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as warden:
        ids = [warden.scope().remember(text).results[0].id for text in ("Ana sails.", "Ben rows.", "Cleo swims.")]
        warden.scope().update(str(ids[0]), summary="at sea")
    for _ in range(2):
        with opened(tmp_path) as warden:
            assert [item.id for item in warden.scope().find(order_by="written", descending=False)] == ids


def test_another_process_is_told_to_wait_or_to_move(tmp_path: Path) -> None:
    with opened(tmp_path) as warden:
        warden.scope().remember("Ana lives in Lisbon.")
        code = f"from memwarden import Warden; Warden.open('json:///{tmp_path}', config={{'embedder': 'none'}})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
        assert "StoreUnavailable: another process has" in done.stderr
        assert "sqlite:///FILE for several" in done.stderr
        with pytest.raises(StoreUnavailable, match="another process"):
            opened(tmp_path)
    with opened(tmp_path) as warden:
        assert [item.text for item in warden.scope().find()] == ["Ana lives in Lisbon."]


def test_a_killed_process_lets_the_next_one_in(tmp_path: Path) -> None:
    code = (
        "import os, signal; from memwarden import Warden\n"
        f"with Warden.open('json:///{tmp_path}', config={{'embedder': 'none'}}) as warden:\n"
        "    warden.scope().remember('Ana lives in Lisbon.'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == -signal.SIGKILL
    with opened(tmp_path) as warden:
        assert [item.text for item in warden.scope().find()] == ["Ana lives in Lisbon."]


async def test_too_many_items_are_refused_with_the_way_out(tmp_path: Path) -> None:
    store = JsonStore(tmp_path, most_items=3)
    await store.open()
    await store.apply(a_batch(a_put("a"), a_put("b"), a_put("c")))
    with pytest.raises(StoreFull, match=r"memwarden migrate --from json:///\S+ --to sqlite:///FILE"):
        await store.apply(a_batch(a_put("d")))
    receipt = await store.apply(a_batch(a_put("a", WriteMode.UPSERT, text="other words")))
    assert receipt.rev == 4
    assert await store.count(a_batch().namespace) == 3
    await store.close()


async def test_no_room_on_the_disk(tmp_path: Path) -> None:
    store = JsonStore(tmp_path, quiet_seconds=60)
    await store.open()
    await store.apply(a_batch(a_put("a")))
    before = files(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, hard))
    try:
        with pytest.raises(StoreFull, match="make room"):
            await store.apply(a_batch(a_put("b", text="long " * 10_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert files(tmp_path) == before
    assert (await store.apply(a_batch(a_put("b")))).rev == 2
    await store.close()


async def test_who_is_cancelled_leaves_a_whole_store(tmp_path: Path) -> None:
    store = JsonStore(tmp_path, quiet_seconds=0)
    await store.open()
    for number in range(30):
        write = asyncio.ensure_future(store.apply(a_batch(a_put(f"m{number}"))))
        await asyncio.sleep(0.0005 * (number % 4))
        write.cancel()
    await store.close()
    again = JsonStore(tmp_path)
    await again.open()
    found = await again.find(a_batch().namespace, limit=100)
    assert (await again.head(a_batch().namespace)).rev == len(found)
    await again.close()


class HeldSync:
    """Holds each sync of the disk up until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.goes_on = threading.Event(), threading.Event()
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, handle: int) -> None:
        self.begun.set()
        self.goes_on.wait(30)
        self._fsync(handle)


async def test_a_close_that_is_cancelled_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = JsonStore(tmp_path)
    await store.open()
    await store.apply(a_batch(a_put("a")))
    held = HeldSync(monkeypatch)
    write = asyncio.ensure_future(store.apply(a_batch(a_put("b"))))
    assert await asyncio.to_thread(held.begun.wait, 30)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(store.close(), 0.05)
    with pytest.raises(StoreUnavailable, match="being closed"):
        await store.apply(a_batch(a_put("c")))
    held.goes_on.set()
    assert (await write).rev == 2  # what was under way is not broken off
    await asyncio.gather(store.close(), store.close())
    monkeypatch.undo()
    other = JsonStore(tmp_path)  # the folder is free again
    await other.open()
    assert await other.count(a_batch().namespace) == 2
    await other.close()
    await store.open()
    assert (await store.apply(a_batch(a_put("c")))).rev == 3
    await store.close()


async def test_a_close_that_fails_lets_the_next_one_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = JsonStore(tmp_path, quiet_seconds=60)
    await store.open()
    await store.apply(a_batch(a_put("a")))

    def broken(*given: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(Folder, "save", broken)
    with pytest.raises(RuntimeError, match="a fault"):
        await store.close()
    monkeypatch.undo()
    other = JsonStore(tmp_path)
    await other.open()
    assert await other.count(a_batch().namespace) == 1
    await other.close()


async def test_opening_at_once_opens_once(tmp_path: Path) -> None:
    for number in range(20):
        store, other = [JsonStore(tmp_path / str(number)) for _ in range(2)]
        await asyncio.gather(*(store.open() for _ in range(4)))
        await store.close()
        await other.open()  # what was opened four times needs one close
        await other.close()


async def test_who_is_cancelled_while_it_opens_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def slow(handle: int) -> None:
        time.sleep(0.5)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slow)
    store, other = JsonStore(tmp_path), JsonStore(tmp_path)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(store.open(), 0.05)
    await other.open()
    await other.close()


async def test_opening_without_room_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "there").mkdir()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFull, match="make room"):
        await JsonStore(tmp_path / "there").open()
    with pytest.raises(StoreFull, match="make room"):
        await JsonStore(tmp_path / "new").open()
    monkeypatch.undo()
    store = JsonStore(tmp_path / "there")
    await store.open()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFull, match="make room"):
        await store.identity("a model")
    monkeypatch.undo()
    assert await store.identity("another") == "another"
    await store.close()


def test_events_after_half_a_line_are_whole(tmp_path: Path) -> None:
    file = tmp_path / "users" / "ana" / "events.jsonl"
    with opened(tmp_path) as warden:
        warden.scope(user="ana").remember("Ana likes boats.")
    said = file.read_bytes()
    file.write_bytes(said[:-20])
    with opened(tmp_path) as warden:
        warden.scope(user="ana").remember("Tom has a van.")
        told = warden.scope(user="ana").journal.events()
    with opened(tmp_path) as warden:
        assert warden.scope(user="ana").journal.events() == told
    assert len(file.read_bytes().splitlines()) == len(told) + 1  # the half of one


def flipped(said: bytes, at: int) -> bytes:
    return said[:at] + bytes([said[at] ^ 1]) + said[at + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut in half": lambda said: said[: len(said) // 2],
    "empty": lambda said: b"",
    "a byte at the beginning": lambda said: flipped(said, 1),
    "a byte in the middle": lambda said: flipped(said, len(said) // 2),
    "a byte at the end": lambda said: flipped(said, len(said) - 2),
    "another text": lambda said: b"{}\n",
}


DAMAGED = [
    (which, damage)
    for which in ("memory.json", "log.*.jsonl", "store.json")
    for damage in DAMAGE
    if not which.startswith("log") or damage not in ("cut in half", "empty", "a byte at the end")  # as a kill leaves it
]


@pytest.mark.parametrize(("which", "damage"), DAMAGED)
def test_damage_is_told_and_nothing_is_overwritten(tmp_path: Path, which: str, damage: str) -> None:
    with opened(tmp_path) as warden:
        for number in range(5):
            warden.scope().remember(f"Ana has {number} boats.")
    with opened(tmp_path) as warden:
        warden.scope().remember("Ben has a bike.")
        warden.scope().remember("Cleo has a cat.")
        (log,) = tmp_path.rglob("log.*.jsonl")
        kept = log.read_bytes()
    for item in tmp_path.rglob("log.*.jsonl"):
        item.unlink()
    log.write_bytes(kept)
    (file,) = tmp_path.rglob(which)
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    before = files(tmp_path)

    def use() -> None:
        with opened(tmp_path) as warden:
            warden.scope().remember("Dan has a dog.")

    with pytest.raises(StoreError, match="restore a copy"):
        use()
    assert files(tmp_path) == before


def test_a_lost_file_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path) as warden:
        warden.scope().remember("Ana has a boat.")
    with opened(tmp_path) as warden:
        warden.scope().remember("Ben has a bike.")
        (log,) = tmp_path.rglob("log.*.jsonl")
        kept = log.read_bytes()
    log.write_bytes(kept)
    (tmp_path / "users" / "default" / "memory.json").unlink()
    with pytest.raises(StoreCorrupt, match="lacks the revisions 1 to 1"), opened(tmp_path) as warden:
        warden.scope().find()


def test_a_later_memwarden_is_not_overwritten(tmp_path: Path) -> None:
    with opened(tmp_path) as warden:
        warden.scope().remember("Ana has a boat.")
    about = tmp_path / "store.json"
    about.write_text('{"format": 3, "model": "none"}')
    with pytest.raises(StoreTooNew, match="upgrade"):
        opened(tmp_path)


def test_everything_moves_on_to_a_file_and_back(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as warden:
        ids = [warden.scope(user="ana").remember(text).results[0].id for text in ("Ana sails.", "Ben rows.")]
        warden.scope(user="ana").forget(str(ids[1]))
    urls = [f"json:///{tmp_path / 'store'}", f"sqlite:///{tmp_path / 'm.db'}", f"json:///{tmp_path / 'again'}"]
    for source, target in pairwise(urls):
        done = run_here("migrate", "--from", source, "--to", target)
        assert done.returncode == 0, done.stderr
    with opened(tmp_path / "again") as warden:
        me = warden.scope(user="ana")
        assert [item.id for item in me.find()] == ids[:1]
        assert me.restore(str(ids[1])).results[0].outcome == "restored"


def test_states_of_agents_are_refused_since_they_would_be_lost(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as warden, pytest.raises(InvalidInput, match="no states of agents"):
        MemwardenSaver(warden).get_tuple({"configurable": {"thread_id": "t"}})


def test_a_backup_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as warden, pytest.raises(InvalidInput, match="memwarden migrate"):
        warden.back_up(tmp_path / "b")


async def test_terms_of_an_earlier_memwarden_are_made_anew(tmp_path: Path) -> None:
    namespace = a_memory("a").namespace
    store = JsonStore(tmp_path)
    await store.open()
    old = [
        replace(put, signals=replace(put.signals, terms=b"\1\0\0\0"))
        for put in (a_put("a", text="Vivo en Leipzig."), a_put("b", text="She runs."))
        if put.signals is not None
    ]
    await store.apply(a_batch(*old, namespace=namespace))
    await store.close()
    about = tmp_path / "store.json"
    about.write_text(json.dumps({"format": 1, "model": None}))
    ticks: list[tuple[int, int]] = []
    store = JsonStore(tmp_path, tick=lambda done, total: ticks.append((done, total)))
    await store.open()
    rows = (await store.scan(namespace)).rows
    assert {row.id: row.terms for row in rows} == {"a": term_bytes("Vivo en Leipzig."), "b": term_bytes("She runs.")}
    await store.close()
    assert ticks == [(1, 1)]
    assert json.loads(about.read_text()) == {"format": 2, "model": None, "terms": TERMS_VERSION}
