"""Explicit updates in ten languages: what ends an older statement, and what never does."""

from __future__ import annotations

import pytest

from memwarden.remember.resolve.same_fact import judge

# A statement, the words that end it, and words that leave it open: wishes, plans, past states, another one, others.
LANGUAGES: dict[str, list[tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "en": [
        (
            "I live in Graz.",
            ("I moved to Linz.", "I live in Linz now."),
            (
                "I'd like to move to Linz.",
                "I lived in Linz as a child.",
                "My sister moved to Linz.",
                "Did I move to Linz?",
            ),
        ),
        (
            "I drive a Saab.",
            ("I sold the Saab.", "I no longer drive the Saab."),
            ("I might sell the Saab.", "I bought a second car, a Fiat.", "My brother sold his Saab."),
        ),
        (
            "The meeting with the bank is on Monday.",
            ("The meeting with the bank was moved to Friday.", "No wait, the meeting with the bank is on Friday."),
            ("The meeting with the vet was moved to Friday.", "We could move the meeting with the bank to Friday."),
        ),
        ("My rent is 700 euros.", ("My rent went up to 750 euros.",), ("My sister's rent went up to 750 euros.",)),
        ("I am allergic to eggs.", ("I am no longer allergic to eggs.",), ("I am allergic to shrimps.",)),
        ("My phone number is 555 1234.", ("My new phone number is 555 9876.",), ("My locker number is 555.",)),
    ],
    "de": [
        (
            "Ich wohne in Graz.",
            ("Ich bin nach Linz gezogen.",),
            (
                "Ich würde gern nach Linz ziehen.",
                "Früher habe ich in Linz gewohnt.",
                "Meine Schwester ist nach Linz gezogen.",
            ),
        ),
        ("Ich fahre einen Saab.", ("Den Saab habe ich verkauft.",), ("Vielleicht verkaufe ich den Saab.",)),
        (
            "Das Treffen ist am Montag.",
            ("Das Treffen wurde auf Freitag verschoben.",),
            ("Ein anderes Treffen ist am Freitag.",),
        ),
    ],
    "fr": [
        (
            "J'habite à Graz.",
            ("J'ai déménagé à Linz.",),
            ("Je voudrais déménager à Linz un jour.", "J'ai habité à Linz quand j'étais petite."),
        ),
        ("Je conduis une Saab.", ("J'ai vendu la Saab.",), ("J'ai acheté une deuxième voiture, une Fiat.",)),
    ],
    "es": [
        ("Vivo en Graz.", ("Me he mudado a Linz.",), ("Quiero mudarme a Linz.", "De joven vivía en Linz.")),
        ("Conduzco un Saab.", ("He vendido el Saab.",), ("Quizás venda el Saab.",)),
    ],
    "it": [
        (
            "Vivo a Graz.",
            ("Mi sono trasferito a Linz.",),
            ("Vorrei trasferirmi a Linz.", "Mia sorella si è trasferita a Linz."),
        ),
        ("Io guido una Saab rossa.", ("Ieri ho venduto la Saab.",), ("Ho comprato un'altra auto, una Fiat.",)),
    ],
    "pt": [
        (
            "Eu moro em Graz com a minha avó.",
            ("Eu me mudei para Linz com a minha avó.",),
            ("Quero me mudar para Linz.", "Minha irmã se mudou para Linz."),
        ),
        ("Eu tenho um Saab vermelho.", ("Eu não tenho mais o Saab, vendi ontem.",), ("Talvez eu venda o Saab.",)),
    ],
    "nl": [
        (
            "Ik woon in Graz.",
            ("Ik ben verhuisd naar Linz.",),
            ("Ik wil naar Linz verhuizen.", "Vroeger woonde ik in Linz."),
        ),
        ("Ik rijd in een rode Saab.", ("Ik heb de Saab verkocht.",), ("Misschien verkoop ik de Saab.",)),
    ],
    "ru": [
        ("Я живу в Граце.", ("Я переехал в Линц.",), ("Я хочу переехать в Линц.", "Моя сестра переехала в Линц.")),
        ("Я езжу на Саабе.", ("Я продал Сааб.",), ("Может быть, я продам Сааб.",)),
    ],
    "ja": [
        (
            "私はグラーツに住んでいる。",
            ("私はリンツに引っ越した。",),
            ("リンツに引っ越したい。", "姉はリンツに引っ越した。"),
        ),
        ("私は卵アレルギーです。", (), ("私はエビアレルギーです。",)),
    ],
    "zh": [
        ("我住在格拉茨。", ("我搬到林茨了。",), ("我想搬到林茨。", "我姐姐搬到林茨了。")),
        ("婚礼在六月十八", ("婚礼改到七月二号了。",), ("我们也许改到七月。",)),
    ],
}
ENDED = [(old, new) for rows in LANGUAGES.values() for old, ends, _ in rows for new in ends]
OPEN = [(old, new) for rows in LANGUAGES.values() for old, _, others in rows for new in others]


@pytest.mark.parametrize(("old", "new"), ENDED)
def test_an_explicit_update_ends_the_older_statement(old: str, new: str) -> None:
    assert judge(old, new).label == "supersede"


@pytest.mark.parametrize(("old", "new"), OPEN)
def test_a_wish_a_plan_a_past_state_another_one_and_others_end_nothing(old: str, new: str) -> None:
    assert judge(old, new).label not in ("same", "supersede")


@pytest.mark.parametrize(("old", "new"), ENDED)
def test_a_question_ends_nothing(old: str, new: str) -> None:
    assert judge(old, new.rstrip(".。") + "?").label != "supersede"
    assert judge(old.rstrip(".。") + "?", new).label != "supersede"


@pytest.mark.parametrize("text", sorted({text for pair in (*ENDED, *OPEN) for text in pair}))
def test_a_statement_never_ends_itself(text: str) -> None:
    assert judge(text, text).label == "same"
    assert judge(text, text.upper()).label != "supersede"
