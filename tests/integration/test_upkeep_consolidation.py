"""Consolidation: what says the same becomes a single fact, within its budgets, and can be taken apart again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memwarden import AsyncScope, AsyncWarden, clock
from memwarden.observability.records import OpEvent
from memwarden.records import Memory
from memwarden.testing.scripted import ScriptedModel
from memwarden.upkeep import consolidation
from memwarden.upkeep.records import JobRun
from memwarden.upkeep.token_budget import count_reserved, reserve_tokens

PAIR = ("Ana lives in Berlin.", "Ana lives in Berlin")


async def fill(url: str, texts: tuple[str, ...], **fields: Any) -> list[str]:
    """Store statements beside each other, as another program would have."""
    async with AsyncWarden.open(url, {"merging": "off"}) as warden:
        me = warden.scope(user="ana")
        return [str((await me.remember(text, **fields)).results[0].id) for text in texts]


async def consolidate(warden: AsyncWarden, **named: Any) -> JobRun:
    (run,) = await warden.jobs.run("consolidate", user="ana", **named)
    return run


async def contents(me: AsyncScope) -> list[Memory]:
    found = await me.find({"channel": "semantic"}, limit=1000)
    return sorted((replace(item, version=0, updated_at=item.created_at) for item in found), key=lambda item: item.id)


@pytest.fixture(params=["json", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """Stores that may be opened a second time."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"{request.param}:///{tmp_path / 'store'}"


async def test_paraphrases_are_merged_and_an_undo_takes_them_apart_for_good(url: str) -> None:
    first, second = await fill(url, PAIR, tags=["home"])
    (third,) = await fill(url, ("Ana has 2 cats.",))
    async with AsyncWarden.open(url) as warden:
        me = warden.scope(user="ana")
        before = await contents(me)
        rev = (await me.journal.delta(since_rev=0)).rev
        tried = await consolidate(warden, dry_run=True)
        assert [(change.verb, change.memory_id) for change in tried.changes] == [("merge", second)]
        assert await contents(me) == before
        run = await consolidate(warden)
        assert run.changes == tried.changes
        assert [item.id for item in await contents(me)] == sorted([first, third])
        told = await me.journal.delta(since_rev=rev)
        assert "↔merged: Combined 2 notes: Ana lives in Berlin." in told.text
        assert (await consolidate(warden)).changes == ()
        entry = (await me.journal.history(first))[-1]
        assert (entry.event, entry.actor) == ("MERGE", "upkeep")
        await me.journal.undo(entry.seq)
        assert await contents(me) == before
        assert (await consolidate(warden)).changes == ()


async def test_what_a_newer_fact_replaces_ends(url: str) -> None:
    async with AsyncWarden.open(url, {"merging": "off"}) as warden:
        me = warden.scope(user="ana")
        now = clock.now()
        berlin = (await me.remember("Ana lives in Berlin.", created_at=now - timedelta(days=9))).results[0].id
        lisbon = (await me.remember("Ana lives in Lisbon now.", created_at=now - timedelta(days=2))).results[0].id
        assert berlin is not None
        assert lisbon is not None
        assert (await consolidate(warden)).status == "skipped"  # whoever switched merging off wants none
    async with AsyncWarden.open(url) as warden:
        me = warden.scope(user="ana")
        run = await consolidate(warden)
        assert [change.verb for change in run.changes] == ["supersede"]
        assert (await me.get(lisbon)).valid_to is None
        assert (await me.get(berlin)).valid_to == now - timedelta(days=2)
        assert [item.kind for item in (await me.audit()).findings] == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_fifty_pairs_of_a_user_are_merged_in_a_day(url: str) -> None:
    texts = tuple(f"{name} the painter lives in Berlin{end}" for name in names(60) for end in (".", ""))
    await fill(url, texts)
    async with AsyncWarden.open(url) as warden:
        run = await consolidate(warden)
        assert (len(run.changes), run.reason) == (50, "pairs_of_the_day")
        again = await consolidate(warden)
        assert (again.changes, again.reason) == ((), "pairs_of_the_day")
        with pytest.MonkeyPatch.context() as patch:
            tomorrow = clock.now() + timedelta(days=1)
            patch.setattr(clock, "now", lambda: tomorrow)
            (due,) = [item for item in await warden.jobs.status() if item.job == "consolidate"]
            assert due.due is not None
            assert len((await consolidate(warden)).changes) == 10


def names(count: int) -> list[str]:
    heads, ends = ("Al", "Ber", "Cor", "Dor", "El", "Fin"), ("ba", "do", "fi", "ga", "mo", "na", "po", "ru", "sa", "to")
    return [head + end for head in heads for end in ends][:count]


UNDECIDED = ("Ana keeps her savings at the Volksbank.", "Ana's money is at the Volksbank.")


