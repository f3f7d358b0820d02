"""Fits the maps from questions to statements on the corpus of attributes and writes `question_maps.npz`.

usage: fit_question_maps.py [--out FOLDER]

Two linear maps over the multilingual vectors bring questions near to the statements that answer them. A third set of
weights tells questions about a life from questions about the world.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fit_statements
import numpy as np
import numpy.typing as npt
from fit_recall import read_world

from memwarden.models.choice import make_embedder
from memwarden.models.protocols import Embedder
from memwarden.recall.index import columns as statement_table
from memwarden.settings import Settings

RIDGE = 1 / 0.3
"""Penalty of the weights that tell questions about a life."""


def fit_personal(rows: fit_statements.Rows, world: Mapping[str, Sequence[str]], embedder: Embedder) -> npt.NDArray[Any]:
    """Return the direction that tells questions about a life from questions about the world."""
    asked = rows.vectors[np.isin(rows.sort, fit_statements.ASKING)]
    about_world = embedder.embed([text for texts in world.values() for text in texts])
    x = np.hstack([np.vstack([asked, about_world]), np.ones((len(asked) + len(about_world), 1))])
    y = np.r_[np.ones(len(asked)), np.zeros(len(about_world))]
    weight = np.where(y > 0, 0.5 / len(asked), 0.5 / len(about_world)) * len(y)
    return fit_logistic(x, y, weight)


def fit_logistic(x: npt.NDArray[Any], y: npt.NDArray[Any], weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Fit a logistic regression by Newton's method."""
    found = np.zeros(x.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weight * (chance - y)) + RIDGE * found
        curve = (x * (weight * chance * (1 - chance))[:, None]).T @ x + RIDGE * np.eye(len(found))
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    return found


def main() -> None:
    """Fit the maps and save them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(statement_table.__file__).parent)
    given = parser.parse_args()
    rows = fit_statements.Rows()
    embedder = make_embedder(Settings(embedder="multilingual"), None)
    assert embedder is not None
    said, asked = fit_statements.fit_maps(rows, np.ones(len(rows.text), np.bool_))
    personal = fit_personal(rows, read_world(), embedder).astype(np.float32)
    file = given.out / "question_maps.npz"
    np.savez_compressed(file, asked=np.float16(asked), said=np.float16(said), personal=personal)
    print(file)


if __name__ == "__main__":
    main()
