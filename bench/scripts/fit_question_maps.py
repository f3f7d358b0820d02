"""Fits the maps from questions to statements and writes `question_maps.npz`.

usage: fit_question_maps.py [--check] [--out FOLDER]

Two linear maps over the multilingual vectors bring questions near to the messages that answer them. They are fitted on
the corpus of attributes (`bench/data/asked`) and on pairs of questions and messages (`bench/data/pairs`). A third set
of weights tells questions about a life from questions about the world. A fourth separates messages that somebody asks
for later from their near misses, from questions, and from messages that nobody asks for (`bench/data/idle`).

--check: writes nothing; the second file of each group of languages is left out, and its questions look for their
answers among its messages. The chances of reports leave out each file of messages in turn.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import fit_statements
import numpy as np
import numpy.typing as npt
from fit_recall import read_world

from memwarden.models.choice import make_embedder
from memwarden.models.protocols import Embedder
from memwarden.recall.index import columns as statement_table
from memwarden.settings import Settings

DATA: Final = fit_statements.ROOT / "bench" / "data"
PAIRS: Final = DATA / "pairs"
# Pairs that the maps have not seen, which the chances of recall are fitted on.
CHATS: Final = DATA / "chats"
IDLE: Final = DATA / "idle"
# Shares of what reports and what does not in the fit of reports, and its penalty.
REPORT_SHARES: Final = {"states": 0.5, "near": 0.2, "idle": 0.2, "questions": 0.1}
REPORT_RIDGE: Final = 10.0
# Penalty of the weights that tell questions about a life.
RIDGE: Final = 1 / 0.3
# Share of pairs in a batch, and how strongly the maps are pulled back to the identity.
SHARE: Final = 0.6
PULL: Final = 0.02
# What a line of pairs calls the texts of each sort.
SORTS: Final = {"questions": "q", "states": "a", "near": "near"}
LEFT_OUT: Final = "_2"


class Texts(NamedTuple):
    """Texts with what they belong to: an attribute, or the line of a file of pairs; their sort; and their vectors."""

    topic: npt.NDArray[Any]
    sort: npt.NDArray[Any]
    vectors: npt.NDArray[Any]

    def chosen(self, some: npt.NDArray[Any]) -> Texts:
        """Return those of a mask."""
        return Texts(*(column[some] for column in self))

    def by_topic(self, sorts: Sequence[str]) -> dict[str, list[int]]:
        """Return the places of the texts of some sorts, by topic."""
        found: dict[str, list[int]] = defaultdict(list)
        for place in np.flatnonzero(np.isin(self.sort, sorts)).tolist():
            found[self.topic[place]].append(place)
        return found


def read_pairs(embedder: Embedder, folder: Path = PAIRS) -> Texts:
    """Return the texts of all pairs of a folder; topics begin with the name of the file and the language."""
    rows = [
        (text, f"{path.stem} {line['lang']} {number}", sort)
        for path in sorted(folder.glob("*.jsonl"))
        for number, line in enumerate(map(json.loads, path.read_text().splitlines()))
        for sort, name in SORTS.items()
        for text in line[name]
    ]
    text, topic, sort = zip(*rows, strict=True)
    return Texts(np.array(topic), np.array(sort), np.asarray(embedder.embed(list(text)), np.float32))


def read_messages(embedder: Embedder) -> Texts:
    """Return the texts of all pairs, of idle messages too; topics begin with the names of the folder and the file."""
    idle = [
        (json.loads(line)["text"], f"idle-{path.stem}", "idle")
        for path in sorted(IDLE.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    text, topic, sort = zip(*idle, strict=True)
    some = [Texts(np.array(topic), np.array(sort), np.asarray(embedder.embed(list(text)), np.float32))]
    for folder in (PAIRS, CHATS):
        found = read_pairs(embedder, folder)
        some.append(found._replace(topic=np.array([f"{folder.name}-{topic}" for topic in found.topic])))
    return Texts(*(np.concatenate(columns) for columns in zip(*some, strict=True)))


def fit_reports(messages: Texts) -> npt.NDArray[Any]:
    """Return the direction that separates what somebody asks for later from what nobody asks for."""
    weight = np.zeros(len(messages.sort))
    for sort, share in REPORT_SHARES.items():
        of_sort = messages.sort == sort
        weight[of_sort] = share / of_sort.sum() * len(weight)
    x = np.hstack([messages.vectors, np.ones((len(weight), 1))])
    return fit_logistic(x, np.asarray(messages.sort == "states", float), weight, REPORT_RIDGE)


def check_reports(messages: Texts) -> None:
    """Print how often a message that is asked for is above one of each other sort, each file left out in turn."""
    files = np.array([topic.split()[0] for topic in messages.topic])
    chances = np.zeros(len(files))
    for file in sorted(set(files)):
        found = fit_reports(messages.chosen(files != file))
        chances[files == file] = messages.vectors[files == file] @ found[:-1] + found[-1]
    asked_for = chances[messages.sort == "states"]
    print("reports", {
        sort: round(fit_statements.auc(asked_for, chances[messages.sort == sort]), 3)
        for sort in REPORT_SHARES
        if sort != "states"
    })  # fmt: skip


def fit_maps(attributes: Texts, pairs: Texts) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the maps for statements and for questions.

    A question of a batch looks for its answer among the answers of the others, and the near misses of half of the
    pairs.
    """
    rng = np.random.default_rng(0)
    both = Texts(*(np.concatenate(columns) for columns in zip(pairs, attributes, strict=True)))
    answers, near = both.by_topic(fit_statements.SAYING), pairs.by_topic(["near"])
    asked = np.flatnonzero(np.isin(both.sort, fit_statements.ASKING) & np.isin(both.topic, list(answers)))
    of_pairs, of_attributes = asked[asked < len(pairs.topic)], asked[asked >= len(pairs.topic)]
    size = fit_statements.BATCH
    paired = round(SHARE * size)
    said, asking = (fit_statements.Map(both.vectors.shape[1], PULL) for _ in range(2))
    for epoch in range(fit_statements.EPOCHS):
        said.rate = asking.rate = fit_statements.RATE * 0.85 ** max(0, epoch - fit_statements.EPOCHS // 2)
        for _ in range(len(both.topic) // size):
            questions = np.concatenate([rng.choice(of_pairs, paired), rng.choice(of_attributes, size - paired)])
            found = [rng.choice(answers[topic]) for topic in both.topic[questions]]
            missed = [rng.choice(near[topic]) for topic in both.topic[questions[: paired // 2]] if topic in near]
            _step(both, questions, np.array(found + missed), said, asking)
    return said.map, asking.map


def _step(
    texts: Texts,
    questions: npt.NDArray[Any],
    said: npt.NDArray[Any],
    left: fit_statements.Map,
    right: fit_statements.Map,
) -> None:
    """Move both maps: each question nearer to the statement at its place and to those of the same topic."""
    size = len(questions)
    x, y = texts.vectors[said], texts.vectors[questions]
    (a, a_length), (b, b_length) = left.forward(x), right.forward(y)
    same = np.zeros((size, len(said)), np.float32)
    same[:, :size] = texts.topic[questions][:, None] == texts.topic[said[:size]][None]
    scores = fit_statements.SCALE * b @ a.T
    slope = _wrong(scores, same)
    slope[:, :size] += _wrong(scores[:, :size].T, same[:, :size].T).T
    slope *= fit_statements.SCALE / size / 2
    left.step(x, a, a_length, slope.T @ b)
    right.step(y, b, b_length, slope @ a)


def _wrong(scores: npt.NDArray[Any], same: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the chance that each line gives to each column, less what it should give."""
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True) - same / np.maximum(1, same.sum(1, keepdims=True))


def find_answers(pairs: Texts, said: npt.NDArray[Any], asked: npt.NDArray[Any]) -> dict[str, tuple[float, float]]:
    """Return by language the share of questions whose first message answers, and the mean reciprocal rank."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    languages = np.array([topic.split()[1] for topic in pairs.topic])
    for language in sorted(set(languages)):
        own = pairs.chosen(languages == language)
        messages = own.chosen(np.isin(own.sort, ["states", "near"]))
        questions = own.chosen(own.sort == "questions")
        cosines = _unit(questions.vectors @ asked) @ _unit(messages.vectors @ said).T
        for topic, line in zip(questions.topic, cosines, strict=True):
            right = (messages.topic == topic) & (messages.sort == "states")
            rank = int((line > line[right].max()).sum())
            found[language].append((float(rank == 0), 1 / (1 + rank)))
    return {language: tuple(np.mean(each, axis=0).round(3).tolist()) for language, each in found.items()}


def _unit(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    lengths: npt.NDArray[Any] = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / (lengths + 1e-9)


def fit_personal(rows: fit_statements.Rows, world: Mapping[str, Sequence[str]], embedder: Embedder) -> npt.NDArray[Any]:
    """Return the direction that tells questions about a life from questions about the world."""
    asked = rows.vectors[np.isin(rows.sort, fit_statements.ASKING)]
    about_world = embedder.embed([text for texts in world.values() for text in texts])
    x = np.hstack([np.vstack([asked, about_world]), np.ones((len(asked) + len(about_world), 1))])
    y = np.r_[np.ones(len(asked)), np.zeros(len(about_world))]
    weight = np.where(y > 0, 0.5 / len(asked), 0.5 / len(about_world)) * len(y)
    return fit_logistic(x, y, weight)


def fit_logistic(
    x: npt.NDArray[Any], y: npt.NDArray[Any], weight: npt.NDArray[Any], ridge: float = RIDGE
) -> npt.NDArray[Any]:
    """Fit a logistic regression by Newton's method."""
    found = np.zeros(x.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weight * (chance - y)) + ridge * found
        curve = (x * (weight * chance * (1 - chance))[:, None]).T @ x + ridge * np.eye(len(found))
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    return found


def check(rows: fit_statements.Rows, attributes: Texts, pairs: Texts) -> None:
    """Print how well the questions of authors who were left out find their answers, by language."""
    later = np.array([topic.split()[0].endswith(LEFT_OUT) for topic in pairs.topic])
    left_out, same = pairs.chosen(later), np.eye(pairs.vectors.shape[1])
    print("multilingual", find_answers(left_out, same, same))
    print("attributes alone", find_answers(left_out, *fit_statements.fit_maps(rows, np.ones(len(rows.text), np.bool_))))
    print("with pairs", find_answers(left_out, *fit_maps(attributes, pairs.chosen(~later))))


def main() -> None:
    """Fit the maps and save them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(statement_table.__file__).parent)
    given = parser.parse_args()
    rows = fit_statements.Rows()
    embedder = make_embedder(Settings(embedder="multilingual"), None)
    assert embedder is not None
    attributes, pairs = Texts(rows.attribute, rows.sort, rows.vectors), read_pairs(embedder)
    if given.check:
        check(rows, attributes, pairs)
        check_reports(read_messages(embedder))
        return
    said, asked = fit_maps(attributes, pairs)
    personal = fit_personal(rows, read_world(), embedder).astype(np.float32)
    reports = fit_reports(read_messages(embedder)).astype(np.float32)
    file = given.out / "question_maps.npz"
    np.savez_compressed(file, asked=np.float16(asked), said=np.float16(said), personal=personal, reports=reports)
    print(file)


if __name__ == "__main__":
    main()
