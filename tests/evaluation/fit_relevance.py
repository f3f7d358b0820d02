"""Fit the weights of the overseer without a model, and say what they are worth on goals of people left out (A1).

``python tests/evaluation/fit_relevance.py FILE... [--embedder NAME]``

FILE: goals, as for ``measure_overseer.py``; a store of the same name in two files counts once. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from memwarden.agent.relevance import Features, features, read_goal, read_wording
from memwarden.agent.state import compose_text, measure_cosines, words_of
from memwarden.models.protocols import Embedder
from memwarden.text.language import is_latin

STRENGTH = 0.3
"""Inverse strength of the regularisation."""
BARS = np.arange(0.1, 0.8, 0.02)


class Looked(NamedTuple):
    """A goal with what is known of each key, and which keys it needs."""

    store: str
    goal: str
    general: bool
    known: np.ndarray[Any, Any]
    needed: np.ndarray[Any, Any]


def looked_at(store: dict[str, Any], embedder: Embedder | None) -> list[Looked]:
    keys = [(words_of(item["key"]), item["description"] or "") for item in store["keys"]]
    full = [compose_text(item["key"], item["description"], item["value"]) for item in store["keys"]]
    found = []
    for item in store["goals"]:
        goal = read_goal(item["goal"])
        said = [read_wording(key, about, text, goal.language) for (key, about), text in zip(keys, full, strict=True)]
        usable = embedder is not None and (is_latin(item["goal"]) or not embedder.english_only)
        briefly, in_full = [f"{key}. {about}" for key, about in keys], [text[:300] for text in full]
        cosines = measure_cosines(embedder if usable else None, item["goal"], briefly, in_full)
        needed = np.array([key["key"] in item["relevant"] for key in store["keys"]])
        known = np.array(features(goal, said, cosines))
        found.append(Looked(store["store"], item["goal"], goal.general, known, needed))
    return found


class Fitted(NamedTuple):
    weights: np.ndarray[Any, Any]
    constant: float
    bar: float

    def scores(self, looked: Looked) -> np.ndarray[Any, Any]:
        chances = 1 / (1 + np.exp(-(looked.known @ self.weights + self.constant)))
        return np.asarray(chances * (0 if looked.general else 1))


def fitted(goals: list[Looked]) -> Fitted:
    own = [goal for goal in goals if not goal.general]
    known, needed = np.concatenate([item.known for item in own]), np.concatenate([item.needed for item in own])
    scaler = StandardScaler().fit(known)
    model = LogisticRegression(C=STRENGTH, max_iter=5_000).fit(scaler.transform(known), needed)
    weights = model.coef_[0] / scaler.scale_
    constant = float(model.intercept_[0] - weights @ scaler.mean_)
    scores = np.concatenate([Fitted(weights, constant, 0).scores(item) for item in own])
    bar = max(BARS, key=lambda bar: f1(scores >= bar, needed))
    return Fitted(weights, constant, float(bar))


def f1(found: np.ndarray[Any, Any], needed: np.ndarray[Any, Any]) -> float:
    return float(2 * (found & needed).sum() / max(1, found.sum() + needed.sum()))


def tell_worth(goals: list[Looked]) -> None:
    """Say precision and recall when each store's goals are judged by weights fitted to the others'."""
    found, needed, quiet, silent = [], [], 0, 0
    for store in dict.fromkeys(goal.store for goal in goals):
        fit = fitted([goal for goal in goals if goal.store != store])
        for goal in goals:
            if goal.store == store:
                chosen = fit.scores(goal) >= fit.bar
                found.append(chosen)
                needed.append(goal.needed)
                quiet, silent = quiet + (not goal.needed.any()), silent + (not goal.needed.any() and not chosen.any())
    every, wanted = np.concatenate(found), np.concatenate(needed)
    right = int((every & wanted).sum())
    print(f"left-out stores: precision {right / every.sum():.2f}, recall {right / wanted.sum():.2f}; ", end="")  # noqa: T201
    print(f"{silent} of {quiet} goals that need nothing get nothing")  # noqa: T201


def main() -> None:
    """Read the files, fit and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--embedder", default="wordllama")
    given = parser.parse_args()
    stores = {load["store"]: load for file in given.files for load in json.loads(file.read_text())}
    from memwarden.models.minilm import MiniLMEmbedder
    from memwarden.models.wordllama import WordLlamaEmbedder

    embedder = {"wordllama": WordLlamaEmbedder, "minilm": MiniLMEmbedder}[given.embedder]()
    goals = [item for store in stores.values() for item in looked_at(store, embedder)]
    fit = fitted(goals)
    for name, weight in zip(Features._fields, fit.weights, strict=True):
        print(f"{name:12} {weight:6.2f}")  # noqa: T201
    print(f"constant {fit.constant:.2f}, bar {fit.bar:.2f}")  # noqa: T201
    tell_worth(goals)


if __name__ == "__main__":
    main()
