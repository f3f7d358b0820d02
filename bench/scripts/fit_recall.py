"""Fits the weights of recall's evidence and writes `recall/evidence/weights.json`.

usage: fit_recall.py --data DATA [--cache FILE] [--check]

Everyday histories give questions with an answer and questions without one; whole histories are left out for the figures
that are printed. Questions of one history are put to the others, too, which do not hold their answers. MADial's talks
call up memories. Questions about the world belong to no store. Small stores of plain statements are made of the corpus
of attributes, and short chats of pairs by authors (`bench/data/chats`), of whose questions a part has a near miss only.
`--check` prints the figures and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memwarden.models.choice import make_embedder
from memwarden.models.protocols import EncodedQuestion
from memwarden.recall.evidence.answer import answer_signals, judge_answer
from memwarden.recall.evidence.weights import load_weights
from memwarden.recall.index.encode import make_signals, statement_reader
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.question import Question, dense_text, prepare_question
from memwarden.recall.rank.adjustments import Case, adjust
from memwarden.recall.rank.combine import Combination, combine, measure_closeness, measure_spread
from memwarden.recall.rank.currency import choose_compared, find_pairs
from memwarden.recall.rank.shape import plainness_of
from memwarden.records import Head, IndexRow, Scan
from memwarden.settings import Settings
from memwarden.statements.reader import SaidText
from memwarden.text.flags import UNANSWERING

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "bench" / "data" / "asked"
WORLD = ROOT / "bench" / "data" / "world_questions.txt"
CHATS = ROOT / "bench" / "data" / "chats"
IDLE = ROOT / "bench" / "data" / "idle"
OUT = ROOT / "src" / "memwarden" / "recall" / "evidence" / "weights.json"
KINDS = ("both", "multilingual", "first", "words", "wordllama")
LANGUAGES = ("en", "de", "es", "fr", "ja", "zh")
UNANSWERABLE = ("unknown_named", "world", "topic_switch")
OFF_TOPIC = ("world", "topic_switch")
FOREIGN_QUESTIONS = 150
FOREIGN_SHARE = 0.02
"""Questions of other histories that are put to a history, and the weight of each, beside 1 for one of its own. More
weight tells the questions of others better, and questions about known people worse."""
CHAT_ROWS = ((20, 1), (60, 0), (400, 0))
"""Facts that short chats are made of, and their seeds."""
HELD, NEAR_TOLD = 0.6, 0.5
"""Shares of these facts whose answer is told, and whose near miss is."""
CHAT_SHARE, CHAT_SUBJECT_SHARE, CHAT_WORLD = 0.1, 0.5, 6
"""Weights of all questions to short chats in the fits of the answer and of the subject, beside 1 for those to the
histories, and questions about the world that are put to each chat."""
RIDGE, ANSWER_RIDGE = 3e-3, 1e-2
SMALL_STORES = 160
WORLD_QUESTIONS = 40
ITEMS = 24
NAMED = -2.0
"""Logits that a name shared by a question and a plain statement brings without being an answer. The corpus names
nobody, so it is chosen by hand, on four people told of in 24 plain statements."""
TALK_SHARE = 1.0
"""Weight of the talks in the fit of the subject, beside 1 for the histories."""
MISSED_TALKS, MISSED_PLAIN = 0.08, 0.06
MISSED = {"both": 0.015, "multilingual": 0.015, "first": 0.04, "wordllama": 0.06, "words": 0.12}
"""Share of answerable questions, of talks and of questions to plain statements that may fall below the bar of 0.5."""
"""Best places of a question whose chances are fitted."""

SIGNALS = {
    "both": ("unseen", "words", "multilingual", "answering", "first", "pieces", "personal"),
    "multilingual": ("unseen", "words", "multilingual", "answering", "personal"),
    "first": ("unseen", "words", "own", "first", "pieces"),
    "words": ("unseen", "words", "own"),
    "wordllama": ("unseen", "words", "own", "first"),
}
SUBJECT_SIGNALS = {"both": ("small",), "multilingual": ("small",)}
"""What only the chance of the subject goes by: in a small store even what is known is less close."""
ANSWER_SIGNALS = (
    *("around", "named", "told", "reason_or_list", "implicit"),
    *("top_words", "top_first", "top_after", "top_answering", "top_pieces"),
)
"""What only the chance of the answer goes by, besides the others."""
PLAIN_SIGNALS = {
    "both": ("own", "small", "told"),
    "multilingual": ("own", "small", "told"),
    "first": ("small",),
    "words": ("small",),
    "wordllama": ("small",),
}
"""What only the same chance in a store of plain statements goes by."""
LATER_SIGNALS = (
    "told_before",
    "told_after",
    "told_both",
    "changes",
    "now",
    "stated_change",
    "stated_told",
    "small",
    "small_change",
    "small_second",
    "small_told",
    "assistant",
    "asks",
    "same_talk",
    "leading",
    "words",
)
PLAIN_LATER = ("changes", "now", "assistant", "asks", "same_talk", "leading", "words")
LATER = {
    "both": ("second", "first", *LATER_SIGNALS),
    "multilingual": ("second", *LATER_SIGNALS),
    "first": ("first", *PLAIN_LATER),
    "words": (),
    "wordllama": ("first", *PLAIN_LATER),
}
"""What the chance goes by that the later of two texts states the current value."""
PAIR_SIGNALS = ("constant", "second", "first", *LATER_SIGNALS)
LATER_SHARE = 0.5
"""Weight of the pairs of plain statements beside 1 for those of histories."""
LATER_SORTS = {"changes": 6, "near": 6, "others": 4, "states": 8}
"""Shares of what is told later in a store: a change, a wish or the like, the same of another person, something else."""
CAUTION = 0.75
"""Logits that a pair of a tiny store loses: an unrelated newer text that leads is worse than an old value that does."""
CHANGED, NEAR, OTHERS = 8, 6, 4
"""Statements of a store that are followed by a change, by a wish or the like, and by the same of another person."""
FEW_STORES = ((24, 14), (12, 24), (6, 48), (3, 80), (1, 160))
"""Values of such stores, and how many there are in English; half as many in each other language."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Message:
    """A message of a store."""

    id: str
    text: str
    role: str
    name: str | None
    at: datetime
    thread: str