def answer(*relations: str) -> str:
    return json.dumps({"relations": relations})


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_a_model_judges_what_no_rule_decides_and_is_not_asked_twice(url: str) -> None:
    await fill(url, UNDECIDED)
    model = ScriptedModel(answer("related"), answer("same"))
    async with AsyncWarden.open(url, chat_model=model) as warden:
        first = await consolidate(warden)
        assert (first.changes, len(model.asked)) == ((), 1)
        assert first.tokens > 0
        assert (await consolidate(warden)).tokens == 0
        assert len(model.asked) == 1
        with pytest.MonkeyPatch.context() as patch:
            later = clock.now() + timedelta(days=2)
            patch.setattr(clock, "now", lambda: later)
            assert (await consolidate(warden)).tokens == 0
            later += timedelta(days=14)
            await warden.scope(user="ana").remember("Ana has a cat.")
            (memory, other) = [item for item in await warden.scope(user="ana").find() if "Volksbank" in item.text]
            await warden.scope(user="ana").update(memory.id, importance=0.7)
            await warden.scope(user="ana").update(other.id, importance=0.7)
            run = await consolidate(warden)
            assert [change.verb for change in run.changes] == ["merge"]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("tokens", "asked"), [(300, 0), (20_000, 1)])
async def test_a_tenant_spends_its_tokens_of_the_day_and_no_more(url: str, tokens: int, asked: int) -> None:
    await fill(url, UNDECIDED)
    model = ScriptedModel(answer("same"))
    settings: Mapping[str, Any] = {"upkeep_tokens": tokens}
    async with AsyncWarden.open(url, settings, chat_model=model) as warden:
        run = await consolidate(warden)
        assert (len(model.asked), len(run.changes)) == (asked, asked)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_a_small_model_is_not_asked(url: str) -> None:
    await fill(url, UNDECIDED)
    model = ScriptedModel(answer("same"))
    async with AsyncWarden.open(url, {"chat_model_size": "small"}, chat_model=model) as warden:
        assert (await consolidate(warden)).changes == ()
    assert model.asked == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_a_guard_is_stronger_than_a_model(url: str) -> None:
    await fill(url, ("Ana's rent is 900 euros a month.", "Ana pays 950 euros each month for her flat."))
    model = ScriptedModel(answer("same"), answer("same"))
    async with AsyncWarden.open(url, chat_model=model) as warden:
        assert "merge" not in [change.verb for change in (await consolidate(warden)).changes]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_a_model_that_fails_costs_nothing_but_the_answer(url: str) -> None:
    await fill(url, (*PAIR, *UNDECIDED))
    async with AsyncWarden.open(url, chat_model=ScriptedModel()) as warden:
        run = await consolidate(warden)
        assert (run.status, [change.verb for change in run.changes]) == ("failed", ["merge"])


# --- what is compared, and how much of it in a run

WORDS_ALONE = {"embedder": "none"}


@pytest.fixture
def store(tmp_path: Any) -> str:
    return f"sqlite:///{tmp_path / 'store'}"


@pytest.mark.parametrize(
    ("hours", "importance", "merged"),
    [(71, 0.5, 1), (73, 0.5, 0), (73, 0.6, 1), (24 * 89, 0.6, 1), (24 * 91, 0.6, 0)],
    ids=["of three days", "before", "important", "of ninety days", "older"],
)
async def test_what_changed_lately_or_matters_is_compared(
    store: str, hours: int, importance: float, merged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, PAIR, importance=importance)
    later = clock.now() + timedelta(hours=hours)
    monkeypatch.setattr(clock, "now", lambda: later)
    async with AsyncWarden.open(store, WORDS_ALONE) as warden:
        assert len((await consolidate(warden)).changes) == merged


