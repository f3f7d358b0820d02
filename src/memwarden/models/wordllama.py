"""WordLlama: a table of word-piece vectors that lies in the package `wordllama` (MIT), no download.

The table has 256 dimensions and was trained so that the first 128 serve alone: measured, they find as much (LoCoMo
R@10 .796 against .795, RealMem session R@5 .640 against .641) for half the memory and time.

Only the package's two data files are read. The package itself is not imported: that costs 240 ms, reconfigures the
root logger and pulls in an HTTP client; and its pooling pads every text of a batch to the longest.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from memwarden.errors import InvalidConfig

BATCH = 256
# A text is cut here before it is split into pieces: the mean of its first 500 or so is its topic as well as the mean of
# all of them (measured: no loss on user-assistant sessions down to 128), and a pasted log must not delay a batch.
MAX_CHARACTERS = 2_500


class WordLlamaEmbedder:
    """The default embedder: the mean of a text's word-piece vectors, normalised. Loaded (0.2 s, 20 MB) at first use."""

    name = "wordllama-l2-supercat-128"
    dimensions = 128
    english_only = True

    def __init__(self) -> None:
        """Raises InvalidConfig when the package `wordllama` is missing."""
        self._folder = _package_folder()
        self._table: npt.NDArray[np.float32] | None = None
        self._tokenizer: Tokenizer | None = None
        self._loading = threading.Lock()

    @property
    def ready(self) -> bool:
        """See :class:`memwarden.models.protocols.Embedder`."""
        return self._table is not None

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """See :meth:`memwarden.models.protocols.Embedder.embed`."""
        table, tokenizer = self._load()
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            _embed_batch(texts[start : start + BATCH], vectors[start : start + BATCH], table, tokenizer)
        return vectors

    def _load(self) -> tuple[npt.NDArray[np.float32], Tokenizer]:
        with self._loading:
            if self._table is None or self._tokenizer is None:
                (table,) = load_file(self._folder / "weights" / "l2_supercat_256.safetensors").values()
                file = self._folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
                self._tokenizer = Tokenizer.from_file(str(file))
                self._tokenizer.no_padding()
                self._tokenizer.no_truncation()
                self._table = np.ascontiguousarray(table[:, : self.dimensions], dtype=np.float32)
            return self._table, self._tokenizer


def _embed_batch(
    texts: Sequence[str], out: npt.NDArray[np.float32], table: npt.NDArray[np.float32], tokenizer: Tokenizer
) -> None:
    cut = [text[:MAX_CHARACTERS] for text in texts]
    # For a single text, as every question is, a batch costs twice as much.
    batch = [tokenizer.encode(cut[0], add_special_tokens=False)] if len(cut) == 1 else None
    for row, encoding in enumerate(batch or tokenizer.encode_batch_fast(cut, add_special_tokens=False)):
        ids = encoding.ids
        if ids:
            out[row] = table[ids].sum(axis=0)
    lengths = np.sqrt(np.add.reduce(out * out, axis=1, keepdims=True))  # np.linalg.norm takes as long as all the rest
    np.divide(out, lengths, out=out, where=lengths > 0)


@cache
def shared_embedder() -> WordLlamaEmbedder:
    """Return the embedder that the process shares."""
    return WordLlamaEmbedder()


def _package_folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise InvalidConfig("the package 'wordllama' is missing; install it, or set embedder = 'none' (words only)")
    return Path(next(iter(spec.submodule_search_locations)))