@dataclass(frozen=True)
class Asked:
    """A question to a store.

    Attributes:
        seen: number of messages that were said before it.
        gold: ids of messages that answer it. stale: ids of outdated ones.
        answerable, on_topic: what the labels say.
        origin: group of the store that it was written for, if that is another one.
    """

    text: str
    at: datetime
    seen: int
    gold: frozenset[str]
    answerable: bool
    on_topic: bool
    stale: frozenset[str] = frozenset()
    origin: str = ""


@dataclass(frozen=True)
class Store:
    """A store with its questions. group: left out as a whole. weight: of each of its questions."""

    group: str
    sort: str
    messages: Sequence[Message]
    questions: Sequence[Asked]


@dataclass(frozen=True)
class Row:
    """A question with its signals.

    Attributes:
        items: for the best places how far below the best, and whether they answer.
        pairs: signals of pairs of texts. later: 1 where the later one states the current value, nan without a label.
    """

    store: Store
    asked: Asked
    english: bool
    plain: float
    signals: Mapping[str, float]
    items: Sequence[tuple[float, bool]]
    pairs: Matrix | None = None
    later: Sequence[float] = ()


def read_world() -> dict[str, list[str]]:
    """Return questions about the world by language."""
    found: dict[str, list[str]] = {}
    language = ""
    for line in WORLD.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            language = line[2:]
        elif line:
            found.setdefault(language, []).append(line)
    return found


def read_histories(folder: Path) -> Iterator[Store]:
    """Yield the everyday histories with all their questions, and questions about the world."""
    world = [text for texts in read_world().values() for text in texts]
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        more = json.loads((folder / "more" / f"{path.stem}.more.json").read_text(encoding="utf-8"))
        messages, begins = [], []
        for thread in data["threads"]:
            begins.append((datetime.fromisoformat(thread["messages"][0]["created_at"]), len(messages)))
            messages += [
                Message(
                    m["id"],
                    m["content"],
                    m["role"],
                    m.get("name"),
                    datetime.fromisoformat(m["created_at"]),
                    thread["id"],
                )
                for m in thread["messages"]
            ]
        questions = []
        for q in (*data["questions"], *more["questions"]):
            at = datetime.fromisoformat(q["asked_at"])
            seen = next((first for begin, first in begins if begin > at), len(messages))
            gold = frozenset((*q.get("evidence", ()), *q.get("also", ()))) - frozenset(q.get("stale", ()))
            kind = q["type"]
            stale = frozenset(q.get("stale", ()))
            questions.append(Asked(q["q"], at, seen, gold, kind not in UNANSWERABLE, kind not in OFF_TOPIC, stale))
        yield Store(path.stem, "history", messages, questions)
        chance = random.Random(path.stem)
        last = messages[-1].at + timedelta(days=1)
        others = [
            Asked(text, last, len(messages), frozenset(), False, False)
            for text in chance.sample(world, WORLD_QUESTIONS)
        ]
        yield Store(path.stem, "world", messages, others)