@pytest.mark.parametrize(("others", "merged"), [(8, 0), (9, 1)])
async def test_the_tenth_that_stands_in_most_answers_is_compared(
    store: str, others: int, merged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = await fill(store, PAIR, importance=0.5)
    later = clock.now() + timedelta(days=9)
    monkeypatch.setattr(clock, "now", lambda: later)
    async with AsyncWarden.open(store, WORDS_ALONE) as warden:
        namespace = warden.scope(user="ana").who.namespace
        await warden.store.record([
            OpEvent(clock.new_id(), namespace, "hotpath", "search", "ok", later, memory_id=memory_id)
            for memory_id in (first, first, *(f"m{number}" for number in range(others)))
        ])  # fmt: skip
        assert len((await consolidate(warden)).changes) == merged


async def test_a_model_is_asked_about_ten_pairs_at_once_and_never_in_a_dry_run(store: str) -> None:
    texts = [
        f"{said}{name}bank."
        for name in names(12)
        for said in ("Ana keeps her savings at the ", "Ana's money is at the ")
    ]
    await fill(store, tuple(texts))
    model = ScriptedModel(*[answer(*["related"] * 10)] * 9)
    async with AsyncWarden.open(store, chat_model=model) as warden:
        assert (await consolidate(warden, dry_run=True)).tokens == 0
        assert model.asked == []
        await consolidate(warden)
        assert len(model.asked) >= 2
        assert max(asked.prompt.count('"older"') for asked in model.asked) == 10


async def test_a_run_ends_when_its_seconds_are_over_and_the_job_is_due_again(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(store, PAIR)
    async with AsyncWarden.open(store, WORDS_ALONE) as warden:
        monkeypatch.setattr(consolidation, "MAX_SECONDS", -1.0)
        run = await consolidate(warden)
        assert (run.changes, run.reason) == ((), "seconds_of_a_run")
        (status,) = [item for item in await warden.jobs.status(user="ana") if item.job == "consolidate"]
        assert status.due is not None
        monkeypatch.undo()
        assert len((await consolidate(warden)).changes) == 1


async def test_what_is_pinned_stays_and_is_not_ended(store: str) -> None:
    async with AsyncWarden.open(store, {**WORDS_ALONE, "merging": "off"}) as warden:
        me = warden.scope(user="ana")
        now = clock.now()
        await me.remember("Ana lives in Berlin.", created_at=now - timedelta(days=9))
        pinned = (await me.remember("Ana lives in Berlin", pinned=True, created_at=now - timedelta(days=8))).results
        await me.remember("Ben lives in Rome.", pinned=True, created_at=now - timedelta(days=7))
        await me.remember("Ben lives in Oslo now.", created_at=now - timedelta(days=6))
    async with AsyncWarden.open(store, WORDS_ALONE) as warden:
        run = await consolidate(warden)
        assert [change.verb for change in run.changes] == ["merge"]
        left = [item for item in await warden.scope(user="ana").find() if item.text.startswith("Ana")]
        assert [item.id for item in left] == [pinned[0].id]
        assert [item.valid_to for item in await warden.scope(user="ana").find() if "Rome" in item.text] == [None]


async def test_facts_without_a_word_or_a_number_in_common_and_index_cards_are_not_compared(store: str) -> None:
    await fill(store, ("Ana has a dog.", "Her puppy sleeps.", "Flat 12.", "Rent 900."))
    async with AsyncWarden.open(store, WORDS_ALONE) as warden:
        found = {item.text: item for item in await warden.scope(user="ana").find()}
        now = clock.now()
        assert not consolidation.may_be_same(found["Ana has a dog."], found["Her puppy sleeps."], now)
        assert consolidation.may_be_same(found["Flat 12."], found["Rent 900."], now)
        fact = found["Ana has a dog."]
        assert consolidation.is_consolidated(fact)
        assert not consolidation.is_consolidated(replace(fact, actor_id="memwarden", tags=("card",)))


# --- tokens of a tenant's day


async def test_users_of_a_tenant_share_the_tokens_of_a_day() -> None:
    async with AsyncWarden.open("memory://", WORDS_ALONE) as warden:
        noon = clock.now().replace(hour=12)
        assert await reserve_tokens(warden.store, "acme", 600, 1_000, noon)
        assert not await reserve_tokens(warden.store, "acme", 600, 1_000, noon)
        assert await reserve_tokens(warden.store, "acme", 400, 1_000, noon)
        assert await reserve_tokens(warden.store, "other", 600, 1_000, noon)
        assert await count_reserved(warden.store, "acme", noon) == 1_000
        for day in (-1, 1):
            assert await reserve_tokens(warden.store, "acme", 600, 1_000, noon + timedelta(days=day))


async def test_of_workers_that_reserve_the_last_tokens_at_once_no_two_get_them(tmp_path: Any) -> None:
    """Each sees that there is room, writes, and looks again."""
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/store", WORDS_ALONE) as warden:
        now = clock.now()
        given = await asyncio.gather(*(reserve_tokens(warden.store, "acme", 600, 1_000, now) for _ in range(4)))
        assert sum(given) <= 1


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_two_users_do_not_spend_more_than_their_tenant_has(url: str) -> None:
    async with AsyncWarden.open(url, {"merging": "off"}) as warden:
        for user in ("ana", "ben"):
            for text in UNDECIDED:
                await warden.scope(user=user).remember(text)
    model = ScriptedModel(*[answer("related")] * 2)
    async with AsyncWarden.open(url, {"upkeep_tokens": 1_300}, chat_model=model) as warden:
        runs = await warden.jobs.run("consolidate")
        assert sorted(run.tokens > 0 for run in runs) == [False, True]
        assert len(model.asked) == 1
        assert sum(run.tokens for run in runs) <= 1_300
