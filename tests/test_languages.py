"""Languages: every word of a language is in the lexicon, and every reader of words gives the same answer."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import measures
from memwarden import Warden
from memwarden.errors import InvalidConfig
from memwarden.recall.question import Question
from memwarden.statements.reader import when_asked
from memwarden.text.lexicon import ROLES, languages, load_lexicon, pattern_of, read_lexicon
from memwarden.text.question_words import asks_time, read_question_words

LEXICON = measures.SOURCE / "text" / "lexicon"

TIME_QUESTIONS = [
    ("en", "When did I move to Lyon?"), ("en", "How long have I been learning the cello?"),
    ("en", "Which year did we buy the boat?"), ("en", "How often do I water the ferns?"),
    ("en", "What time does the bakery open?"), ("de", "Wann habe ich meine Prüfung?"),
    ("de", "Seit wann wohnt Ida in Graz?"), ("de", "Wie lange dauert die Kur noch?"),
    ("de", "An welchem Tag kommt der Klempner?"), ("es", "¿Cuándo es la boda de Inés?"),
    ("es", "¿A qué hora sale el tren?"), ("es", "¿Cuánto tiempo llevo en Bilbao?"),
    ("fr", "Quand est-ce que le chat va chez le vétérinaire ?"), ("fr", "À quelle heure commence le cours ?"),
    ("fr", "Depuis combien de temps je cours ?"), ("it", "Quando parto per Trieste?"),
    ("it", "Da quanto tempo suono il flauto?"), ("pt", "Quando é o aniversário da Rita?"),
    ("pt", "A que horas fecha a farmácia?"), ("nl", "Wanneer heb ik de tandarts?"),
    ("nl", "Hoe lang woon ik al in Gent?"), ("sv", "När börjar kursen?"), ("ru", "Когда приезжает бабушка?"),
    ("ru", "Во сколько начинается урок?"), ("ja", "引っ越しはいつですか"), ("ja", "会議は何時からですか"),
    ("zh", "我什么时候搬家？"), ("zh", "我学钢琴多久了？"), ("ko", "이사는 언제 해요?"),
    ("ko", "수업은 몇 시에 시작해요?"),
    ("ar", "متى موعد الطبيب؟"),
]  # fmt: skip
OTHER_QUESTIONS = [
    "Where do I keep the spare key?", "Who repairs my bicycle?", "Wo wohnt Ida?", "Wie heißt mein Hund?",
    "¿Dónde trabajo?", "¿Quién cuida al perro?", "Où est garé le vélo ?", "Qui garde le chat quand même ?",
    "Dove ho messo le chiavi?", "Onde trabalha a Rita?", "Waar ligt mijn paspoort?", "Где мои ключи?",
    "私の好きな飲み物は何ですか", "いつも飲むお茶は何ですか", "我住在哪里？", "내 강아지 이름이 뭐예요?", "أين أسكن؟",
]  # fmt: skip


def test_the_questions_are_of_many_languages() -> None:
    assert len(TIME_QUESTIONS) == 31
    assert len({code for code, _ in TIME_QUESTIONS}) >= 12


@pytest.mark.parametrize("question", [question for _, question in TIME_QUESTIONS])
def test_a_question_for_a_time_is_one_for_every_reader(question: str) -> None:
    assert {name: answers(question) for name, answers in TIME_READERS.items()} == dict.fromkeys(TIME_READERS, True)


@pytest.mark.parametrize("question", OTHER_QUESTIONS)
def test_another_question_is_one_for_every_reader(question: str) -> None:
    assert {name: answers(question) for name, answers in TIME_READERS.items()} == dict.fromkeys(TIME_READERS, False)


def _question_in_recall(text: str) -> bool:
    """Whether a query reads a question for a time, with the default path of a store of one memory."""
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        me.remember("A heron nests by the mill.")
        asked: list[Question] = []
        with pytest.MonkeyPatch.context() as patch:
            original = Question.__init__

            def make(self: Question, *values: Any, **named: Any) -> None:
                original(self, *values, **named)
                asked.append(self)

            patch.setattr(Question, "__init__", make)
            me.query(text)
    assert asked
    return bool(asked[0].when)


# Every function of the code that says whether a text asks for a time.
TIME_READERS = {
    "text.question_words:asks_time": asks_time,
    "text.question_words:read_question_words": lambda text: read_question_words(text).time,
    "statements.reader:when_asked": lambda text: when_asked(text, 0.0) == "when",
    "recall": _question_in_recall,
}


def test_only_one_module_looks_for_question_words_of_time() -> None:
    """No other module has an expression with a word that asks for a time, in two languages or more."""
    words = [re.compile(rf"\b{word}\b") for word in ("when", "wann", "quand", "cu[áa]ndo")] + [
        re.compile("什么时候|いつ")
    ]
    readers = [
        place
        for place, tree in measures.trees().items()
        for node in measures.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if sum(word.search(node.value) is not None for word in words) > 1
    ]
    assert not set(readers)


# --- a new language

ITALIAN = {
    "language": ["Dove abito adesso?", "Quando parto per la montagna?", "Mia sorella lavora a Torino dal 2019."],
    "sentences": "Il Sig. Rossi arriva domani. Porta il vino.",
    "when": "Quando parto per la montagna?",
    "why": "Perché ho cambiato lavoro?",
    "denied": "Non mangio formaggio.",
    "days": ["Ci vediamo il 12 maggio.", "Sono andata a Pisa martedì scorso.", "Il concerto era due settimane fa."],
    "kin": "sorella",
    "chatter": "Grazie mille, buona giornata!",
}
PROBE = """
import json, sys
from datetime import datetime
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import language_of
from memwarden.text.lexicon import languages, load_lexicon
from memwarden.text.negation import denies
from memwarden.text.question_words import read_question_words
from memwarden.text.sentences import split_sentences
from memwarden.text.small_talk import is_chatter
from memwarden.text.tokenizer import terms
asked = json.load(sys.stdin)
kin = [relation for code in languages() for relation, words in load_lexicon(code).kin.items() if asked["kin"] in words]
print(json.dumps({
    "language": [language_of(text) for text in asked["language"]],
    "sentences": split_sentences(asked["sentences"]),
    "when": read_question_words(asked["when"]).time,
    "why": read_question_words(asked["why"]).reason,
    "denied": denies(asked["denied"]),
    "days": [[str(span.first) for span in spans_in(text, datetime(2024, 5, 20))] for text in asked["days"]],
    "kin": kin,
    "terms": terms("Le mie sorelle abitano a Torino"),
    "chatter": is_chatter(asked["chatter"]),
}))
"""


def read_italian(folder: Path) -> dict[str, Any]:
    """What a copy of the package in a folder reads in Italian texts."""
    run = subprocess.run(
        [sys.executable, "-c", PROBE], input=json.dumps(ITALIAN), env={"PYTHONPATH": str(folder)}, check=True,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    read: dict[str, Any] = json.loads(run.stdout)
    return read


def test_a_language_is_added_by_one_file(tmp_path: Path) -> None:
    copy = tmp_path / "memwarden"
    shutil.copytree(measures.SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "vendor"))
    lexicon = copy / "text" / "lexicon"
    (lexicon / "it.toml").unlink()
    drop_letters(lexicon / "letter_groups.txt", "it")
    before = read_italian(tmp_path)
    assert "it" not in before["language"]
    assert not before["kin"]
    assert not before["why"]
    assert not any(before["days"])

    shutil.copy(LEXICON / "it.toml", lexicon)
    after = read_italian(tmp_path)
    assert after == {
        "language": ["it", "it", "it"],
        "sentences": ["Il Sig. Rossi arriva domani.", "Porta il vino."],
        "when": True,
        "why": True,
        "denied": True,
        "days": [["2024-05-12"], ["2024-05-14"], ["2024-05-03"]],
        "kin": ["sister"],
        "terms": ["sorell", "abit", "torin"],
        "chatter": True,
    }


def drop_letters(path: Path, code: str) -> None:
    """Remove the column of a language from the table of letter groups."""
    head, *lines = path.read_text("utf-8").splitlines()
    place = head.split().index(code)
    codes = [each for each in head.split() if each != code]
    kept = [f"{line[: 3 + place]}{line[4 + place :]}" for line in lines]
    path.write_text("\n".join((" ".join(codes), *kept)) + "\n", "utf-8")


# --- the files


@pytest.mark.parametrize("code", languages())
def test_a_lexicon_is_well_formed(code: str) -> None:
    lexicon = load_lexicon(code)
    assert lexicon.name
    for role in {*lexicon.words, *lexicon.phrases}:
        pattern = pattern_of(role, code)
        assert pattern.search("") is None, f"{role} matches nothing at all"
        for word in lexicon.words.get(role, ()):
            assert role in ("months_short", "weekdays_short", "abbreviations") or word == word.lower()
            assert word == "-" or "'" in word or pattern.search(word), (role, word)
    assert {*lexicon.kin} <= {*load_lexicon("en").kin}


def test_no_role_is_without_words() -> None:
    used = {role for code in languages() for role in (*load_lexicon(code).words, *load_lexicon(code).phrases)}
    assert used == set(ROLES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "X"\n[words]\nwhenn = "a"', "unknown entry 'whenn'"),
        ('name = "X"\n[words]\nmonths = "a b"', "months has 2 words instead of 12"),
        ("name = ", "Invalid value"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidConfig, match=message):
        read_lexicon(path)
