"""A large namespace as of a moment of the past answers as a small one does, and is not read whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from memwarden import AsyncWarden, clock
from memwarden.errors import InvalidInput
from memwarden.recall.large import past
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.shared.search import ChangesSince
from memwarden.testing import get_runtime, get_store
from memwarden_bench import sentences

HERE = Namespace("default", "user/nora")
ABOVE = 300
QUESTIONS = [
    *sentences.questions(6),
    "Where does Mara live?",
    "How much is Mara's rent?",
    "What is Mara allergic to?",
    "Who plays the cello?",
]
# Later than all that was said, and between the two homes.
MOMENTS: dict[str, datetime] = {"before": datetime(2024, 9, 1, tzinfo=UTC), "after": datetime(2025, 5, 1, tzinfo=UTC)}


@asynccontextmanager
async def opened(url: str, *, large: bool, monkeypatch: pytest.MonkeyPatch | None = None) -> AsyncIterator[AsyncWarden]:
    """Open a warden. A large namespace may not be read whole."""
    async with AsyncWarden.open(url, config={"search_above": ABOVE, "extraction": "off"}) as warden:
        if not large:
            get_runtime(warden).services.larges.store = None
        elif monkeypatch is not None:

            async def refuse(*asked: Any) -> None:
                raise AssertionError("the namespace is read whole")

            monkeypatch.setattr(get_runtime(warden).store, "scan", refuse)
        yield warden


async def write_story(url: str) -> dict[str, int]:
    """Write a history in which memories change in every way. Return revisions by name."""
    revisions = {}
    async with opened(url, large=True) as warden:
        me = warden.scope(user="nora", thread="told")

        async def remember(text: str, **fields: Any) -> str:
            return str((await me.remember(text, **fields)).results[0].id)

        for thread, messages in sentences.threads(sentences.turns(200)):
            await warden.scope(user="nora", thread=thread).observe(messages)
        said = await me.observe(
            [
                {"role": "user", "id": "m1", "content": "Mara tunes her cello on Fridays.", "created_at": "2024-02-01"},
                {"role": "user", "id": "m2", "content": "Mara sold the drum kit.", "created_at": "2024-02-02"},
            ]
        )
        home = await remember("Mara lives in Bergen.", created_at="2024-01-10")
        kettle = await remember("Mara has a red kettle.", created_at="2024-01-11")
        allergy = await remember("Mara is allergic to walnuts.", category="profile", created_at="2024-01-12")
        cello = await remember("Mara plays the cello.", sources=["m1"], created_at="2024-02-01")
        drums = await remember("Mara plays the drums.", sources=["m2"], created_at="2024-02-02")
        await me.forget(drums)
        revisions["first"] = (await get_store(me).head(HERE)).rev
        await remember("Mara lives in Turin now.", created_at="2025-03-01", valid_from="2025-02-01")
        await me.update(kettle, text="Mara has a blue kettle from Turin.")
        revisions["second"] = (await get_store(me).head(HERE)).rev
        await me.forget(cello)
        await me.forget(allergy)
        await me.update(home, importance=0.9)
        for thread, messages in sentences.threads(islice(sentences.turns(400), 200, None)):
            await warden.scope(user="nora", thread=f"later {thread}").observe(messages)
        await remember("Mara's rent is 900 euros.", created_at="2024-03-01")
        revisions["last"] = (await get_store(me).head(HERE)).rev
        await me.forget(str(said.results[0].id))
        await me.query("What about the canoe?")
        await get_runtime(warden).services.larges.wait_idle()
        assert await get_runtime(warden).services.larges.ready(HERE)
    return revisions


@pytest.fixture(scope="module")
def story(new_database: Callable[[], str]) -> tuple[str, dict[str, int]]:
    url = new_database()
    return url, asyncio.run(write_story(url))


def list_points(revisions: dict[str, int]) -> list[int | datetime]:
    return [100, *revisions.values(), *MOMENTS.values(), clock.now() + timedelta(days=1)]


@pytest.mark.parametrize("read", [past.MAX_READ, 0], ids=["read", "searched"])
async def test_the_past_is_that_of_a_small_namespace(
    story: tuple[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    monkeypatch.setattr(past, "MAX_READ", read)
    url, revisions = story
    shares = []
    async with opened(url, large=True, monkeypatch=monkeypatch) as large, opened(url, large=False) as small:
        for point in list_points(revisions):
            for question in QUESTIONS:
                asked: dict[str, Any] = {"top_k": 5, "threshold": 0, "as_of": point}
                found, wanted = [await each.scope(user="nora").query(question, **asked) for each in (large, small)]
                shown, expected = [[item.memory for item in each.items] for each in (found, wanted)]
                assert found.rev == wanted.rev
                if read:
                    assert shown == expected, (point, question)
                    assert found.confidence == pytest.approx(wanted.confidence, abs=1e-5)
                else:
                    # What is typical is that of today, of a search.
                    shares.append(sum(memory in expected for memory in shown) / max(len(expected), 1))
                    assert found.confidence == pytest.approx(wanted.confidence, abs=0.1)
                    assert shown[:1] == expected[:1] or found.confidence < 0.5, (point, question)
    assert read or sum(shares) >= 0.9 * len(shares)


@pytest.mark.parametrize("read", [past.MAX_READ, 0], ids=["read", "searched"])
async def test_memories_of_the_past_are_listed_without_the_whole_namespace(
    story: tuple[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    monkeypatch.setattr(past, "MAX_READ", read)
    url, revisions = story
    filters: list[dict[str, Any] | None] = [
        None,
        {"channel": "semantic"},
        {"channel": "semantic", "valid_to": {"$ne": None}},
        {"importance": {"$gt": 0.6}},
    ]
    async with opened(url, large=True, monkeypatch=monkeypatch) as large, opened(url, large=False) as small:
        for point in list_points(revisions):
            for where in filters:
                for order_by, descending in (("created_at", True), ("importance", False)):
                    asked: dict[str, Any] = {"as_of": point, "order_by": order_by, "descending": descending}
                    found, wanted = [
                        await each.scope(user="nora").find(where, limit=20, **asked) for each in (large, small)
                    ]
                    assert found == wanted, (point, where, order_by)


async def test_the_searched_past_keeps_allowlists_and_filters(
    story: tuple[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "MAX_READ", 0)
    url, revisions = story
    async with opened(url, large=True, monkeypatch=monkeypatch) as large:
        me, planner = large.scope(user="nora"), large.scope(user="nora", agent="planner")
        asked: dict[str, Any] = {"as_of": revisions["second"], "threshold": 0}
        question = "What is Mara allergic to?"
        assert "Mara is allergic to walnuts." in [
            item.memory.text for item in (await me.query(question, **asked)).items
        ]
        hidden = await planner.query(question, **asked)
        assert "Mara is allergic to walnuts." not in [item.memory.text for item in hidden.items]
        only = await me.query(question, filters={"category": "profile"}, **asked)
        assert [item.memory.text for item in only.items] == ["Mara is allergic to walnuts."]
        with pytest.raises(InvalidInput, match="is no revision"):
            await me.query(question, as_of=10**6)


async def test_a_past_of_which_more_has_changed_than_is_read_is_answered_whole(
    story: tuple[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was forgotten since is found, as in a small namespace, and not the changes alone that were made last."""
    monkeypatch.setattr(past, "MAX_READ", 0)
    monkeypatch.setattr(past, "MAX_CHANGED", 2)
    url, revisions = story
    asked: dict[str, Any] = {"top_k": 5, "threshold": 0, "as_of": revisions["first"]}
    async with opened(url, large=True) as large, opened(url, large=False) as small:
        for question in ("Who plays the cello?", "What is Mara allergic to?"):
            found, wanted = [await each.scope(user="nora").query(question, **asked) for each in (large, small)]
            assert [item.memory for item in found.items] == [item.memory for item in wanted.items]
        listed = [
            await each.scope(user="nora").find({"channel": "semantic"}, as_of=revisions["first"])
            for each in (large, small)
        ]
        assert listed[0] == listed[1]


async def test_a_moment_that_several_ask_about_at_once_is_opened_once(
    story: tuple[str, dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, revisions = story
    async with opened(url, large=True, monkeypatch=monkeypatch) as large:
        store, opening = get_runtime(large).store, list[int]()
        assert isinstance(store, PostgresStore)
        changes_since = store.changes_since

        async def note(here: Namespace, rev: int, limit: int) -> ChangesSince:
            opening.append(rev)
            return await changes_since(here, rev, limit)

        monkeypatch.setattr(store, "changes_since", note)
        await large.scope(user="nora").query(QUESTIONS[0])
        asked = [
            large.scope(user="nora").query(question, as_of=revisions["first"], threshold=0) for question in QUESTIONS
        ]
        found = await asyncio.gather(*asked)
        assert all(result.items for result in found)
        assert opening == [revisions["first"]]
