"""Facts beside the turns that they rest on, and ended facts where somebody asks how it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope


@pytest.fixture(scope="module")
def me() -> Iterator[BoundScope]:
    with Warden.open("memory://", {"embedder": "auto", "extraction": "off"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        said = me.observe(
            [
                {
                    "role": "user",
                    "content": "i work at the bakery on Kell Street",
                    "created_at": "2025-03-01T09:00:00Z",
                },
                {
                    "role": "user",
                    "content": "i work at the harbour office now, up on the third floor beside the customs desk",
                    "created_at": "2026-02-01T09:00:00Z",
                },
            ]
        ).results
        me.remember(
            "Ana works at the bakery on Kell Street.",
            sources=[said[0].id or ""],
            created_at="2025-03-01T09:00:00Z",
            expires_at="2026-02-01T00:00:00Z",
        )
        me.remember("Ana works at the harbour office.", sources=[said[1].id or ""], created_at="2026-02-01T09:00:00Z")
        yield warden.scope(user="ana", thread="t2")


@pytest.mark.parametrize("asked", ["where did i work before the harbour office?", "wo habe ich früher gearbeitet?"])
def test_who_asks_how_it_was_gets_what_is_over_with_its_end(me: BoundScope, asked: str) -> None:
    block = me.context(asked).text
    assert "Ana works at the bakery on Kell Street. (until 1 Feb 2026)" in block
    assert "Ana works at the bakery on Kell Street." in [item.memory.text for item in me.query(asked).items]


def test_who_asks_how_it_is_gets_nothing_that_is_over(me: BoundScope) -> None:
    asked = "where do i work?"
    assert "harbour office" in me.context(asked).text
    assert "bakery" not in me.context(asked).text
    assert not [item for item in me.query(asked).items if "bakery" in item.memory.text]


def test_a_turn_that_says_more_than_its_fact_stands_beside_it(me: BoundScope) -> None:
    texts = [item.memory.text for item in me.context("where is my desk at the harbour office?").items]
    assert "Ana works at the harbour office." in texts
    assert "i work at the harbour office now, up on the third floor beside the customs desk" in texts


def test_a_fact_stands_for_a_turn_that_says_no_more() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        (said,) = me.observe("my dentist is Dr. Okafor in Leer").results
        fact = me.remember("Ana's dentist is Dr. Okafor in Leer.", sources=[said.id or ""]).results[0]
        asked = warden.scope(user="ana", thread="t2").context("who is my dentist?")
        assert [item.id for item in asked.items] == [fact.id]
