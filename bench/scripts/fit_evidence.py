"""Fits the weights of recall's evidence on the corpus of attributes and writes `recall/rank/evidence.json`.

usage: fit_evidence.py [--stores 150] [--out FOLDER]

Stores are made of the corpus: statements, near misses and statements of others, one language and one fold of attributes
a store, from one line to some hundred. Questions ask for what was said, for what was not, and about the world. The
folds of the adapter are made anew, so that no question meets a map that was fitted on its own attribute.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fit_statements
import numpy as np
import numpy.typing as npt

from memwarden.models.choice import make_embedder
from memwarden.models.protocols import Embedder, EncodedQuestion
from memwarden.recall.index import columns as statement_table
from memwarden.recall.index.encode import make_signals
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.question import dense_text, prepare_question
from memwarden.recall.rank import score
from memwarden.records import Head, IndexRow, Scan
from memwarden.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
WORLD = ROOT / "bench" / "data" / "world_questions.txt"
OUT = ROOT / "src" / "memwarden" / "recall" / "rank" / "evidence.json"
START = datetime(2026, 1, 1, tzinfo=UTC)
ITEM = ("lead", "other", "adapted", "own", "asks")
SHOWN = ("item", "rows", "lead", "own", "adapted", "unseen")

CHOSEN = {"self": 2.0, "named": -1.0, "detail": 2.0}
WITH_MULTILINGUAL = {"personal": 3.0, "lacking": -300.0}
"""Picked by hand: whose question it is says how likely it is that the answer was told, which no made store can show."""
SLOPE, MIDDLE = 0.45, {
    "words": 4.2, "wordllama": 4.6, "minilm": 5.0, "minilm+multilingual:english": 5.5, "minilm+multilingual:other": 5.0,
    "wordllama+multilingual:english": 4.6, "wordllama+multilingual:other": 5.0,
}  # fmt: skip
"""From the sum of what speaks for an answer to logits, so that on everyday histories more than nine of ten answerable
questions reach the bar; without the multilingual side, which tells questions about a life, a tenth may be refused."""
SCORE = {"constant": -1.6, "shown": 0.3, "below": 0.2}
"""From the evidence for an answer, at most 2, and the distance to the best ranked to a single memory's logit. Made
stores give .22 for the distance and -2.0 for the constant, RealMem's sessions -1.1; histories chose between."""


@dataclass(frozen=True)
class Case:
    """A question to a made store: which lines answer it, and what kind of question it is."""

    file: str
    language: str
    lines: Sequence[str]
    question: str
    gold: npt.NDArray[np.bool_]
    kind: str


def cases(rows: Sequence[Mapping[str, Any]], world: Mapping[str, Sequence[str]], stores: int) -> Iterator[Case]:
    """Yield the questions to made stores."""
    for seed in range(stores):
        chance = random.Random(seed)
        language = chance.choice(["en"] * 5 + ["de", "es", "fr", "ja", "zh"])
        pool = [row for row in rows if row["lang"] == language]
        if not pool:
            continue  # a fold may lack a language
        chance.shuffle(pool)
        size = (
            chance.randint(1, 4)
            if chance.random() < 0.3
            else max(1, int(len(pool) * chance.choice([0.1, 0.3, 0.5, 0.7])))
        )
        known, rest = pool[:size], pool[size : size + 40]
        lines = [(chance.choice(row["states"] + row["changes"]), row["attribute"]) for row in known]
        noise = chance.choice([0, 0.2, 0.5])
        for row in rest:
            lines += [
                (chance.choice(row[kind]), "") for kind in ("near", "others") if row[kind] and chance.random() < noise
            ]
        chance.shuffle(lines)
        asked = [
            (chance.choice(row["questions"]), row["attribute"], "known")
            for row in chance.sample(known, min(6, len(known)))
        ]
        asked += [(chance.choice(row["questions"]), "", "absent") for row in chance.sample(rest, min(5, len(rest)))]
        asked += [(text, "", "world") for text in chance.sample(list(world[language]), 4)]
        asked += [
            (chance.choice(row["implicit"]), row["attribute"], "known")
            for row in chance.sample(known, min(2, len(known)))
            if row["implicit"]
        ]
        for question, attribute, kind in asked:
            gold = np.array([bool(attribute) and of == attribute for _, of in lines])
            yield Case(known[0]["file"], language, [line for line, _ in lines], question, gold, kind)


