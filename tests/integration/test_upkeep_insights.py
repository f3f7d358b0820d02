"""Insights: what returns in somebody's talk is remembered with low weight, once a day, and hides nothing."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from memwarden import AsyncScope, AsyncWarden, clock
from memwarden.testing.scripted import ScriptedModel
from memwarden.upkeep.records import JobRun

WORRIES = (
    "I'm really worried about the exam in June.",
    "I feel so anxious about this exam, and the weather is bad.",
    "I am a bit nervous again, the exam is close.",
)


@pytest.fixture(params=["memory", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else str(request.getfixturevalue("postgres_url"))


async def say(me: AsyncScope, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(reversed(texts)):
        at = clock.now() - timedelta(days=number + 1)
        await me.observe([{"role": "user", "content": text, "created_at": at}])


async def find_insights(warden: AsyncWarden, **named: Any) -> JobRun:
    (run,) = await warden.jobs.run("insights", user="ana", **named)
    return run


def answer(*summaries: Any) -> str:
    listed = [{"summary": text, "tags": ["trust"], "importance": 2} for text in summaries]
    return json.dumps({"insights": listed})


async def test_an_insight_has_low_weight_and_hides_no_turn(url: str) -> None:
    model = ScriptedModel(answer("Ana worries about the exam."))
    async with AsyncWarden.open(url, chat_model=model) as warden:
        me = warden.scope(user="ana")
        await say(me, WORRIES)
        assert (await find_insights(warden)).status == "ok"
        (insight,) = await me.find({"channel": "insight"})
        assert (insight.category, insight.importance, insight.pinned, insight.tags) == (
            "relationship_dynamic", 0.4, False, ("trust",),
        )  # fmt: skip
        assert (insight.actor_id, insight.trust) == ("upkeep", "assistant")
        found = await me.query("What am I worried about?")
        assert found.items[0].channel == "turn"


async def test_without_a_model_there_are_no_insights_and_the_run_says_so() -> None:
    async with AsyncWarden.open("memory://") as warden:
        me = warden.scope(user="ana")
        await say(me, WORRIES)
        run = await find_insights(warden)
        assert (run.status, run.reason) == ("skipped", "needs_chat_model")
        assert await me.find({"channel": "insight"}) == []


@pytest.mark.parametrize("given", [("The user trusts plain words.",), ()], ids=["an insight", "none"])
@pytest.mark.parametrize(("hours", "asked"), [(23, 1), (25, 2)])
async def test_a_person_is_looked_at_once_in_a_day(
    given: tuple[str, ...], hours: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel(answer(*given), answer(*given))
    async with AsyncWarden.open("memory://", {"embedder": "none"}, chat_model=model) as warden:
        await say(warden.scope(user="ana"), WORRIES)
        await find_insights(warden)
        later = clock.now() + timedelta(hours=hours)
        monkeypatch.setattr(clock, "now", lambda: later)
        await find_insights(warden)
        assert len(model.asked) == asked


@pytest.mark.parametrize("said", [None, "I would rather talk about the weather."], ids=["down", "prose"])
async def test_a_model_that_fails_leaves_the_job_due(said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = ScriptedModel() if said is None else ScriptedModel(said)
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    async with AsyncWarden.open(
        "memory://", {"embedder": "none", "upkeep_tokens": 2_000}, chat_model=failing
    ) as warden:
        await say(warden.scope(user="ana"), WORRIES)
        for _ in range(14):  # failures spend nothing of the day
            run = await find_insights(warden)
            assert (run.status, run.reason, run.tokens) == ("failed", "chat_model_failed", 0)
            (status,) = (item for item in await warden.jobs.status(user="ana") if item.job == "insights")
            assert status.status == "failed"
            assert status.due == now + timedelta(hours=1)
            now += timedelta(hours=1)


async def test_a_bad_item_spares_its_neighbours() -> None:
    listed = ["no object", {"summary": 7}, {"tags": []}, {"summary": "The user trusts plain words.", "tags": "trust"}]
    model = ScriptedModel(json.dumps({"insights": listed}))
    async with AsyncWarden.open("memory://", {"embedder": "none"}, chat_model=model) as warden:
        me = warden.scope(user="ana")
        await say(me, WORRIES)
        assert (await find_insights(warden)).status == "ok"
        assert [item.text for item in await me.find({"channel": "insight"})] == ["The user trusts plain words."]


async def test_half_a_surrogate_pair_and_a_line_break_spare_their_neighbours(url: str) -> None:
    broken = '{"summary": "The user trusts\nplain words \\ud83d.", "tags": ["trust \\udc00"], "importance": NaN}'
    model = ScriptedModel(f'{{"insights": [{broken}, {{"summary": "The user worries about exams.", "tags": []}}]}}')
    async with AsyncWarden.open(url, {"embedder": "none"}, chat_model=model) as warden:
        me = warden.scope(user="ana")
        await say(me, WORRIES)
        assert (await find_insights(warden)).status == "ok"
        held = {item.text: item.tags for item in await me.find({"channel": "insight"})}
        assert held == {"The user trusts plain words \ufffd.": ("trust \ufffd",), "The user worries about exams.": ()}


async def test_a_forgotten_insight_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    model = ScriptedModel(*[answer("The user trusts plain words.")] * 2)
    async with AsyncWarden.open("memory://", {"embedder": "none"}, chat_model=model) as warden:
        me = warden.scope(user="ana")
        await say(me, WORRIES)
        (first,) = (await find_insights(warden)).changes
        await me.forget(first.memory_id)
        now += timedelta(days=2)
        assert (await find_insights(warden)).changes == ()
        assert await me.find({"channel": "insight"}) == []


async def test_a_model_reads_five_activities_three_facts_and_no_more() -> None:
    model = ScriptedModel(json.dumps({"insights": [{"summary": f"The user trusts {n} people."} for n in range(9)]}))
    async with AsyncWarden.open("memory://", {"embedder": "none", "merging": "off"}, chat_model=model) as warden:
        me = warden.scope(user="ana")
        for number in range(8):
            await me.remember(f"The user walked path {number}.", channel="episodic")
            await me.remember(f"The user owns house {number}.")
        await say(me, WORRIES)
        assert (await find_insights(warden, dry_run=True)).reason == "asks_chat_model"
        assert model.asked == []  # a dry run spends nothing
        assert len((await find_insights(warden)).changes) == 3
        (asked,) = model.asked
        assert (asked.prompt.count("walked path"), asked.prompt.count("owns house")) == (5, 3)


async def test_a_model_gives_insights_within_its_limits() -> None:
    summaries = ["The user trusts plain words.", "I think you like tea.", "x" * 281, ""]
    answer = json.dumps({"insights": [{"summary": text, "tags": ["trust"]} for text in summaries[:3]]})
    model = ScriptedModel(answer)
    async with AsyncWarden.open("memory://", chat_model=model) as warden:
        me = warden.scope(user="ana")
        await say(me, ("Just tell me how it is. " * 100, *WORRIES))
        run = await find_insights(warden)
        assert len(run.changes) == 1
        assert run.tokens > 0
        (insight,) = await me.find({"channel": "insight"})
        assert (insight.text, insight.tags) == ("The user trusts plain words.", ("trust",))
        (asked,) = model.asked
        assert asked.max_tokens == 220
        assert len(asked.prompt) < 1_200


async def test_a_day_without_tokens_asks_nothing() -> None:
    model = ScriptedModel(answer("The user trusts plain words."))
    async with AsyncWarden.open("memory://", {"upkeep_tokens": 10}, chat_model=model) as warden:
        await say(warden.scope(user="ana"), WORRIES)
        assert (await find_insights(warden)).reason == "tokens_of_the_day"
        assert model.asked == []
