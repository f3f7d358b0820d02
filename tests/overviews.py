"""Overviews of what a person said, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from memwarden.recall.answer.overview import Line, choose_lines
from memwarden.records import Channel, Memory, Namespace

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)
ANN = Namespace("default", "user/ann")


def lines_of(texts: Sequence[str], apart: timedelta = timedelta(days=1), after: int | None = None) -> list[Line]:
    """Return the lines of an overview of turns, the oldest first.

    apart: time between two turns. after: at how many times of that it is made; right after the last turn if None.
    """
    turns = [
        Memory(
            id=str(place), namespace=ANN, text=text, created_at=SAID_AT + apart * place,
            updated_at=SAID_AT, channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return choose_lines(turns, SAID_AT + apart * (len(texts) if after is None else after), None)
