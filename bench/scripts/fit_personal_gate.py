"""Fit the weights that tell a personal message from a pasted task: ``remember/extract/rules/gate.toml``.

``python bench/scripts/fit_personal_gate.py REALMEM.json... [--test REALMEM.json...] [--out FILE]``

Files are RealMem's (Apache-2.0; https://github.com/AvatarMemory/RealMemBench). A user's turn of a session that is no
``Enhanced`` one is personal, of an ``Enhanced`` one noise. A second, small set of weights tells, among all the user's
turns, those from which a gold memory was drawn. Both are logistic regressions with an L2 penalty, rounded to .05.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memwarden.remember.extract.rules.gate import (
    FEATURES,
    NOTE_FEATURES,
    find_features,
    find_note_features,
)

PENALTY = 3.0
STEP = 0.05

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Turns:
    """Users' turns: features of both gates and their labels."""

    find_features: Floats
    find_note_features: Floats
    personal: Floats
    gold: Floats


def read_turns(paths: Sequence[Path]) -> Turns:
    """Read every user's turn of the files."""
    rows, note_rows, personal, gold = [], [], [], []
    for path in paths:
        for session in json.loads(path.read_text(encoding="utf-8"))["dialogues"]:
            drawn = {note["source_content_snapshot"].strip() for note in session["extracted_memory"]}
            for turn in session["dialogue_turns"]:
                text = turn["content"].strip()
                if turn["speaker"] == "User" and text:
                    rows.append(find_features(text))
                    note_rows.append(find_note_features(text))
                    personal.append(not session["session_identifier"].startswith("Enhanced"))
                    gold.append(text in drawn)
    return Turns(np.array(rows), np.array(note_rows), np.array(personal, float), np.array(gold, float))


def fit_weights(rows: Floats, labels: Floats) -> Floats:
    """Return the weights and, last, the constant."""
    design = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = np.full(design.shape[1], PENALTY)
    penalty[-1] = 0
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        guess = 1 / (1 + np.exp(-design @ weights))
        slope = design.T @ (guess - labels) + penalty * weights
        bend = (design * (guess * (1 - guess))[:, None]).T @ design + np.diag(penalty)
        change = np.linalg.solve(bend, slope)
        weights -= change
        if np.abs(change).max() < 1e-6:
            break
    return np.round(weights / STEP) * STEP


def auc(scores: Floats, labels: Floats) -> float:
    """Return the share of correctly ordered pairs of a positive and a negative; ties count half."""
    order = np.argsort(scores, kind="stable")
    _, place, times = np.unique(scores[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(times)
    ranks = np.empty(len(scores))
    ranks[order] = ((ends - times + 1 + ends) / 2)[place]
    positive = labels.sum()
    return float((ranks[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive)))


def scores(rows: Floats, weights: Floats) -> Floats:
    """Return the score of each row."""
    return rows @ weights[:-1] + weights[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--test", nargs="*", type=Path, default=[])
    parser.add_argument("--out", type=Path, help="write the weights to this file")
    given = parser.parse_args()
    turns = read_turns(given.files)
    weights = {"personal": fit_weights(turns.cues, turns.personal), "note": fit_weights(turns.note_cues, turns.gold)}
    for name, paths in (("fitted on", given.files), ("apart", given.test)):
        if paths:
            turns = read_turns(paths)
            personal = auc(scores(turns.cues, weights["personal"]), turns.personal)
            note = auc(scores(turns.note_cues, weights["note"]), turns.gold)
            print(f"{name}: {len(turns.gold)} turns, personal AUC {personal:.3f}, of note AUC {note:.3f}")
    if given.out:
        given.out.write_text(format_weights(weights, [path.name for path in given.files]), encoding="utf-8")


def format_weights(sets: dict[str, Floats], files: Sequence[str]) -> str:
    """Return the text of ``gate.toml``."""
    lines = [
        "# Weights of the features, fitted on conversations of RealMem (Apache-2.0; see NOTICE) and on nothing else.",
        "# Made by:",
        f"#   python bench/scripts/fit_personal_gate.py {' '.join(files)} \\",
        "#     --out src/memwarden/remember/extract/rules/gate.toml",
    ]
    about = {
        "personal": "A user's own words rather than a pasted task or role play. ``constant`` is added.",
        "note": "A user's turn from which a gold memory was drawn. ``constant`` is added.",
    }
    for name, weights in sets.items():
        names = FEATURES if name == "personal" else NOTE_FEATURES
        lines += ["", f"# {about[name]}", f"[{name}]"]
        lines += [f"{feature} = {weight:.2f}" for feature, weight in zip((*names, "constant"), weights, strict=True)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
