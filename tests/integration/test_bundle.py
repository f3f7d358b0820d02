"""A bundle of a person: the same bytes from every engine, whole into every engine, or refused with the line."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from commands import run_here
from memwarden import Warden
from memwarden.errors import Conflict, InvalidInput, NotFound, StoreCorrupt, StoreFull
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.bundle import ExportResult, export_bundle, import_bundle
from memwarden.stores.transfer.move import seal_namespace
from memwarden.stores.transfer.pages import Page
from memwarden.stores.url import store_at
from memwarden.testing.examples import NAMESPACE, a_batch, a_put
from memwarden.testing.page_tests import a_long_life

ENGINES = ("memory", "json", "sqlite", "postgres")
CONFIG = {"embedder": "none"}


@pytest.fixture
def new_url(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    made: list[str] = []

    def make(engine: str) -> str:
        made.append(engine)
        if engine == "postgres":
            return str(request.getfixturevalue("new_database")())
        return "memory://" if engine == "memory" else f"{engine}:///{tmp_path / f'store{len(made)}'}"

    return make


async def opened(url: str) -> Store:
    store = store_at(url)
    await store.open()
    return store


async def a_bundle(file: Path, memories: int = 0) -> ExportResult:
    store = await opened("memory://")
    await store.identity("model-1")
    await a_long_life(store)
    for number in range(memories):
        await store.apply(a_batch(a_put(f"m{number}", text=f"word{number} " * 20)))
    return await export_bundle(store, NAMESPACE, file)


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_round_trip_gives_the_same_bytes(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    """Every engine makes the bytes that the store in memory makes, of its own life and of what it imported: so each
    pair of engines is shown."""
    await a_bundle(tmp_path / "first")
    own, imported = await opened(new_url(engine)), await opened(new_url(engine))
    try:
        await own.identity("model-1")
        await a_long_life(own)
        assert (await export_bundle(own, NAMESPACE, tmp_path / "own")).manifest.rev == 22
        assert (tmp_path / "own").read_bytes() == (tmp_path / "first").read_bytes()
        planned = await import_bundle(imported, tmp_path / "first", dry_run=True)
        assert (planned.there, planned.new, await imported.namespaces()) == (0, 22, [])
        assert (await import_bundle(imported, tmp_path / "first")).new == 22
        assert await seal_namespace(imported, NAMESPACE) == await seal_namespace(own, NAMESPACE)
        await export_bundle(imported, NAMESPACE, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "first").read_bytes()
        assert (await import_bundle(imported, tmp_path / "first")).new == 0
    finally:
        await own.close()
        await imported.close()


def test_a_person_reads_and_moves_their_memory(new_url: Callable[[str], str], tmp_path: Path) -> None:
    file = tmp_path / "ana.zip"
    with Warden.open(new_url("sqlite"), config=CONFIG) as warden:
        me = warden.scope(user="ana")
        said = [{"role": "user", "content": "I keep bees in Lisbon.", "id": "m1", "timestamp": "2024-05-01T10:00:00Z"}]
        me.observe(said)
        me.state.save("plan", {"day": 1})
        warden.scope(user="bob").remember("Bob has a van.")
        warden.export(file, user="ana")
    with ZipFile(file) as archive:
        read = [json.loads(line) for line in archive.read("memories.jsonl").decode().splitlines()]
    assert [(item["text"], item["when"]) for item in read if item["channel"] == "turn"] == [
        ("I keep bees in Lisbon.", "2024-05-01T10:00:00+00:00")
    ]
    assert "van" not in str(read)
    with Warden.open(new_url("json"), config=CONFIG) as warden:
        warden.import_(file)
        assert warden.users() == ["ana"]
        me = warden.scope(user="ana")
        assert me.query("Who keeps bees in Lisbon?").items[0].memory.text == "I keep bees in Lisbon."
        assert me.state.load("plan") == {"day": 1}
        assert me.observe(said).results[0].reason == "already stored"


def rewrite(file: Path, change: Callable[[list[str]], object], name: str = "pages.jsonl") -> None:
    """Change lines of a bundle and mend its checksums, as somebody who knows the format would."""
    with ZipFile(file) as archive:
        held = {entry: archive.read(entry) for entry in archive.namelist()}
    lines = held[name].decode().splitlines(keepends=True)
    change(lines)
    held[name] = "".join(lines).encode()
    manifest = json.loads(held["manifest.json"])
    manifest["sha256"][name] = hashlib.sha256(held[name]).hexdigest()
    held["manifest.json"] = json.dumps(manifest).encode()
    with ZipFile(file, "w") as archive:
        for entry, content in held.items():
            archive.writestr(entry, content)


DAMAGES: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "half a line": (lambda lines: lines.__setitem__(1, lines[1][:99] + "\n"), "line 2"),
    "a line is missing": (lambda lines: lines.pop(0), "line 1: it does not follow revision 0"),
    "the last is missing": (lambda lines: lines.pop(), "line 1: it ends at revision 100"),
    "a number as text": (
        lambda lines: lines.__setitem__(1, lines[1].replace('"text": "', '"text": 5, "source": "', 1)),
        "line 2: .*text of a memory is 5",
    ),
    "somebody else": (lambda lines: lines.__setitem__(1, lines[1].replace("user/", "user/x", 1)), "line 2"),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_bundle_is_refused_with_the_line_and_nothing_is_imported(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "b"
    await a_bundle(file, memories=100)
    change, told = DAMAGES[damage]
    rewrite(file, change)
    store = await opened("memory://")
    with pytest.raises(InvalidInput, match=told):
        await import_bundle(store, file)
    assert await store.namespaces() == []
    assert (await store.about()).model is None


async def test_a_bundle_that_holds_a_file_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "b"
    await a_bundle(file)
    with ZipFile(file) as archive:
        pages = archive.read("pages.jsonl")
    with ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("pages.jsonl", pages)
    with pytest.raises(StoreCorrupt, match="holds a file twice"):
        await import_bundle(await opened("memory://"), file)


async def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "b"
    await a_bundle(file)
    store = await opened("memory://")
    content = file.read_bytes()
    for broken in (
        content[:-40],
        content[: len(content) // 2] + b"****" + content[len(content) // 2 + 4 :],
        b"nothing",
        b"",
    ):
        file.write_bytes(broken)
        with pytest.raises(StoreCorrupt):
            await import_bundle(store, file)
    with pytest.raises(NotFound):
        await import_bundle(store, tmp_path / "none")
    with pytest.raises(NotFound):
        await export_bundle(store, Namespace("default", "user/nobody"), tmp_path / "c")
    assert await store.namespaces() == []


async def test_a_store_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    await a_bundle(tmp_path / "b")
    store = await opened("memory://")
    await store.apply(a_batch(a_put("other")))
    before = await seal_namespace(store, NAMESPACE)
    with pytest.raises(Conflict):
        await import_bundle(store, tmp_path / "b")
    assert await seal_namespace(store, NAMESPACE) == before


async def test_vectors_of_another_model_are_left_out(tmp_path: Path) -> None:
    manifest = (await a_bundle(tmp_path / "b")).manifest
    another = await opened("memory://")
    await another.identity("model-2")
    assert (await import_bundle(another, tmp_path / "b")).new == manifest.rev
    rows = (await another.scan(NAMESPACE)).rows
    assert rows
    assert not [row.id for row in rows if row.vector is not None or row.pieces is not None]
    assert (await another.about()).model == "model-2"
    assert (await import_bundle(another, tmp_path / "b")).new == 0


_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from memwarden.stores.transfer.bundle import import_bundle
from memwarden.stores.transfer.pages import Page
from memwarden.stores.url import store_at

async def run():
    store = store_at(sys.argv[1])
    await store.open()
    await import_bundle(store, Path(sys.argv[2]), tick=lambda done: os.kill(os.getpid(), signal.SIGKILL))

asyncio.run(run())
"""


