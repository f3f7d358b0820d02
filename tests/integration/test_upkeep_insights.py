"""Insights: what returns in somebody's talk is remembered with low weight, once a day, and hides nothing."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from memwarden import AsyncScope, AsyncWarden, clock
from memwarden.testing.scripted import ScriptedModel
from memwarden.upkeep.feelings import find_feelings_in
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


async def test_a_worry_that_returns_is_an_insight_of_low_weight(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        me = warden.scope(user="ana")
        await say(me, WORRIES)
        tried = await find_insights(warden, dry_run=True)
        assert [change.verb for change in tried.changes] == ["insight"]
        assert await me.find({"channel": "insight"}) == []
        run = await find_insights(warden)
        assert run.status == "ok"
        (insight,) = await me.find({"channel": "insight"})
        assert insight.text.startswith("The user spoke of worry on 3 days from ")
        assert insight.text.endswith("(worried, anxious, nervous).")
        assert (insight.category, insight.importance, insight.pinned, insight.tags) == (
            "relationship_dynamic", 0.4, False, ("worry",),
        )  # fmt: skip
        assert (insight.actor_id, insight.trust) == ("upkeep", "assistant")
        assert len(insight.metadata["turns"]) == 3
        assert (await find_insights(warden)).reason == "looked_today"
        found = await me.query("What am I worried about?")
        assert found.items[0].channel == "turn"  # it hides no turn, and stands behind it


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("Ich bin echt besorgt wegen der Prüfung.", "Ich mache mir schon wieder Sorgen um das Geld.",
          "Heute bin ich ganz schön nervös."), "Die Person sprach an 3 Tagen vom {} bis zum {} von Sorge"),
        (("Je suis vraiment inquiète pour l'examen.", "J'ai un peu peur de demain.", "Je me sens tellement stressée."),
         "La personne a parlé d’inquiétude 3 jours différents, du {} au {}"),
        (("Estoy muy preocupada por el examen.", "Me agobia el alquiler.", "Tengo un poco de miedo a la operación."),
         "La persona habló de preocupación en 3 días, del {} al {}"),
        (("試験がちょっと心配です。", "明日の手術が不安で眠れない。", "面接の前で緊張しています。"),
         "この人は{}から{}までの間に3日、不安を口にした"),
        (("我很担心考试。", "最近压力好大。", "我真的有点焦虑。"), "用户在{}至{}之间有3天提到担忧"),
    ],
)  # fmt: skip
async def test_a_worry_is_told_in_the_language_in_which_it_was_said(texts: tuple[str, ...], said: str) -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        await say(me, texts)
        await find_insights(warden)
        (insight,) = await me.find({"channel": "insight"})
        days = [(clock.now() - timedelta(days=number)).date() for number in (3, 1)]
        assert insight.text.startswith(said.format(*days))
        assert insight.tags == ("worry",)


@pytest.mark.parametrize(
    "text",
    [
        "Ich bin nicht besorgt.", "Ich mache mir keine Sorgen.", "Sie ist müde.", "Bist du nervös?",
        "Je ne suis pas inquiète.", "Elle est triste.", "Tu es fatigué ?",
        "No estoy preocupada.", "Ella está triste.", "¿Estás cansado?",
        "心配ありません。", "母は心配しているみたい。", "不安ですか？", "ちょっと寂しそう。",
        "我不担心。", "我妈很担心。", "他很生气。",
        "I'm happy for you to leave early.", "I don't feel tired.",
    ],
)  # fmt: skip
def test_a_feeling_of_nobody_or_of_another_is_none(text: str) -> None:
    assert find_feelings_in(text) == set()


@pytest.mark.parametrize(
    "texts",
    [
        WORRIES[:2],
        ("I'm not worried about it.", "I am never nervous.", "I'm no longer anxious."),
        ("She is worried.", "Are you worried?", "He felt nervous."),
    ],
)
async def test_what_does_not_return_or_is_not_felt_is_none(texts: tuple[str, ...]) -> None:
    async with AsyncWarden.open("memory://") as warden:
        me = warden.scope(user="ana")
        await say(me, texts)
        assert (await find_insights(warden)).status == "skipped"
        assert await me.find({"channel": "insight"}) == []


async def test_a_feeling_is_told_once_in_thirty_days_and_not_again_when_it_was_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        await say(me, WORRIES)
        (first,) = (await find_insights(warden)).changes
        now += timedelta(days=1, minutes=1)
        await me.observe([{"role": "user", "content": "I'm so worried about it.", "created_at": now}])
        rev = (await me.journal.delta(since_rev=0)).rev
        assert (await find_insights(warden)).changes == ()
        assert not await me.journal.delta(since_rev=rev)
        await me.forget(first.memory_id)
        now += timedelta(days=1)
        assert (await find_insights(warden)).changes == ()
        now += timedelta(days=29)
        for text in WORRIES:
            now += timedelta(days=1)
            await me.observe([{"role": "user", "content": text, "created_at": now}])
        (again,) = (await find_insights(warden)).changes
        assert (await me.get(again.memory_id)).text.startswith("The user spoke of worry on 3 days")


@pytest.mark.parametrize(("hours", "reason"), [(23, "looked_today"), (25, "")])
async def test_a_person_is_looked_at_once_in_a_day(hours: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        await say(warden.scope(user="ana"), WORRIES)
        await find_insights(warden)
        later = clock.now() + timedelta(hours=hours)
        monkeypatch.setattr(clock, "now", lambda: later)
        assert (await find_insights(warden)).reason == reason


async def test_what_is_no_feeling_of_three_days_of_this_month_and_of_the_person_is_none() -> None:
    """Three turns of a day, an older turn, and what another said."""
    now = clock.now()

    def said(text: str, days: float, role: str = "user") -> dict[str, Any]:
        return {"role": role, "content": text, "created_at": now - timedelta(days=days)}

    for third in (said(WORRIES[2], 1.001), said(WORRIES[2], 31), said(WORRIES[2], 5, "assistant")):
        async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
            await warden.scope(user="ana").observe([said(WORRIES[0], 1), said(WORRIES[1], 3), third])
            assert (await find_insights(warden)).changes == ()


async def test_rules_give_three_insights_at_most() -> None:
    feelings = ("worried", "tired", "sad", "angry", "lonely")
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        await say(me, tuple(f"I'm so {feeling} today, day {day}." for day in range(3) for feeling in feelings))
        assert len((await find_insights(warden)).changes) == 3


async def test_a_model_reads_five_activities_three_facts_and_no_more() -> None:
    model = ScriptedModel(json.dumps({"insights": [{"summary": f"The user trusts {n} people."} for n in range(9)]}))
    async with AsyncWarden.open("memory://", {"embedder": "none", "merging": "off"}, chat_model=model) as warden:
        me = warden.scope(user="ana")
        for number in range(8):
            await me.remember(f"The user walked path {number}.", channel="episodic")
            await me.remember(f"The user owns house {number}.")
        await say(me, WORRIES)
        assert [change.verb for change in (await find_insights(warden, dry_run=True)).changes] == ["insight"]
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


async def test_without_an_answer_or_tokens_the_rules_speak() -> None:
    for settings, model in (({}, ScriptedModel()), ({"upkeep_tokens": 10}, ScriptedModel("{}"))):
        async with AsyncWarden.open("memory://", settings, chat_model=model) as warden:
            me = warden.scope(user="ana")
            await say(me, WORRIES)
            assert len((await find_insights(warden)).changes) == 1
            assert [item.tags for item in await me.find({"channel": "insight"})] == [("worry",)]