def make_foreign(histories: Sequence[Store], languages: Mapping[str, str]) -> Iterator[Store]:
    """Yield each English history with questions of the other English ones.

    languages: of each history. Of other languages there is one history each.
    """
    english = [store for store in histories if store.sort == "history" and languages[store.group] == "en"]
    for store in english:
        others = [
            replace(asked, origin=other.group)
            for other in english
            if other is not store
            for asked in other.questions
            if asked.on_topic
        ]
        last, seen = store.messages[-1].at + timedelta(days=1), len(store.messages)
        questions = [
            replace(asked, at=last, seen=seen, gold=frozenset(), stale=frozenset(), answerable=False)
            for asked in random.Random(store.group).sample(others, FOREIGN_QUESTIONS)
        ]
        yield Store(store.group, "foreign", store.messages, questions)


def read_languages(folder: Path) -> dict[str, str]:
    """Return the language of each history."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["language"] for path in folder.glob("*.json")}


def read_talks(folder: Path) -> Iterator[Store]:
    """Yield MADial's talks; the last three messages of a talk ask."""
    for language in ("en", "zh"):
        for case in json.loads((folder / f"madial_{language}.json").read_text(encoding="utf-8")):
            messages = [
                Message(t["id"], t["content"], t["role"], None, datetime.fromisoformat(t["at"]), s["thread"])
                for s in case["sessions"]
                for t in s["turns"]
            ]
            last = max(m.at for m in messages) + timedelta(days=1)
            questions = [
                Asked(
                    q["messages"][-1]["content"],
                    last,
                    len(messages),
                    frozenset(i for g in q["need"] for i in g),
                    True,
                    True,
                )
                for q in case["questions"]
            ]
            yield Store(case["name"], "talk", messages, questions)


