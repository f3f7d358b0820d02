"""The table of what ends which memories."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memwarden.lifecycle import Ends, ends
from memwarden.records import Channel

DAY = timedelta(days=1)


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
