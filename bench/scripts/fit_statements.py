"""Fits the weights of typed statements: src/memwarden/statements/weights.npz, from bench/data/asked alone.

usage: python bench/scripts/fit_statements.py [--check] [--out FILE]

--check: nothing is written; the heads are judged on attributes, on files (authors, languages) and on texts left out.
Takes about half a minute. The same data give the same file on the same machine.
"""

from __future__ import annotations

import argparse
import json
import re
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.statements.reader import BUCKETS, buckets_of
from memwarden.statements.statement import NONE, WIDTH

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "bench" / "data" / "asked"
OUT = ROOT / "src" / "memwarden" / "statements" / "weights.npz"
SORTS = ("questions", "past_questions", "states", "changes", "ends", "others", "near", "implicit")
ASKING = ("questions", "past_questions", "implicit")
HOLDING = ("states", "changes", "ends")
SAYING = (*HOLDING, "others")
DENSE, WORDS = 6.0, 2.0  # what vectors and hashed words count beside each other
SHARPNESS = 4.0
SCALE, BATCH, EPOCHS, RATE, PULL = 12.0, 256, 14, 2e-3, 1e-2


class Rows:
    """The corpus as columns."""

    def __init__(self) -> None:
        about = json.loads((DATA / "attributes.json").read_text())
        self.many = set(about["many"])
        self.kin = {name: number for number, names in enumerate(about["kin"], 1) for name in names}
        self.of_relations = set(about["of_relations"])
        rows: list[tuple[str, str, str, str, str]] = []
        for path in sorted(DATA.glob("*.jsonl")):
            for line in path.read_text().splitlines():
                rows += self._read(path.stem, json.loads(line), about["same"])
        self.text, attribute, names, sort, file = (list(column) for column in zip(*rows, strict=True))
        self.attribute, self.name, self.sort, self.file = map(np.array, (attribute, names, sort, file))
        self.vectors = np.asarray(MultilingualEmbedder().embed(self.text), np.float32)
        self.words = hash_words(self.text)
        self.wide = sparse.hstack([sparse.csr_matrix(self.vectors * DENSE), self.words * WORDS]).tocsr()
        talk = self.file == "small_talk"
        self.weight = np.where(talk, 0.5, 1.0) * np.where(self.file == "plain", 1.2, 1.0)
        self.talk_weight = np.where(talk | (self.file == "plain"), 3.0, 1.0)

    def _read(self, file: str, line: dict[str, Any], same: dict[str, str]) -> list[tuple[str, str, str, str, str]]:
        if file == "small_talk":
            return [(line["text"], NONE, NONE, "task" if line["sort"] == "task" else "talk", file)]
        attribute = same.get(line["attribute"], line["attribute"])
        if file == "plain":
            return [(line["text"], attribute, f"plain {attribute}", line["sort"] + "s", file)]
        author = line["lang"] if file == "languages" else file
        name = f"{line['attribute']} {line['lang']}"
        return [(text, attribute, name, sort, author) for sort in SORTS for text in line[sort]]


def hash_words(texts: list[str]) -> Any:
    """Return the texts' hashed words, each line of unit length."""
    lines = [buckets_of(text) for text in texts]
    ends = np.cumsum([0, *map(len, lines)])
    values = np.concatenate([np.full(len(line), 1 / np.sqrt(len(line) or 1)) for line in lines])
    return sparse.csr_matrix((values, np.concatenate(lines).astype(int), ends), shape=(len(texts), BUCKETS))


def fit_heads(rows: Rows, use: Any) -> dict[str, LogisticRegression]:
    """Return the heads, fitted on the rows in use."""

    def fit(wide: bool, among: Any, labels: Any, strength: float, weight: Any = None, balance: bool = True) -> Any:
        among = among & use
        x = rows.wide if wide else rows.vectors * SHARPNESS
        model = LogisticRegression(C=strength, max_iter=300, class_weight="balanced" if balance else None)
        return model.fit(x[among], labels[among], sample_weight=None if weight is None else weight[among])

    sort = rows.sort
    return {
        "attribute": fit(False, sort != "near", rows.attribute, 2.0, rows.weight, balance=False),
        "states": fit(True, sort != "others", np.isin(sort, HOLDING), 0.3, rows.talk_weight),
        "sort": fit(True, np.isin(sort, HOLDING), np.array([_SORT.get(each, 0) for each in sort]), 0.3, balance=False),
        "question": fit(True, np.isin(sort, ASKING), np.array([_ASKED.get(each, 0) for each in sort]), 0.5),
        "asks": fit(True, np.ones(len(sort), bool), np.isin(sort, ASKING), 0.3),
    }


_SORT = {"states": 0, "changes": 1, "ends": 2}
_ASKED = {"questions": 0, "past_questions": 1, "implicit": 2}


