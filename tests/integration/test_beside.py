"""Items and checkpoints of agents go along: in a person's bundle, and to another store, from and to every engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from test_bundle import ENGINES, new_url, opened, rewrite
from test_migrate import cli

from memwarden import AsyncWarden, Warden
from memwarden.errors import Conflict, InvalidInput
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import ChannelValue, CheckpointKey
from memwarden.stores.shared.items import PutItem, StoredItem
from memwarden.stores.transfer import bundle
from memwarden.stores.transfer.bundle import BundleManifest, export_bundle, import_bundle
from memwarden.surfaces.integrations.langgraph import MemwardenSaver, MemwardenStore
from memwarden.testing.checkpoint_tests import a_saved, a_write
from memwarden.testing.examples import NAMESPACE, OTHER_USER, a_batch, a_put

__all__ = ["new_url"]  # a fixture
KEEPING = [engine for engine in ENGINES if engine != "json"]


async def fill(store: Store, *, memories: bool = True) -> None:
    """An agent's items, one with two vectors, and checkpoints of two threads that share values."""
    if memories:
        await store.apply(a_batch(a_put("a")))
    items: Any = store
    vector = bytes(range(8))
    puts = [PutItem(StoredItem("users.ana", f"k{n:03}", json.dumps({"n": n}), n, n + 1)) for n in range(130)]
    puts.append(PutItem(StoredItem("a", "ü", '{"x": "é"}', 5, 6, 90, 7), (("x", vector), ("y", vector[::-1]))))
    await items.items.write(NAMESPACE, puts)
    shared, own = ChannelValue("messages", "1", "msgpack", b"\x00" * 90), ChannelValue("n", "2", "null", b"")
    links = (("messages", "1"), ("n", "2"))
    await store.checkpoints.put(NAMESPACE, a_saved("t", "1", links=links[:1], metadata={"b": 1, "a": [2.5]}), [shared])
    await store.checkpoints.put(NAMESPACE, a_saved("t", "2", parent="1", links=links, run="r"), [own])
    await store.checkpoints.put(NAMESPACE, a_saved("t", "1", "sub:1|x", small=("q",)), [])
    for n in range(12):
        await store.checkpoints.put(NAMESPACE, a_saved("u", f"c{n:02}"), [])
    await store.checkpoints.put_writes(NAMESPACE, CheckpointKey("t", "", "2"), [a_write("w", 1), a_write("w", -3)])


@pytest.mark.parametrize("engine", KEEPING)
async def test_a_round_trip_gives_the_same_bytes(engine: str, new_url: Callable[[str], str], tmp_path: Path) -> None:
    memory, own, imported = await opened("memory://"), await opened(new_url(engine)), await opened(new_url(engine))
    try:
        for store in (memory, own):
            await fill(store)
        done = await export_bundle(memory, NAMESPACE, tmp_path / "first")
        assert (done.manifest.items, done.manifest.checkpoints, done.left_behind) == (131, 15, {})
        await export_bundle(own, NAMESPACE, tmp_path / "own")
        # A stored memory tells when it was written, which differs; what lies beside it does not.
        assert beside(tmp_path / "own") == beside(tmp_path / "first")
        assert (await import_bundle(imported, tmp_path / "first", dry_run=True)).left_behind == {}
        assert (await imported.holdings(NAMESPACE)).items == 0
        await import_bundle(imported, tmp_path / "first")
        await export_bundle(imported, NAMESPACE, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "first").read_bytes()
        assert (await imported.holdings(NAMESPACE)).checkpoint_blobs == 2
        assert await imported.checkpoints.get(NAMESPACE, "t", "", "2") == await own.checkpoints.get(
            NAMESPACE, "t", "", "2"
        )
    finally:
        for store in (own, imported):
            await store.close()


def beside(file: Path) -> list[str]:
    with ZipFile(file) as archive:
        return archive.read("beside.jsonl").decode().splitlines()


async def test_a_broken_off_import_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = await opened("memory://"), await opened("memory://")
    await fill(source, memories=False)
    await export_bundle(source, NAMESPACE, tmp_path / "b")  # of an agent of which nothing is remembered

    class Killed(BaseException):
        pass

    put = target.checkpoints.put
    kept: list[str] = []

    async def put_some(*args: Any) -> None:
        if len(kept) == 5:
            raise Killed
        await put(*args)
        kept.append(args[1].key.id)

    with monkeypatch.context() as patched:
        patched.setattr(target.checkpoints, "put", put_some)
        with pytest.raises(Killed):
            await import_bundle(target, tmp_path / "b")
    await import_bundle(target, tmp_path / "b")
    await export_bundle(target, NAMESPACE, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "b").read_bytes()


async def test_nothing_is_mixed(tmp_path: Path) -> None:
    source, target = await opened("memory://"), await opened("memory://")
    await fill(source)
    await export_bundle(source, NAMESPACE, tmp_path / "b")
    other: Any = target
    await other.items.write(NAMESPACE, [PutItem(StoredItem("users.ana", "k000", '{"n": 7}', 0, 1))])
    with pytest.raises(Conflict, match="other items or checkpoints"):
        await import_bundle(target, tmp_path / "b")
    assert (await target.head(NAMESPACE)).rev == 0
    assert (await target.holdings(NAMESPACE)).items == 1


async def test_a_store_that_keeps_none_says_what_stays_behind(new_url: Callable[[str], str], tmp_path: Path) -> None:
    source, target = await opened("memory://"), await opened(new_url("json"))
    await fill(source)
    await export_bundle(source, NAMESPACE, tmp_path / "b")
    assert (await import_bundle(target, tmp_path / "b")).left_behind == {"items": 131, "checkpoints": 15}
    assert (await target.head(NAMESPACE)).rev == 1
    await target.close()


