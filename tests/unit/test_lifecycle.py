"""B7's table: what ends which memories, with a clock of our own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memwarden.lifecycle import Ends, ends, judge, may_expire
from memwarden.records import Channel, Memory, MemoryState, Namespace
from memwarden.testing.examples import START, a_memory

DAY = timedelta(days=1)


def small(**fields: Any) -> Memory:
    """An unimportant memory of a user."""
    return a_memory("a", importance=0.39, **fields)


@pytest.mark.parametrize(
    ("channel", "user", "project"),
    [
        ("turn", "never", "evicted"),
        ("semantic", "unused", "evicted"),
        ("episodic", "unused", "evicted"),
        ("insight", "unused", "evicted"),
        ("procedural", "never", "evicted"),
        ("state", "own_date", "evicted"),
    ],
)
def test_the_table_has_every_channel(channel: str, user: str, project: str) -> None:
    assert ends(channel, "user/ana") == Ends(user)
    assert ends(channel, "project/p1") == Ends(project)
    assert ends(channel, "task/t1") == Ends.WITH_ITS_TASK
    assert ends(channel, "global") == Ends.NEVER


def test_no_channel_is_left_out() -> None:
    assert all(ends(item, "user/ana") for item in Channel)
    assert ends("a channel of later", "user/ana") == Ends.NEVER


@pytest.mark.parametrize(("days", "expires"), [(59, False), (60, False), (61, True)])
def test_what_was_not_used_for_sixty_days_expires(days: int, expires: bool) -> None:
    assert may_expire(small(), None, START + days * DAY) is expires
    assert may_expire(small(), START + 5 * DAY, START + (days + 5) * DAY) is expires
    assert not may_expire(small(), START + 30 * DAY, START + 61 * DAY)


@pytest.mark.parametrize(
    "fields",
    [
        {"importance": 0.4},
        {"pinned": True},
        {"channel": "procedural"},
        {"channel": "turn"},
        {"state": MemoryState.SOFT_DELETED},
        {"namespace": Namespace("test", "project/p1")},
        {"namespace": Namespace("test", "global")},
    ],
)
def test_what_matters_never_expires_by_itself(fields: dict[str, Any]) -> None:
    memory = a_memory("a", **{"importance": 0.1, **fields})
    assert not may_expire(memory, None, START + 10_000 * DAY)


def test_a_change_counts_as_a_use() -> None:
    changed = small(updated_at=START + 50 * DAY)
    assert judge(changed, START).due_at == START + 110 * DAY
