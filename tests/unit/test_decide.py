"""What becomes of a change, decided from what is stored: chunks, marks, keys, versions that are dropped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memwarden.errors import InvalidInput, Stale
from memwarden.records import (
    BatchChange,
    ExtractionMark,
    JournalEntry,
    Link,
    MemoryState,
    Namespace,
    Put,
    Remove,
    Unlink,
    WriteMode,
)
from memwarden.stores.shared import decide
from memwarden.testing.examples import NAMESPACE, SIGNALS, a_batch, a_memory, a_put

AT = datetime(2026, 5, 1, tzinfo=UTC)


def no_key(put: Put) -> None:
    return None


def chunks(*changes: BatchChange) -> list[list[int]]:
    return [[place for place, _ in chunk] for chunk in decide.cut_chunks(changes, no_key)]


def test_changes_of_other_memories_go_together() -> None:
    assert chunks(a_put("a"), a_put("b"), Remove("c")) == [[0, 1, 2]]


def test_a_memory_that_is_written_twice_begins_a_chunk() -> None:
    assert chunks(a_put("a"), a_put("b"), Remove("a"), a_put("c")) == [[0, 1], [2, 3]]


def test_a_link_waits_for_the_memories_that_it_joins() -> None:
    assert chunks(a_put("a"), Link("a", "b", strength=0.5)) == [[0], [1]]
    assert chunks(Link("a", "b", strength=0.5), Remove("b")) == [[0], [1]]
    assert chunks(Link("a", "b", strength=0.5), Link("a", "c", strength=0.5)) == [[0, 1]]
    assert chunks(Link("a", "b", strength=0.5), Unlink("a", "b")) == [[0], [1]]


def test_a_source_key_is_written_once_in_a_chunk() -> None:
    found = list(decide.cut_chunks([a_put("a"), a_put("b")], lambda put: "the same"))
    assert [len(chunk) for chunk in found] == [1, 1]


def test_a_chunk_holds_500_changes() -> None:
    assert [len(chunk) for chunk in chunks(*(Remove(str(number)) for number in range(1_001)))] == [500, 500, 1]


def test_an_unknown_change_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"a batch holds changes .*Put.* not 'Ana'"):
        decide.check_kinds(["Ana"])


def test_a_new_memory_needs_signals_and_an_update_keeps_them() -> None:
    put = replace(a_put("a"), signals=None)
    with pytest.raises(InvalidInput, match="'a' needs signals"):
        decide.check_kinds([put])
    decide.check_kinds([replace(put, mode=WriteMode.UPDATE)])


@pytest.mark.parametrize(
    ("state", "event", "version"),
    [("active", "ADD", 1), ("quarantined", "QUARANTINE", None), ("candidate", "PROPOSE", None)],
)
def test_a_creation_is_told_by_its_state(state: str, event: str, version: int | None) -> None:
    put = Put(a_memory("a", state=MemoryState(state)), SIGNALS)
    assert decide.describe_creation(replace(put, state=MemoryState(state))) == (event, version)


@pytest.mark.parametrize(
    ("state", "into", "can"),
    [
        ("active", "soft_deleted", True),
        ("candidate", "soft_deleted", True),
        ("quarantined", "soft_deleted", True),
        ("soft_deleted", "quarantined", True),
        ("soft_deleted", "merged", False),
        ("merged", "soft_deleted", False),
    ],
)
def test_what_can_be_removed(state: str, into: str, can: bool) -> None:
    assert decide.can_be_removed(state, into) is can


def test_a_mark_that_moved_is_stale() -> None:
    decide.check_mark(ExtractionMark("t1", rev=5, since=3), 3)
    with pytest.raises(Stale, match="'t1' was looked through up to 4"):
        decide.check_mark(ExtractionMark("t1", rev=5, since=3), 4)


def test_a_decision_on_all_statements_is_stale_after_another() -> None:
    batch = replace(a_batch(a_put("a")), decided_at=3, decided_on_all=True)
    decide.check_all(batch, stated_since=False)
    decide.check_all(replace(batch, decided_on_all=False), stated_since=True)
    with pytest.raises(Stale, match="after revision 3"):
        decide.check_all(batch, stated_since=True)


def test_no_two_pairs_of_thread_and_key_share_a_text() -> None:
    pairs = [(None, "a"), ("", "a"), ("a", ""), ("1", ":a"), ("1:", "a"), (None, "1:a"), ("a", "1"), (None, "")]
    assert len({decide.join_source_key(*pair) for pair in pairs}) == len(pairs)
    assert decide.join_source_key("t1", None) is None


def test_half_a_character_is_refused() -> None:
    decide.check_text("whole 🦊", None, 7)
    with pytest.raises(InvalidInput, match="half of a character pair"):
        decide.check_text("fine", "\ud83e")


@pytest.mark.parametrize(
    ("path", "channel", "may"),
    [("user/ana", "state", True), ("task/k1", "semantic", True), ("user/ana", "turn", False)],
)
def test_earlier_contents_leave_of_state_and_of_tasks(path: str, channel: str, may: bool) -> None:
    assert decide.may_leave(a_memory("a", Namespace("default", path), channel=channel)) is may


def test_below_which_version_contents_were_dropped() -> None:
    def entry(seq: int, memory_id: str, new: int | None, kept: int | None) -> JournalEntry:
        meta = None if kept is None else dict(decide.build_rewrite_meta(replace(a_put("a"), keep_versions=kept)) or {})
        old = None if new is None else new - 1
        return JournalEntry(seq, NAMESPACE, "UPDATE", memory_id, old, new, None, None, AT, "state", seq, meta)

    entries = [entry(1, "a", 3, 1), entry(2, "a", 4, 1), entry(3, "b", 2, None), entry(4, "c", None, 0)]
    assert decide.find_dropped(entries) == {"a": 3}
