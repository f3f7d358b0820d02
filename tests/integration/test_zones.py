"""The day of a message is that of whoever said it: the offset of its time is kept, and tells its days."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
import pytest

from http_calls import OPEN, calling
from memwarden import AsyncScope, AsyncWarden, BoundScope, Warden, clock
from memwarden.recall.answer.render import until_of
from memwarden.remember.extract.by_model import TurnBatch, read_answer, write_request
from memwarden.remember.extract.records import as_said
from memwarden.statements.statement import unpack
from memwarden.testing import get_runtime
from memwarden.testing.examples import a_memory
from memwarden.text.dates.recognizer import decode
from memwarden_bench import sentences

CONFIG: Mapping[str, Any] = {"embedder": "none", "extraction": "off"}

# Monday morning in Tokyo, while it is Sunday in London; Tuesday evening in Seattle, while it is Wednesday there.
TOKYO = "2026-03-02T07:30:00+09:00"
SEATTLE = "2026-03-03T20:00:00-08:00"


def observe(me: BoundScope, text: str, at: Any, **more: Any) -> str:
    written = me.observe([{"role": "user", "content": text, "created_at": at, **more}])
    return str(written.results[0].id)


def remember(me: BoundScope, text: str, at: Any) -> str:
    return str(me.remember(text, created_at=at).results[0].id)


@pytest.fixture
def ana(warden: Warden) -> BoundScope:
    return warden.scope(user="ana", thread="t1")


@pytest.mark.parametrize(
    ("at", "minutes", "instant"),
    [
        (TOKYO, 540, "2026-03-01T22:30:00+00:00"),
        (SEATTLE, -480, "2026-03-04T04:00:00+00:00"),
        ("2026-03-02T07:30:00+05:45", 345, "2026-03-02T01:45:00+00:00"),
        (datetime(2026, 3, 2, 7, 30, tzinfo=timezone(timedelta(hours=9))), 540, "2026-03-01T22:30:00+00:00"),
        ("2026-03-02T07:30:00Z", 0, "2026-03-02T07:30:00+00:00"),
        ("2026-03-02T07:30:00", 0, "2026-03-02T07:30:00+00:00"),
        (1772407800, 0, "2026-03-01T23:30:00+00:00"),
    ],
)
def test_the_moment_is_utc_and_the_offset_is_kept(ana: BoundScope, at: Any, minutes: int, instant: str) -> None:
    turn = ana.get(observe(ana, "I walked to the harbour.", at))
    assert (turn.created_at.isoformat(), turn.utc_offset) == (instant, minutes)
    assert turn.created_at.utcoffset() == timedelta(0)
    assert turn.said_at == turn.created_at
    assert turn.said_at.utcoffset() == timedelta(minutes=minutes)
    stated = ana.get(remember(ana, "The harbour closes at nine.", at))
    assert (stated.created_at.isoformat(), stated.utc_offset) == (instant, minutes)


@pytest.mark.parametrize(
    ("text", "at", "day"),
    [
        ("I fixed the gutter yesterday.", TOKYO, "1 Mar"),
        ("I fixed the gutter yesterday.", SEATTLE, "2 Mar"),
        ("I fixed the gutter tomorrow, that is the plan.", TOKYO, "3 Mar"),
        ("Morgen hole ich das Fahrrad ab.", TOKYO, "3 Mar"),
        ("明日は歯医者に行きます。", TOKYO, "3 Mar"),
        ("On Wednesday I will fetch the bicycle.", SEATTLE, "4 Mar"),
    ],
)
async def test_words_of_days_count_from_the_speakers_day(
    async_warden: AsyncWarden, me: AsyncScope, text: str, at: str, day: str
) -> None:
    await me.observe([{"role": "user", "content": text, "created_at": at}])
    (row,) = (await async_warden.store.scan(me.who.namespace, 0)).rows
    assert (day, day) in [(f"{first:%-d %b}", f"{last:%-d %b}") for first, last in decode(row.days)]


def test_a_question_of_a_day_finds_what_was_said_on_it_there(ana: BoundScope) -> None:
    early = observe(ana, "The boiler is noisy again.", TOKYO)
    late = observe(ana, "The parcel from Oslo is here.", SEATTLE)
    on = {day: [item.id for item in ana.query(f"What happened on {day}?").items] for day in _DAYS}
    assert on == {"1 March 2026": [], "2 March 2026": [early], "3 March 2026": [late], "4 March 2026": []}


_DAYS = ("1 March 2026", "2 March 2026", "3 March 2026", "4 March 2026")


def test_today_is_that_of_whoever_spoke_last(ana: BoundScope, monkeypatch: pytest.MonkeyPatch) -> None:
    sunday = observe(ana, "The boiler is noisy again.", "2026-03-01T21:00:00+09:00")
    observe(ana, "Good coffee at the corner.", TOKYO)
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 3, 1, 23, 0, tzinfo=UTC))  # Monday, 8 o'clock in Tokyo
    assert [item.id for item in ana.query("What happened yesterday?").items] == [sunday]


def test_a_block_shows_the_speakers_day(ana: BoundScope) -> None:
    observe(ana, "I bought a red kayak.", TOKYO)
    observe(ana, "I sold the red kayak.", SEATTLE)
    block = ana.context([{"role": "user", "content": "What about the red kayak?"}])
    days = [line for line in block.text.splitlines() if re.match(r"\d+ Mar", line)]
    assert days == ["3 Mar 2026", "2 Mar"]


def test_utc_stays_as_it_was(ana: BoundScope) -> None:
    night = observe(ana, "The boiler is noisy again.", "2026-03-01T22:30:00Z")
    assert [item.id for item in ana.query("What happened on 1 March 2026?").items] == [night]
    assert ana.query("What happened on 2 March 2026?").items == ()


def test_an_update_keeps_the_day_and_reads_the_new_words_from_it(ana: BoundScope) -> None:
    stated = remember(ana, "The fair was yesterday.", TOKYO)
    ana.update(stated, text="The fair was two days ago.")
    assert ana.get(stated).utc_offset == 540
    found = ana.query("What happened on 28 February 2026?").items
    assert [item.id for item in found] == [stated]


def test_it_outlives_the_process(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'mine.db'}"
    with Warden.open(place, config=CONFIG) as warden:
        name = observe(warden.scope(user="ana", thread="t1"), "The boiler is noisy again.", TOKYO)
    with Warden.open(place, config=CONFIG) as warden:
        me = warden.scope(user="ana", thread="t1")
        assert me.get(name).utc_offset == 540
        assert [item.id for item in me.query("What happened on 2 March 2026?").items] == [name]


@pytest.mark.parametrize("form", [None, "markdown", "markdown-zip", "mem0"])
def test_an_export_takes_it_along(tmp_path: Path, form: str | None) -> None:
    file = tmp_path / ("out.json" if form == "mem0" else "out")
    with Warden.open("memory://", config=CONFIG) as warden:
        me = warden.scope(user="ana", thread="t1")
        observe(me, "The boiler is noisy again.", TOKYO)
        remember(me, "The harbour closes at nine.", SEATTLE)
        if form is None:
            warden.export(file, user="ana")
        else:
            warden.export_format(file, form, user="ana")
    with Warden.open("memory://", config=CONFIG) as warden:
        if form is None:
            warden.import_(file)
        else:
            warden.import_files(file, user="ana")
        kept = {memory.text: memory.utc_offset for memory in warden.scope(user="ana").find()}
    turns = {} if form == "mem0" else {"The boiler is noisy again.": 540}  # it has no place for turns
    assert kept == {"The harbour closes at nine.": -480, **turns}


def test_a_message_is_the_same_in_whatever_zone_its_time_is_told(ana: BoundScope) -> None:
    first = observe(ana, "The boiler is noisy again.", TOKYO)
    assert observe(ana, "The boiler is noisy again.", "2026-03-01T22:30:00Z") == first


@pytest.mark.parametrize(
    ("at", "moved", "quoted"), [(TOKYO, "2 March 2026", "2026-03-02"), (SEATTLE, "3 March 2026", "2026-03-03")]
)
def test_what_is_extracted_tells_the_speakers_days(at: str, moved: str, quoted: str) -> None:
    pytest.importorskip("onnxruntime")
    with Warden.open("memory://", config={"embedder": "auto", "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        said = observe(me, "I moved to Kyoto yesterday.", at)
        observe(me, "Ich habe morgen um zehn einen Termin beim Zahnarzt.", at)
        facts = [memory for memory in me.find() if memory.channel != "turn"]
        turn = me.get(said)
    texts = [memory.text for memory in facts]
    assert f'The user, {moved}: "I moved to Kyoto yesterday."' in texts
    assert {memory.utc_offset for memory in facts} == {turn.utc_offset}
    for memory in facts:
        assert memory.created_at.tzinfo is UTC
        assert memory.valid_from is not None
        assert memory.valid_from.tzinfo is UTC
    event = next(memory for memory in facts if "Kyoto" in memory.text and "card" not in memory.tags)
    midnight = turn.said_at.replace(hour=0, minute=0)
    assert event.valid_from == midnight - timedelta(days=1)  # a change begins on the day that it names
    assert any(f'{quoted}: "Ich habe' in text for text in texts)


def test_a_model_is_shown_the_speakers_clock_and_its_days_are_theirs() -> None:
    turns = as_said(
        a_memory(name, text="I moved house.", sources=(name,), role="user", created_at=at, utc_offset=offset)
        for name, at, offset in (
            ("east", datetime(2026, 3, 1, 22, 30, tzinfo=UTC), 540),
            ("utc", datetime(2026, 3, 1, 22, 30, tzinfo=UTC), 0),
        )
    )
    batch = TurnBatch(turns)
    asked = write_request(batch)
    assert '"at": "2026-03-02T07:30 Monday"' in asked
    assert '"at": "2026-03-01T22:30 Sunday"' in asked
    fact = {"text": "The user moved house.", "sources": ["east"], "category": "event", "importance": 5}
    (item,) = read_answer({"facts": [{**fact, "valid_from": "2026-02-27"}]}, batch).facts
    assert item.valid_from == datetime(2026, 2, 26, 15, tzinfo=UTC)
    on_a_day = {**fact, "valid_from": "2026-03-05", "valid_to": "2026-03-05"}
    (item,) = read_answer({"facts": [on_a_day]}, batch).facts
    assert (item.valid_from, item.valid_to) == (
        datetime(2026, 3, 4, 15, tzinfo=UTC),
        datetime(2026, 3, 5, 15, tzinfo=UTC),
    )
    backwards = {**fact, "valid_from": "2026-03-05", "valid_to": "2026-03-01"}
    (item,) = read_answer({"facts": [backwards]}, batch).facts
    assert (item.valid_from, item.valid_to) == (batch.turns[0].created_at, None)


async def test_statements_hold_since_the_speakers_day() -> None:
    pytest.importorskip("onnxruntime")
    async with AsyncWarden.open("memory://", config={"embedder": "auto", "extraction": "off"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([{"role": "user", "content": "I live in Kyoto.", "created_at": TOKYO}])
        filler = get_runtime(warden).services.filler
        assert filler is not None
        await filler.wait(None, None)  # the signals that are made after the turn was stored
        (row,) = (await warden.store.scan(me.who.namespace, 0)).rows
    assert [date.fromordinal(each.since) for each in unpack(row.statements or b"")] == [date(2026, 3, 2)]


def test_the_past_is_told_by_the_speakers_days(ana: BoundScope) -> None:
    first = observe(ana, "The boiler is noisy again.", TOKYO)
    rev = ana.journal.history()[0].seq
    observe(ana, "The boiler was mended.", SEATTLE)
    found = ana.query("What happened on 2 March 2026?", as_of=rev).items
    assert [item.id for item in found] == [first]


async def test_a_namespace_that_is_searched_in_the_database_knows_the_days(postgres_url: str) -> None:
    config = {"search_above": 50, "embedder": "none", "extraction": "off"}
    async with AsyncWarden.open(postgres_url, config=config) as warden:
        me = warden.scope(user="nora", thread="told")
        for thread, messages in sentences.threads(sentences.turns(60)):
            await warden.scope(user="nora", thread=thread).observe(messages)
        said = [
            {"role": "user", "id": name, "content": text, "created_at": at}
            for name, text, at in (
                ("early", "The boiler is noisy again.", "2021-03-02T07:30:00+09:00"),
                ("late", "The parcel from Oslo is here.", "2021-03-03T20:00:00-08:00"),
            )
        ]
        await me.observe(said)
        larges = get_runtime(warden).services.larges
        for _ in range(2):  # the first question reads what was said last, the second finds the namespace large
            await me.query("What about the canoe?")
            await larges.wait_idle()
        assert await larges.ready(me.who.namespace)
        on = {
            day: [item.sources[0] for item in (await me.query(f"What happened on {day}?")).items]
            for day in ("1 March 2021", "2 March 2021", "3 March 2021", "4 March 2021")
        }
    assert on == {"1 March 2021": [], "2 March 2021": ["early"], "3 March 2021": ["late"], "4 March 2021": []}


def forget_the_terms(place: str) -> None:
    """Leave a store as a memwarden of earlier terms left it, without any day."""
    engine, path = place.split(":///")[0], Path(place.split(":///")[-1])
    if engine == "json":
        (path / "store.json").write_text(json.dumps({"format": 1, "model": None}))
    elif engine == "sqlite":
        with closing(sqlite3.connect(path)) as db:
            db.execute("UPDATE meta SET value = 0 WHERE key = 'terms'")
            db.execute("UPDATE signals SET days = x''")
            db.commit()
    else:
        with psycopg.connect(place) as db:
            db.execute("UPDATE memwarden.namespaces SET terms = 0, terms_n = 0")
            db.execute("UPDATE memwarden.signals SET days = ''")
            db.execute("DELETE FROM memwarden.meta WHERE key LIKE 'terms_%'")


@pytest.mark.parametrize("engine", ["json", "sqlite", "postgres"])
def test_days_that_are_read_anew_are_the_same(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A newer memwarden reads the words of every row again; the days that it finds are those of the speaker."""
    if engine == "postgres":
        place = str(request.getfixturevalue("postgres_url"))
    else:
        place = f"{engine}:///{tmp_path / 'store'}"
    with Warden.open(place, config=CONFIG) as warden:
        observe(warden.scope(user="ana", thread="t1"), "I fixed the gutter yesterday.", TOKYO)
    forget_the_terms(place)
    with Warden.open(place, config=CONFIG) as warden:
        found = warden.scope(user="ana").query("What happened on 1 March 2026?").items
    assert len(found) == 1