def make_chats() -> Iterator[Store]:
    """Yield short chats of answers, near misses and idle messages; questions ask for what was told and what was not."""
    idle: dict[str, list[str]] = {}
    for path in sorted(IDLE.glob("*.jsonl")):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            idle.setdefault(line["lang"], []).append(line["text"])
    world = read_world()
    for path in sorted(CHATS.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for language in sorted({line["lang"] for line in lines}):
            pool = [line for line in lines if line["lang"] == language]
            for size, seed in CHAT_ROWS:
                chance = random.Random(f"{path.stem} {language} {size} {seed}")
                chance.shuffle(pool)
                for start in range(0, max(1, len(pool) - size + 1), size):
                    of_world = chance.sample(world[language], CHAT_WORLD) if language in world else []
                    chat = make_chat(chance, pool[start : start + size], idle.get(language, ()), of_world)
                    yield replace(chat, group=f"chat-{path.stem}")


def make_chat(
    chance: random.Random, facts: Sequence[dict[str, Any]], idle: Sequence[str], world: Sequence[str]
) -> Store:
    """Return a chat of some facts, a message a day; about these facts and the world it is asked."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    told = [(number, chance.choice(fact["a"]), True) for number, fact in enumerate(facts) if chance.random() < HELD]
    told += [(number, fact["near"][0], False) for number, fact in enumerate(facts) if chance.random() < NEAR_TOLD]
    told += [(-1, text, False) for text in chance.sample(idle, min(len(idle), len(told) // 2))]
    chance.shuffle(told)
    messages = [
        Message(str(place), text, "user", None, begin + timedelta(days=place), str(place))
        for place, (_, text, _) in enumerate(told)
    ]
    gold = {number: frozenset({str(place)}) for place, (number, _, answers) in enumerate(told) if answers}
    last = begin + timedelta(days=len(messages) + 1)
    questions = [
        Asked(text, last, len(messages), gold.get(number, frozenset()), number in gold, True)
        for number, fact in enumerate(facts)
        for text in fact["q"]
    ]
    questions += [Asked(text, last, len(messages), frozenset(), False, False) for text in world]
    return Store("", "chat", messages, questions)


def read_corpus() -> list[dict[str, Any]]:
    """Return the attributes with their statements, changes and questions."""
    return [
        json.loads(line)
        for name in ("home", "life", "work", "languages")
        for line in (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def make_small_stores() -> Iterator[Store]:
    """Yield small stores of plain statements; questions ask for what was said, what was not, and about the world."""
    rows = read_corpus()
    world = read_world()
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for seed in range(SMALL_STORES):
        chance = random.Random(seed)
        language = chance.choice(["en"] * 5 + ["de", "es", "fr", "ja", "zh"])
        pool = [row for row in rows if row["lang"] == language]
        chance.shuffle(pool)
        size = chance.choice((1, 2, 3, 5, 8, 12, 20, 30))
        known, rest = pool[:size], pool[size : size + 30]
        messages = [
            Message(
                f"{seed}-{number}",
                chance.choice(row["states"]),
                "user",
                None,
                begin + timedelta(days=number),
                str(number),
            )
            for number, row in enumerate(known)
        ]
        last = begin + timedelta(days=100)
        asked = [
            Asked(
                chance.choice(row["questions"]),
                last,
                len(messages),
                frozenset({messages[known.index(row)].id}),
                True,
                True,
            )
            for row in chance.sample(known, min(5, len(known)))
        ]
        asked += [
            Asked(chance.choice(row["questions"]), last, len(messages), frozenset(), False, False)
            for row in chance.sample(rest, min(5, len(rest)))
        ]
        asked += [
            Asked(text, last, len(messages), frozenset(), False, False) for text in chance.sample(world[language], 2)
        ]
        yield Store(f"small-{seed % 8}", "small", messages, asked)


def make_changed_stores() -> Iterator[Store]:
    """Yield stores of plain statements, some of which change later; wishes and others' values follow others."""
    rows = read_corpus()
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for language in LANGUAGES:
        pool = [row for row in rows if row["lang"] == language]
        for seed in range(14 if language == "en" else 6):
            chance = random.Random(f"{language} {seed}")
            known = chance.sample(pool, min(24, len(pool)))
            sorts = ["changes"] * CHANGED + ["near"] * NEAR + ["others"] * OTHERS
            first = [(number, chance.choice(row["states"])) for number, row in enumerate(known)]
            later = [
                (number, chance.choice(row[sort]))
                for number, (row, sort) in enumerate(zip(known, sorts, strict=False))
                if row[sort]
            ]
            chance.shuffle(first)
            chance.shuffle(later)
            changed = {number for number, _ in later if number < CHANGED}
            told = [*((number, text, False) for number, text in first), *((n, text, True) for n, text in later)]
            messages = [
                Message(f"{seed}-{place}", text, "user", None, begin + timedelta(days=place), str(place))
                for place, (_, text, _) in enumerate(told)
            ]
            last = begin + timedelta(days=100)
            questions = []
            for number, row in enumerate(known):
                ids = {late: frozenset({messages[place].id}) for place, (n, _, late) in enumerate(told) if n == number}
                gold, stale = (ids[True], ids[False]) if number in changed else (ids[False], frozenset[str]())
                text = chance.choice(row["questions"])
                questions.append(Asked(text, last, len(messages), gold, True, True, stale))
            yield Store(f"changed-{language}", "changed", messages, questions)


def make_few_changed() -> Iterator[Store]:
    """Yield stores of 1 to 24 plain statements; some of them change later, and other texts follow others."""
    rows = read_corpus()
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for language in LANGUAGES:
        pool = [row for row in rows if row["lang"] == language]
        for size, stores in FEW_STORES:
            for seed in range(stores if language == "en" else stores // 2):
                yield make_few(random.Random(f"{language} {size} {seed}"), pool, size, begin)


def make_few(chance: random.Random, pool: Sequence[dict[str, Any]], size: int, begin: datetime) -> Store:
    """Return a store of at most ``size`` values, some of which change; texts of other sorts follow others."""
    shuffled = chance.sample(pool, len(pool))
    known, unrelated = shuffled[:size], shuffled[size:] or pool
    sorts = chance.choices([*LATER_SORTS], weights=[*LATER_SORTS.values()], k=chance.randint(1, len(known)))
    first = [(number, chance.choice(row["states"])) for number, row in enumerate(known)]
    told_later = [(number, sort) for number, sort in enumerate(sorts) if sort == "states" or known[number][sort]]
    later = [
        (number, sort, chance.choice((chance.choice(unrelated) if sort == "states" else known[number])[sort]))
        for number, sort in told_later
    ]
    chance.shuffle(first)
    chance.shuffle(later)
    changed = {number for number, sort, _ in later if sort == "changes"}
    told = [*((number, text, False) for number, text in first), *((n, text, True) for n, _, text in later)]
    messages = [
        Message(str(place), text, "user", None, begin + timedelta(days=place), str(place))
        for place, (_, text, _) in enumerate(told)
    ]
    last = begin + timedelta(days=100)
    questions = []
    for number, row in enumerate(known):
        ids = {late: frozenset({messages[place].id}) for place, (n, _, late) in enumerate(told) if n == number}
        gold, stale = (ids[True], ids[False]) if number in changed else (ids[False], frozenset[str]())
        text = chance.choice(row["questions"])
        questions.append(Asked(text, last, len(messages), gold, True, True, stale))
    return Store(f"few-{pool[0]['lang']}", "few", messages, questions)


class Encoder:
    """Makes signals of texts and vectors of questions, kept in a file."""

    def __init__(self, file: Path) -> None:
        self.embedder = make_embedder(Settings(), None)
        self.small = make_embedder(Settings(embedder="wordllama"), None)
        self.reader = statement_reader(self.embedder)
        self._file = file
        self._known: dict[Any, Any] = pickle.loads(file.read_bytes()) if file.exists() else {}

    def save(self) -> None:
        """Write what was made."""
        self._file.write_bytes(pickle.dumps(self._known))

    def small_signals(self, said: Sequence[SaidText]) -> list[Any]:
        """Return the signals of texts, with the vectors of WordLlama."""
        return make_signals(said, self.small)

    def signals(self, said: Sequence[SaidText]) -> list[Any]:
        """Return the signals of texts."""
        keys = [(each.text, each.at, each.role) for each in said]
        missing = [each for each, key in zip(said, keys, strict=True) if key not in self._known]
        for start in range(0, len(missing), 64):
            some = missing[start : start + 64]
            for each, made in zip(some, make_signals(some, self.embedder), strict=True):
                self._known[each.text, each.at, each.role] = made
        return [self._known[key] for key in keys]

    def question(self, text: str) -> EncodedQuestion:
        """Return the vectors of a question."""
        if text not in self._known:
            self._known[text] = self.embedder.question(text)
        return self._known[text]


def index_rows(store: Store, encoder: Encoder, kind: str) -> list[IndexRow]:
    """Return the rows of a store's messages."""
    said = [SaidText(m.text, m.at, m.role, m.name) for m in store.messages]
    plain = dict.fromkeys(IndexRow._fields)
    rows = []
    made_signals = encoder.small_signals(said) if kind == "wordllama" else encoder.signals(said)
    for number, (message, signals) in enumerate(zip(store.messages, made_signals, strict=True)):
        when = int(message.at.timestamp() * 1e6)
        made = {name: getattr(signals, name) for name in plain if hasattr(signals, name)}
        rows.append(IndexRow(**{
            **plain, **made, "n": number + 1, "id": message.id, "live": True, "created_at": when, "updated_at": when,
            "channel": "turn", "kind": "unknown", "category": "turn", "importance": 0.5, "pinned": False, "tags": (),
            "characters": (), "sources": (), "role": message.role, "name": message.name, "thread_id": message.thread,
            "trust": "user", "utc_offset": 0,
        }))  # fmt: skip
    return rows


def measure(stores: Sequence[Store], encoder: Encoder, kind: str) -> Iterator[Row]:
    """Yield the questions with their signals, as far as a kind of models goes."""
    small = kind == "wordllama"
    sides = (encoder.small.dimensions, None) if small else encoder.embedder.sides
    pieces = None if small else encoder.embedder.piece_dimensions
    for store in stores:
        rows = index_rows(store, encoder, kind)
        views: dict[int, Any] = {}
        for asked in store.questions:
            if not asked.seen:
                continue
            if asked.seen not in views:
                index = NamespaceIndex(6 * 3_600_000_000, sides[0], pieces, sides[1], True)
                index.follow(Scan(rows[: asked.seen], Head(asked.seen, 1)))
                views[asked.seen] = index.view
            found = measure_question(store, asked, views[asked.seen], encoder, kind)
            if found is not None:
                yield found


def measure_question(store: Store, asked: Asked, view: Any, encoder: Encoder, kind: str) -> Row | None:
    """Return a question with its signals; None if nothing may be in its answer."""
    question = prepare(asked, view, encoder, kind)
    allowed = view.alive & ((view.flags & int(UNANSWERING)) == 0)
    if question.small_talk or not allowed.any():
        return None
    closeness = measure_closeness(question, view, allowed)
    combined = combine(question, view, closeness, measure_spread(closeness, view))
    rows = int(np.count_nonzero(allowed))
    signals = answer_signals(question, view, combined, allowed, rows)
    if store.sort == "chat":
        return Row(store, asked, question.english, plainness_of(view, allowed), signals, ())
    ids = [message.id for message in store.messages]
    pairs, later = measure_pairs(asked, question, view, combined, allowed, ids)
    if store.sort in ("changed", "few"):
        return Row(store, asked, question.english, 0.0, {}, (), pairs, later)
    answer = judge_answer(question, view, combined, allowed, rows, kind).answer
    case = Case(question, view, allowed, combined, 0.0, load_weights()[kind].later, answer)
    total = adjust(case, combined.total).total
    order = np.argsort(-np.where(allowed, total, -np.inf), kind="stable")[: min(ITEMS, rows)]
    items = [(float(total[order[0]] - total[place]), ids[place] in asked.gold) for place in order]
    return Row(store, asked, question.english, plainness_of(view, allowed), signals, items, pairs, later)


def measure_pairs(
    asked: Asked, question: Question, view: Any, combined: Combination, allowed: Any, ids: Sequence[str]
) -> tuple[Matrix | None, Sequence[float]]:
    """Return the signals of the pairs of texts of a question, and whether the later one is the current value."""
    compared = choose_compared(combined.total, allowed)
    found = None if question.asks_past else find_pairs(question, view, combined, compared, view.created_at)
    if found is None or not asked.gold:
        return None, ()
    later = []
    for passed, passing in zip(found.passed.tolist(), found.passing.tolist(), strict=True):
        before, after = ids[passed], ids[passing]
        current = after in asked.gold
        if current:
            later.append(1.0 if before in asked.stale else float("nan"))
        else:
            known = before in asked.gold or (before in asked.stale and after not in asked.stale)
            later.append(0.0 if known else float("nan"))
    return np.stack([found.signals[name] for name in PAIR_SIGNALS], 1).astype(np.float64), later


def prepare(asked: Asked, view: Any, encoder: Encoder, kind: str) -> Question:
    """Return a question as a kind of models sees it."""
    if kind == "wordllama":
        encoded = EncodedQuestion(encoder.small.embed([dense_text(asked.text, view)])[0])
        return prepare_question(asked.text, view, encoded, asked.at)
    encoded = encoder.question(dense_text(asked.text, view))
    question = prepare_question(asked.text, view, encoded, asked.at)
    if question.second is not None and kind in ("both", "multilingual"):
        question = replace(question, reading=encoder.reader.question(question.text, question.second))
    if kind in ("multilingual", "words"):
        question = replace(question, vector=None, pieces=None, piece_words=())
    if kind in ("first", "words"):
        question = replace(question, second=None)
    return question


def logistic(x: Matrix, y: Matrix, weight: Matrix, ridge: float = RIDGE) -> Matrix:
    """Fit a logistic regression on columns brought to unit deviation; the first column is the constant."""
    deviation = np.maximum(x.std(axis=0), 1e-9)
    deviation[0] = 1.0
    scaled, found = x / deviation, np.zeros(x.shape[1])
    weight = weight / weight.sum()
    penalty = ridge * np.eye(x.shape[1])
    penalty[0, 0] = 1e-9
    for _ in range(60):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ found, -30, 30)))
        slope = scaled.T @ (weight * (chance - y)) + penalty @ found
        curve = (scaled * (weight * chance * (1 - chance))[:, None]).T @ scaled + penalty
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-7:
            break
    return found / deviation


