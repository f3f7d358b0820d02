"""Matrix products in the calling thread."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

# A BLAS shares larger products among threads, which then spin for more work: that doubles the processor's time, and on
# a busy machine the caller waits for the slowest of them. A host program may want these threads, so its settings stay,
# and each product is made of blocks that no BLAS shares.

# Multiplications. OpenBLAS shares products of matrices from 1 << 19 on, and products with a vector from 460,800 on.
MAX_UNSHARED: Final = 450_000
# Rows and columns of a block are multiples of these: the kernels take so many at once.
BLOCK_ROWS: Final = 8
BLOCK_COLUMNS: Final = 16
# Maximum columns of a block of weights. Measured with the shapes of the multilingual model: 32 take a tenth longer.
MAX_WEIGHT_COLUMNS: Final = 64


def multiply(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices, made in the calling thread alone."""
    product = np.empty((len(left), right.shape[1]), np.float32)
    columns = _columns_at_once(len(right))
    for start in range(0, right.shape[1], columns):
        _multiply_rows(left, right[:, start : start + columns], product[:, start : start + columns])
    return product


def project(rows: Floats, vector: Floats) -> Floats:
    """Return the dot product of each row with a vector, made in the calling thread alone."""
    product = np.empty(len(rows), np.float32)
    step = max(MAX_UNSHARED // max(len(vector), 1), 1)
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], vector, out=product[start : start + step])
    return product


def multiply_with_earlier(rows: Floats) -> Floats:
    """Return the product of each row with itself and with those before it, made in the calling thread alone.

    Its shape is (len(rows), len(rows)). It also holds some products with later rows. The others are 0.
    """
    product = np.zeros((len(rows), len(rows)), np.float32)
    step = _rows_at_once(rows.size)
    for start in range(0, len(rows), step):
        end = min(start + step, len(rows))
        product[start:end, :end] = multiply(rows[start:end], rows[:end].T)
    return product


class SplitWeights:
    """A matrix that is the right side of products, in blocks of columns.

    ``array @ weights`` is made in the calling thread alone. Blocks are contiguous in memory, so that this takes about
    as long as a single thread of a BLAS does with the whole.
    """

    __array_ufunc__ = None  # so that numpy leaves ``array @ weights`` to this class

    def __init__(self, matrix: Floats) -> None:
        rows, self._width = matrix.shape
        columns = min(_columns_at_once(rows), MAX_WEIGHT_COLUMNS)
        starts = range(0, self._width, columns)
        self._blocks = [(start, np.ascontiguousarray(matrix[:, start : start + columns])) for start in starts]

    def __rmatmul__(self, left: Floats) -> Floats:
        product = np.empty((len(left), self._width), np.float32)
        for start, block in self._blocks:
            _multiply_rows(left, block, product[:, start : start + block.shape[1]])
        return product


def split_weights(model: Any) -> None:
    """Let a numpy model make its products in the calling thread: replace its attributes that are matrices of floats.

    Lists of such matrices count too. The model must use them as the right side of ``@`` alone.
    """
    for name, value in vars(model).items():
        if _is_weights(value):
            setattr(model, name, SplitWeights(value))
        elif isinstance(value, list) and value and all(map(_is_weights, value)):
            setattr(model, name, [SplitWeights(item) for item in value])


def _is_weights(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype == np.float32


def _multiply_rows(left: Floats, right: Floats, product: Floats) -> None:
    step = _rows_at_once(right.size)
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=product[start : start + step])


def _columns_at_once(rows: int) -> int:
    """Return how many columns of that many rows a block may have, so that it meets BLOCK_ROWS rows."""
    return max(MAX_UNSHARED // (BLOCK_ROWS * max(rows, 1)) // BLOCK_COLUMNS * BLOCK_COLUMNS, BLOCK_COLUMNS)


def _rows_at_once(multiplications: int) -> int:
    """Return how many rows a block may have, if each takes that many multiplications."""
    rows = max(MAX_UNSHARED // max(multiplications, 1), 1)
    return rows if rows < BLOCK_ROWS else rows // BLOCK_ROWS * BLOCK_ROWS