@pytest.mark.parametrize("at", [TOKYO, SEATTLE])
def test_the_first_and_the_last_day_of_all_years_are_no_stumbling_block(ana: BoundScope, at: str) -> None:
    ana.remember("Ana has a licence.", created_at=at, expires_at="9999-12-31T23:59:59Z")
    ana.remember("Ana has a boat.", created_at=at, valid_from="0001-01-01T00:00:00Z")
    observe(ana, "I moved to Kyoto on 0001-01-01, until 9999-12-31.", at)
    ana.extract_pending()
    assert "(until 31 Dec 9999)" in ana.context([{"role": "user", "content": "What licence does Ana have?"}]).text


def test_a_question_has_the_clock_of_the_person_whatever_the_assistant_tells() -> None:
    with Warden.open("memory://", config={"extraction": "off", "embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t")
        said = [
            ("user", "I ate sushi with my sister Clara.", "2026-03-01T07:00:00+09:00"),
            ("user", "Good morning, the harbour is foggy.", "2026-03-02T07:30:00+09:00"),
            ("assistant", "Good morning Ana, take a coat.", "2026-03-01T22:31:00Z"),
        ]
        me.observe([{"role": role, "content": text, "created_at": at} for role, text, at in said])
        assert "sushi" in me.query("What did I do yesterday?").items[0].text


def test_the_oldest_day_is_that_of_whoever_said_it() -> None:
    with Warden.open("memory://", config={"extraction": "off", "embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t")
        said = [
            ("I went swimming in the lake with my sister Clara.", "2025-12-31T20:00:00-08:00"),
            ("I bought a red bicycle for my brother Tom.", "2026-02-20T12:00:00-08:00"),
        ]
        me.observe([{"role": "user", "content": text, "created_at": at} for text, at in said])
        assert "swimming" in me.query("What did I do on 31 December?").items[0].text


def test_a_key_stands_for_the_same_moment_in_any_zone() -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        first = me.remember("I like tea", created_at="2026-03-02T07:30:00+09:00", key="k")
        again = me.remember("I like tea", created_at="2026-03-01T22:30:00+00:00", key="k")
        assert again.results[0].id == first.results[0].id


@pytest.mark.parametrize(
    ("said", "ended", "until"),
    [
        ("2025-03-11T09:00:00+00:00", "2025-08-31T00:00:00+01:00", "31 Aug 2025"),  # London
        ("2025-12-11T09:00:00-05:00", "2026-07-04T00:00:00-04:00", "4 Jul 2026"),  # New York
        ("2025-07-11T09:00:00+02:00", "2025-12-24T00:00:00+01:00", "24 Dec 2025"),  # Vienna
        ("2026-01-11T09:00:00+01:00", "2026-02-03T00:00:00+01:00", "3 Feb 2026"),
        ("2026-06-11T09:00:00+02:00", "2026-06-30T23:00:00+02:00", "30 Jun 2026"),
        ("2026-01-11T09:00:00+01:00", "2026-06-30T22:30:00+01:00", "30 Jun 2026"),
        ("2026-01-11T09:00:00+00:00", "9999-10-31T23:00:00+00:00", "1 Nov 9999"),
        ("2026-01-11T09:00:00+00:00", "9999-12-31T23:00:00+00:00", "31 Dec 9999"),
    ],
)
def test_what_ended_in_the_other_half_of_a_year_ended_on_the_day_that_was_said(
    said: str, ended: str, until: str
) -> None:
    at = datetime.fromisoformat(said)
    offset = at.utcoffset()
    assert offset is not None
    memory = a_memory(
        "plan",
        created_at=at.astimezone(UTC),
        valid_to=datetime.fromisoformat(ended).astimezone(UTC),
        utc_offset=int(offset.total_seconds() // 60),
    )
    assert until_of(memory) == f" (until {until})"


async def test_a_page_tells_the_days_of_what_is_true_by_the_speakers_clock() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        me = warden.scope(user="ana")
        written = await me.remember(
            "Ana shares a flat with Bea.",
            created_at="2025-11-17T09:00:00+01:00",
            valid_from="2025-11-16T00:00:00+01:00",
            expires_at="2099-07-01T00:00:00+02:00",
        )
        async with calling(warden, OPEN) as client:
            page = await client.get("/ui/memory", params={"user": "ana", "id": written.results[0].id})
            of_list = await client.get("/ui/memories", params={"user": "ana"})
    assert re.findall(r">(2[0-9-]{9})</time>", page.text) == ["2099-07-01", "2025-11-16", "2099-07-01"]
    assert ">2099-07-01</time>" in of_list.text


def test_a_message_from_the_future_counts_as_said_now_and_leads_no_later_one(ana: BoundScope) -> None:
    told = {"role": "user", "content": "I live in Bern, right by the river."}
    ahead = [{**told, "created_at": "2031-05-01T10:00:00Z"}]
    stored = ana.observe(ahead)
    assert "2031-05-01T10:00:00+00:00 lies ahead" in stored.results[0].reason
    assert stored.undated == 1
    assert ana.get(str(stored.results[0].id)).created_at < datetime.now(UTC) + timedelta(minutes=1)
    assert ana.observe(ahead).results[0].id == stored.results[0].id
    observe(ana, "I live in Basel now.", datetime.now(UTC).isoformat())
    assert "Basel" in ana.query("Where do I live?").items[0].text
    assert "lies ahead" in ana.remember("Ana has a kite.", created_at="2031-05-01T10:00:00Z").results[0].reason


def test_local_time_without_an_offset_is_believed(ana: BoundScope) -> None:
    tokyo = datetime.now(UTC).replace(tzinfo=None, microsecond=0) + timedelta(hours=9)
    stored = ana.observe([{"role": "user", "content": "I live in Kyoto.", "created_at": tokyo.isoformat()}])
    assert ana.get(str(stored.results[0].id)).created_at == tokyo.replace(tzinfo=UTC)
