"""Learn the weights of wording from the texts in ``orders``, and say how well they do on texts that they have not seen.

    python tests/evaluation/fit_wording.py          cross-validate, and write weights.txt
    python tests/evaluation/fit_wording.py --check  cross-validate only

A linear model with logistic loss, by gradient descent. Which stretch of an attack is the order is not labelled: it is
the one that the weights of the round before think worst.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.remember.poison import talk, wording
from memwarden.remember.poison.hidden import fold

HERE = Path(__file__).parent / "orders"
WEIGHTS = Path(wording.__file__).with_name("weights.txt")
FILES = {
    "attacks_en.txt": True,
    "attacks_other.txt": True,
    "attacks.txt": True,
    "harmless_en.txt": False,
    "harmless_other.txt": False,
    "harmless_docs.txt": False,
    "harmless.txt": False,
}

ROUNDS = 3
STEPS = 1200
RATE = 4.0
MOMENTUM = 0.9
# By cross-validation: between 0.000003 and 0.0001 nothing changes that is more than chance.
SHRINK = 3e-6
LEAST_TEXTS = 2
# The share of the harmless texts here that may lie over the line when they were not learned. Those of others are
# longer, with more stretches that can go wrong: there it came to twice or three times as much.
MAY_BE_HELD = 0.01

Floats = npt.NDArray[np.float64]


class Text(NamedTuple):
    attack: bool
    language: str
    theme: str
    stretches: tuple[frozenset[str], ...]


class Model(NamedTuple):
    weights: dict[str, float]
    bias: float

    def score(self, text: Text) -> float:
        return max(self._of(features) for features in text.stretches)

    def _of(self, features: frozenset[str]) -> float:
        known = [self.weights[feature] for feature in features if feature in self.weights]
        return sum(known) / float(np.sqrt(max(len(known), wording.FEWEST))) + self.bias


def read() -> list[Text]:
    return [
        Text(attack, language, theme, _stretches(talk.without_mentions(text.replace("\\n", "\n"))))
        for name, attack in FILES.items()
        for line in (HERE / name).read_text("utf-8").splitlines()
        if line and not line.startswith("#")
        for language, theme, text in [line.split("\t")]
    ]


def _stretches(text: str) -> tuple[frozenset[str], ...]:
    return tuple(stretch.features for stretch in wording.stretches(fold(text))) or (frozenset(),)


def fit(texts: Sequence[Text]) -> Model:
    seen = Counter(feature for text in texts for feature in frozenset[str]().union(*text.stretches))
    names = sorted(feature for feature, count in seen.items() if count >= LEAST_TEXTS)
    number = {name: place for place, name in enumerate(names)}
    rows = [[number[f] for f in sorted(s) if f in number] for text in texts for s in text.stretches]
    owner = np.repeat(np.arange(len(texts)), [len(text.stretches) for text in texts])
    attack = np.array([text.attack for text in texts])[owner]
    lengths = np.array([len(row) for row in rows])
    column = np.array([place for row in rows for place in row])
    row = np.repeat(np.arange(len(rows)), lengths)
    value = 1 / np.sqrt(np.maximum(lengths, wording.FEWEST))[row]

    weights, bias = np.zeros(len(names)), 0.0
    scores = lengths.astype(float)  # in the first round the longest stretch of an attack is taken for the order
    for _ in range(ROUNDS):
        counts = _that_count(owner, attack, scores)
        counts /= counts.sum()
        pace, bias_pace = np.zeros(len(names)), 0.0
        for _ in range(STEPS):
            ahead, bias_ahead = weights + MOMENTUM * pace, bias + MOMENTUM * bias_pace
            sums = np.bincount(row, ahead[column] * value, len(rows)) + bias_ahead
            wrong = counts * (1 / (1 + np.exp(-sums)) - attack)
            slope = np.bincount(column, wrong[row] * value, len(names)) + SHRINK * ahead
            pace, bias_pace = MOMENTUM * pace - RATE * slope, MOMENTUM * bias_pace - RATE * float(wrong.sum())
            weights, bias = weights + pace, bias + bias_pace
        scores = np.bincount(row, weights[column] * value, len(rows))
    return Model(dict(zip(names, weights.tolist(), strict=True)), bias)


def _that_count(owner: npt.NDArray[np.int64], attack: npt.NDArray[np.bool_], scores: Floats) -> Floats:
    """One for every stretch of a harmless text, and for the worst stretch of each attack."""
    counts = (~attack).astype(float)
    worst: dict[int, int] = {}
    for place in np.flatnonzero(attack).tolist():
        text = int(owner[place])
        if text not in worst or scores[place] > scores[worst[text]]:
            worst[text] = place
    counts[list(worst.values())] = 1.0
    return counts


def unseen_scores(texts: Sequence[Text], fold_of: Callable[[int], Hashable]) -> Floats:
    """The score of each text by a model that was fitted without its fold."""
    folds = [fold_of(place) for place in range(len(texts))]
    scores = np.zeros(len(texts))
    for left_out in dict.fromkeys(folds):
        model = fit([text for text, its in zip(texts, folds, strict=True) if its != left_out])
        for place, text in enumerate(texts):
            if folds[place] == left_out:
                scores[place] = model.score(text)
    return scores


def line_for(texts: Sequence[Text], scores: Floats, share: float) -> float:
    """The score over which that share of the harmless texts lies."""
    harmless = np.sort([score for text, score in zip(texts, scores, strict=True) if not text.attack])[::-1]
    return float(harmless[int(share * len(harmless))])


def report(name: str, texts: Sequence[Text], scores: Floats) -> None:
    attacks = np.array([text.attack for text in texts])
    caught = {share: float((scores[attacks] > line_for(texts, scores, share)).mean()) for share in (0.02, 0.05, 0.1)}
    figures = ", ".join(f"{found:.0%} caught with {share:.0%} held" for share, found in caught.items())
    sys.stdout.write(f"{name}: {figures}\n")


def main() -> None:
    texts = read()
    sys.stdout.write(
        f"{sum(text.attack for text in texts)} attacks, {sum(not text.attack for text in texts)} harmless\n"
    )
    dice = random.Random(7)
    at_random = [dice.randrange(5) for _ in texts]
    scores = unseen_scores(texts, lambda place: at_random[place])
    report("a fifth left out at random", texts, scores)
    if "--check" in sys.argv:
        report("a language left out", texts, unseen_scores(texts, lambda place: texts[place].language))
        # Attacks go by theme, so that none of the kind was seen; harmless texts at random.
        report(
            "a theme of attacks left out",
            texts,
            unseen_scores(texts, lambda place: texts[place].theme if texts[place].attack else at_random[place]),
        )
        return
    write(fit(texts), line_for(texts, scores, MAY_BE_HELD))


def write(model: Model, line: float) -> None:
    rounded = {"": round(100 * (model.bias - line))} | {
        feature: round(100 * weight) for feature, weight in model.weights.items()
    }
    lines = [f"{feature}\t{weight}" for feature, weight in rounded.items() if weight or not feature]
    head = "#! made by tests/evaluation/fit_wording.py: feature, weight in hundredths"
    WEIGHTS.write_text("\n".join([head, *lines]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
