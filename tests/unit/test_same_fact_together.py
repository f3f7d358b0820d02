"""Facts that are true at once: none takes the place of another, whichever was said first."""

from __future__ import annotations

import pytest

from memwarden.remember.resolve.same_fact import judge, sign_text

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

ONE_AT_A_TIME = [
    ("Otto lives in apartment 12.", "Otto lives in apartment 14."),
    ("Bea is in grade 4.", "Bea is in grade 5."),
    ("The service listens on port 80.", "The service listens on port 81."),
    ("Bea has 4 bees.", "Bea has 3 bees."),
    ("The hall has 12 rooms.", "The hall has 13 rooms."),
    ("Otto weighs 80 kg.", "Otto weighs 82 kg."),
    ("Bea's bank is Nordea.", "Bea's bank is Postbank."),
    ("Otto is on the basic plan.", "Otto is on the family plan."),
    ("Bea's bike is red.", "Bea's bike is blue now."),
    ("Bea is engaged to Otto.", "Bea is married to Otto."),
    ("Bea ist ledig.", "Bea ist jetzt verheiratet."),
    ("The status of Orion is open.", "The status of Orion is approved."),
]

TOLD = [
    # another place, work, value
    ("Otto lives in Graz.", "Otto moved to Linz last month.", "new value"),
    ("Otto lives in Graz.", "Otto has moved from Graz to Linz.", "replaced"),
    ("Bea works at Bosch.", "Bea joined Siemens.", "new value"),
    ("Bea works as a nurse.", "Bea works as a midwife.", "new value"),
    ("The server is in Frankfurt.", "The server was moved to Dublin.", "new value"),
    ("Otto's doctor is Dr. Rot.", "Otto changed his doctor to Dr. Blau.", "new value"),
    ("Otto is on the basic plan.", "Otto upgraded to the family plan.", "new value"),
    ("Bea is single.", "Bea got engaged to Otto.", "new value"),
    ("Bea is engaged to Otto.", "Bea married Otto.", "new value"),
    ("The API is written in Go.", "The API was rewritten in Rust.", "new value"),
    ("The project is called Atlas.", "The project was renamed to Orion.", "new value"),
    ("The cat is healthy.", "The cat turned out to be sick.", "new value"),
    # another day, another amount
    ("The call is on Monday.", "The call was pushed to Friday.", "number or day"),
    ("The call is on Monday.", "The call has been rescheduled to Friday.", "number or day"),
    ("The deadline is 3 May.", "The deadline was extended to 10 May.", "number or day"),
    ("The rent is 700 euros.", "The landlord raised the rent to 750 euros.", "number or day"),
    ("The timeout is 30 seconds.", "The timeout was lowered to 10 seconds.", "number or day"),
    ("The team has 5 members.", "The team grew to 7 members.", "number or day"),
    ("The team meets every week.", "The team meets every other week.", "number or day"),
    ("Otto is 31 years old.", "Otto turned 32.", "number or day"),
    ("Otto weighs 80 kg.", "Otto is down to 75 kg.", "number or day"),
    ("The app uses Node 18.", "The app was upgraded to Node 20.", "number or day"),
    # it names itself what is no longer so
    ("The team uses Slack.", "The team switched from Slack to Zulip.", "replaced"),
    ("The queue runs on Celery.", "We moved the queue off Celery and onto Dramatiq.", "replaced"),
    ("Otto drives a Volvo.", "Otto replaced the Volvo with a Kia.", "replaced"),
    ("Bea goes to work by bus.", "Bea bikes to work now instead of taking the bus.", "replaced"),
    ("Bea leads the choir.", "Otto took over the choir from Bea.", "replaced"),
    # an end
    ("Otto smokes.", "Otto gave up smoking.", "over"),
    ("Otto plays the cello.", "Otto stopped playing the cello.", "over"),
    ("Otto has a boat.", "Otto sold his boat.", "over"),
    ("Otto has a dog.", "Otto gave his dog away.", "over"),
    ("Bea works at Bosch.", "Bea quit her job at Bosch.", "over"),
    # languages
    ("Otto wohnt in Graz.", "Otto ist nach Linz gezogen.", "new value"),
    ("Der Termin ist am Montag.", "Der Termin wurde auf Freitag verschoben.", "number or day"),
    ("La reunión es el lunes.", "La reunión se aplazó al viernes.", "number or day"),
    ("Léa habite à Lyon.", "Léa a déménagé à Nantes.", "new value"),
]

NOT_TOLD = [
    ("Otto lives in Graz.", "Otto's brother moved to Linz."),
    ("Otto works at Bosch.", "Otto closed the Bosch account."),
    ("Otto likes his boat.", "Otto sold his boat."),
    ("Otto plays the cello.", "Otto stopped playing chess."),
    ("Otto uses Vim for code.", "Otto stopped using Vim for mail."),
    ("The call with Bea is on Monday.", "The call with Kai was moved to Friday."),
    ("The rent is 700 euros.", "The garage rent was raised to 80 euros."),
    ("Otto likes coffee.", "Otto drinks tea instead of coffee."),
    ("Otto's boss is Bea.", "Otto took over the shop from Bea."),
    ("Bea works at Bosch.", "Otto replaced Bea at the reception."),
    ("Otto is vegetarian.", "Otto married Bea."),
    ("The app uses Redis.", "The app was upgraded to Node 20."),
    ("Ticket 17 is due on Monday.", "Ticket 18 was moved to Friday."),
    ("Otto has the key.", "Otto lost his wallet."),
    ("Mina moved from Graz to Linz.", "Mina moved from Linz to Graz."),
]


@pytest.mark.parametrize(("old", "new", "rule"), TOLD)
def test_a_change_is_read_as_what_comes_after_it(old: str, new: str, rule: str) -> None:
    found = judge(old, new)
    assert (found.label, found.rule) == ("supersede", rule)


@pytest.mark.parametrize(("old", "new"), NOT_TOLD)
def test_a_change_of_something_else_changes_nothing(old: str, new: str) -> None:
    assert judge(old, new).label not in ("same", "supersede")


@pytest.mark.parametrize("kind", list(TOGETHER))
def test_facts_that_are_true_at_once_stay(kind: str) -> None:
    judged = [(judge(*pair), judge(*reversed(pair)), pair) for pair in TOGETHER[kind]]
    assert [item for item in judged if {"same", "supersede"} & {item[0].label, item[1].label}] == []


@pytest.mark.parametrize(("old", "new"), ONE_AT_A_TIME)
def test_what_has_one_value_at_a_time_gets_a_new_one(old: str, new: str) -> None:
    assert judge(old, new).label == "supersede"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Bea keeps bees in hive 3.", (("hive", "3"),)),
        ("Invoice #5 is open.", (("invoice", "5"),)),
        ("Bea sails the boat number 7.", (("boat", "7"),)),
        ("Bea bought Otto 5 apples.", ()),
        ("Bea weighs 70 kg.", ()),
        ("Bea lives in room 12.", ()),
        ("Room 12 is cold.", (("room", "12"),)),
    ],
)
def test_a_number_behind_a_noun_is_a_name(text: str, named: tuple[tuple[str, str], ...]) -> None:
    assert sign_text(text).named == named
