"""What typed statements find worth keeping is kept in its own words; a later value ends an earlier one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.remember.extract.rules.dating import appointed_end
from memwarden.remember.extract.rules.quotations import quote_told
from memwarden.statements.statement import clauses_of
from memwarden.surfaces.cli.main import run
from memwarden.testing.examples import a_memory

DEFAULTS = {"embedder": "auto"}
AT = "2026-03-04T12:00:00Z"


def observed(*said: str, **more: Any) -> list[Any]:
    """The facts of what a user said, each answered, with extraction on and everything else at its default."""
    with Warden.open("memory://", {**DEFAULTS, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t")
        for text in said:
            me.observe([{"role": "user", "content": text, "created_at": AT, **more}])
            me.observe([{"role": "assistant", "content": "Noted.", "created_at": AT}])
        me.extract_pending()
        return list(me.find({"channel": "semantic"}))


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        (
            "Ich wohne seit Mai mit meiner Schwester in Kassel, die Miete ist 640 Euro.",
            'user, 2026-03-04: "Ich wohne seit Mai mit meiner Schwester in Kassel, die Miete ist 640 Euro."',
        ),
        (
            "Tengo alergia a las gambas y a los cacahuetes desde pequeño.",
            'user, 2026-03-04: "Tengo alergia a las gambas y a los cacahuetes desde pequeño."',
        ),
        (
            "私は横浜の病院で看護師として働いています。",
            'user, 2026-03-04: "私は横浜の病院で看護師として働いています。"',
        ),
        (
            "my job is at the harbour, I repair outboard engines for a living",
            'The user, 4 March 2026: "my job is at the harbour, I repair outboard engines for a living"',
        ),
        (
            "Could you check the weather? my job is at the harbour, I repair outboard engines for a living.",
            'The user, 4 March 2026: "my job is at the harbour, I repair outboard engines for a living."',
        ),
    ],
)
def test_what_somebody_says_of_their_life_is_kept_with_the_speaker_and_the_day(said: str, quoted: str) -> None:
    (fact,) = observed(said)
    assert fact.text == quoted
    assert fact.valid_from == datetime(2026, 3, 4, 12, tzinfo=UTC)
    assert fact.valid_to is None


def test_whoever_has_a_name_is_quoted_by_it() -> None:
    (fact,) = observed("my job is at the harbour, I repair outboard engines for a living", name="Ana")
    assert fact.text == 'Ana, 4 March 2026: "my job is at the harbour, I repair outboard engines for a living"'


@pytest.mark.parametrize(
    "said",
    [
        "Is my job at the harbour, or do I repair outboard engines for a living?",
        "Write a short story: my name is Captain Rudd, I live on a whale and I am allergic to krill.",
        "If I won the lottery I'd move to Porto and buy a boat there.",
        "lol imagine me as a vegan, I'd starve in a week",
        '"Dear Mr Rudd, your rent rises to 900 euros a month from June and is due on the first."',
        "> I live in Kassel with my sister and the rent is 640 euros",
        "You are now a pirate. My job is to sail the harbour, I repair outboard engines for a living.",
        "ok, cool, that sounds good to me",
        "rent 640",
    ],
)
def test_questions_tasks_fiction_jokes_pasted_texts_and_fragments_are_not_the_person(said: str) -> None:
    assert observed(said) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Vivo en Sevilla desde 2021.",
            "Me he mudado a Cádiz, ahora vivo solo y pago 500 euros.",
        ),
    ],
)
def test_what_is_said_of_a_later_value_ends_the_earlier(old: str, new: str) -> None:
    with Warden.open("memory://", {**DEFAULTS, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t")
        for day, text in (("2026-03-04", old), ("2026-05-04", new)):
            me.observe([{"role": "user", "content": text, "created_at": f"{day}T12:00:00Z"}])
            me.observe([{"role": "assistant", "content": "Noted.", "created_at": f"{day}T12:01:00Z"}])
        me.extract_pending()
        (still,) = me.find({"channel": "semantic"})
        (over,) = me.find({"channel": "semantic", "valid_to": {"$gte": "0001-01-02T00:00:00Z"}})
    assert new in still.text
    assert old in over.text
    assert over.valid_to == datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "said",
    [
        "I hate coriander.",
        "I drive a Skoda Fabia.",
        "I owe Ben £300",
        "my sister's birthday is on 3 October",
        "Ich wohne in Bremen.",
        "J'habite à Lyon.",
        "大阪に住んでいます。",
        "我住在成都",
    ],
)
def test_a_few_plain_words_are_kept_as_well(said: str) -> None:
    (fact,) = observed(said)
    assert said in fact.text


def in_turn(*said: tuple[str, str]) -> tuple[list[Any], list[Any]]:
    """What is open and what is over after a talk of (day, words), with extraction on."""
    with Warden.open("memory://", {**DEFAULTS, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t")
        for day, text in said:
            me.observe([{"role": "user", "content": text, "created_at": f"{day}T12:00:00Z"}])
        me.extract_pending()
        over = me.find({"channel": "semantic", "valid_to": {"$gte": "0001-01-02T00:00:00Z"}})
        return list(me.find({"channel": "semantic"})), list(over)


def test_a_change_that_names_its_day_ends_the_old_value_on_that_day() -> None:
    (new,), (old,) = in_turn(
        ("2023-03-02", "Ich wohne in Bremen."), ("2026-03-02", "Im Mai 2024 bin ich nach Leipzig umgezogen.")
    )
    assert "Leipzig" in new.text
    assert new.valid_from == datetime(2024, 5, 1, tzinfo=UTC)
    assert "Bremen" in old.text
    assert old.valid_to == datetime(2024, 5, 1, tzinfo=UTC)


def test_what_holds_until_a_day_ends_after_it() -> None:
    (fact,) = in_turn(("2026-03-02", "Ich wohne noch bis 9. Juni in Bremen, die Miete ist 640 Euro."))[1]
    assert fact.valid_to == datetime(2026, 6, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "If you need me, my new number is 079 555 12 12.",
        "If you ever need to reach us: our landline is 044 123 45 67.",
        "If anyone wonders, I'm vegan now.",
        "I'm supposed to take 5 mg of Ramipril every morning.",
        "I'm not supposed to eat grapefruit.",
    ],
)
def test_what_is_stated_behind_words_of_doubt_is_quoted(text: str) -> None:
    assert [text in item.text for item in quote_told(a_memory("turn", role="user", text=text))] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "If you need me, I would come.",
        "If you want me to, I will move to Bern.",
        "If you want to visit, I might be in Rome.",
        "If you want, imagine I live in Rome.",
        "If you get the job, we move to Bern.",
        "It's supposed to rain tomorrow.",
        "I was supposed to take 5 mg.",
    ],
)
def test_what_is_only_supposed_is_not_quoted(text: str) -> None:
    assert quote_told(a_memory("turn", role="user", text=text)) == []


def test_the_last_day_of_all_years_ends_nothing() -> None:
    (item,) = quote_told(a_memory("turn", role="user", text="My passport is valid until 9999-12-31."))
    assert item.valid_to is None


@pytest.mark.parametrize(
    ("words", "last"),
    [
        ("the dentist is on 19 March", "2026-03-19"),
        ("Sandra se marie le 4 juillet avec Paul", "2026-07-04"),
        ("OP ist am 14. April in der Augenklinik", "2026-04-14"),
        ("el examen es el 16 de noviembre", "2026-11-16"),
        ("退院は4月25日ごろらしい", "2026-04-25"),
        ("18. bis 25. April an den Gardasee", "2026-04-25"),
        ("v2 keeps running until 30 November, then it answers 410", "2026-11-30"),
        ("wedding 20 june so it has to be ready 18th june", "2026-06-20"),
        # Each part has a tense of its own.
        ("the registrar was double booked, it's 25 march now", "2026-03-25"),
        ("isn't tomorrow obviously, pushed it to 9 june", "2026-06-09"),
        ("je suis en arrêt jusqu'au 8 avril", "2026-04-08"),
        ("Priya's getting married 24 October", "2026-10-24"),
        # What begins goes on, and what comes again does so too.
        ("new rent from 1 April, 640 euros", None),
        ("Ab 1. April 640 Euro Miete", None),
        ("elle attaque le 5 avril chez Morvan", None),
        ("desde el 3 de abril trabajo en Sagunto", None),
        ("4月1日から新しい職場", None),
        ("从4月1日起房租五千", None),
        ("moving to lisbon, 1 july", None),
        ("wir ziehen am 16. mai nach leipzig um", None),
        ("4月21日に大阪へ引っ越します", None),
        ("je commence mon alternance le 20 avril à Nantes", None),
        ("my nephew turns 6 on Apr 17", None),
        ("los martes tengo cerámica, la próxima es el 8 de abril", None),
        ("my birthday is on 3 July", None),
        ("Geburtstag am 3. Juli", None),
        # Health and numbers hold beside any day.
        ("I am allergic to nuts, tell the caterer before 14 April", None),
        ("Ich hab eine Erdnussallergie, das Restaurant am 14. April muss das wissen", None),
        ("mon fils est allergique aux noix, pique-nique le 14 avril", None),
        ("my phone number is 0664 123456, call me before 14 April", None),
        # A weekday may mean each of them, a month is no appointment, and what was is over by itself.
        ("Wednesdays shut, and Friday too", None),
        ("rent goes out on the 1st", None),
        ("baby due in july", None),
        ("we met on 3 February", None),
        ("I live in Bergen", None),
    ],
)
def test_what_is_over_after_a_day_to_come_ends_then(words: str, last: str | None) -> None:
    assert str(appointed_end(words, datetime(2026, 3, 4, 12, tzinfo=UTC))) == str(last)


def test_a_post_of_somebody_else_in_quotation_marks_is_not_kept() -> None:
    post = "うちの猫は腎臓病で、療法食を食べなくなったので手作りの白身魚とかぼちゃに変えました。輸液は週2で自宅。"
    kept = in_turn(("2026-03-02", f"掲示板でみつけた。\n「{post}」"), ("2026-03-03", post))[0]
    assert [fact.since.day for fact in kept] == [3]


def test_an_appointment_told_again_is_one() -> None:
    said = "Der Augenarzt ist Dr. Lindner, die OP ist am 14. April."
    over = in_turn(("2026-03-02", said), ("2026-03-05", said), ("2026-03-09", said))[1]
    ends = sorted(fact.valid_to.date() for fact in over if fact.valid_to)
    assert ends == [date(2026, 4, 15)]


@pytest.mark.parametrize("words", ["he is going on 5 March", "moved the exam to 5 March", "krank bis 5. März"])
def test_the_last_year_of_all_has_no_year_after_it(words: str) -> None:
    assert appointed_end(words, datetime(9999, 12, 20, tzinfo=UTC)) is None


def test_many_opening_marks_are_looked_through_at_once() -> None:
    marks = "「あ" * 700
    kept = in_turn(("2026-03-02", marks), ("2026-03-02", "My dentist is Dr Huber, her practice is in Graz."))[0]
    assert [fact.text.endswith('in Graz."') for fact in kept] == [True]


def test_an_appointment_is_over_after_its_day() -> None:
    (fact,) = in_turn(("2026-03-02", "Der Augenarzt ist Dr. Lindner, die OP ist am 14. April."))[1]
    assert fact.valid_to == datetime(2026, 4, 15, tzinfo=UTC)


def test_an_appointment_ends_what_it_changes() -> None:
    over = in_turn(
        ("2026-03-02", "Ich fahre einen alten Polo in der Stadt."),
        ("2026-04-02", "Ich hab den Polo verkauft, die Übergabe ist am 30. April."),
    )[1]
    assert {fact.since.date(): fact.valid_to and fact.valid_to.date() for fact in over} == {
        date(2026, 3, 2): date(2026, 4, 2),
        date(2026, 4, 2): date(2026, 5, 1),
    }


def test_an_answer_shows_the_turn_and_not_its_quotation() -> None:
    said = "Ich arbeite seit drei Jahren als Krankenpfleger im Nordklinikum in Kassel."
    with Warden.open("memory://", {**DEFAULTS, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t")
        (turn,) = me.observe([{"role": "user", "content": said, "created_at": AT}]).results
        me.extract_pending()
        (fact,) = me.find({"channel": "semantic"})
        assert fact.tags == ("quotation",)
        assert [item.id for item in me.query("Wo arbeite ich?").items] == [turn.id]
        assert [item.id for item in me.query("Wo arbeite ich?", filters={"channel": "semantic"}).items] == [fact.id]
        corrected = "Ana arbeitet als Krankenpflegerin im Nordklinikum in Kassel."
        me.update(fact.id, text=corrected)
        assert me.find({"channel": "semantic"})[0].tags == ()
        assert corrected in [item.memory.text for item in me.query("Wo arbeite ich?").items]


def test_a_quotation_that_was_ended_by_mistake_does_not_hide_its_turn() -> None:
    said = "Ich arbeite seit drei Jahren als Krankenpfleger im Nordklinikum in Kassel."
    with Warden.open("memory://", {**DEFAULTS, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t")
        (turn,) = me.observe([{"role": "user", "content": said, "created_at": AT}]).results
        me.extract_pending()
        (fact,) = me.find({"channel": "semantic"})
        me.update(fact.id, valid_to="2026-03-05T00:00:00Z")
        assert turn.id in [item.id for item in me.query("Wo arbeite ich?").items]


def test_name_and_city_that_were_said_just_now_wait_for_the_person() -> None:
    with Warden.open("memory://", {**DEFAULTS, "extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="t")
        me.observe([{"role": "user", "content": "Ich heiße Mira und wohne seit Mai in Kassel bei meiner Schwester."}])
        me.observe([{"role": "assistant", "content": "Noted."}])
        me.extract_pending()
        assert list(me.find({"channel": "semantic"})) == []
        assert me.consent.user_context().preferred_name is None
        assert me.consent.user_context().city is None
        assert {item.field for item in me.consent.proposals()} >= {"preferred_name"}


def test_every_conversation_of_an_import_is_looked_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'import.db'}"
    said = {"t2": "I am allergic to walnuts and hazelnuts.", "t1": "I work as a nurse at St Mary's hospital in Porto."}
    with Warden.open(url, DEFAULTS) as warden:
        for thread, text in said.items():
            warden.scope(user="me", thread=thread).observe([{"role": "user", "content": text}])
    assert run(["thread", "look-through", "--all", "--user", "me", "--db", url, "--embedder", "auto"]) == 0
    with Warden.open(url, DEFAULTS) as warden:
        texts = [fact.text for fact in warden.scope(user="me").find({"channel": ["semantic", "episodic"]})]
    assert any("nurse" in text for text in texts)
    assert any("walnuts" in text for text in texts)
    assert run(["thread", "look-through", "--user", "me", "--db", url]) == 2
    assert "--all" in capsys.readouterr().err


def test_of_a_quotation_only_the_words_state_something() -> None:
    (clause,) = clauses_of('Ana, 4 March 2026: "I repair outboard engines"')
    assert clause.text == "I repair outboard engines"
    assert clause.start == 20


def remembered(old: str, new: str) -> str:
    """What became of a statement beside an older one."""
    with Warden.open("memory://", DEFAULTS) as warden:
        me = warden.scope(user="ana")
        me.remember(old, created_at="2026-01-05T12:00:00Z")
        return str(me.remember(new, created_at="2026-03-05T12:00:00Z").results[0].outcome)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My dentist is Dr. Okafor on Mill Lane.", "Changed dentists last week, I see Dr. Lind now."),
        ("Vivo con Teresa en un piso de Triana.", "Me he mudado a Cádiz, dejé el piso de Triana el domingo."),
    ],
)
def test_words_of_a_change_end_the_old_value(old: str, new: str) -> None:
    assert remembered(old, new) == "superseded"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Jonas's birthday is on 3 March.", "Joana's birthday is on 3 April now."),
        ("My father is in room 12 of the clinic.", "I changed my room at the hotel, I'm in 14 now."),
        ("I drink two coffees every morning.", "I quit smoking last month."),
        ("We want to adopt a dog one day.", "My neighbour got a dog yesterday."),
        ("I drive a red Skoda.", "My sister bought a blue Fiat."),
        ("We're thinking about Malta next summer.", "We were in Malta in 2019."),
    ],
)
def test_a_change_of_something_else_ends_nothing(old: str, new: str) -> None:
    assert remembered(old, new) == "created"
