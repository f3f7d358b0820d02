"""Addresses as homes: which address replaces another, whom a street is not, and a relative who moves."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memwarden import Warden
from memwarden.remember.resolve.same_fact import judge
from memwarden.statements.homes import tells_home
from memwarden.statements.reader import CommonWords, load_weights
from memwarden.statements.wording import subjects_of
from memwarden.text.streets import find_houses, find_streets


@pytest.mark.parametrize(
    ("text", "house"),
    [
        ("I live at 31 Fern Street in Saltaire", "31 Fern Street"),
        ("I live at 14 Pelham Row in Leeds", "14 Pelham Row"),
        ("ich wohne in der Hauptstraße 5 in Köln", "Hauptstraße 5"),
        ("vivo en la calle Mayor 5 en Sevilla", "calle Mayor 5"),
        ("j'habite au 12 rue des Lilas à Nantes", "12 rue des Lilas"),
        ("abito in via Roma 12 a Bari", "via Roma 12"),
        ("ik woon in de Kerkstraat 12 in Delft", "Kerkstraat 12"),
        ("живу на улице Ленина 5", "улице Ленина 5"),
        ("港区芝公園4丁目2番地に住んでいます", "港区芝公園4丁目2番地"),
        ("我住在南京路100号", "南京路100号"),
        ("My address is 31 Fern Street", "31 Fern Street"),
        ("Our address is 31 Fern Street", "31 Fern Street"),
        ("I am Ana and I now live at 31 Fern Street", "31 Fern Street"),
        ("My sister Orla lives at 9 Cliff Road", "9 Cliff Road"),
        ("Heike wohnt in der Hauptstraße 5", "Hauptstraße 5"),
        ("Mijn adres is Kerkstraat 12 in Delft", "Kerkstraat 12"),
        ("私の住所は港区芝公園4丁目2番地です", "港区芝公園4丁目2番地"),
    ],
)
def test_an_address_is_found_and_is_a_home(text: str, house: str) -> None:
    assert [each.text for each in find_houses(text)] == [house]
    assert tells_home(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't live at 14 Pelham Row",
        "I would like to live at 14 Pelham Row",
        "The bakery at 14 Pelham Row is good",
        "ich wohne nicht mehr in der Hauptstraße 5",
        "I live with 3 cats in Leeds",
        "The dentist's address is 31 Fern Street",
        "Our office address is 14 Pelham Row",
        "Delivery address is 31 Fern Street",
        "I live in Leeds; the office is at 31 Fern Street",
        "I live in Leeds and work at 31 Fern Street",
        "My client lives at 31 Fern Street",
        "My client's living at 31 Fern Street",
        "Die Adresse der Praxis ist Hauptstraße 5",
        "Mein Kunde wohnt in der Hauptstraße 5",
        "L'indirizzo del medico è via Roma 12",
        "我的客户的地址是南京路100号",
        "我住在北京，办公室在南京路100号",
        "お店の住所は港区芝公園4丁目2番地です",
    ],
)
def test_an_address_in_a_wish_or_a_denial_or_of_others_is_no_home(text: str) -> None:
    assert not tells_home(text)


@pytest.mark.parametrize(
    "text",
    [
        "Anna Hill drove 20 km on the way",
        "I live in Rome during 2025",
        "We live in Leeds and are hiring 3 cooks",
        "I live in Rome since Spring 2024",
        "Ich lebe seit Spring 2024 in Rom",
        "Ich bin auf dem weg 3 Mal gestürzt",
    ],
)
def test_a_surname_a_year_and_a_measure_are_no_streets(text: str) -> None:
    assert not find_streets(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Freya lives at 14 Pelham Row in Leeds", "Freya lives at 31 Fern Street in Saltaire"),
        ("I live at 14 Pelham Row", "I live at 31 Fern Street"),
        ("My address is 14 Pelham Row, Leeds", "My address is 31 Fern Street, Saltaire"),
        ("My parents live at 14 Pelham Row", "My parents live at 31 Fern Street"),
        ("My sister Orla lives at 9 Cliff Road", "My sister Orla lives at 31 Fern Street"),
        ("ich wohne in der Hauptstraße 5 in Köln", "ich wohne in der Lindenstraße 12 in Bonn"),
        ("vivo en la calle Mayor 5 en Sevilla", "vivo en la calle Betis 12 en Cádiz"),
        ("j'habite au 12 rue des Lilas à Nantes", "j'habite au 3 rue Pasteur à Lyon"),
        ("我住在南京路100号", "我住在长江路20号"),
        ("我妈妈住在南京路100号", "我妈妈住在长江路20号"),
        ("私は港区芝公園4丁目2番地に住んでいます", "私は中央区銀座3丁目5番地に住んでいます"),
        ("my sister Orla lives in Whitby", "Orla has moved to Scarborough"),
        ("meine Schwester Heike wohnt in Jena", "Heike ist nach Weimar gezogen"),
        ("mi hermana Lucía vive en Cádiz", "Lucía se ha mudado a Granada"),
        ("ma sœur Élodie habite à Lyon", "Élodie a déménagé à Nantes"),
    ],
)
def test_a_new_home_ends_the_former_one(old: str, new: str) -> None:
    assert judge(old, new).label == "supersede"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live at 31 Fern Street in Saltaire", "I also live at 14 Pelham Row in Leeds"),
        ("I live at 31 Fern Street in Saltaire", "I live at 14 Pelham Row during the week"),
        ("I work at 9 Cliff Road", "I work at 31 Fern Street"),
        ("I lived at 9 Cliff Road", "I lived at 31 Fern Street"),
        ("ich wohnte in der Hauptstraße 5", "ich wohnte in der Lindenstraße 12"),
        ("My friend lives at 9 Cliff Road", "My friend lives at 31 Fern Street"),
        ("My sister Orla lives at 9 Cliff Road", "I live at 31 Fern Street"),
        ("my brother Tom lives in Hull", "Tom Baker moved to Leeds"),
        ("My cousin lives at 9 Cliff Road", "My cousin lives at 31 Fern Street"),
        ("Mein Nachbar wohnt in der Hauptstraße 5", "Mein Nachbar wohnt in der Hauptstraße 7"),
        ("Mi vecino vive en la calle Mayor 5", "Mi vecino vive en la calle Mayor 7"),
        ("Mon voisin habite au 12 rue Pasteur", "Mon voisin habite au 14 rue Pasteur"),
        ("A customer's address is 3 Fern Street", "A customer's address is 9 Cliff Road"),
        ("A customer's address is 3 Fern Street", "A customer's address is 5 Fern Street"),
        ("One patient lives at 3 Fern Street", "One patient lives at 9 Cliff Road"),
        ("My student lives at 3 Fern Street", "My student lives at 9 Cliff Road"),
        ("My client lives at 3 Fern Street", "My client lives at 9 Cliff Road"),
        ("My wife's client lives at 3 Fern Street", "My wife's client lives at 9 Cliff Road"),
        ("My teacher lives at 3 Fern Street", "My teacher lives at 9 Cliff Road"),
        ("My grandmother lives at 3 Fern Street", "My grandmother lives at 9 Cliff Road"),
        ("My aunt Orla lives at 3 Fern Street", "My aunt lives at 9 Cliff Road"),
        ("The plumber lives at 3 Fern Street", "The plumber lives at 9 Cliff Road"),
        ("A customer's phone number is 555 1234", "A customer's phone number is 555 9999"),
        ("Ein Kunde hat die Telefonnummer 5551234", "Ein Kunde hat die Telefonnummer 5559999"),
        ("My teacher's phone number is 555 1234", "My teacher's phone number is 555 9999"),
        ("My grandmother's phone number is 5551234", "My grandmother's phone number is 5559999"),
        ("My sibling's rent is 500", "My sibling's rent is 600"),
        ("The venue address is 3 Fern Street", "The venue address is 9 Cliff Road"),
        ("Delivery address is 3 Fern Street", "Delivery address is 9 Cliff Road"),
        ("Ein Kunde wohnt in der Lindenstrasse 5", "Ein Kunde wohnt in der Bergstrasse 7"),
        ("Mein Kunde wohnt in der Lindenstrasse 5", "Mein Kunde wohnt in der Bergstrasse 7"),
        ("Mi cliente vive en la calle Mayor 5", "Mi cliente vive en la calle Betis 7"),
        ("我的客户住在南京路100号", "我的客户住在长江路20号"),
        ("お客様は港区芝公園4丁目2番地に住んでいます", "お客様は中央区銀座3丁目5番地に住んでいます"),
        ("I live in Rome during 2025", "I live in Rome during 2026"),
        ("Orla lives in Whitby", "My sister Orla has moved to Scarborough"),
        ("my sister Orla lives in Whitby", "Orla's boss has moved to Scarborough"),
        ("my sister Orla lives in Whitby", "my friend Orla has moved to Scarborough"),
        ("my sister Orla lives in Whitby", "Anna has moved to Scarborough"),
        ("my sister Orla and my brother Tom live in Whitby", "Orla has moved to Scarborough"),
        ("my sister Orla lives in Whitby", "Orla moved to the sales team"),
        ("meine Schwester Heike wohnt in Jena", "Anna ist nach Weimar gezogen"),
        ("ich wohne in Jena", "Heike ist nach Weimar gezogen"),
        ("mi hermana Lucía vive en Cádiz", "Lucía quiere mudarse a Granada"),
        ("ma sœur Élodie habite à Lyon", "Claire a déménagé à Nantes"),
    ],
)
def test_another_value_that_may_be_true_too_stays(old: str, new: str) -> None:
    assert judge(old, new).label != "supersede"


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("31 Fern Street it is, the lease is signed", ("self",)),
        ("the new Kalkhoff arrived", ("self",)),
        ("el viejo Seat se rompió", ("self",)),
        ("la vieille Kangoo est vendue", ("self",)),
        ("la vecchia Panda è rotta", ("self",)),
        ("Heike ist nach Weimar gezogen", ("name:heike",)),
        ("Jetzt wohnt Heike in Weimar", ("name:heike",)),
        ("Wo wohnt Heike?", ("name:heike",)),
        ("Heike arbeitet in Teilzeit", ("name:heike",)),
        ("Mein Sohn mag Fußball", ("relation:son",)),
        ("Meine Tochter arbeitet Montag", ("relation:daughter",)),
        ("Montag arbeitet mein Mann", ("relation:husband",)),
        ("Wer arbeitet Montag?", ("self",)),
        ("Wer isst Fleisch?", ("self",)),
        ("Milch trinkt niemand", ("self",)),
        ("Samstag arbeitet niemand", ("self",)),
        ("Kaffee trinkt mein Mann", ("relation:husband",)),
        ("Miete ist gestiegen", ("self",)),
        ("Niemand wohnt hier", ("self",)),
        ("Mia lives in Leeds", ("name:mia",)),
        ("Ella is allergic to nuts", ("name:ella",)),
        ("Mia wohnt in Jena", ("name:mia",)),
        ("Mi hermana Mia vive en Lugo", ("name:mia", "relation:sister")),
        ("Ma sœur Mia habite à Lyon", ("name:mia", "relation:sister")),
        ("Ella vive en Cádiz", ("third",)),
        ("La mia casa è a Bari", ("self",)),
    ],
)
def test_a_street_and_a_thing_are_nobody_and_the_doer_of_a_verb_is_somebody(
    text: str, subjects: tuple[str, ...]
) -> None:
    assert subjects_of(text, common=CommonWords(load_weights().common)) == subjects


def test_of_two_addresses_written_out_of_order_the_later_is_of_now(tmp_path: Path) -> None:
    with Warden.open(f"sqlite:///{tmp_path}/notes.db", {"embedder": "auto"}) as warden:
        freya = warden.scope(user="freya")
        for text, year in (("I live at 31 Fern Street in Saltaire", 2025), ("I live at 14 Pelham Row in Leeds", 2023)):
            freya.remember(text, valid_from=datetime(year, 6, 1, tzinfo=UTC))
        assert [item.text for item in freya.query("Where do I live?").items] == [
            "[activity] I live at 31 Fern Street in Saltaire"
        ]
        past = freya.query("Where did I live?", as_of=datetime(2024, 1, 1, tzinfo=UTC)).items
        assert [item.text for item in past] == ["[activity] I live at 14 Pelham Row in Leeds (until 1 Jun 2025)"]


@pytest.mark.parametrize("newer_first", [True, False])
@pytest.mark.parametrize(
    ("older", "newer", "now", "past"),
    [
        ("My manager was Tom", "My manager is Ida", "Who is my manager?", None),
        (
            "Freya wohnt im Pfarrhaus in Leeds",
            "Freya wohnt in der alten Mühle in Saltaire",
            "Wo wohnt Freya?",
            "Wo wohnte Freya früher?",
        ),
        (
            "Freya vive en la rectoría de Cádiz",
            "Freya vive en el molino viejo de Lugo",
            "¿Dónde vive Freya?",
            "¿Dónde vivía Freya antes?",
        ),
        (
            "Freya habite au presbytère de Lyon",
            "Freya habite au vieux moulin de Nantes",
            "Où habite Freya ?",
            "Où habitait Freya avant ?",
        ),
    ],
)
def test_of_two_open_values_with_their_beginnings_the_later_is_of_now(
    older: str, newer: str, now: str, past: str | None, newer_first: bool
) -> None:
    told = [(older, datetime(2023, 1, 1, tzinfo=UTC)), (newer, datetime(2025, 6, 1, tzinfo=UTC))]
    with Warden.open("memory://", {"embedder": "auto"}) as warden:
        me = warden.scope(user="ana")
        for text, since in reversed(told) if newer_first else told:
            me.remember(text, valid_from=since)
        assert newer in me.query(now).items[0].text
        assert past is None or older in me.query(past).items[0].text
