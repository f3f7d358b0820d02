"""What several statements answer together shares the last place of a query: lists, the past, what a request needs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import pytest

from memwarden import Warden
from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.statements.reader import StatementReader, load_weights

CHATTER = (
    "The printer jammed again, I hate that thing.",
    "We watched the eclipse from the roof.",
    "My desk lamp finally broke.",
    "The bakery was closed this morning.",
    "Somebody painted the bus stop blue.",
    "I spilled tea over the keyboard.",
    "The tram was late, so I read a magazine.",
    "It rained into the cellar.",
)
CHATTER_IN = {
    "de": (
        "Der Drucker klemmt schon wieder.",
        "Wir haben die Sonnenfinsternis vom Dach aus gesehen.",
        "Meine Schreibtischlampe ist kaputt.",
        "Die Bäckerei hatte heute zu.",
        "Jemand hat die Haltestelle blau gestrichen.",
        "Ich habe Tee über die Tastatur gekippt.",
        "Die Bahn kam zu spät.",
        "Es hat in den Keller geregnet.",
    ),
    "es": (
        "La impresora se atascó otra vez.",
        "Vimos el eclipse desde el tejado.",
        "Se rompió la lámpara de mi escritorio.",
        "La panadería estaba cerrada.",
        "Alguien pintó la parada de azul.",
        "Derramé té en el teclado.",
        "El tranvía llegó tarde.",
        "Llovió en el sótano.",
    ),
    "fr": (
        "L'imprimante est encore bloquée.",
        "Nous avons regardé l'éclipse depuis le toit.",
        "Ma lampe de bureau est cassée.",
        "La boulangerie était fermée.",
        "Quelqu'un a peint l'arrêt de bus en bleu.",
        "J'ai renversé du thé sur le clavier.",
        "Le tram était en retard.",
        "Il a plu dans la cave.",
    ),
}
BOOKS = (
    "Finished reading Dune, what a ride.",
    "Now reading Middlemarch in the evenings.",
    "Started reading Beloved yesterday, it is heavy.",
    "Reading The Waves these days.",
    "I picked up Solaris from the library and read half of it.",
)


def remember(warden: Any, user: str, texts: Sequence[str]) -> Any:
    me = warden.scope(user=user, thread="talk")
    for number, text in enumerate(texts):
        day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}"
        me.observe([{"role": "user", "content": text, "created_at": day}])
    me.query("Where do I live?")  # waits until what was said is read
    return me


@pytest.fixture(scope="module")
def warden() -> Iterator[Any]:
    with Warden.open("memory://", {"embedder": "auto"}) as opened:
        yield opened


@pytest.fixture(scope="module")
def reader(warden: Any) -> Any:
    return remember(warden, "reader", [*CHATTER[:4], *BOOKS, *CHATTER[4:]])


def gathered(result: Any) -> Any:
    return next((item for item in result.items if item.id == "overview"), None)


def test_a_list_stands_in_three_places(reader: Any) -> None:
    result = reader.query("List all the books I have been reading.")
    assert len(result.items) <= 3
    assert all(title in result.text for title in ("Dune", "Middlemarch", "Beloved", "Waves", "Solaris"))


def test_what_is_gathered_names_its_sources_and_stands_newest_first(reader: Any) -> None:
    result = reader.query("List all the books I have been reading.")
    item = gathered(result)
    known = {memory.id: memory for memory in reader.find(limit=100)}
    sources = [known[source] for source in item.sources]
    assert len(sources) >= 2
    assert [memory.created_at for memory in sources] == sorted((m.created_at for m in sources), reverse=True)
    assert item.text == item.memory.text
    assert all(memory.text in item.text for memory in sources)
    assert {item.id for item in result.items if item.id != "overview"}.isdisjoint(item.sources)
    # All together bear on the question about as often as the answer is there: more often than the best of them.
    alone = {found.id: found.score for found in reader.query("List all the books I have been reading.", top_k=10).items}
    assert max(alone[source] for source in item.sources) + 0.05 < item.score <= result.confidence
    assert item.memory.trust == "person"
    assert item.why.note == "what several memories say of the question, which share a place"
    assert not {cut.id for cut in result.cut} & set(item.sources)


def test_confidence_counts_every_memory_that_shares_a_place(reader: Any) -> None:
    question = "List all the books I have been reading."
    shared, alone, single = (reader.query(question, top_k=most) for most in (3, 8, 1))
    assert len(shared.items) - 1 + len(gathered(shared).sources) >= 5
    assert single.confidence + 0.15 < shared.confidence
    assert shared.confidence == pytest.approx(alone.confidence, abs=0.08)


def test_what_is_gathered_is_trusted_as_its_least_line(warden: Any) -> None:
    me = remember(warden, "mixed", [*CHATTER[:4], BOOKS[0], *CHATTER[4:], BOOKS[4]])
    for text in BOOKS[1:4]:
        me.remember(text, trust="external", source="https://books.example/page")
    me.query("Where do I live?")
    item = gathered(me.query("List all the books I have been reading."))
    assert {me.get(source).trust for source in item.sources} >= {"person", "external"}, item.text
    assert item.memory.trust == "external"


def test_whether_something_is_so_gathers_nothing(warden: Any) -> None:
    me = warden.scope(user="car", thread="talk")
    said = [
        ("user", "The printer jammed again."),
        ("assistant", "Do you have a car?"),
        ("user", "No."),
        ("user", "My desk lamp broke."),
        ("user", "I have a red bike in the cellar."),
        ("user", "We watched the eclipse."),
        ("user", "I work as a nurse."),
    ]
    for number, (role, text) in enumerate(said):
        me.observe([{"role": role, "content": text, "created_at": f"2026-01-{1 + number:02}"}])
    me.query("Where do I live?")
    result = me.query("Do I have a car?")
    assert gathered(result) is None
    assert "nurse" not in result.text
    assert "eclipse" not in result.text


LISTS = [
    (
        "de",
        (
            "Ich habe Dune zu Ende gelesen, was für ein Ritt.",
            "Abends lese ich gerade Middlemarch.",
            "Gestern habe ich mit Beloved angefangen.",
            "Zurzeit lese ich Die Wellen.",
        ),
        "Welche Bücher habe ich alle gelesen?",
        ("Dune", "Middlemarch", "Beloved", "Wellen"),
    ),
    (
        "es",
        (
            "Terminé de leer Dune, qué viaje.",
            "Por las noches leo Middlemarch.",
            "Ayer empecé a leer Beloved.",
            "Estos días estoy leyendo Las olas.",
        ),
        "¿Qué libros he leído? Haz una lista de todos.",
        ("Dune", "Middlemarch", "Beloved", "olas"),
    ),
    (
        "fr",
        (
            "J'ai fini de lire Dune, quel voyage.",
            "Le soir je lis Middlemarch.",
            "Hier j'ai commencé à lire Beloved.",
            "Ces jours-ci je lis Les Vagues.",
        ),
        "Quels livres ai-je lus ? Fais-moi la liste de tous.",
        ("Dune", "Middlemarch", "Beloved", "Vagues"),
    ),
]


@pytest.mark.parametrize(("language", "said", "question", "titles"), LISTS, ids=[each[0] for each in LISTS])
def test_a_list_is_whole_in_other_languages(
    warden: Any, language: str, said: tuple[str, ...], question: str, titles: tuple[str, ...]
) -> None:
    me = remember(warden, f"books-{language}", [*CHATTER_IN[language][:4], *said, *CHATTER_IN[language][4:]])
    result = me.query(question)
    assert all(title in result.text for title in titles), result.text


def test_a_single_present_value_is_no_list(reader: Any) -> None:
    assert gathered(reader.query("Which book am I reading now?")) is None


@pytest.mark.parametrize(
    "chosen",
    [
        {"top_k": 1},
        {"top_k": 10},
        {"threshold": 0.2},
        {"filters": {"channel": "turn"}},
        {"categories": ["activity"]},
        {"as_of": "2026-06-01"},
        {"returns": "full"},
    ],
)
def test_whoever_chooses_gets_each_memory_by_itself(reader: Any, chosen: dict[str, Any]) -> None:
    assert gathered(reader.query("List all the books I have been reading.", **chosen)) is None


def test_what_is_related_to_an_item_stands_once(warden: Any) -> None:
    me = warden.scope(user="moves", thread="t")
    for text in ("I live in Braga.", "I lived in Porto until 2019.", "I used to live in Lyon.", "I live in Oslo now."):
        me.remember(text)
    me.query("Where did I live before?")  # tells what was written
    result = me.query("Where did I live before?")
    item = gathered(result)
    assert item is not None
    assert not {other.id for other in result.related} & set(item.sources)
    assert all(result.text.count(city) == 1 for city in ("Braga", "Porto", "Lyon", "Oslo")), result.text


def test_a_tool_names_the_memories_that_share_a_place(warden: Any, reader: Any) -> None:
    asked = {"query": "List all the books I have been reading."}
    found = warden.scope(user="reader", thread="other").tools().call_tool("searchMemories", asked)["results"]
    assert any(item["id"] == "overview" for item in found)
    known = {memory.id for memory in reader.find(limit=100)}
    named = [one for item in found for one in (item["sources"] if item["id"] == "overview" else [item["id"]])]
    assert set(named) <= known
    assert all("sources" not in item for item in found if item["id"] != "overview")


def test_the_budget_holds(reader: Any) -> None:
    for budget in (20, 60, 90, 150):
        result = reader.query("List all the books I have been reading.", budget_tokens=budget)
        assert result.tokens <= budget
        assert len(result.items) <= 3


def test_what_was_gathered_counts_as_shown(warden: Any) -> None:
    me = remember(warden, "changes", [*CHATTER[:4], *BOOKS, *CHATTER[4:]])
    here = warden.scope(user="changes", thread="other")
    item = gathered(here.query("List all the books I have been reading."))
    me.forget(item.sources[0])
    told = here.context("List all the books I have been reading.")
    assert told.delta is not None


NEEDS = [
    (
        "en",
        ("I'm allergic to walnuts.", "I've been a vegetarian for ten years.", "I can't stand coriander."),
        "What should I cook tonight?",
        ("walnuts", "vegetarian"),
    ),
    (
        "de",
        (
            "Ich bin allergisch gegen Walnüsse.",
            "Ich esse seit zehn Jahren kein Fleisch.",
            "Koriander mag ich gar nicht.",
        ),
        "Was soll ich heute Abend kochen?",
        ("Walnüsse", "Fleisch"),
    ),
    (
        "es",
        ("Soy alérgico a las nueces.", "Soy vegetariano desde hace diez años.", "No soporto el cilantro."),
        "¿Qué puedo cocinar esta noche?",
        ("nueces", "vegetariano"),
    ),
    (
        "fr",
        ("Je suis allergique aux noix.", "Je suis végétarien depuis dix ans.", "Je déteste la coriandre."),
        "Tu me proposes quoi à cuisiner ce soir ?",
        ("noix", "végétarien"),
    ),
    (
        "ja",
        ("くるみアレルギーがあります。", "十年前からベジタリアンです。", "パクチーは苦手です。"),
        "今夜の夕飯、何を作ればいい？",
        ("くるみ", "ベジタリアン"),
    ),
    ("zh", ("我对核桃过敏。", "我吃素十年了。", "我受不了香菜。"), "今晚做什么饭好？", ("核桃", "吃素")),
]


@pytest.mark.parametrize(("language", "said", "request_", "wanted"), NEEDS, ids=[each[0] for each in NEEDS])
def test_a_request_brings_what_it_needs(
    warden: Any, language: str, said: tuple[str, ...], request_: str, wanted: tuple[str, ...]
) -> None:
    me = remember(warden, f"cook-{language}", [said[0], *CHATTER[:3], said[1], *CHATTER[3:6], said[2], *CHATTER[6:]])
    found, block = me.query(request_), me.context(request_)
    assert all(word in found.text for word in wanted), found.text
    assert all(word in block.text for word in wanted), block.text


@pytest.fixture(scope="module")
def statements() -> StatementReader:
    return StatementReader(MultilingualEmbedder())


@pytest.mark.parametrize(("language", "said", "request_", "wanted"), NEEDS, ids=[each[0] for each in NEEDS])
def test_who_cooks_needs_allergies_and_diet(
    statements: StatementReader, language: str, said: tuple[str, ...], request_: str, wanted: tuple[str, ...]
) -> None:
    asked, names = statements.question(request_), statements.weights.attributes
    assert asked.is_request
    assert all(asked.attributes[names.index(name)] >= 0.3 for name in ("allergy", "diet", "disliked food"))
    plain = statements.question("What is my shoe size?")
    assert plain.attributes[names.index("allergy")] < 0.05


def test_every_needed_attribute_is_known() -> None:
    names = set(load_weights().attributes)
    read = tomllib.loads((files("memwarden.statements") / "needs.toml").read_text(encoding="utf-8"))
    listed = {name for topic in read.values() for side in ("topics", "needed") for name in topic[side]}
    assert listed <= names
