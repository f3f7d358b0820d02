"""The delta header (B1): net changes told by hand, design B's format, and what fits a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memwarden.recall.time.changes import NetChange, net_changes
from memwarden.recall.time.delta import category_label, fit_delta, make_delta, render_change
from memwarden.records import JournalEntry, Memory
from memwarden.testing.examples import NAMESPACE, START, a_memory
from memwarden.text.tokenizer import estimate


def journal(*entries: tuple[Any, ...]) -> list[JournalEntry]:
    """Entries as (event, id, old version, new version, meta), numbered from 11."""
    return [
        JournalEntry(
            seq,
            NAMESPACE,
            str(item[0]),
            item[1],
            item[2],
            item[3],
            None,
            None,
            START,
            "semantic",
            seq,
            (*item, None)[4],
        )
        for seq, item in enumerate(entries, 11)
    ]


TOLD: dict[str, tuple[list[Any], list[tuple[str, str, int]]]] = {
    "created": ([("ADD", "a", None, 1)], [("a", "created", 1)]),
    "created and changed": ([("ADD", "a", None, 1), ("UPDATE", "a", 1, 2)], [("a", "created", 2)]),
    "created and gone": ([("ADD", "a", None, 1), ("DELETE", "a", 1, None)], []),
    "created, gone and back": (
        [("ADD", "a", None, 1), ("DELETE", "a", 1, None), ("RESTORE", "a", None, 1)],
        [("a", "created", 1)],
    ),
    "updated twice": ([("UPDATE", "a", 1, 2), ("UPDATE", "a", 2, 3)], [("a", "updated", 3)]),
    "deleted": ([("UPDATE", "a", 1, 2), ("DELETE", "a", 2, None)], [("a", "deleted", 2)]),
    "deleted since its time was over": ([("TTL", "a", 1, None)], [("a", "soft_deleted", 1)]),
    "deleted by time and restored": ([("TTL", "a", 1, None), ("RESTORE", "a", None, 1)], []),
    "deleted and restored": ([("DELETE", "a", 1, None), ("RESTORE", "a", None, 1)], []),
    "restored": ([("RESTORE", "a", None, 1)], [("a", "restored", 1)]),
    "changed and taken back": (
        [("UPDATE", "a", 1, 2), ("RESTORE", "a", 2, 3, {"undoes": 11, "content_of": 1})],
        [],
    ),
    "stored apart": ([("PROPOSE", "a", None, None), ("QUARANTINE", "b", None, None)], []),
    "stored apart and confirmed": ([("PROPOSE", "a", None, None), ("CONFIRM", "a", None, 1)], [("a", "created", 1)]),
    "links": ([("LINK", "a", 1, 1), ("UNLINK", "a", 1, 1)], []),
    "merged": (
        [("ADD", "n", None, 1), ("MERGE", "a", 1, 2, {"of": "n"}), ("MERGE", "n", 1, None, {"into": "a"})],
        [("a", "merged", 2)],
    ),
    "merged and taken back": (
        [
            ("ADD", "n", None, 1),
            ("MERGE", "a", 1, 2, {"of": "n"}),
            ("MERGE", "n", 1, None, {"into": "a"}),
            ("RESTORE", "n", None, 1, {"was_merged": True}),
            ("RESTORE", "a", 2, 3, {"content_of": 1}),
        ],
        [("n", "created", 1)],
    ),
    "known ones merged": (
        [("MERGE", "a", 1, 2, {"of": "b"}), ("MERGE", "b", 1, None, {"into": "a"})],
        [("a", "merged", 2)],
    ),
    "superseded": ([("ADD", "n", None, 1), ("SUPERSEDE", "a", 1, 2, {"by": "n"})], [("n", "updated", 1)]),
    "superseded, then pinned": (
        [("ADD", "n", None, 1), ("SUPERSEDE", "a", 1, 2, {"by": "n"}), ("UPDATE", "a", 2, 3)],
        [("n", "updated", 1)],
    ),
    "superseded twice": (
        [
            ("ADD", "n", None, 1),
            ("SUPERSEDE", "a", 1, 2, {"by": "n"}),
            ("ADD", "m", None, 1),
            ("SUPERSEDE", "n", 1, 2, {"by": "m"}),
        ],
        [("m", "updated", 1)],
    ),
    "new ones superseded": (
        [("ADD", "a", None, 1), ("ADD", "n", None, 1), ("SUPERSEDE", "a", 1, 2, {"by": "n"})],
        [("n", "created", 1)],
    ),
    "superseded by one that is gone again": (
        [("ADD", "n", None, 1), ("SUPERSEDE", "a", 1, 2, {"by": "n"}), ("DELETE", "n", 1, None)],
        [("a", "updated", 2)],
    ),
    "superseded by one that was known": ([("SUPERSEDE", "a", 1, 2, {"by": "n"})], [("a", "updated", 2)]),
    "a supersede taken back": (
        [
            ("ADD", "n", None, 1),
            ("SUPERSEDE", "a", 1, 2, {"by": "n"}),
            ("RESTORE", "a", 2, 3, {"content_of": 1}),
        ],
        [("n", "created", 1)],
    ),
    "newest first": (
        [("ADD", "a", None, 1), ("ADD", "b", None, 1), ("UPDATE", "a", 1, 2), ("DELETE", "c", 4, None)],
        [("c", "deleted", 4), ("a", "created", 2), ("b", "created", 1)],
    ),
    "a supersede counts when it happens": (
        [("ADD", "n", None, 1), ("ADD", "b", None, 1), ("SUPERSEDE", "a", 1, 2, {"by": "n"})],
        [("n", "updated", 1), ("b", "created", 1)],
    ),
    "in a circle": (
        [
            ("ADD", "a", None, 1),
            ("ADD", "b", None, 1),
            ("SUPERSEDE", "a", 1, 2, {"by": "b"}),
            ("SUPERSEDE", "b", 1, 2, {"by": "a"}),
        ],
        [],
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_net_changes(name: str) -> None:
    entries, wanted = TOLD[name]
    assert [net[:3] for net in net_changes(journal(*entries))] == wanted


HIDDEN: dict[str, tuple[list[Any], str, list[tuple[str, str, int]]]] = {
    "what is hidden": ([("ADD", "a", None, 1), ("ADD", "b", None, 1)], "a", [("b", "created", 1)]),
    "the one that was replaced": (
        [("ADD", "n", None, 1), ("SUPERSEDE", "a", 1, 2, {"by": "n"})],
        "a",
        [("n", "created", 1)],
    ),
    "the one that took the place": (
        [("ADD", "n", None, 1), ("SUPERSEDE", "a", 1, 2, {"by": "n"})],
        "n",
        [("a", "updated", 2)],
    ),
    "one between two": (
        [
            ("ADD", "n", None, 1),
            ("SUPERSEDE", "a", 1, 2, {"by": "n"}),
            ("ADD", "m", None, 1),
            ("SUPERSEDE", "n", 1, 2, {"by": "m"}),
        ],
        "n",
        [("m", "created", 1), ("a", "updated", 2)],
    ),
    "the one that was merged in": (
        [("MERGE", "a", 1, 2, {"of": "b"}), ("MERGE", "b", 1, None, {"into": "a"})],
        "b",
        [("a", "updated", 2)],
    ),
    "the one that it was merged into": (
        [("MERGE", "a", 1, 2, {"of": "b"}), ("MERGE", "b", 1, None, {"into": "a"})],
        "a",
        [("b", "deleted", 1)],
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_must_not_be_told_is_as_if_it_were_not_there(name: str) -> None:
    entries, hidden, wanted = HIDDEN[name]
    assert [net[:3] for net in net_changes(journal(*entries), {hidden})] == wanted


def test_a_merge_tells_how_many_notes_it_stands_for() -> None:
    entries = journal(("MERGE", "a", 1, 2, {"of": "x"}), ("MERGE", "a", 2, 3, {"of": "y"}))
    assert net_changes(entries)[0].notes == 3
    assert net_changes(entries, {"x"})[0].notes == 2


@pytest.mark.parametrize(
    ("kind", "fields", "line"),
    [
        ("created", {"importance": 0.4}, "+created: [Personal] Preferred name is Ana (imp=2)"),
        ("updated", {"category": "goals", "text": "Ship v1\n by Sep"}, "↑updated: [Goals] Ship v1 by Sep"),
        ("merged", {"text": "lactose intolerance"}, "↔merged: Combined 2 notes: lactose intolerance"),
        ("deleted", {}, "−deleted: [Personal] Preferred name is Ana"),
        ("soft_deleted", {}, "~soft_deleted: [Personal] Preferred name is Ana"),
        ("restored", {"category": "relationship_dynamic"}, "↺restored: [Relationship dynamic] Preferred name is Ana"),
        ("updated", {"summary": "Short", "text": "x" * 500}, "↑updated: [Personal] Short"),
        ("updated", {"text": "word " * 50}, f"↑updated: [Personal] {'word ' * 19}word…"),
        ("updated", {"valid_to": START}, "↑updated: [Personal] Preferred name is Ana (until 1 Jan 2026)"),
    ],
)
def test_bullets(kind: str, fields: dict[str, Any], line: str) -> None:
    memory = a_memory("a", **{"text": "Preferred name is Ana", "category": "personal", **fields})
    assert render_change(NetChange("a", kind, 1, 11, 2), memory) == line
    assert len(line) < 160


def test_labels() -> None:
    assert [category_label(item) for item in ("goals", "recent_activity", "AI\ntopics", "x")] == [
        "Goals", "Recent activity", "AI topics", "X",
    ]  # fmt: skip


def some(count: int) -> tuple[list[NetChange], list[Memory]]:
    nets = [NetChange(f"m{number}", "created", 1, 100 - number) for number in range(count)]
    return nets, [replace(a_memory(net.memory_id), version=1) for net in nets]


def test_at_most_three_and_the_rest_counted() -> None:
    nets, contents = some(5)
    whole = make_delta(7, 12, nets, contents)
    assert whole.text.splitlines() == [
        "Memory updates since rev 7:",
        "- +created: [Activity] text of m0 (imp=3)",
        "- +created: [Activity] text of m1 (imp=3)",
        "- +created: [Activity] text of m2 (imp=3)",
        "(+2 more)",
    ]
    assert (whole.since, whole.rev, len(whole.bullets), whole.more, bool(whole)) == (7, 12, 3, 2, True)
    three = make_delta(7, 12, *some(3))
    assert (three.more, three.text.count("\n")) == (0, 3)


def test_nothing_is_told_of_nothing() -> None:
    nothing = make_delta(0, 9, [], [])
    assert (nothing.text, nothing.more, bool(nothing)) == ("", 0, False)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_what_does_not_fit_is_counted(count: int) -> None:
    whole = make_delta(7, 12, *some(count))
    sizes: list[int] = []
    for budget in range(estimate(whole.text) + 1):
        shown = fit_delta(whole, budget, estimate)
        if shown is None:
            assert not sizes
            continue
        assert estimate(shown.text) <= budget
        assert shown.text.startswith("Memory updates since rev 7:")
        assert len(shown.bullets) + shown.more == count
        sizes.append(len(shown.bullets))
    assert sizes == sorted(sizes)
    assert set(sizes) == set(range(min(count, 3) + 1))
    assert shown == whole == fit_delta(whole, None, estimate)