def columns(rows: Sequence[Row], names: Sequence[str]) -> Matrix:
    """Return the signals of rows, the constant first."""
    return np.array([[row.signals[name] for name in ("constant", *names)] for row in rows])


def fit_subject(rows: Sequence[Row], names: Sequence[str], missed: float) -> dict[str, float]:
    """Fit the chance that a store knows the subject of a question. A chat may know that of a fact it does not hold."""
    some = [row for row in rows if row.store.sort in ("history", "world", "talk")]
    some += [row for row in rows if row.store.sort == "chat" and (row.asked.answerable or not row.asked.on_topic)]
    share = {"history": 1.0, "world": 1.0, "talk": TALK_SHARE, "known": CHAT_SUBJECT_SHARE, "chat": CHAT_SUBJECT_SHARE}
    sorts = ["known" if row.store.sort == "chat" and row.asked.answerable else row.store.sort for row in some]
    weight = np.array([share[sort] / sorts.count(sort) for sort in sorts])
    y = np.array([float(row.asked.on_topic) for row in some])
    found = named(names, logistic(columns(some, names), y, weight))
    known = [logit_of(found, row) for row in some if row.store.sort == "history" and row.asked.answerable]
    talks = [logit_of(found, row) for row in some if row.store.sort == "talk"]
    bars = [np.quantile(known, missed), *([np.quantile(talks, max(missed, MISSED_TALKS))] if talks else [])]
    return {**found, "constant": found["constant"] - float(min(bars))}


