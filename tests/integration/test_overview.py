"""The overview of a person shows what is certain, and the statements of a memory, through the public API."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import InvalidInput, NotFound

SAID = [
    ("user", "I live in Tromsø, right by the bridge.", "2026-01-03T10:00:00Z"),
    ("user", "I am allergic to sesame.", "2026-01-04T10:00:00Z"),
    ("user", "My sister Ines works as a baker.", "2026-01-05T10:00:00Z"),
    ("assistant", "You take iron tablets every morning.", "2026-01-05T10:01:00Z"),
    ("user", "if I ever got rich I would live in Biarritz", "2026-01-06T10:00:00Z"),
    ("user", "I live in Oslo in my dreams, do I not?", "2026-01-07T10:00:00Z"),
    ("user", "I am allergic to penicillin.", "2026-02-04T10:00:00Z"),
    ("user", "We moved to Bergen and live in a small house there.", "2026-03-03T10:00:00Z"),
]


@pytest.fixture(scope="module")
def me() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "wordllama+multilingual"}) as warden:
        me: Any = warden.scope(user="nora", thread="t")
        messages = [
            {"role": role, "content": text, "created_at": at, "id": str(n)} for n, (role, text, at) in enumerate(SAID)
        ]
        wrote = me.observe(messages)
        deadline = time.monotonic() + 300
        while not me.statements(wrote.results[-1].id) and time.monotonic() < deadline:
            time.sleep(0.05)
        me.ids = [result.id for result in wrote.results]  # by the place of the message
        yield me


def by_topic(overview: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in overview.lines:
        found.setdefault(line.attribute, []).append(line.value)
    return found


def tell(*said: str, **settings: str) -> Any:
    warden = Warden.open("memory://", {"embedder": "auto", **settings})
    scope: Any = warden.scope(user="nora", thread="t")
    for text in said:
        scope.observe([{"role": "user", "content": text}])
    return warden, scope


def test_lines_quote_word_for_word_by_topic_and_the_newest_home_stands(me: Any) -> None:
    assert by_topic(me.overview()) == {
        "health": ["I am allergic to penicillin.", "I am allergic to sesame."],
        "home": ["We moved to Bergen and live in a small house there."],
        "family": ["My sister Ines works as a baker."],
    }


def test_each_line_names_its_source_and_day_and_the_budget_holds(me: Any) -> None:
    whole = me.overview(budget_tokens=300)
    assert set(whole.sources) == {me.ids[n] for n in (1, 2, 6, 7)}
    days = {f"{line.said_at:%Y-%m-%d}" for line in whole.lines}
    assert days == {"2026-01-04", "2026-01-05", "2026-02-04", "2026-03-03"}
    small = me.overview(budget_tokens=20)
    assert 0 < small.tokens <= 20
    assert len(small.lines) == 1


def test_what_was_stated_for_good_comes_first_and_stands_for_anybody() -> None:
    warden, scope = tell("I am allergic to celery.")
    with warden:
        kept = scope.remember("Ana lives in Vienna now.").results[0].id
        assert [line.value for line in scope.overview().lines] == [
            "Ana lives in Vienna now.",
            "I am allergic to celery.",
        ]
        assert scope.overview("Ana").sources == (kept,)
        assert not scope.overview("Solveig")


SHOWN_LINES = "I live in Bern. My bike code is 4711. I'm allergic to walnuts."


def test_a_line_of_a_turn_is_corrected_in_one_step_and_one_undo_restores_everything() -> None:
    warden, scope = tell(SHOWN_LINES, "The weather is fine.")
    with warden:
        before, shown = scope.find(limit=50), scope.overview().text
        line = next(line for line in scope.overview().lines if "Bern" in line.value)
        corrected = scope.update(line.source, text="I live in Basel.", quote=line.value)
        assert {line.value for line in scope.overview().lines} == {
            "I live in Basel.",
            "My bike code is 4711.",
            "I'm allergic to walnuts.",
        }
        assert "Basel" in scope.query("Where do I live?").items[0].text
        assert "4711" in scope.query("What is my bike code?").items[0].text
        assert scope.get(line.source).text == SHOWN_LINES
        scope.journal.undo(corrected.rev)
        as_it_was = {(item.id, item.text, item.valid_to, item.tags) for item in before}
        assert {(item.id, item.text, item.valid_to, item.tags) for item in scope.find(limit=50)} == as_it_was
        assert scope.overview().text == shown


def test_a_correction_answers_the_present_and_the_past_and_its_turn_neither() -> None:
    warden, scope = tell("I live in Bern.")
    with warden:
        scope.update(scope.find(limit=1)[0].id, text="I live in Basel.")
        for asked in ("Where do I live?", "Where did I live before?"):
            assert [item.text.rpartition(": ")[2] for item in scope.query(asked).items] == ["I live in Basel."]


def test_a_correction_names_words_of_its_memory() -> None:
    warden, scope = tell("I live in Bern.")
    with warden:
        turn = scope.find(limit=1)[0].id
        for refused in ({"text": "Basel", "quote": "Zug"}, {"quote": "Bern"}, {"text": "Thanks!"}):
            with pytest.raises(InvalidInput):
                scope.update(turn, **refused)
        fact = scope.remember("Ana lives in Bern with two dogs.").results[0].id
        scope.update(fact, text="Basel", quote="Bern")
        assert scope.get(fact).text == "Ana lives in Basel with two dogs."


def test_a_rejected_line_does_not_come_back_when_it_is_observed_again() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="olaf", thread="t")
        said = [{"role": "user", "content": "I am allergic to bees.", "id": "m1", "created_at": "2026-01-04T10:00:00Z"}]
        scope.observe(said)
        (line,) = scope.overview().lines
        scope.forget(line.source)
        assert not scope.overview()
        scope.observe(said)
        scope.observe([*said, {"role": "assistant", "content": "Noted.", "id": "m2"}])
        assert not scope.overview()


def test_a_corrected_line_shows_the_correction() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="olaf")
        kept = scope.remember("Olaf is allergic to bees.").results[0].id
        scope.update(kept, text="Olaf is allergic to wasps.")
        assert [line.value for line in scope.overview().lines] == ["Olaf is allergic to wasps."]


def test_a_past_event_is_left_out() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="olaf")
        scope.remember("Olaf had an operation on 4 May 2020.", channel="episodic", created_at="2020-05-04")
        assert not scope.overview()


@pytest.mark.parametrize(
    ("said", "value"),
    [
        (["I work at Hollis as a bookkeeper.", "I quit my job at Hollis."], None),
        (["Vivo en Sevilla desde siempre.", "Nos hemos mudado a Valencia."], "Nos hemos mudado a Valencia."),
        (["仙台に住んでいます。", "札幌に引っ越しました。"], "札幌に引っ越しました。"),
        (["Ich wohne in Goslar am Markt.", "Ich bin nach Kassel gezogen."], "Ich bin nach Kassel gezogen."),
    ],
)
def test_a_value_that_is_over_is_not_shown(said: list[str], value: str | None) -> None:
    warden, scope = tell(*said)
    with warden:
        assert {line.value for line in scope.overview().lines} == ({value} if value else set())


def test_an_index_card_or_a_quotation_is_no_line_beside_the_turn_that_it_stands_for() -> None:
    warden, scope = tell("I'm allergic to nuts, all of them as far as anyone knows.", extraction="every_turn")
    with warden:
        scope.observe([{"role": "assistant", "content": "Understood."}])
        scope.extract_pending()
        (line,) = scope.overview(budget_tokens=2_000).lines
        assert scope.get(line.source).channel == "turn"


def test_what_a_memory_states(me: Any) -> None:
    (found,) = me.statements(me.ids[2])
    assert (found.attribute, found.subject) == ("job", "name:ines+relation:sister")
    assert me.statements(me.ids[4]) == ()
    with pytest.raises(NotFound):
        me.statements("nothing")
    with pytest.raises(InvalidInput):
        me.overview(budget_tokens=0)


# What each sentence may be read as. Anything else is worse than nothing.
STATED: dict[str, set[str]] = {
    "Mag keine Oliven.": {"dislikes", "disliked food", "food dislike", "food that is disliked"},
    "Brauche neue Winterreifen für unser Auto.": {"tyres", "car tyres"},
    "Zahnarzt am 3. Mai um 9 Uhr.": {"next dentist appointment", "next medical appointment"},
    "Miete steigt auf 900 Euro.": {"rent"},
    "Heizung kaputt, Vermieter kommt Montag.": {"landlord's visit"},
    "Don't like olives.": {"dislikes", "disliked food", "food dislike", "food that is disliked"},
}


@pytest.mark.parametrize("text", STATED)
def test_a_short_note_states_the_right_value_or_none(text: str) -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="nora")
        kept = scope.remember(text).results[0].id
        assert {found.attribute for found in scope.statements(kept)} - STATED[text] == set()


def test_an_overview_of_a_relative_or_a_speaker_quotes_what_names_them() -> None:
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        scope: Any = warden.scope(user="nora", thread="t")
        said = [
            ("Nora", "My sister Ines works as a baker."),
            ("Nora", "I am allergic to celery."),
            ("Tom", "I'm allergic to lemons."),
        ]
        scope.observe([{"role": "user", "name": name, "content": text} for name, text in said])
        for about in ("Ines", "ines", "sister"):
            assert [line.value for line in scope.overview(about).lines] == ["My sister Ines works as a baker."]
        assert [line.value for line in scope.overview("Tom").lines] == ["I'm allergic to lemons."]
        for about in ("Solveig", "In"):
            assert not scope.overview(about)


def test_an_overview_of_a_relative_leaves_out_what_a_later_turn_without_the_name_takes_back() -> None:
    warden, scope = tell("My wife Ines is great.", "We divorced.")
    with warden:
        assert not scope.overview("Ines")


def test_an_overview_of_a_relative_in_a_script_without_spaces() -> None:
    warden, scope = tell("我姐姐住在上海。")
    with warden:
        assert [line.value for line in scope.overview("姐姐").lines] == ["我姐姐住在上海。"]


def test_a_turn_that_ends_has_no_line_and_answers_the_past() -> None:
    warden, scope = tell("I work at Brookside Vets as a nurse.")
    with warden:
        (line,) = scope.overview().lines
        scope.update(line.source, valid_to=line.said_at)
        assert not scope.overview()
        scope.remember("I work at Hyde Park Vets.")
        assert [line.value for line in scope.overview().lines] == ["I work at Hyde Park Vets."]
        assert line.source in [item.id for item in scope.query("Where did I work before?").items]


@pytest.mark.parametrize(
    "said",
    [
        "I relocated to the couch.",
        "we moved to the other table",
        "Nos hemos mudado a la terraza.",
        "I got promoted to Gold in Overwatch.",
        "I only speak when spoken to.",
        "Solo hablo cuando me hablan.",
        "Parlo solo quando mi parlano.",
        "About me: nothing special",
        "Über mich: nichts Besonderes",
        "Sobre mí: nada especial",
        "Over mij: niets bijzonders",
        "Lucía se mudó a Granada por trabajo en una escuela.",
        "Lucía tiene nuevo trabajo en Granada.",
        "Mia sorella si è trasferita a Torino per lavoro in banca.",
        "Minha irmã se mudou para o Porto por trabalho na Sonae.",
    ],
)
def test_no_line_of_a_spot_a_game_a_phrase_or_the_work_of_another(said: str) -> None:
    warden, scope = tell(said)
    with warden:
        assert not scope.overview().lines


@pytest.mark.parametrize(
    "said",
    [
        "I relocated to Leeds.",
        "I got promoted to team lead.",
        "I only speak French.",
        "About me: I restore old radios.",
        "Actualmente trabajo en una escuela.",
        "Tengo un trabajo en Granada.",
        "Me he mudado a Granada por trabajo.",
        "Lavoro in banca con mia sorella.",
        "Il mio medico si chiama Rossi.",
        "Il mio colore preferito è il verde.",
        "Con mi hermana vivo en Cádiz.",
        "Con mia sorella abito a Bari.",
        "Com a minha irmã moro em Braga.",
        "Z siostrą mieszkam w Krakowie.",
        "Trabalho na Sonae.",
        "My hazelnut allergy is a pain at parties.",
        "Wegen meiner Nussallergie backe ich selbst.",
        "Mi alergia al polen es terca.",
        "Mon allergie aux noix est forte.",
    ],
)
def test_what_looks_like_it_and_is_of_the_speaker_stays(said: str) -> None:
    warden, scope = tell(said)
    with warden:
        assert [line.value for line in scope.overview().lines] == [said]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Mi prima Marisol vive en Sevilla.", "Marisol vive en Cádiz desde mayo."),
        ("Mi prima Marisol vive en Sevilla.", "Marisol se fue a vivir a Cádiz."),
        ("Mi prima Marisol vive en Sevilla.", "Mi prima se ha mudado a Cádiz."),
        ("My sister Orla lives in Whitby.", "Orla lives in Leeds."),
        ("My sister Orla lives in Whitby.", "My sister lives in Leeds since May."),
        ("Meine Schwester Heike wohnt in Jena.", "Heike wohnt in Weimar."),
        ("Ma sœur Élodie habite à Lyon.", "Élodie habite à Nantes."),
    ],
)
def test_the_former_home_of_a_relative_is_no_line(earlier: str, later: str) -> None:
    warden, scope = tell(earlier, later)
    with warden:
        assert earlier not in {line.value for line in scope.overview().lines}


@pytest.mark.parametrize(
    "home",
    [
        "I live in Welwyn Garden City.",
        "I moved to Covent Garden.",
        "I live in a garden flat in Leeds.",
        "I moved to the second floor.",
        "Vivo en La Mesa.",
        "Vivo en una casa con jardín en Lugo.",
        "J'habite à Salon-de-Provence.",
        "Abito a Giardini Naxos.",
    ],
)
def test_a_place_with_the_name_of_a_room_is_a_home(home: str) -> None:
    warden, scope = tell(home)
    with warden:
        assert [line.value for line in scope.overview().lines] == [home]


def test_the_homes_of_two_relatives_and_a_home_before_a_move_to_a_couch_stay() -> None:
    said = ("My sister Orla lives in Whitby.", "My sister Ida lives in Leeds.", "I live in York.")
    warden, scope = tell(*said, "I moved to the couch.")
    with warden:
        assert {line.value for line in scope.overview().lines} == set(said)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("I have a dog. Cats are evil.", "I have a dog."),
        ("I have a dog. The weather is awful.", "I have a dog."),
        ("I have a dog. He's called Rex.", "I have a dog. He's called Rex."),
        ("We have a car. A blue Yaris.", "We have a car. A blue Yaris."),
        (
            "We have a car. Yaris, 2015, blue. Tove named it Ida.",
            "We have a car. Yaris, 2015, blue. Tove named it Ida.",
        ),
        ("Ich habe einen Hund. Katzen sind böse.", "Ich habe einen Hund."),
        ("Tengo un perro. Los gatos son malos.", "Tengo un perro."),
        ("J'ai un chien. Les chats sont méchants.", "J'ai un chien."),
    ],
)
def test_only_what_describes_a_pet_or_thing_is_quoted_with_it(said: str, line: str) -> None:
    warden, scope = tell(said)
    with warden:
        assert [each.value for each in scope.overview().lines] == [line]


@pytest.mark.parametrize(
    "said",
    [
        "I went to the allergy clinic, the results came this morning: it's ONLY hazelnuts.",
        "Mein Allergietest ist da, Ergebnis: nur Haselnüsse.",
        "Mi prueba de alergia ha salido positiva a las nueces.",
        "Mon test d'allergie est revenu, résultats : seulement les noisettes.",
    ],
)
def test_the_result_of_an_allergy_test_takes_the_place_of_the_allergy(said: str) -> None:
    before = {"I": "I'm allergic to all nuts.", "Me": "Ich bin allergisch gegen alle Nüsse."}
    warden, scope = tell(before.get(said[:2].strip(), "Je suis allergique aux noix."), said)
    with warden:
        assert said in {line.value for line in scope.overview().lines}


@pytest.mark.parametrize(
    "said",
    [
        "I'm waiting for the results of my allergy test.",
        "The results of my allergy test come next week.",
        "My sister's allergy test came back: only nuts.",
        "Ich warte auf das Ergebnis vom Allergietest.",
        "Espero los resultados de mi prueba de alergia.",
    ],
)
def test_a_result_that_is_awaited_or_of_another_is_no_line(said: str) -> None:
    warden, scope = tell(said)
    with warden:
        assert not scope.overview().lines


@pytest.mark.parametrize(
    ("said", "hidden"),
    [
        ("I work at Monzo now.", True),
        ("I also work at a bakery now.", False),
        ("I work at Monzo.", False),
    ],
)
def test_a_turn_that_names_the_job_of_now_hides_a_remembered_job(said: str, hidden: bool) -> None:
    warden, scope = tell()
    with warden:
        scope.remember("I work at Barclays.", created_at="2026-01-05T12:00:00Z")
        scope.observe([{"role": "user", "content": said, "created_at": "2026-03-05T12:00:00Z"}])
        assert ("I work at Barclays." not in [line.value for line in scope.overview().lines]) is hidden
