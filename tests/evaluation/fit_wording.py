"""Learn the weights of wording from the texts in ``orders``, and say how well they do on texts that they have not seen.

    python tests/evaluation/fit_wording.py          say what authors that were left out get, and write weights.txt
    python tests/evaluation/fit_wording.py --check  leave out authors, languages and themes; write nothing

A linear model with logistic loss. Which stretch of an attack is the order is not labelled: it is the one that the
weights of the round before think worst.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from memwarden.security.injection import classifier, detector, obfuscation
from memwarden.security.injection.detector import drop_fences, drop_quotations
from memwarden.security.injection.obfuscation import fold_lookalikes

HERE = Path(__file__).parent / "orders"
WEIGHTS = Path(classifier.__file__).with_name("weights.txt")
# Written by others, who knew neither rules nor weights: their themes begin with who it was.
OTHERS = ("attacks_others.txt", "harmless_others.txt")
# Corpora that were closed until they had been counted, by author; the open ones stay unlearned, to check.
SPENT = {
    "attacks_closed.jsonl": "d",
    "harmless_closed.jsonl": "d",
    "unseen_attacks.jsonl": "e",
    "unseen_harmless.jsonl": "e",
    "fresh_attacks.jsonl": "f",
    "fresh_harmless.jsonl": "f",
}

ROUNDS = 3
# Below half and above three times of this, authors that were left out get less.
FREEDOM = 20.0
# How a machine is addressed says more than any word: its weights may grow twice as cheaply.
CHEAPER = {"a": 2.0, "w": 1.5, "s": 1.5, "g": 1.5}
# Texts of others are fewer than ours, and more like what is to come.
WORTH_OF_OTHERS = 2.0
LEAST_TEXTS = 2
# The share of harmless texts of authors that were left out over the line.
MAY_BE_HELD = 0.007
# Distance of the lower line, for single sentences, from the line. Measured on fresh/, four folders: at 2.8, 4 of 510
# harmless texts are held and 10 of 200 attacks shown as quotations.
LOWER_BY = 2.8
# Hundredths. Smaller weights are left out of the file.
LEAST_WEIGHT = 7

Floats = npt.NDArray[np.float64]


class Text(NamedTuple):
    attack: bool
    language: str
    theme: str
    author: str
    known: bool
    stretches: tuple[frozenset[str], ...]


class Model(NamedTuple):
    weights: dict[str, float]
    bias: float

    def score(self, text: Text) -> float:
        return max(self._of(features) for features in text.stretches)

    def _of(self, features: frozenset[str]) -> float:
        known = [self.weights[feature] for feature in features if feature in self.weights]
        return sum(known) / float(np.sqrt(max(len(known), classifier.MIN_TOKENS))) + self.bias


def read() -> list[Text]:
    ours = [
        _text(path.name, *line.split("\t"))
        for path in sorted(HERE.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    spent = [_case(name, json.loads(line)) for name in SPENT for line in _lines(name)]
    return ours + [text for text in spent if text.author != "nobody"]


def _lines(name: str) -> list[str]:
    return (HERE.parent / "corpora" / name).read_text("utf-8").rstrip("\n").split("\n")


def _case(file: str, row: dict[str, str]) -> Text:
    # A speaker's name, a tag or a source is judged apart, and not what this learns.
    said = row.get("place", "text") in ("text", "json_value")
    kind = row.get("form") or row["kind"]
    return _text(file, row["lang"], kind, row["text"])._replace(author=SPENT[file] if said else "nobody")


def _text(file: str, language: str, theme: str, words: str) -> Text:
    words = words.replace("\\n", "\n")
    plain = drop_quotations(words)
    known = (
        any(detector.find_known_attacks(fold_lookalikes(plain)))
        or any(detector.find_markup(drop_fences(plain)))
        or obfuscation.find_invisible(words)
    )
    stretches = tuple(
        stretch.features for reading in _readings(plain) for stretch in classifier.find_stretches(reading)
    )
    author = theme[0] if file in OTHERS else "ours"
    return Text("attacks" in file, language, theme, author, bool(known), stretches or (frozenset(),))


def _readings(plain: str) -> Iterator[str]:
    yield fold_lookalikes(plain)
    yield from obfuscation.find_disguise(plain, fold_lookalikes(plain))
    yield from map(fold_lookalikes, obfuscation.decode_hidden(plain))


def fit(texts: Sequence[Text]) -> Model:
    seen = Counter(feature for text in texts for feature in frozenset[str]().union(*text.stretches))
    names = sorted(feature for feature, count in seen.items() if count >= LEAST_TEXTS)
    scale = np.array([CHEAPER.get(name[0], 1.0) for name in names])
    rows = _matrix([stretch for text in texts for stretch in text.stretches], names) @ sparse.diags(scale)
    owner = np.repeat(np.arange(len(texts)), [len(text.stretches) for text in texts])
    attack = np.array([text.attack for text in texts])[owner]
    worth = np.array([1.0 if text.author == "ours" else WORTH_OF_OTHERS for text in texts])[owner]
    # In the first round the longest stretch of an attack is taken for the order.
    scores = np.asarray((rows != 0).sum(1)).ravel().astype(float)
    from sklearn.linear_model import LogisticRegression  # a second to load, and most who import this fit nothing

    model = LogisticRegression(C=FREEDOM, max_iter=2000, tol=1e-4)
    for _ in range(ROUNDS):
        counts = _that_count(owner, attack, scores)
        its, bad = worth[counts], attack[counts]
        shares = its / np.where(bad, its[bad].sum(), its[~bad].sum())
        model.fit(rows[counts], bad, sample_weight=shares * counts.sum() / 2)
        scores = rows @ model.coef_[0]
    return Model(dict(zip(names, (model.coef_[0] * scale).tolist(), strict=True)), float(model.intercept_[0]))


def _matrix(stretches: Sequence[frozenset[str]], names: Sequence[str]) -> sparse.csr_matrix:
    number = {name: place for place, name in enumerate(names)}
    columns = [sorted(number[feature] for feature in stretch if feature in number) for stretch in stretches]
    lengths = np.array([len(places) for places in columns])
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, classifier.MIN_TOKENS)), lengths)
    places = np.array([place for row in columns for place in row], dtype=np.int32)
    return sparse.csr_matrix((values, places, np.concatenate(([0], np.cumsum(lengths)))), (len(columns), len(names)))


def _that_count(owner: npt.NDArray[np.int64], attack: npt.NDArray[np.bool_], scores: Floats) -> npt.NDArray[np.bool_]:
    """Every stretch of a harmless text, and the worst stretch of each attack."""
    counts = ~attack
    worst: dict[int, int] = {}
    for place in np.flatnonzero(attack).tolist():
        text = int(owner[place])
        if text not in worst or scores[place] > scores[worst[text]]:
            worst[text] = place
    counts[list(worst.values())] = True
    return counts


def unseen_scores(
    texts: Sequence[Text], fold_of: Callable[[int], Hashable], learned: Callable[[Hashable], bool] = lambda _: False
) -> Floats:
    """The score of each text by a model that was fitted without its fold; infinity for what no weighing is needed for.

    learned: folds that are only ever learned; their texts get no score.
    """
    folds = [fold_of(place) for place in range(len(texts))]
    scores = np.full(len(texts), np.nan)
    for left_out in dict.fromkeys(folds):
        if learned(left_out):
            continue
        model = fit([text for text, its in zip(texts, folds, strict=True) if its != left_out])
        for place, text in enumerate(texts):
            if folds[place] == left_out:
                scores[place] = np.inf if text.known else model.score(text)
    return scores


def line_for(texts: Sequence[Text], scores: Floats, share: float) -> float:
    """The score over which that share of the harmless texts lies."""
    harmless = np.sort([score for text, score in zip(texts, scores, strict=True) if not text.attack])[::-1]
    return float(harmless[int(share * len(harmless))])


def report(name: str, texts: Sequence[Text], scores: Floats) -> None:
    attacks = np.array([text.attack for text in texts])
    shares = (0.01, 0.02, 0.05, 0.1, 0.15)
    caught = {share: float((scores[attacks] > line_for(texts, scores, share)).mean()) for share in shares}
    figures = ", ".join(f"{found:.0%} caught with {share:.0%} held" for share, found in caught.items())
    sys.stdout.write(f"{name}: {figures}\n")


def by_authors(texts: Sequence[Text]) -> tuple[list[Text], Floats]:
    """The texts of others and their scores by weights that did not meet their author."""
    scores = unseen_scores(texts, lambda place: texts[place].author, lambda author: author == "ours")
    judged = ~np.isnan(scores)
    others = [text for text, its in zip(texts, judged, strict=True) if its]
    for author in sorted({text.author for text in others}):
        mine = np.array([text.author == author for text in others])
        report(
            f"author {author} left out", [t for t, its in zip(others, mine, strict=True) if its], scores[judged][mine]
        )
    report("an author left out, together", others, scores[judged])
    return others, scores[judged]


def main() -> None:
    texts = read()
    sys.stdout.write(
        f"{sum(text.attack for text in texts)} attacks, {sum(not text.attack for text in texts)} harmless\n"
    )
    others, scores = by_authors(texts)
    if "--check" in sys.argv:
        dice = random.Random(7)
        at_random = [dice.randrange(5) for _ in texts]
        report("a fifth left out at random", texts, unseen_scores(texts, lambda place: at_random[place]))
        report("a language left out", texts, unseen_scores(texts, lambda place: texts[place].language))
        # Attacks go by theme, so that none of the kind was seen; harmless texts at random.
        report(
            "a theme of attacks left out",
            texts,
            unseen_scores(texts, lambda place: texts[place].theme if texts[place].attack else at_random[place]),
        )
        return
    line = line_for(others, scores, MAY_BE_HELD)
    write(fit(texts), line, LOWER_BY)


def write(model: Model, line: float, lower: float) -> None:
    rounded = {"": round(100 * (model.bias - line)), classifier.LOWER: -round(100 * lower)} | {
        feature: round(100 * weight) for feature, weight in model.weights.items()
    }
    lines = [
        f"{feature}\t{weight}" for feature, weight in rounded.items() if abs(weight) >= LEAST_WEIGHT or not feature
    ]
    head = "#! made by tests/evaluation/fit_wording.py: feature, weight in hundredths"
    WEIGHTS.write_text("\n".join([head, *lines]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