def fit_answer(rows: Sequence[Row], names: Sequence[str]) -> dict[str, float]:
    """Fit the chance that a history or a chat holds the answer."""
    some = [row for row in rows if row.store.sort in ("history", "foreign") or is_of_chat(row)]
    y = np.array([float(row.asked.answerable) for row in some])
    of_chats = CHAT_SHARE * sum(row.store.sort == "history" for row in some) / max(1, sum(map(is_of_chat, some)))
    weight = np.array([
        of_chats if is_of_chat(row) else FOREIGN_SHARE if row.asked.origin else 1.0 for row in some
    ])  # fmt: skip
    return named(names, logistic(columns(some, names), y, weight, ANSWER_RIDGE))


def is_of_chat(row: Row) -> bool:
    """Return whether a question asks a short chat for a fact, which it may hold."""
    return row.store.sort == "chat" and row.asked.on_topic


def fit_plain(rows: Sequence[Row], names: Sequence[str], missed: float) -> dict[str, float]:
    """Fit the chance that a small store of plain statements holds the answer."""
    some = [row for row in rows if row.store.sort == "small"]
    y = np.array([float(row.asked.answerable) for row in some])
    found = named(names, logistic(columns(some, names), y, np.ones(len(some))))
    bar = np.quantile([logit_of(found, row) for row in some if row.asked.answerable], max(missed, MISSED_PLAIN))
    return {**found, "constant": found["constant"] - float(bar), "named": NAMED}