class Map:
    """A square map that starts as the identity and is pulled back to it, with Adam."""

    def __init__(self, size: int, pull: float = PULL) -> None:
        self.pull = pull
        self.start = np.eye(size, dtype=np.float32)
        self.map = self.start.copy()
        self._mean = np.zeros_like(self.map)
        self._square = np.zeros_like(self.map)
        self._steps = 0
        self.rate = RATE

    def forward(self, x: Any) -> Any:
        raw = x @ self.map
        length = np.linalg.norm(raw, axis=1, keepdims=True) + 1e-9
        return raw / length, length

    def step(self, x: Any, unit: Any, length: Any, slope: Any) -> None:
        slope = (slope - unit * (slope * unit).sum(1, keepdims=True)) / length
        gradient = x.T @ slope + self.pull * (self.map - self.start)
        self._steps += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient**2 - self._square)
        mean = self._mean / (1 - 0.9**self._steps)
        self.map -= self.rate * mean / (np.sqrt(self._square / (1 - 0.999**self._steps)) + 1e-8)


def fit_maps(rows: Rows, use: Any) -> tuple[Any, Any]:
    """Return the maps that bring statements and questions of an attribute together."""
    rng = np.random.default_rng(0)
    said = np.flatnonzero(use & np.isin(rows.sort, SAYING))
    asked = np.flatnonzero(use & np.isin(rows.sort, ASKING))
    answers: dict[str, list[int]] = defaultdict(list)
    for row in said.tolist():
        answers[rows.attribute[row]].append(row)
    asked = np.array([row for row in asked.tolist() if rows.attribute[row] in answers])
    left, right = Map(rows.vectors.shape[1]), Map(rows.vectors.shape[1])
    for epoch in range(EPOCHS):
        left.rate = right.rate = RATE * 0.85 ** max(0, epoch - EPOCHS // 2)
        for _ in range(max(1, max(len(said), len(asked)) // BATCH)):
            questions = rng.choice(asked, BATCH)
            found = np.array([rng.choice(answers[rows.attribute[row]]) for row in questions])
            x, y = rows.vectors[found], rows.vectors[questions]
            (a, a_length), (b, b_length) = left.forward(x), right.forward(y)
            same = (rows.attribute[questions][:, None] == rows.attribute[found][None]).astype(np.float32)
            scores = SCALE * b @ a.T
            slope = np.zeros_like(scores)
            for axis in (0, 1):
                table, want = (scores, same) if axis == 0 else (scores.T, same.T)
                powers = np.exp(table - table.max(1, keepdims=True))
                wrong = powers / powers.sum(1, keepdims=True) - want / np.maximum(1, want.sum(1, keepdims=True))
                slope += (wrong if axis == 0 else wrong.T) * SCALE / BATCH / 2
            left.step(x, a, a_length, slope.T @ b)
            right.step(y, b, b_length, slope @ a)
    return left.map, right.map


def narrow(rows: Rows, said: Any, asked: Any) -> Any:
    """Return the directions in which statements and questions differ most, WIDTH of them."""
    both = []
    for sorts, each in (((*SAYING, "near"), said), (ASKING, asked)):
        x = rows.vectors[np.isin(rows.sort, sorts)] @ each
        x /= np.linalg.norm(x, axis=1, keepdims=True) + 1e-9
        both.append(x.T @ x / len(x))
    return np.linalg.eigh(both[0] + both[1])[1][:, ::-1][:, :WIDTH]


def centres_of(rows: Rows, said: Any, names: list[str]) -> Any:
    """Return the centre of each attribute's statements; zeros for an attribute without."""
    units = rows.vectors @ said
    units /= np.linalg.norm(units, axis=1, keepdims=True) + 1e-9
    telling = np.isin(rows.sort, SAYING)
    centres = np.zeros((len(names), units.shape[1]))
    for place, name in enumerate(names):
        mine = units[telling & (rows.attribute == name)]
        if len(mine):
            centres[place] = mine.mean(0) / np.linalg.norm(mine.mean(0))
    return centres


def common_words(rows: Rows) -> Any:
    """Return checksums of all words that the corpus writes in lower case."""
    words = {word for text in rows.text for word in re.findall(r"\b[a-zà-ÿœ][A-Za-zà-ÿœ]*\b", text)}
    return np.array(sorted({zlib.crc32(word.lower().encode()) for word in words}), np.uint32)


def small(name: str, values: Any) -> dict[str, Any]:
    """Return a matrix as bytes with a scale a column."""
    scale = np.maximum(np.abs(values).max(0, keepdims=True), 1e-9) / 127
    return {name: np.rint(values / scale).astype(np.int8), f"{name}_scale": scale.astype(np.float32)}


def weight_arrays(rows: Rows, heads: dict[str, LogisticRegression], said: Any, asked: Any) -> dict[str, Any]:
    """Return the arrays of the weights file."""
    names = [str(name) for name in heads["attribute"].classes_]
    arrays: dict[str, Any] = {
        "attributes": np.frombuffer("\n".join(names).encode(), np.uint8),
        "many": np.array([name in rows.many for name in names]),
        "kin": np.array([rows.kin.get(name, 0) for name in names], np.uint8),
        "of_relations": np.array([name in rows.of_relations for name in names]),
        "common": common_words(rows),
    }
    for name, head in heads.items():
        size = rows.vectors.shape[1]
        coefficients = head.coef_.T
        dense = SHARPNESS if name == "attribute" else DENSE
        arrays |= small(f"{name}_dense", coefficients[:size] * dense)
        if name != "attribute":
            arrays |= small(f"{name}_words", coefficients[size:] * WORDS)
        arrays[f"{name}_bias"] = head.intercept_.astype(np.float32)
    directions = narrow(rows, said, asked)
    arrays |= small("centres", centres_of(rows, said @ directions, names))
    return arrays | small("said", said @ directions) | small("asked", asked @ directions)


def auc(yes: Any, no: Any) -> float:
    """Return how often a yes scores above a no."""
    return float(((yes[:, None] > no[None]) + 0.5 * (yes[:, None] == no[None])).mean())


def check(rows: Rows) -> None:
    """Print figures on attributes, authors, languages and texts that the heads have not seen."""
    telling = np.isin(rows.sort, ("states", "changes"))
    check_attributes(rows, telling)
    for file in sorted(set(rows.file) - {"plain", "small_talk"}):
        out = rows.file == file
        scores = fit_heads(rows, ~out)["states"].decision_function(rows.wide[out])
        score = auc(scores[telling[out]], scores[rows.sort[out] == "near"])
        print(f"  file {file:<5} left out: states something, AUC {score:.3f}")
    check_texts(rows)


def check_attributes(rows: Rows, telling: Any) -> None:
    """Leave attributes out, and judge the maps and what tells a statement from a near miss."""
    attributes = np.random.default_rng(1).permutation(sorted(set(rows.attribute)))
    fold_of = {name: number % 4 for number, name in enumerate(attributes)}
    fold = np.array([fold_of[name] for name in rows.attribute])
    same = np.eye(rows.vectors.shape[1])
    figures: dict[str, list[tuple[float, float, float]]] = {"maps": [], "cosine": []}
    states = np.zeros(len(rows.text))
    for number in range(4):
        out = fold == number
        states[out] = fit_heads(rows, ~out)["states"].decision_function(rows.wide[out])
        for name, (said, asked) in (("maps", fit_maps(rows, ~out)), ("cosine", (same, same))):
            figures[name] += judge(rows, out, telling, rows.vectors @ said, rows.vectors @ asked)
    for name, lines in figures.items():
        first, five, near = np.mean(lines, axis=0)
        print(f"attributes left out, {name}: R@1 {first:.3f}, R@5 {five:.3f}, AUC against near misses {near:.3f}")
    print(f"  states something, AUC against near misses {auc(states[telling], states[rows.sort == 'near']):.3f}")


def judge(rows: Rows, out: Any, telling: Any, said: Any, asked: Any) -> list[tuple[float, float, float]]:
    """Return for each question that was left out: right first, right in five, AUC against its near misses."""
    said = said / (np.linalg.norm(said, axis=1, keepdims=True) + 1e-9)
    answers = np.flatnonzero(out & telling)
    found = []
    for row in np.flatnonzero(out & (rows.sort == "questions") & (rows.file != "plain")):
        mine = answers[rows.file[answers] == rows.file[row]]
        best = rows.attribute[mine[np.argsort(-(said[mine] @ asked[row]))[:5]]] == rows.attribute[row]
        own, miss = (said[(rows.name == rows.name[row]) & sort] @ asked[row] for sort in (telling, rows.sort == "near"))
        found.append((float(best[0]), float(best.any()), auc(own, miss)))
    return found


def check_texts(rows: Rows) -> None:
    """Leave a quarter of the texts out, and judge the attribute and its chance."""
    part = np.random.default_rng(1).integers(0, 4, len(rows.text)) == 0
    head = fit_heads(rows, ~part)["attribute"]
    for sorts, what in ((SAYING, "statements"), (ASKING, "questions")):
        rest = part & np.isin(rows.sort, sorts)
        chances = head.predict_proba(rows.vectors[rest] * SHARPNESS)
        right = head.classes_[np.argsort(-chances, 1)[:, :5]] == rows.attribute[rest][:, None]
        first, five, sure = right[:, 0].mean(), right.any(1).mean(), chances.max(1).mean()
        print(f"texts left out, {what}: attribute first {first:.3f}, in five {five:.3f}; mean chance {sure:.3f}")


def main() -> None:
    """Fit, and check or save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    asked_for = parser.parse_args()
    rows = Rows()
    print(len(rows.text), "texts,", len(set(rows.attribute)) - 1, "attributes")
    if asked_for.check:
        check(rows)
        return
    every = np.ones(len(rows.text), bool)
    arrays = weight_arrays(rows, fit_heads(rows, every), *fit_maps(rows, every))
    np.savez_compressed(asked_for.out, **arrays)
    print(asked_for.out, asked_for.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
