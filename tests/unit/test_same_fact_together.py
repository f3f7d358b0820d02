"""Facts that are true at once: none takes the place of another, whichever was said first."""

from __future__ import annotations

import pytest

from memwarden.remember.resolve.same_fact import judge

TOGETHER = {
    "one subject": (
        ("The owner of the web shop fears dogs.", "The owner of the web shop is called Kari."),
        ("Bea's doctor is Dr. Rot.", "Bea's skin test was moved to Friday."),
        ("Otto has run four marathons.", "Otto goes running every morning."),
        ("Otto trained Bea.", "Otto joined Bosch in 2018."),
        ("Otto turned 30 in 2024.", "Otto has a beard now."),
        ("Otto has a cat called Miso.", "Otto lives in Graz now."),
        ("Otto grew up in Graz.", "Otto's parents now live in Linz."),
        ("Otto likes films.", "Otto recently finished a painting."),
        ("Otto's boss is Bea.", "Otto's boss is a vegetarian."),
        ("Otto works at Bosch.", "Otto works at night."),
    ),
    "another thing is said of it": (
        ("Otto works nights.", "Otto works on Mondays."),
        ("Otto's car is red.", "Otto's car is a Fiat."),
        ("Otto's phone is a Pixel.", "Otto's phone number is 555 1234."),
        ("Otto wears a size 38 shoe.", "Otto wears a size M shirt."),
        ("Otto is a nurse.", "Otto became a nurse."),
        ("The meeting is at 9.", "The meeting is on Monday."),
        ("The gym is closed on Sundays.", "The gym is open on Mondays."),
        ("Some tests are slow.", "Most tests are fast."),
        ("Otto worked at a bakery before.", "Otto joined the union."),
        ("Beas Chef ist Herr Rot.", "Beas Chef ist streng."),
        ("Beas Auto ist blau.", "Beas Auto ist alt."),
        ("La voiture de Léa est rouge.", "La voiture de Léa est vieille."),
        ("El coche de Bea es rojo.", "El coche de Bea es viejo."),
    ),
    "another of many": (
        ("Otto is planning a party.", "Otto is planning a trip."),
        ("Otto prefers tea to coffee.", "Otto prefers window seats."),
        ("Building 7 has a cafe.", "Building 8 has a cafe."),
        ("Das Treffen mit Bea ist am Montag.", "Das Treffen mit Kai ist am Dienstag."),
        ("La réunion avec Paul est lundi.", "La réunion avec Anne est mardi."),
        ("The project uses library alpha.", "The project uses library beta."),
        ("The user plays the drums.", "The user used to play the guitar."),
        ("Bea sails the red boat.", "Bea sails the green boat."),
        ("Bea likes the old boat.", "Bea likes the new boat."),
        ("Bea has a work phone.", "Bea has a private phone."),
        ("The model was pre-trained on German text.", "The model was fine-tuned on German text."),
        ("The call with Rot is on Monday.", "The call with Blau is on Monday."),
        ("The invoice for April is overdue.", "The invoice for August is overdue."),
    ),
    "a number that is a name": (
        ("Ana sails the boat number 7.", "Ana sails the boat number 8."),
        ("Ana sails the boat 12.", "Ana sails the boat 13."),
        ("Fact 3 about cats.", "Fact 4 about cats."),
        ("User likes item 12", "User likes item 13"),
        ("Ana keeps bees in hive 3.", "Ana keeps bees in hive 4."),
        ("Ana went to concert number 3 in Oslo.", "Ana went to concert number 4 in Oslo."),
        ("Ana paid invoice 5.", "Ana paid invoice 6."),
        ("Invoice 6 was paid on time by the bakery.", "Invoice 7 was paid on time by the bakery."),
        ("Ana paid invoice #5.", "Ana paid invoice #6."),
        ("Ana closed ticket AB-12.", "Ana closed ticket AB-13."),
        ("Room 3 is cold.", "Room 4 is warm."),
        ("Flight 12 leaves at nine.", "Flight 13 leaves at ten."),
        ("Ana took bus 5.", "Ana took bus 6."),
        ("Hive 0 swarmed 3 times.", "Hive 1 swarmed 3 times."),
        ("The rack 4 overheated.", "The rack 5 overheated."),
        ("Rechnung 5 ist bezahlt.", "Rechnung 6 ist bezahlt."),
        ("La salle 204 est froide.", "La salle 205 est froide."),
        ("La consulta 1 es para gatos.", "La consulta 2 es para gatos."),
    ),
    "it happened twice": (
        ("Bea met Otto on Monday.", "Bea met Otto on Friday."),
        ("Bea visited Rome in 2019.", "Bea visited Rome in 2021."),
        ("Bea bought 3 apples.", "Bea bought 4 apples."),
        ("Bea plays chess on Mondays.", "Bea plays chess on Fridays."),
        ("Bea runs 5 km on Mondays.", "Bea runs 10 km on Fridays."),
        ("Bea worked at Bosch.", "Bea works at Siemens."),
    ),
    "something else is denied": (
        ("Bea's cat is not vaccinated.", "Bea's cat is healthy."),
        ("Bea doesn't drink coffee.", "Bea drinks tea."),
        ("Bea is allergic to nuts.", "Bea is not allergic to milk."),
        ("Bea cannot swim.", "Bea can dance."),
    ),
}

NOT_TOLD = [
    ("Otto lives in Graz.", "Otto's brother moved to Linz."),
    ("Otto works at Bosch.", "Otto closed the Bosch account."),
    ("Otto plays the cello.", "Otto stopped playing chess."),
    ("Otto uses Vim for code.", "Otto stopped using Vim for mail."),
    ("The call with Bea is on Monday.", "The call with Kai was moved to Friday."),
    ("Otto likes coffee.", "Otto drinks tea instead of coffee."),
    ("Otto's boss is Bea.", "Otto took over the shop from Bea."),
    ("Bea works at Bosch.", "Otto replaced Bea at the reception."),
    ("Otto is vegetarian.", "Otto married Bea."),
    ("The app uses Redis.", "The app was upgraded to Node 20."),
    ("Ticket 17 is due on Monday.", "Ticket 18 was moved to Friday."),
    ("Otto has the key.", "Otto lost his wallet."),
    ("Mina moved from Graz to Linz.", "Mina moved from Linz to Graz."),
]


@pytest.mark.parametrize(("old", "new"), NOT_TOLD)
def test_a_change_of_something_else_changes_nothing(old: str, new: str) -> None:
    assert judge(old, new).label not in ("same", "supersede")


@pytest.mark.parametrize("kind", list(TOGETHER))
def test_facts_that_are_true_at_once_stay(kind: str) -> None:
    judged = [(judge(*pair), judge(*reversed(pair)), pair) for pair in TOGETHER[kind]]
    assert [item for item in judged if {"same", "supersede"} & {item[0].label, item[1].label}] == []
