"""Matrix products in the calling thread."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


# A BLAS shares larger products among threads that spin for them, and beside other work whoever asks waits for the last:
# measured, a question about 100 turns took 28 ms in place of 3. OpenBLAS shares products from 1 << 19 multiplications
# on, and a block of eight rows is quicker than of seven.
MAX_UNSHARED: Final = (1 << 19) - 1
BLOCK_ROWS: Final = 8


def multiply(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices, made in the calling thread alone."""
    found = np.empty((len(left), right.shape[1]), np.float32)
    step = _rows_at_once(right.size)
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=found[start : start + step])
    return found


def multiply_with_earlier(rows: Floats) -> Floats:
    """Return the product of each row with itself and with those before it, made in the calling thread alone.

    Its shape is (len(rows), len(rows)). Some of those with the rows after it stand there too; the others are 0.
    """
    found = np.zeros((len(rows), len(rows)), np.float32)
    step = _rows_at_once(rows.size)
    for start in range(0, len(rows), step):
        end = min(start + step, len(rows))
        np.matmul(rows[start:end], rows[:end].T, out=found[start:end, :end])
    return found


def _rows_at_once(multiplications: int) -> int:
    return max(MAX_UNSHARED // max(multiplications, 1) // BLOCK_ROWS * BLOCK_ROWS, BLOCK_ROWS)
