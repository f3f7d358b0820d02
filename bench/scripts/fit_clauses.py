"""Fits the model that knows what a clause of a message is (memwarden.recall.clauses).

usage: fit_clauses.py ASKED_FOLDER [--write]
ASKED_FOLDER holds files of questions and statements, a JSON object a line with ``lang``, ``questions`` and ``states``.
Frames are in frames.toml. Every second attribute and the phrases of "check" are left out of the fit. They show how
often the plain question is recovered.
"""

from __future__ import annotations

import argparse
import json
import random
import tomllib
from pathlib import Path

import numpy as np

from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.recall import clauses
from memwarden.recall.clauses import clause_features, divide_message, split_clauses
from memwarden.text.question_words import asks_question, opens_question

HERE = Path(__file__).parent
RIDGE = 0.0003
SUBJECT_SHARE = 3
GLUED = ("ja", "zh")
OUT = Path(clauses.__file__).with_name("clauses.npy")


def read_phrases(part):
    table = tomllib.loads((HERE / "frames.toml").read_text("utf-8"))[part]
    return {code: text.strip().split("\n") for code, text in table.items()}


def read_asked(folder):
    rows = [json.loads(line) for path in sorted(Path(folder).glob("*.jsonl")) for line in path.open(encoding="utf-8")]
    return rows[::2], rows[1::2]


def with_parts(texts, *, asking=False):
    """The texts, and their clauses where they have several. asking: only those that ask; others may be frames."""
    parts = [clause.text for text in texts for clause in split_clauses(text)]
    parts = [part for part in parts if not asking or asks_question(part) or opens_question(part)]
    bare = [text.rstrip("?？!") for text in texts]
    return list(dict.fromkeys([*texts, *parts, *bare]))


def fit(features, labels, weights):
    """Logistic regression with a ridge, by Newton's method."""
    rows = np.concatenate([features, np.ones((len(features), 1))], axis=1).astype(np.float64)
    ridge = RIDGE * len(rows) * np.append(np.ones(features.shape[1]), 1e-6)
    found = np.zeros(rows.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-(rows @ found)))
        slope = rows.T @ (weights * (labels - chance)) - ridge * found
        curve = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + np.diag(ridge + 1e-9)
        found += np.linalg.solve(curve, slope)
    return found.astype(np.float32)


def fit_both(rows, embedder, parts):
    """Return the weights of a frame and of what asks, (2, 515)."""
    frames = [phrase for part in parts for phrases in read_phrases(part).values() for phrase in phrases]
    stated = [phrase for phrase in frames if not asks_question(phrase)]
    frames += [f"{phrase}{sign}" for phrase in stated for sign in ((",", ".") if phrase[0].isascii() else ("，", "。"))]
    asking = with_parts([text for row in rows for text in (*row["questions"], *row["past_questions"])], asking=True)
    stating = with_parts([text for row in rows for text in (*row["states"][:4], *row["changes"][:2], *row["near"][:2])])
    subjects = [phrase for phrases in read_phrases("stated").values() for phrase in phrases]
    # They stand near to frames, and are few beside what else is stated.
    stating += [*subjects * SUBJECT_SHARE, *(phrase.rstrip(".!?。！？") for phrase in subjects)]
    texts = [*frames, *asking, *stating]
    features = clause_features(texts, embedder.embed(texts))
    sort = np.array([0] * len(frames) + [1] * len(asking) + [2] * len(stating))
    share = np.bincount(sort)
    weights = (len(sort) / 3 / share)[sort]
    print(dict(zip(("frames", "questions", "statements"), share.tolist(), strict=True)))
    return np.stack([fit(features, (sort == which).astype(float), weights) for which in (0, 1)])


def bare(text):
    return "".join(filter(str.isalnum, text.casefold()))


def frame_message(question, before, after, code):
    """A question with frames around it, as a clause or a sentence of their own."""
    glued = code in GLUED
    comma, stop = ("，" if code == "zh" else "、", "。") if glued else (", ", ". ")
    start = comma.join(before) + (comma if before and question.islower() else stop if before else "")
    end = stop.join(after)
    return start + question + ((" " if question.rstrip()[-1:] in "?？!." else stop) + end if end else "")


def check(rows, embedder):
    """Print how often the plain question is recovered, by language and place of the frames."""
    chance = random.Random(5)
    for code, phrases in read_phrases("check").items():
        questions = [text for row in rows if row["lang"] == code for text in row["questions"]]
        questions = chance.sample(questions, min(60, len(questions)))
        shares = []
        for name, many in {"plain": (0, 0), "before": (1, 0), "after": (0, 1), "both": (1, 1), "three": (3, 0)}.items():
            right = 0
            for question in questions:
                before, after = (chance.sample(phrases, size) for size in many)
                found = divide_message(frame_message(question, before, after, code), embedder.embed)
                right += [bare(each) for each in found] == [bare(question)]
            shares.append(f"{name} {right / len(questions):.2f}")
        print(code, *shares)


def main():
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("asked")
    given.add_argument("--write", action="store_true")
    given = given.parse_args()
    embedder = MultilingualEmbedder()
    fitted, left_out = read_asked(given.asked)
    found = fit_both(fitted, embedder, ("fit",))
    clauses.clause_weights = lambda: found
    check(left_out, embedder)
    if given.write:
        np.save(OUT, fit_both([*fitted, *left_out], embedder, ("fit", "check")))


if __name__ == "__main__":
    main()