def fit_item(rows: Sequence[Row], answer: Mapping[str, float]) -> dict[str, float]:
    """Fit the chance that an item bears on a question, given the logit of the answer."""
    x, y = [], []
    for row in rows:
        if row.store.sort == "history" and row.asked.on_topic:
            logit = logit_of(answer, row)
            x += [[1.0, logit, -below] for below, _ in row.items]
            y += [float(bears) for _, bears in row.items]
    found = logistic(np.array(x), np.array(y), np.ones(len(y)))
    return dict(zip(("constant", "answer", "below"), found.tolist(), strict=True))


def fit_later(rows: Sequence[Row], names: Sequence[str]) -> dict[str, float]:
    """Fit the chance that the later of two texts states the current value, then what a small store adds to it."""
    if not names:
        return {}
    large = [name for name in names if not name.startswith("small")]
    parts = [(*collect_pairs(rows, sort, large), share) for sort, share in (("history", 1.0), ("changed", LATER_SHARE))]
    weight = np.concatenate([np.full(len(label), share / len(label)) for _, label, share in parts])
    values, labels = (np.concatenate([part[number] for part in parts]) for number in (0, 1))
    found = named(large, logistic(values, labels, weight, 1e-3))
    if large == list(names):
        return found
    few, labels = collect_pairs(rows, "few", names)
    known = few @ np.array([found.get(name, 0.0) for name in ("constant", *names)])
    small = [number for number, name in enumerate(("constant", *names)) if name.startswith("small")]
    added = fit_beside(few[:, small], labels, known).tolist()
    found |= dict(zip([name for name in names if name.startswith("small")], added, strict=True))
    return {**found, "small": found["small"] - CAUTION}