def index_of(lines: Sequence[str], embedder: Embedder | None) -> NamespaceIndex:
    """Return an index of lines, a thread each."""
    sides = getattr(embedder, "sides", (embedder.dimensions,)) if embedder else (None,)
    index = NamespaceIndex(10**12, sides[0], None, sides[1] if len(sides) > 1 else None)
    said = [(line, START + timedelta(hours=number)) for number, line in enumerate(lines)]
    plain = dict.fromkeys(IndexRow._fields)
    rows = []
    for number, ((_, moment), signals) in enumerate(zip(said, make_signals(said, embedder), strict=True)):
        when = int(moment.timestamp() * 1e6)
        rows.append(IndexRow(**{
            **plain, "n": number + 1, "id": str(number), "live": True, "terms": signals.terms, "vector": signals.vector,
            "flags": signals.flags, "days": signals.days, "created_at": when, "updated_at": when, "channel": "turn",
            "kind": "unknown", "category": "turn", "importance": 0.5, "pinned": False, "tags": (), "characters": (),
            "sources": (), "role": "user", "thread_id": str(number), "trust": "user",
        }))  # fmt: skip
    index.follow(Scan(rows, Head(len(rows), 1)))
    return index


def measured(case: Case, embedder: Embedder | None, indexes: dict[tuple[str, ...], NamespaceIndex]) -> dict[str, Any]:
    """Return the signals of a case."""
    key = tuple(case.lines)
    index = indexes.setdefault(key, index_of(case.lines, embedder)) if key not in indexes else indexes[key]
    view = index.view
    encoded = EncodedQuestion(embedder.embed([dense_text(case.question, view)])[0]) if embedder else None
    question = prepare_question(case.question, view, encoded, START + timedelta(days=60))
    return {"question": question, "view": view, "signals": score.item_signals(question, view), "case": case}


def logistic(
    x: npt.NDArray[Any], y: npt.NDArray[Any], weight: npt.NDArray[Any], ridge: float = 1e-2
) -> npt.NDArray[Any]:
    """Fit a logistic regression by Newton's method; the last column of x is the constant."""
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


