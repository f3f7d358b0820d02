"""Relatives and pets are read with their names, and nobody else's; written before the patterns read them."""

from datetime import UTC, datetime

import pytest

from memwarden.recall.answer.overview import Line, choose_lines
from memwarden.records import Channel, Memory, Namespace
from memwarden.statements.named_relatives import find_named_relatives

SAID_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)


def _choose(*texts: str) -> list[Line]:
    """Lines of an overview of texts that were said a day after each other."""
    turns = [
        Memory(
            id=str(place), namespace=Namespace("default", "user/ann"), text=text,
            created_at=SAID_AT.replace(day=5 + place), updated_at=SAID_AT, channel=Channel.TURN, role="user",
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    return choose_lines(turns, SAID_AT.replace(month=6), None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Shall I invite my brother Owen to the launch?", "my brother Owen"),
        ("Took our dog Biscuit to the beach", "our dog Biscuit"),
        ("Had lunch with Marta, my niece.", "Marta, my niece"),
        ("my little sister Bronwyn broke the kettle", "my little sister Bronwyn"),
        ("Should my husband, Idris, sign too?", "my husband, Idris"),
        ("¿Qué le regalo a mi hijo Tomás?", "mi hijo Tomás"),
        ("Ayer vino Lucía, mi cuñada.", "Lucía, mi cuñada"),
        ("nuestra gata Nube no come", "nuestra gata Nube"),
        ("Ma sœur Camille arrive vendredi", "Ma sœur Camille"),
        ("J'ai appelé Hugo, mon frère.", "Hugo, mon frère"),
        ("Mia sorella Giulia parte domani", "Mia sorella Giulia"),
        ("Meu filho Caio tem prova", "Meu filho Caio"),
        ("Mijn zus Femke komt eten", "Mijn zus Femke"),
        ("my cousin Fergus is staying over", "my cousin Fergus"),
        ("¿Invito a mi tía Noemí?", "mi tía Noemí"),
        ("mon oncle Loïc passe ce soir", "mon oncle Loïc"),
        ("We saw Aldo, my uncle, on Sunday", "Aldo, my uncle"),
    ],
)
def test_words_that_name_a_relative_are_quoted_also_from_a_question(text: str, words: str) -> None:
    assert [relative.text for relative in find_named_relatives(text)] == [words]


@pytest.mark.parametrize(
    "text",
    [
        "My sister's friend Omar called",
        "Write me a story: my brother Owen is a pirate",
        "My brother Monday cannot come",
        "In the game my wife Serana died",
        'He said "my daughter Priya is ill"',
        "Owen, my boss, is late",
        "My mum and Owen went out",
        "your sister Ana called",
        "Tu hermana Lucía vino",
        "El hijo de Tomás",
        "Traduce: mi hermana Silvia vive aquí",
        "ta sœur Camille",
        "Mon roman : ma sœur Camille est une espionne",
        "weil meine Mutter Geburtstag hat",
        "娘のさくらが来た",
        "Yes, my sister. She will call.",
        "Hello, my brother!",
        "Certo, mia sorella.",
        "Sí, mi hermana, la de siempre",
        "Zeker, mijn vrouw.",
        "See you, Tom, my friend.",
        "My friend's cousin Omar called",
        "your friend Odalys called",
    ],
)
def test_others_stories_and_quotes_name_no_relative(text: str) -> None:
    assert find_named_relatives(text) == []


@pytest.mark.parametrize(
    ("texts", "quoted"),
    [
        (("Shall I call my sister Ana?", "my sister Ana is late"), ["my sister Ana"]),
        (("my sister Ana is late", "and my sister Bea, too"), ["my sister Bea", "my sister Ana"]),
        (("dinner with my girlfriend Ana", "a present for my girlfriend Bea?"), ["my girlfriend Bea"]),
        (("dinner with my girlfriend Ana", "we broke up last week"), []),
        (("took our dog Rex along", "Rex passed away"), []),
        (
            ("I went to see my dentist Dr. Weiss.", "I met my former dentist Dr. Kolb at the market."),
            ["my dentist Dr. Weiss"],
        ),
        (
            ("I went to see my dentist Dr. Weiss.", "Or should it be my dentist Dr. Kolb?"),
            ["my dentist Dr. Kolb", "my dentist Dr. Weiss"],
        ),
        (("took our dog Rex along", "we have a dog called Rex"), ["we have a dog called Rex"]),
    ],
)
def test_an_overview_shows_each_relative_once_and_leaves_out_who_is_gone(
    texts: tuple[str, ...], quoted: list[str]
) -> None:
    assert [line.words for line in _choose(*texts)] == quoted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("my dentist is Dr. Kolb, shall I ring?", "my dentist is Dr. Kolb"),
        ("Our new vet, Dr Zanella, wants to see her again", "Our new vet, Dr Zanella"),
        ("mon kiné c'est Mme Prat, elle m'avait montré un truc", "mon kiné c'est Mme Prat"),
        ("il nostro veterinario è il dottor Zanella, lo chiamo domani", "nostro veterinario è il dottor Zanella"),
        ("Mein Zahnarzt ist Dr. Weber", "Mein Zahnarzt ist Dr. Weber"),
        ("¿Llamo a mi casero don Vicente?", "mi casero don Vicente"),
    ],
)
def test_the_holder_of_a_post_with_a_title_is_quoted(text: str, words: str) -> None:
    assert [holder.text for holder in find_named_relatives(text)] == [words]


@pytest.mark.parametrize(
    "text",
    [
        "my sister's dentist is Dr. Kolb",
        "my dentist says Dr. Kolb retired",
        "my boss is Mr. Osei",
        "your dentist is Dr. Kolb",
        "my dentist and Dr. Kolb",
        # Patterns that ignore case take a dotless or dotted Turkish i for an i.
        "I paid my dentıst Dr. Kolb yesterday.",
        "my sıster Ana lives here",
        "my sİster Ana lives here",
        "I met my former dentist Dr. Kolb at the market.",
        "Our old landlord Mr. Pinto wrote.",
        "Should I book with my next dentist Dr. Kolb?",
        "Mein früherer Zahnarzt Dr. Kolb hat mich gegrüßt.",
        "Mein ehemaliger Vermieter ist Herr Pinto.",
        "J'ai vu mon ancien dentiste M. Prat, mon ex dentiste docteur Prat",
        "Vi a mi antiguo dentista don Vicente.",
        "Ho visto il mio vecchio dentista dottor Zanella.",
        "Mijn vorige tandarts dokter Smit is met pensioen.",
    ],
)
def test_no_holder_of_a_post_is_read_from_other_words(text: str) -> None:
    assert find_named_relatives(text) == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Is my dentist Dr. Kolb in today?", "my dentist is Dr. Weiss, who is great"),
        ("Is my dentist Dr. Kolb in today?", "I changed my dentist."),
        ("Is my dentist Dr. Kolb in today?", "Dr. Kolb retired last week"),
        ("Does our landlord Mr. Osei know?", "we moved in yesterday"),
    ],
)
def test_the_holder_of_a_post_ends_with_news_about_it(earlier: str, later: str) -> None:
    assert [line.words for line in _choose(earlier)] != []
    assert not any("Kolb" in line.words or "Osei" in line.words for line in _choose(earlier, later))