@pytest.mark.parametrize("engine", ["sqlite", "json", "postgres"])
def test_a_killed_import_goes_on_where_it_was(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    file, url = tmp_path / "b", new_url(engine)
    asyncio.run(a_bundle(file, memories=600))
    killed = subprocess.run([sys.executable, "-c", _KILLED, url, file], timeout=600, check=False)
    assert killed.returncode == -signal.SIGKILL

    async def go_on() -> None:
        store = await opened(url)
        result = await import_bundle(store, file)
        assert (result.there, result.new) == (100, 522)
        await export_bundle(store, NAMESPACE, tmp_path / "again")
        await store.close()

    asyncio.run(go_on())
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


async def test_an_import_that_breaks_off_tells_what_is_in_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, store = tmp_path / "b", await opened("memory://")
    await a_bundle(file, memories=600)
    load = store.load_page

    async def load_first(page: Page) -> None:
        if page.since:
            raise StoreFull("no room left")
        await load(page)

    with monkeypatch.context() as patched:
        patched.setattr(store, "load_page", load_first)
        with pytest.raises(StoreFull, match=r"no room left\. 100 of 622 changes are in: import the file again"):
            await import_bundle(store, file)
    assert (await import_bundle(store, file)).new == 522
    other = await opened("memory://")

    async def load_beside(page: Page) -> None:
        if page.since:
            await other.apply(a_batch(a_put("said meanwhile")))
        await other_load(page)

    other_load = other.load_page
    monkeypatch.setattr(other, "load_page", load_beside)
    with pytest.raises(Conflict, match=r"somebody else wrote\. 100 of 622 changes are in, beside what was written"):
        await import_bundle(other, file)


def test_the_commands_export_and_import(tmp_path: Path) -> None:
    one, two, file = (f"sqlite:///{tmp_path / 'a.db'}", f"sqlite:///{tmp_path / 'b.db'}", str(tmp_path / "ana.zip"))
    assert run_here("add", "Ana keeps bees.", "--user", "ana", "--db", one, "--embedder", "none").returncode == 0
    assert run_here("export", file, "--user", "ana", "--db", one).returncode == 0  # of events it is said that they stay
    assert run_here("export", file, "--user", "ana", "--db", one).returncode == 1  # nothing is overwritten
    assert "1 changes" in run_here("import", file, "--db", two, "--embedder", "none", "--dry-run").stdout
    searched = run_here("find", "--user", "ana", "--db", two)
    assert searched.returncode != 0 or "bees" not in searched.stdout
    assert run_here("import", file, "--db", two, "--embedder", "none").returncode == 0
    assert "Ana keeps bees." in run_here("find", "--user", "ana", "--db", two).stdout