def fitted(found: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the weights of a kind of embedder and language."""
    used = [name for name in ITEM if any(one["signals"][name].any() for one in found)]
    told = [one for one in found if one["case"].kind != "world"]
    x = np.concatenate([np.stack([*(one["signals"][name] for name in used), *_beside(one)], 1) for one in told])
    y = np.concatenate([one["case"].gold for one in told])
    item = dict(zip((*used, "rows", "constant"), logistic(x, y, np.ones(len(y))).tolist(), strict=True))
    rows = []
    for one in found:
        size = len(one["case"].lines)
        logits = score.item_logits(item, one["signals"], size, size)
        allowed = np.ones(size, np.bool_)
        rows.append(score.shown_signals(one["question"], one["view"], one["signals"], logits, allowed, size))
    kept = [number for number, one in enumerate(found) if one["case"].kind != "absent"]
    names = [name for name in SHOWN if any(row[name] for row in rows)]
    x = np.array([[*(rows[number][name] for name in names), 1.0] for number in kept])
    y = np.array([float(found[number]["case"].kind == "known") for number in kept])
    shown = dict(zip((*names, "constant"), logistic(x, y, np.ones(len(y)), 1.0).tolist(), strict=True))
    return {"item": item, "shown": shown}


def _beside(one: dict[str, Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    size = len(one["case"].lines)
    return np.full(size, np.log(size + 1)), np.ones(size)


def combined(kind: str, weights: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Join what was fitted with what was chosen."""
    shown = {**weights["shown"], **CHOSEN, **(WITH_MULTILINGUAL if "multilingual" in kind else {})}
    shown["constant"] -= MIDDLE[kind]
    return {
        "item": {name: round(value, 3) for name, value in weights["item"].items()},
        "shown": {name: round(value * SLOPE, 3) for name, value in shown.items()},
        "score": SCORE,
    }


def read_corpus() -> list[dict[str, Any]]:
    """Return the corpus of attributes as its authors wrote it."""
    rows = []
    for path in (fit_statements.DATA / f"{name}.jsonl" for name in ("home", "life", "work", "languages")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows.append({**row, "file": path.stem if path.stem != "languages" else row["lang"]})
    return rows


def read_world(path: Path) -> dict[str, list[str]]:
    """Return questions about the world by language."""
    found: dict[str, list[str]] = {}
    language = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            language = line[2:]
        elif line:
            found.setdefault(language, []).append(line)
    return found


KINDS = ("none", "wordllama", "minilm", "minilm+multilingual", "wordllama+multilingual")
FOLDS = 4


def fit_personal(rows: fit_statements.Rows, world: Mapping[str, Sequence[str]], embedder: Embedder) -> npt.NDArray[Any]:
    """Return the direction that tells questions about somebody's life from questions about the world."""
    asked = rows.vectors[np.isin(rows.sort, fit_statements.ASKING)]
    about_world = embedder.embed([text for texts in world.values() for text in texts])
    x = np.hstack([np.vstack([asked, about_world]), np.ones((len(asked) + len(about_world), 1))])
    y = np.r_[np.ones(len(asked)), np.zeros(len(about_world))]
    weight = np.where(y > 0, 0.5 / len(asked), 0.5 / len(about_world)) * len(y)
    return logistic(x, y, weight, 1 / 0.3)


def fit_kind(
    kind: str, rows: Sequence[Mapping[str, Any]], folds: Sequence[statement_table.QuestionMaps], stores: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the weights of a kind of embedder, by language where it has two sides."""
    embedder = make_embedder(Settings(embedder=kind), None)
    world, found = read_world(WORLD), []
    for number, maps in enumerate(folds):
        statement_table.maps = lambda maps=maps: maps
        indexes: dict[tuple[str, ...], NamespaceIndex] = {}
        held = [row for row in rows if row["fold"] == number]
        found += [measured(case, embedder, indexes) for case in cases(held, world, stores)]
    english = [one for one in found if one["case"].language == "en"]
    if "+" in kind:
        others = [one for one in found if one["case"].language != "en"]
        return {f"{kind}:english": fitted(english), f"{kind}:other": fitted(others)}
    return {"words": fitted(found)} if kind == "none" else {kind: fitted(english)}


def main() -> None:
    """Fit the maps and the weights, and save both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=150)
    parser.add_argument("--out", type=Path)
    asked_for = parser.parse_args()
    columns = fit_statements.Rows()
    attributes = sorted(set(columns.attribute))
    fold_of = {name: number % FOLDS for number, name in enumerate(attributes)}
    fold = np.array([fold_of[name] for name in columns.attribute])
    multilingual = make_embedder(Settings(embedder="multilingual"), None)
    assert multilingual is not None
    personal = fit_personal(columns, read_world(WORLD), multilingual).astype(np.float32)

    def maps_of(use: npt.NDArray[np.bool_]) -> statement_table.QuestionMaps:
        said, asked = fit_statements.fit_maps(columns, use)
        return statement_table.QuestionMaps(np.float32(asked), np.float32(said), personal)

    folds = [maps_of(fold != number) for number in range(FOLDS)]
    same = json.loads((fit_statements.DATA / "attributes.json").read_text())["same"]
    rows = [row | {"fold": fold_of[same.get(row["attribute"], row["attribute"])]} for row in read_corpus()]
    weights = {name: found for kind in KINDS for name, found in fit_kind(kind, rows, folds, asked_for.stores).items()}
    whole = maps_of(np.ones(len(columns.text), np.bool_))
    maps_file = (asked_for.out or Path(statement_table.__file__).parent) / "question_maps.npz"
    np.savez_compressed(
        maps_file, asked=whole.asked.astype(np.float16), said=whole.said.astype(np.float16), personal=personal
    )
    file = asked_for.out / OUT.name if asked_for.out else OUT
    file.write_text(json.dumps({name: combined(name, found) for name, found in weights.items()}, indent=1))
    print(maps_file, file)


if __name__ == "__main__":
    main()