def collect_pairs(rows: Sequence[Row], sort: str, names: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Return the signals of pairs with a label in stores of a sort, the constant first, and the labels."""
    chosen = [PAIR_SIGNALS.index(name) for name in ("constant", *names)]
    x, y = [], []
    for row in rows:
        if row.pairs is not None and row.store.sort == sort:
            label = np.array(row.later)
            x.append(row.pairs[~np.isnan(label)][:, chosen])
            y.append(label[~np.isnan(label)])
    return np.concatenate(x), np.concatenate(y)


def fit_beside(x: Matrix, y: Matrix, known: Matrix) -> Matrix:
    """Fit a logistic regression without a constant beside logits that are known."""
    found, penalty = np.zeros(x.shape[1]), 1e-3 * np.eye(x.shape[1])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-np.clip(known + x @ found, -30, 30)))
        slope = x.T @ (chance - y) / len(y) + penalty @ found
        step = np.linalg.solve((x * (chance * (1 - chance))[:, None]).T @ x / len(y) + penalty, slope)
        found -= step
        if np.abs(step).max() < 1e-7:
            break
    return found


def named(names: Sequence[str], found: Matrix) -> dict[str, float]:
    return dict(zip(("constant", *names), found.tolist(), strict=True))


def logit_of(weights: Mapping[str, float], row: Row) -> float:
    """Return the logit of a row."""
    return sum(weight * row.signals[name] for name, weight in weights.items())


def fit(rows: Sequence[Row], kind: str) -> dict[str, dict[str, float]]:
    """Return all weights of a kind."""
    names = SIGNALS[kind]
    further = ANSWER_SIGNALS if kind in ("both", "multilingual") else ANSWER_SIGNALS[:2]
    answer = fit_answer(rows, (*names, *further))
    return {
        "subject": fit_subject(rows, (*names, *SUBJECT_SIGNALS.get(kind, ())), MISSED[kind]),
        "answer": answer,
        "plain": fit_plain(rows, (*names, *PLAIN_SIGNALS[kind]), MISSED[kind]),
        "item": fit_item(rows, answer),
        "later": fit_later(rows, LATER[kind]),
    }


def gap(chances: Sequence[float], truths: Sequence[bool]) -> float:
    """Return the mean distance between chance and share in ten bins, weighted by their size."""
    chance, truth = np.array(chances), np.array(truths, float)
    bins = np.minimum((chance * 10).astype(int), 9)
    filled = [bins == number for number in range(10) if (bins == number).any()]
    return float(sum(abs(chance[one].mean() - truth[one].mean()) * one.mean() for one in filled))


def auc(yes: Sequence[float], no: Sequence[float]) -> float:
    """Return how often a positive is above a negative."""
    above = np.array(yes)[:, None] - np.array(no)[None]
    return float(((above > 0) + (above == 0) / 2).mean())


def check(rows: Sequence[Row], kind: str) -> dict[str, float]:
    """Return figures with each group left out in turn."""
    subject: dict[str, list[float]] = {"known": [], "off": [], "world": [], "talk": []}
    answers: list[tuple[float, bool, bool, int]] = []
    items: list[tuple[float, bool]] = []
    plain: list[tuple[float, bool]] = []
    foreign: list[float] = []
    chats: list[tuple[float, float, Asked]] = []
    for group in sorted({row.store.group for row in rows if row.store.sort in ("history", "small", "talk", "chat")}):
        weights = fit([row for row in rows if group not in (row.store.group, row.asked.origin)], kind)
        for row in (row for row in rows if row.store.group == group):
            knows = chance_of(logit_of(weights["subject"], row))
            if row.store.sort == "small":
                plain.append((chance_of(logit_of(weights["plain"], row)), row.asked.answerable))
            elif row.store.sort == "chat":
                chats.append((knows, chance_of(logit_of(weights["answer"], row)), row.asked))
            elif row.store.sort == "foreign":
                foreign.append(chance_of(logit_of(weights["answer"], row)))
            elif row.store.sort != "history":
                subject[row.store.sort].append(knows)
            else:
                if row.asked.answerable:
                    subject["known"].append(knows)
                elif not row.asked.on_topic:
                    subject["off"].append(knows)
                logit = logit_of(weights["answer"], row)
                answers.append((chance_of(logit), row.asked.answerable, row.asked.on_topic, len(row.asked.text)))
                if row.asked.on_topic:
                    item = weights["item"]
                    items += [
                        (chance_of(item["constant"] + item["answer"] * logit - item["below"] * below), bears)
                        for below, bears in row.items
                    ]
    yes = [c for c, answerable, _, _ in answers if answerable]
    return {
        "subject AUC": auc(subject["known"], subject["off"]),
        "off topic refused": below_bar(subject["off"]),
        "world refused": below_bar(subject["world"]),
        "known refused": below_bar(subject["known"]),
        "talks refused": below_bar(subject["talk"]),
        "answer AUC": auc(yes, [c for c, answerable, _, _ in answers if not answerable]),
        "never said AUC": auc(yes, [c for c, answerable, on_topic, _ in answers if not answerable and on_topic]),
        "foreign AUC": auc(yes, foreign),
        "like": like(answers),
        "answer gap": gap([c for c, *_ in answers], [a for _, a, _, _ in answers]),
        "item gap": gap([c for c, _ in items], [b for _, b in items]),
        "chats known refused": below_bar([knows for knows, _, asked in chats if asked.answerable]),
        "chats world refused": below_bar([knows for knows, _, asked in chats if not asked.on_topic]),
        "chats AUC": auc(
            [c for _, c, asked in chats if asked.answerable],
            [c for _, c, asked in chats if not asked.answerable and asked.on_topic],
        ),
        "chats gap": gap(*zip(*((c, asked.answerable) for _, c, asked in chats if asked.on_topic), strict=True)),
        "plain AUC": auc([c for c, a in plain if a], [c for c, a in plain if not a]),
        "plain refused": below_bar([c for c, a in plain if not a]),
        "plain known refused": below_bar([c for c, a in plain if a]),
    }


def below_bar(chances: Sequence[float]) -> float:
    """Return the share of chances below the bar."""
    return float(np.mean(np.array(chances) < 0.5)) if chances else 0.0


def like(answers: Sequence[tuple[float, bool, bool, int]]) -> float:
    """Return the AUC of answerable against never-said questions of like length."""
    pairs = [
        (a, b)
        for a, yes, _, size in answers
        if yes
        for b, other, on_topic, length in answers
        if not other and on_topic and abs(size - length) <= 4
    ]
    return float(np.mean([(a > b) + (a == b) / 2 for a, b in pairs]))


def chance_of(logit: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(logit, -30, 30))))


def main() -> None:
    """Fit, check and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("fit_recall.pickle"))
    parser.add_argument("--kinds", nargs="*", choices=KINDS)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    encoder = Encoder(given.cache)
    histories = list(read_histories(given.data / "everyday"))
    stores = [*histories, *make_foreign(histories, read_languages(given.data / "everyday"))]
    stores += [
        *read_talks(given.data / "public"),
        *make_small_stores(),
        *make_changed_stores(),
        *make_few_changed(),
        *make_chats(),
    ]
    kinds: dict[str, Any] = json.loads(OUT.read_text(encoding="utf-8"))["kinds"] if OUT.exists() else {}
    for kind in given.kinds or KINDS:
        rows = list(measure(stores, encoder, kind))
        if kind not in ("both", "multilingual"):  # one model alone tells a chat's subject too badly
            rows = [row for row in rows if row.store.sort != "chat"]
        if kind in ("both", "first", "wordllama"):
            rows = [row for row in rows if row.english]
        elif kind == "multilingual":
            rows = [row for row in rows if row.store.sort != "talk" or not row.english]
        encoder.save()
        weights = fit(rows, kind)
        kinds[kind] = {
            part: {name: round(value, 3) for name, value in found.items()} for part, found in weights.items()
        }
        print(kind, len(rows), {name: round(value, 3) for name, value in check(rows, kind).items()}, flush=True)
    if not given.check:
        OUT.write_text(json.dumps({"kinds": kinds}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