DAMAGES: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "no JSON": (lambda lines: lines.__setitem__(1, "{\n"), "beside.jsonl line 2"),
    "no item": (lambda lines: lines.__setitem__(0, '{"item": {"path": "a"}, "vectors": []}\n'), "beside.jsonl line 1"),
    "neither": (lambda lines: lines.__setitem__(2, '{"note": 1}\n'), "beside.jsonl line 3"),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_line_is_named_and_nothing_is_imported(damage: str, tmp_path: Path) -> None:
    source, target = await opened("memory://"), await opened("memory://")
    await fill(source)
    await export_bundle(source, NAMESPACE, tmp_path / "b")
    change, told = DAMAGES[damage]
    rewrite(tmp_path / "b", change, "beside.jsonl")
    with pytest.raises(InvalidInput, match=told):
        await import_bundle(target, tmp_path / "b")
    assert await target.namespaces() == []


@pytest.mark.parametrize("name", ["pages.jsonl", "beside.jsonl"])
async def test_a_line_that_would_fill_the_memory_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, source = tmp_path / "b", await opened("memory://")
    await fill(source)
    await export_bundle(source, NAMESPACE, file)
    rewrite(file, lambda lines: lines.append(" " * 100_000 + "\n"), name)
    monkeypatch.setattr(bundle, "MAX_LINE", 50_000)
    store = await opened("memory://")
    with pytest.raises(InvalidInput, match=rf"{name} line \d+: it is over 50,000 bytes"):
        await import_bundle(store, file)
    assert await store.namespaces() == []


async def test_without_items_a_bundle_names_none(tmp_path: Path) -> None:
    store = await opened("memory://")
    await store.apply(a_batch(a_put("a")))
    await export_bundle(store, NAMESPACE, tmp_path / "b")
    with ZipFile(tmp_path / "b") as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert sorted(archive.namelist()) == ["manifest.json", "memories.jsonl", "pages.jsonl"]
    assert (manifest.pop("memwarden bundle"), sorted(manifest)) == (
        1, ["memories", "model", "path", "rev", "sha256", "tenant", "terms"],
    )  # fmt: skip
    assert BundleManifest(**manifest).items == 0


async def test_what_models_were_shown_stays_and_hinders_nothing(tmp_path: Path) -> None:
    async def ask(warden: AsyncWarden) -> None:
        me = warden.scope(user="ana")
        assert (await me.context("Which bread does Ana bake?", threshold=0.0)).items
        async with asyncio.timeout(300):
            while not (await warden.store.holdings(me.who.namespace)).items:  # noqa: ASYNC110  # noted beside the calls
                await asyncio.sleep(0.05)

    async with AsyncWarden.open("memory://", {"embedder": "none"}) as source:
        await source.scope(user="ana").remember("Ana bakes rye bread.")
        await ask(source)
        assert (await source.export(tmp_path / "b", user="ana")).manifest.items == 0
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as target:
        await target.import_(tmp_path / "b")
        await ask(target)
        assert (await target.import_(tmp_path / "b")).new == 0


def test_an_agent_goes_on_in_another_store(new_url: Callable[[str], str], tmp_path: Path) -> None:
    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"That was message {len(state['messages'])}.")]}

    def say(warden: Warden, text: str) -> str:
        graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
        app = graph.compile(checkpointer=MemwardenSaver(warden.scope(user="ana")))
        said = app.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t1"}})
        return str(said["messages"][-1].content)

    config = {"embedder": "none"}
    with Warden.open(new_url("sqlite"), config=config) as warden:
        assert say(warden, "Hello.") == "That was message 1."
        MemwardenStore(warden.scope(user="ana")).put(("notes",), "k", {"text": "Ana keeps bees."})
        warden.export(tmp_path / "ana.zip", user="ana")
    with Warden.open(new_url("postgres"), config=config) as warden:
        assert warden.import_(tmp_path / "ana.zip").left_behind == {}
        assert say(warden, "Hello again.") == "That was message 3."
        (item,) = MemwardenStore(warden.scope(user="ana")).search(("notes",))
        assert item.value == {"text": "Ana keeps bees."}


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_moved_store_takes_them_along(engine: str, new_url: Callable[[str], str]) -> None:
    source, target = new_url("sqlite"), new_url(engine)

    async def run(url: str, work: Callable[[Any], Any]) -> Any:
        store = await opened(url)
        try:
            return await work(store)
        finally:
            await store.close()

    async def fill_two(store: Any) -> None:
        await fill(store)
        await store.items.write(OTHER_USER, [PutItem(StoredItem("a", "k", "{}", 1, 1))])

    async def held(store: Any) -> Any:
        found = [(await store.holdings(space)) for space in (NAMESPACE, OTHER_USER)]
        return [(item.items, item.item_vectors, item.checkpoints, item.checkpoint_writes) for item in found]

    asyncio.run(run(source, fill_two))
    told = json.loads(cli("migrate", "--from", source, "--to", target, "--json"))
    assert told["not_moved"] == []
    assert asyncio.run(run(target, held)) == [(131, 2, 15, 2), (1, 0, 0, 0)]
    cli("migrate", "--from", source, "--to", target)  # again: nothing is doubled
    assert asyncio.run(run(target, held)) == [(131, 2, 15, 2), (1, 0, 0, 0)]
