"""Code written for design E's old ContextStore runs on every store (row E11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from memwarden import Warden
from memwarden.api.context_store import ContextStore as StoredContext
from memwarden.errors import InvalidInput
from memwarden.tiers import ContextRequest, Task
from memwarden.tiers.backend import ContextItem


@dataclass
class TheirItem:
    """An item as old code has it: a class of its own that changes."""

    context_item_id: str
    kind: str
    payload: Any
    source: str | None = None
    timestamp: str | None = None
    tags: list[str] = field(default_factory=list)
    importance: float | None = None
    token_cost: int | None = None


@dataclass
class OldContextStore:
    """Design E §7.1, word for word."""

    items: dict[str, Any] = field(default_factory=dict)


def old_code(make: Callable[..., Any]) -> list[Any]:
    """What a pipeline did with the old store; returns all that it saw."""
    store, seen = make(), list[Any]()
    for number in range(4):
        item = TheirItem(f"n{number}", "note", {"text": f"note {number}"}, tags=["t"], importance=number / 10)
        store.items[item.context_item_id] = item
    seen += [len(store.items), list(store.items), "n1" in store.items, "n9" in store.items, 5 in store.items]
    seen += [[item.payload["text"] for item in store.items.values()], sorted(store.items.keys())]
    seen += [(key, item.importance) for key, item in store.items.items()]
    seen.append(store.items.get("n9"))
    del store.items["n1"]
    seen += [store.items.pop("n2").kind, store.items.pop("n2", None), store.items.setdefault("n3", None).kind]
    with pytest.raises(KeyError):
        store.items["n1"]
    with pytest.raises(KeyError):
        store.items.pop("n1")
    with pytest.raises(KeyError):
        del store.items["n1"]
    store.items["n0"] = TheirItem("n0", "decision", {"text": "changed"}, tags=["t"])
    seen += [store.items["n0"].kind, list(store.items), bool(store.items)]
    store.items.update({"n7": TheirItem("n7", "note", {"text": "seven"})})
    seen.append([item.payload for item in sorted(store.items.values(), key=lambda item: item.context_item_id)])
    store.items = {key: item for key, item in store.items.items() if key != "n7"}
    seen.append(list(store.items))
    store.items.clear()
    seen += [len(store.items), bool(store.items)]
    return seen


def test_old_code_sees_what_it_saw_before(warden: Warden) -> None:
    assert old_code(partial(StoredContext, backend=warden.backend("task/k1"))) == old_code(OldContextStore)


def test_the_assembler_finds_old_style_adds(warden: Warden) -> None:
    given = {"a": TheirItem("a", "note", "The build needs Node 22."), "b": TheirItem("other", "note", {"text": "b"})}
    store = StoredContext(given, backend=warden.backend("task/k1"))
    assert store.items["a"].payload == {"text": "The build needs Node 22."}
    assert store.items["b"].context_item_id == "b"
    package = warden.tiers.assembler().build_context(Task("k1"), ContextRequest(200))
    assert "- [note] The build needs Node 22." in package.text
    assert list(StoredContext(backend=warden.backend("task/k2")).items) == []
    assert "Node 22" in repr(store.items)


def test_items_of_ours_come_back_as_they_were(warden: Warden) -> None:
    store = StoredContext(backend=warden.backend("project/web"))
    item = ContextItem("d1", "decision", "project/web", "2026-01-01", ["db"], 0.9, 3, {"decision": "SQLite"})
    store.items["d1"] = item
    assert replace(store.items["d1"]) == item
    store.items["d1"] = replace(store.items["d1"], importance=1.0)
    assert replace(store.items["d1"]) == replace(item, importance=1.0)


def test_old_items_come_back_in_their_form(warden: Warden) -> None:
    store = StoredContext(backend=warden.backend("task/k1"))
    said = "2026-01-02T10:00:00.000120"
    store.items["a"] = TheirItem("a", "note", {"text": "a"}, timestamp=said, tags=["two\nlines"])
    found = store.items["a"]
    assert (found.timestamp, found.tags, found.importance, found.token_cost) == (said, ["two lines"], None, None)
    found.tags.append("more")
    store.items["a"] = found
    assert store.items["a"].tags == ["two lines", "more"]


def test_what_is_no_item_is_refused_and_nothing_is_lost(warden: Warden) -> None:
    store = StoredContext(backend=warden.backend("task/k1"))
    store.items["a"] = TheirItem("a", "note", {"text": "a"})
    for wrong in (None, "text", {"kind": "note"}, TheirItem("b", "note", {"when": object()})):
        with pytest.raises(InvalidInput):
            store.items["b"] = wrong
    with pytest.raises(InvalidInput):
        store.items = {"b": "text"}
    assert list(store.items) == ["a"]
