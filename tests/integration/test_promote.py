"""From a task to its project, from a project to all: copied, confirmed, closed, once, also after a kill in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memwarden import Warden
from memwarden.errors import Conflict, Denied, InvalidInput, NotFound, StoreUnavailable
from memwarden.records import Batch, JournalEntry, Namespace, Put, Receipt, WriteMode
from memwarden.testing import run_on_loop
from memwarden.tiers.backend import ContextItem


def journal(warden: Warden, path: str) -> list[JournalEntry]:
    return run_on_loop(warden, warden.store.journal(Namespace("default", path)))


def test_an_item_goes_to_its_project_and_both_journals_say_so(warden: Warden) -> None:
    task, project = warden.backend("task/k1"), warden.backend("project/p1")
    task.add(ContextItem("decision-1", "decision", payload={"text": "We use SQLite."}, tags=("db",), importance=0.9))
    copy_id = task.promote("decision-1", "project/p1")
    (copied,) = project.list_all()
    assert (copied.context_item_id, copied.payload, copied.tags) == (copy_id, {"text": "We use SQLite."}, ["db"])
    assert copied.source == "task/k1/decision-1"
    assert task.get("decision-1") is not None
    (added,) = journal(warden, "project/p1")
    assert added.meta == {"from": "task/k1", "id": "decision-1", "version": 1}
    assert [(item.event, item.meta) for item in journal(warden, "task/k1")] == [
        ("ADD", None), ("PROMOTE", {"to": "project/p1", "id": copy_id}),
    ]  # fmt: skip
    assert project.promote(copy_id, "global") in [item.context_item_id for item in warden.backend("global").list_all()]


@pytest.mark.parametrize("batches", [1, 2])
def test_a_call_after_a_kill_goes_on(warden: Warden, monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    """Broken off after the copy, and after both: in the end there is one copy and one note."""
    task, project = warden.backend("task/k1"), warden.backend("project/p1")
    task.add(ContextItem("d", "decision", payload={"text": "We use SQLite."}))
    apply, left = warden.store.apply, [batches]

    async def until_the_kill(batch: Batch) -> Receipt:
        if not left[0]:
            raise StoreUnavailable("killed")
        left[0] -= 1
        return await apply(batch)

    with monkeypatch.context() as patch:
        patch.setattr(warden.store, "apply", until_the_kill)
        if batches == 1:
            with pytest.raises((KeyboardInterrupt, Exception)):  # the loop may wrap it
                task.promote("d", "project/p1")
        else:
            task.promote("d", "project/p1")
    first = task.promote("d", "project/p1")
    assert [item.context_item_id for item in project.list_all()] == [first]
    assert [item.event for item in journal(warden, "task/k1")].count("PROMOTE") == 1


def test_a_copy_that_says_something_else_by_now_is_left_alone(warden: Warden) -> None:
    everywhere = warden.tiers.global_store()
    warden.backend("project/p1").add(ContextItem("d", "preference", payload={"preference": "Tabs."}))
    copy_id = warden.backend("project/p1").promote("d", "global")
    everywhere.modify_preference(copy_id, "Spaces.", confirm=True)
    with pytest.raises(Conflict, match=copy_id):
        warden.backend("project/p1").promote("d", "global")
    assert [item.payload for item in everywhere.list_all()] == [{"preference": "Spaces."}]


def test_what_is_changed_between_the_copy_and_the_note_stays_changed(
    warden: Warden, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note in the source's journal writes the source, too."""
    task, namespace = warden.backend("task/k1"), Namespace("default", "task/k1")
    task.add(ContextItem("d", "decision", payload={"text": "We use SQLite."}))
    apply, changes = warden.store.apply, [3]

    async def and_somebody_changes_it(batch: Batch) -> Receipt:
        if batch.namespace == namespace and changes[0]:
            changes[0] -= 1
            (found,) = await warden.store.get(namespace, ["d"])
            put = Put(replace(found, importance=found.importance + 0.1), None, WriteMode.UPDATE)
            await apply(replace(batch, changes=(put,)))
        return await apply(batch)

    monkeypatch.setattr(warden.store, "apply", and_somebody_changes_it)
    task.promote("d", "project/p1")
    (item,) = task.list_all()
    assert item.importance == pytest.approx(0.8)
    assert [item.event for item in journal(warden, "task/k1")] == ["ADD", *["UPDATE"] * 3, "PROMOTE"]


@pytest.mark.parametrize(
    ("here", "there"),
    [("task/k1", "global"), ("project/p1", "task/k1"), ("user/ana", "global"), ("task/k1", "task/k2")],
)
def test_only_the_next_wider_one(warden: Warden, here: str, there: str) -> None:
    warden.backend(here).add(ContextItem("d", "decision", payload={"text": "x"}))
    with pytest.raises(InvalidInput):
        warden.backend(here).promote("d", there)
    assert warden.backend(there).count() == 0


def test_an_unknown_item(warden: Warden) -> None:
    with pytest.raises(NotFound):
        warden.backend("task/k1").promote("none", "project/p1")


def test_a_copy_that_was_removed_stays_removed(warden: Warden) -> None:
    task, project = warden.backend("task/k1"), warden.backend("project/p1")
    task.add(ContextItem("d", "decision", payload={"text": "We use SQLite."}))
    project.delete(task.promote("d", "project/p1"))
    with pytest.raises(NotFound, match="removed there"):
        task.promote("d", "project/p1")


def test_a_memory_of_a_person_goes_to_a_project_once_and_both_journals_say_so(warden: Warden) -> None:
    me = warden.scope(user="ana")
    fact = str(me.remember("Releases go out on Tuesdays.", category="activity", tags=["release"]).results[0].id)
    copy_id = me.promote(fact, "project/p1")
    assert me.promote(fact, "project/p1") == copy_id
    (copied,) = warden.backend("project/p1").list_all()
    assert (copied.context_item_id, copied.source, copied.tags) == (copy_id, f"user/ana/{fact}", ["release"])
    assert me.get(fact).text == "Releases go out on Tuesdays."
    assert journal(warden, "user/ana")[-1].event == "PROMOTE"
    assert journal(warden, "project/p1")[0].meta == {"from": "user/ana", "id": fact, "version": 1}


def test_what_is_no_current_fact_of_a_person_is_not_promoted(warden: Warden) -> None:
    me = warden.scope(user="ana")
    turn = str(me.observe("My bike is red.").results[0].id)
    fact = str(me.remember("Ana has a van.").results[0].id)
    over = str(me.remember("Ana had a boat.", created_at="2024-01-01", expires_at="2025-01-01").results[0].id)
    for memory_id, to in ((turn, "project/p1"), (over, "project/p1"), (fact, "global"), (fact, "user/tom")):
        with pytest.raises(InvalidInput):
            me.promote(memory_id, to)
    with pytest.raises(NotFound):
        warden.scope(user="tom").promote(fact, "project/p1")
    with pytest.raises(Denied, match="a person decides"):
        warden.scope(user="ana", agent="planner").promote(fact, "project/p1")
    assert warden.backend("project/p1").list_all() == []
