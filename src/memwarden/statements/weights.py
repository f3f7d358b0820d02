"""The learned part: small linear maps over sentence vectors and hashed words, kept as bytes with a scale a column.

``bench/scripts/fit_statements.py`` makes ``weights.npz`` from ``bench/data/asked``.
"""

from __future__ import annotations

import zlib
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

NONE = "none"
"""The attribute of what fits no known attribute."""


class LinearHead(NamedTuple):
    """A linear map of a sentence vector and of hashed words. words is None for a map of the vector alone."""

    dense: Floats
    words: Floats | None
    bias: Floats

    def scores(self, vectors: Floats, buckets: list[list[int]]) -> Floats:
        """Return one line of scores a clause."""
        scores = vectors @ self.dense + self.bias
        if self.words is not None:
            # Few buckets a clause: adding their rows beats a sparse product, which would need scipy.
            for line, places in enumerate(buckets):
                scores[line] += self.words[places].sum(axis=0) / np.sqrt(len(places) or 1)
        return np.asarray(scores, np.float32)


class StatementWeights(NamedTuple):
    """All that was learned.

    Attributes:
        attributes: names, in the order of the columns of ``attribute``. codes: their numbers in packed statements.
        many: which attributes hold several values at once, such as allergies.
        attribute: which attribute a clause or a question is of. states: whether a clause states something that holds.
        sort: state, change or end. question: a question of the present, of the past, or an implicit request.
        asks: whether a text asks at all. said, asked: maps into the space where questions meet their answers.
        centres: in that space, of the statements of each attribute, of unit length.
        common: checksums of words in lower case that are nobody's name.
    """

    attributes: tuple[str, ...]
    codes: npt.NDArray[np.uint32]
    many: npt.NDArray[np.bool_]
    attribute: LinearHead
    states: LinearHead
    sort: LinearHead
    question: LinearHead
    asks: LinearHead
    said: Floats
    centres: Floats
    asked: Floats
    common: frozenset[int]

    def name(self, code: int) -> str:
        """Return the attribute of a code, "none" for a code of other weights."""
        places = np.flatnonzero(self.codes == code)
        return self.attributes[int(places[0])] if len(places) else NONE


class CommonWords:
    """Words in lower case that are nobody's name, by checksum."""

    def __init__(self, checksums: frozenset[int]) -> None:
        self._checksums = checksums

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and zlib.crc32(word.encode()) in self._checksums

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return len(self._checksums)


def attribute_code(attribute: str) -> int:
    """Return the number of an attribute in packed statements: it stays when others are added."""
    return zlib.crc32(attribute.encode())


@cache
def load_weights() -> StatementWeights:
    """Return the weights of the wheel, read once."""
    # Read through importlib.resources, so that a wheel in a zip file works too.
    with np.load(BytesIO(files(__package__).joinpath("weights.npz").read_bytes())) as stored:
        arrays = {name: stored[name] for name in stored.files}

    def wide(name: str) -> Floats:
        return np.asarray(arrays[name].astype(np.float32) * arrays[f"{name}_scale"], np.float32)

    def head(name: str) -> LinearHead:
        words = wide(f"{name}_words") if f"{name}_words" in arrays else None
        return LinearHead(wide(f"{name}_dense"), words, arrays[f"{name}_bias"].astype(np.float32))

    attributes = tuple(arrays["attributes"].tobytes().decode().split("\n"))
    codes = np.array([attribute_code(name) for name in attributes], np.uint32)
    return StatementWeights(
        attributes,
        codes,
        arrays["many"].astype(np.bool_),
        head("attribute"),
        head("states"),
        head("sort"),
        head("question"),
        head("asks"),
        wide("said"),
        wide("centres"),
        wide("asked"),
        frozenset(arrays["common"].tolist()),
    )
