"""Questions of a message: what is cut off around them, what stays with them, and how many they are."""

from __future__ import annotations

import pytest

from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.recall.clauses import divide_message, split_clauses


@pytest.fixture(scope="module")
def encoder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


FRAMED = [
    ("Hey! Sorry to be a pest: where is my passport? They need it at the desk. Cheers!", "where is my passport?"),
    ("Long day again, I am exhausted. What is the name of my sister's dog?", "What is the name of my sister's dog?"),
    ("WHERE IS MY PASSPORT?", "where is my passport?"),
    ("Servus, kurze Frage zwischendurch: wie heißt mein Zahnarzt? Danke dir!", "wie heißt mein Zahnarzt?"),
    ("Es regnet seit Stunden. Sag mal, wann hat meine Mutter Geburtstag?", "wann hat meine Mutter Geburtstag?"),
    ("¡Buenas! Una cosita rápida: ¿cómo se llama mi dentista? ¡Gracias!", "¿cómo se llama mi dentista?"),
    ("Coucou, une petite chose : comment s'appelle mon dentiste ? Mille mercis !", "comment s'appelle mon dentiste ?"),
    ("お疲れさま、ちょっと確認なんだけど、私の歯医者の名前は何だっけ？ 助かります。", "私の歯医者の名前は何だっけ？"),
    ("哈喽，打扰一下，我的牙医叫什么名字？多谢啦！", "我的牙医叫什么名字？"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "question"), FRAMED)
def test_frames_around_a_question_are_cut_off(message: str, question: str, encoder: MultilingualEmbedder) -> None:
    assert divide_message(message, encoder.embed) == (question,)


def test_a_question_keeps_the_statement_that_it_needs(encoder: MultilingualEmbedder) -> None:
    for message in (
        "My sister visits. What does she not eat?",
        "Meine Schwester kommt am Samstag. Was isst sie nicht?",
        "I am cooking for Nadja tonight. Which allergies should I know about?",
    ):
        assert divide_message(message, encoder.embed) == (message,)


@pytest.mark.parametrize(
    "message",
    [
        "my shins are back. what did you tell me to do?",
        "The boiler is leaking. Who do I call?",
        "Meine Schienbeine tun wieder weh. Was hast du mir geraten?",
        "Der Kessel tropft. Wen ruf ich an?",
        "La caldera gotea. ¿A quién llamo?",
        "La chaudière fuit. J'appelle qui ?",
        "給湯器が水漏れしてる。誰に電話する？",
        "锅炉漏水了。我该找谁？",
    ],
)
def test_a_question_of_few_words_keeps_the_statement_before_it(message: str, encoder: MultilingualEmbedder) -> None:
    (text,) = divide_message(message, encoder.embed)
    assert text.replace(" ", "") == message.replace(" ", "")


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Hi! My train is late. Where does Ana live?", "Where does Ana live?"),
        ("I'm at the shop. What size are his shoes?", "What size are his shoes?"),
        ("Ich bin im Laden. Welche Schuhgröße hat Jonas?", "Welche Schuhgröße hat Jonas?"),
    ],
)
def test_a_question_that_names_its_subject_keeps_no_reason(
    message: str, question: str, encoder: MultilingualEmbedder
) -> None:
    assert divide_message(message, encoder.embed) == (question,)


def test_each_of_two_questions_is_found(encoder: MultilingualEmbedder) -> None:
    message = "Where do I keep my passport? And who is my dentist?"
    assert divide_message(message, encoder.embed) == ("Where do I keep my passport?", "And who is my dentist?")
    about = divide_message("Where does my sister work? And when does she start in the morning?", encoder.embed)
    assert about == ("Where does my sister work?", "sister: And when does she start in the morning?")


def test_what_is_no_question_alone_stays_with_the_question_before(encoder: MultilingualEmbedder) -> None:
    message = "Do you remember my blue passport cover? Where is it?"
    assert divide_message(message, encoder.embed) == (message,)


@pytest.mark.parametrize(
    "message",
    [
        "I moved to Porto in May.",
        "I moved to Porto, and my sister stayed in Leipzig.",
        "Plan a weekend in Lisbon for us",
        "Thanks!",
        "",
        "?",
        "NASA?",
        "Hi, thanks, bye!",
        "x, " * 500,
    ],
)
def test_a_message_without_a_question_loses_nothing(message: str, encoder: MultilingualEmbedder) -> None:
    assert divide_message(message, encoder.embed) == (message,)
    assert divide_message(message, None) == (message,)


def test_without_a_model_greetings_and_thanks_are_known_by_their_words() -> None:
    assert divide_message("Hello! Where is my passport? Thanks!", None) == ("Where is my passport?",)


def test_clauses_are_places_of_the_message() -> None:
    message = "well, I paid 1,200 euros: was that right? 也许，不是"
    assert [message[clause.start : clause.end].strip() for clause in split_clauses(message)] == [
        clause.text for clause in split_clauses(message)
    ]
    assert "I paid 1,200 euros:" in [clause.text for clause in split_clauses(message)]


@pytest.mark.parametrize(
    "message",
    [
        "which dose of the pill I take at night is right",
        "which gig am I doing in the evenings at the moment",
        "what was the recipe I told you about last week",
        "which restaurant in Lisbon did Ana and I find nice",
        "The hotel in Rome was super. Where was it exactly?",
    ],
)
def test_a_plain_question_stays_whole(message: str, encoder: MultilingualEmbedder) -> None:
    assert divide_message(message, encoder.embed) == (message,)


def test_thanks_without_punctuation_are_cut_off(encoder: MultilingualEmbedder) -> None:
    for message in ("which card is the debt sitting on thx", "wann ist heute Abend der Chor danke dir"):
        (question,) = divide_message(message, encoder.embed)
        assert question in message[:-3]


@pytest.mark.parametrize("question", ["how much is the rent of the garage", "which card is the debt on"])
def test_a_reason_without_punctuation_is_cut_off(question: str, encoder: MultilingualEmbedder) -> None:
    message = f"hey, quick question: {question} I need it for a form that I am filling in right now, thanks!"
    assert divide_message(message, encoder.embed) == (question,)
