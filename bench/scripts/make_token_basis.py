"""Makes the basis that projects MiniLM's 384-d word-piece states to 64 dimensions.

``python bench/scripts/make_token_basis.py --text FILE... --out src/memwarden/models/token_basis.npy``

A file is plain text, with an empty line between texts, or JSON, of which every string with a space in it is a text.
The basis is the leading eigenvectors of the states' second moments after each state is brought to unit length: those
directions lose the least of the cosines. Nothing of the text can be read back from them. Use text that may be shipped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memwarden.models.minilm import MiniLMEmbedder

DIMENSIONS = 64


def texts_of(path: Path) -> list[str]:
    """Return the distinct texts of a file."""
    content = path.read_text(encoding="utf-8")
    found = _strings(json.loads(content)) if path.suffix == ".json" else iter(content.split("\n\n"))
    return list(dict.fromkeys(text.strip() for text in found if " " in text.strip()))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def make_basis(texts: Sequence[str], dimensions: int = DIMENSIONS) -> npt.NDArray[np.float16]:
    """Return the basis for these texts, shape (384, dimensions)."""
    model = MiniLMEmbedder()
    moments = np.zeros((model.dimensions, model.dimensions))
    for _, states, _ in model.states(texts):
        inner = states[1:-1].astype(np.float64)
        inner /= np.linalg.norm(inner, axis=1, keepdims=True)
        moments += inner.T @ inner
    _, vectors = np.linalg.eigh(moments)
    basis = vectors[:, ::-1][:, :dimensions]
    basis *= np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(dimensions)])  # the same signs on every machine
    return np.asarray(basis, np.float16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--text", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--most", type=int, default=3_000, help="use at most so many texts, evenly spread")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    texts = [text for path in given.text for text in texts_of(path)]
    step = max(1, -(-len(texts) // given.most))
    np.save(given.out, make_basis(texts[::step]))


if __name__ == "__main__":
    main()
