"""WordLlama: a table of word-piece vectors that lies in the package `wordllama` (MIT), no download.

The table has 256 dimensions and was trained so that the first 128 serve alone: measured, they find as much (LoCoMo
R@10 .796 against .795, RealMem session R@5 .640 against .641) for half the memory and time.

Only the package's two data files are read. The package itself is not imported: that costs 240 ms, reconfigures the
root logger and pulls in an HTTP client; and its pooling pads every text of a batch to the longest one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from memwarden.errors import InvalidConfig

BATCH = 256
# A text is cut here before it is split into pieces: the mean of its first 500 or so is its topic as well as the mean of
# all of them (measured: no loss on user-assistant sessions down to 128), and one pasted log must not hold up a batch.
MAX_CHARACTERS = 2_500


class WordLlamaEmbedder:
    """The default embedder: the mean of a text's word-piece vectors, normalised."""

    name = "wordllama-l2-supercat-128"
    dimensions = 128

    def __init__(self) -> None:
        folder = _package_folder()
        tensors = load_file(folder / "weights" / "l2_supercat_256.safetensors")
        (table,) = tensors.values()
        self._table = np.ascontiguousarray(table[:, : self.dimensions], dtype=np.float32)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """See :meth:`memwarden.models.base.Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            self._embed_batch(texts[start : start + BATCH], vectors[start : start + BATCH])
        return vectors

    def _embed_batch(self, texts: Sequence[str], out: npt.NDArray[np.float32]) -> None:
        cut = [text[:MAX_CHARACTERS] for text in texts]
        for row, encoding in enumerate(self._tokenizer.encode_batch_fast(cut, add_special_tokens=False)):
            ids = encoding.ids
            if ids:
                out[row] = self._table[ids].sum(axis=0)
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        np.divide(out, lengths, out=out, where=lengths > 0)


_loaded: WordLlamaEmbedder | None = None
_loading = threading.Lock()


def load() -> WordLlamaEmbedder:
    """Return the process's one embedder, loading it (about 0.2 s, 20 MB) the first time."""
    global _loaded
    with _loading:
        if _loaded is None:
            _loaded = WordLlamaEmbedder()
        return _loaded


def _package_folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise InvalidConfig("the package 'wordllama' is missing; install it, or set embedder = 'none' (words only)")
    return Path(next(iter(spec.submodule_search_locations)))
