"""One tokeniser for every language, and what is known of a text when it is written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from memwarden.recall import question
from memwarden.text import flags, lexicon, question_words, small_talk, time_words, tokenizer


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("She loves running", "she loved to run"),
        ("Ana's allergies", "an allergy of ANA"),
        ("café", "Cafe"),
        ("naïve résumé", "naive resume"),
        ("1,250 kroner", "1250 kroner"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("Die Häuser sind nicht alt", "Das Haus ist nicht so groß wie der Turm"),
        ("Straße", "strasse"),
        ("mis hermanas viven en Lima", "mi hermana vive en Lima"),
        ("мои кошки спят", "моя кошка спит"),
    ],
)
def test_forms_of_one_word_share_a_term(text: str, other: str) -> None:
    assert set(tokenizer.terms(text)) & set(tokenizer.terms(other))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("私は京都に住んでいます", ["京都", "住"]),
        ("ケーキが好きです", ["ケーキ"]),
        ("りんごがすき", ["りん", "んご"]),
        ("我对花生过敏", ["花生", "过敏"]),
        ("ฉันแพ้ถั่วลิสง", ["ถั"]),
        ("저는 부산에 살아요", ["부산"]),
        ("Wir trinken 花茶 am Abend", ["花茶"]),
    ],
)
def test_scripts_without_spaces_give_pairs_of_characters(text: str, held: list[str]) -> None:
    found = tokenizer.terms(text)
    assert set(held) <= set(found)
    assert tokenizer.terms("犬の名前は何ですか？") == ["犬", "名前"]  # grammar is left out
    assert tokenizer.terms("你叫什么名字？") == ["叫", "名字"]


def test_addresses_are_found_whole_and_in_parts() -> None:
    found = tokenizer.terms("Write to ana.berg@example.org or see https://example.org/menu.")
    assert "ana.berg@example.org" in found
    assert "https://example.org/menu" in found
    assert {"ana", "berg"} <= set(found)


def test_question_words_are_stop_words_but_a_question_is_never_empty() -> None:
    assert tokenizer.terms("what when where who how why did does") == []
    assert question.question_terms("What does Ana like?", ["Ana"]) != []
    assert question.question_terms("Who is Ana?", ["Ana"]) == tokenizer.terms("Ana")


def test_a_name_of_a_partner_does_not_count_as_a_word_of_the_question() -> None:
    assert question.question_terms("What did Ana plant?", ["Ana", "Ben"]) == tokenizer.terms("plant")


def test_partners_become_pronouns_on_the_dense_side() -> None:
    assert (
        question.to_pronouns("What does Ana Berg think of Ana's dog?", ["Ana Berg"]) == "What does I think of my dog?"
    )
    assert question.to_pronouns("Is Anastasia here?", ["Ana"]) == "Is Anastasia here?"


def test_one_accented_function_word_tells_the_language_of_a_short_question() -> None:
    assert set(tokenizer.terms("¿Dónde trabajo?")) <= set(
        tokenizer.terms("Trabajo como enfermera en el hospital La Fe.")
    )


def test_the_words_of_a_question_are_shown_as_they_stand() -> None:
    for text, shown in (
        ("Whose favourite colours?", {"favourite", "colours"}),
        ("¿Dónde trabajo?", {"trabajo"}),
        ("犬の名前は？", {"犬", "名前"}),
    ):
        assert set(question.map_stems(text, question.question_terms(text, [])).values()) == shown


def test_term_ids_are_stable() -> None:
    # Stored in every row: another value here means that every store must be indexed anew.
    assert tokenizer.term_id("peanut") == 801184389
    assert tokenizer.term_id("花茶") == 126417254


@pytest.mark.parametrize("text", ["", " ", "!!!", "\u0000", "🙂🙃", "\ud83d", "\u200d\u200d", "'" * 50, "a" * 10_000])
def test_odd_texts_break_nothing(text: str) -> None:
    tokenizer.terms(text.encode("utf-8", "replace").decode("utf-8"))
    flags.flags(text.encode("utf-8", "replace").decode("utf-8"))


@pytest.mark.parametrize(
    "text", ["last week", "in May", "on 8 May 2023", "yesterday", "2022", "nächste Woche", "昨天", "at 9 pm"]
)
def test_time_words(text: str) -> None:
    assert time_words.has_time_word(f"We met {text} there")


@pytest.mark.parametrize("text", ["may I come in", "the second-hand van", "a marching band"])
def test_no_time_words(text: str) -> None:
    assert not time_words.has_time_word(text)


@pytest.mark.parametrize(
    "text", ["When did Ana move?", "What year was it?", "How long ago?", "Wann kommst du?", "什么时候?"]
)
def test_when_questions(text: str) -> None:
    assert question_words.asks_time(text)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("What happened on 8 May 2023?", [(2023, 5, 8)]),
        ("What happened on May 8th?", [(None, 5, 8)]),
        ("in June 2024", [(2024, 6, None)]),
        ("2023-05-08", [(2023, 5, 8)]),
        ("in 2022", [(2022, None, None)]),
        ("may I?", []),
        ("a nice march", []),
    ],
)
def test_dates_of_a_question(text: str, dates: list[question.Date]) -> None:
    assert question.find_dates(text) == dates


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "Thanks!",
        "ok",
        "lol",
        "hi there!",
        "good night",
        "👍👍",
        "",
        "haha nice",
        "thank you so much!",
        "danke",
        "谢谢",
        "saluuut ça va toi?",
        "gute nachttt",
        "哈哈谢谢你啦，晚安",
        "ciao bello, tutto bene?",
        "valeu demais, vc é fera",
        "haha, fijne dag nog",
        "youre a star, hows it going",
        "¿Qué tal? ¿Todo bien?",
        "t'es un ange, gros bisous",
        "Du bist die beste, schönes Wochenende!",
        "clever. thank you!",
        "Smart idea, thanks",
        "That's useful, thank you",
        "Tolle Idee, danke!",
        "Vielen Dank, sehr hilfreich",
        "Malin, merci !",
        "¡Qué buena idea, gracias!",
        "Ottima idea, grazie!",
        "Muito obrigada!",
        "Goed idee, bedankt!",
        "Отличная идея, спасибо!",
        "Dzięki, świetny pomysł!",
        "谢谢你，太聪明了",
        "ありがとう、助かる！",
    ],
)
def test_chatter(text: str) -> None:
    assert small_talk.is_chatter(text)


@pytest.mark.parametrize(
    "text",
    [
        "Peanuts, sadly.",
        "Two kids.",
        "the blue one",
        "Thanks, the code is 4417.",
        "In Bergen.",
        "花生过敏",
        "No dairy.",
        "谢谢你的猫叫什么",
        "AAA",
        "ooo",
        "Es mi prima.",
        "The top one.",
        "J'ai une oie.",
        "Você é o número 10.",
        "my night shift starts at ten",
        "ho una giornata libera martedì",
        "de beste bakker is op de hoek",
        "tudo em casa está quebrado",
        "Clever",
        "The tip was 20 percent.",
        "Good advice from my lawyer, thanks",
        "thanks, work is good",
        "Thanks, I'm vegan.",
        "Danke, Nüsse nicht.",
        "merci, j'ai un chat malin",
        "谢谢，我吃素",
    ],
)
def test_short_answers_are_not_chatter(text: str) -> None:
    assert not small_talk.is_chatter(text)


def test_no_word_for_a_relative_in_any_language_is_small_talk() -> None:
    # The words of small talk are taken out of a text whatever its language.
    lost = {
        (file.stem, word)
        for file in Path(lexicon.__file__).parent.glob("*.toml")
        for words in tomllib.loads(file.read_text("utf-8")).get("kin", {}).values()
        for word in words.split()
        if not small_talk.content_terms(word, file.stem)
    }
    assert not lost


def test_the_gate_of_time_words_hides_nothing() -> None:
    units = (
        "second minute hour night morning day week weekend month year decade summer fall quarter monday friday".split()
    )
    texts = [f"we went {lead} {unit}{s}" for unit in units for s in ("", "s") for lead in ("last", "every", "a", "ten")]
    texts += (
        "today|tonight|ago|since then|in may|early may|march|june|letztes|letzten|nächster|dernière|prochaine".split(
            "|"
        )
    )
    texts += "pasado|próxima|scorsa|amanhã|вчера|昨天|3月|at 9 pm|10:30|the 5th|in 1999|aujourd'hui".split("|")
    for text in texts:
        assert time_words.has_time_word(text), text
